"""The controller on a real cluster: it measures, proposes, waits for approval, and acts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from stage import TOPOLOGIES, Stage, read_until

from stormcut.adapters.zookeeper.blob import delete_blob
from stormcut.adapters.zookeeper.nodes import nodes_at
from stormcut.application.waiting import wait_until

# Full: on a cluster that other tests had used the first one has once waited in vain.
pytestmark = [pytest.mark.cluster, pytest.mark.full]


@contextmanager
def operating(stage: Stage, folder: Path, **changes: Any) -> Iterator[subprocess.Popen[str]]:
    """Run the controller until the block ends."""
    config = folder / "stormcut.yaml"
    document = {
        "zookeeper": {
            "servers": stage.cluster.zookeeper_address,
            "auth_file": str(stage.cluster.auth_file),
        },
        "observe": {
            "logs": [str(folder) for folder in stage.cluster.log_folders],
            "spool": "spool",
            "every": 3,
        },
        **changes,
    }
    config.write_text(yaml.safe_dump(document))
    assert "is fine" in stage.command("config", "check", str(config))
    with nodes_at(stage.cluster.zookeeper_address, stage.cluster.auth_file) as nodes:
        for topology in nodes.read_profiles():
            nodes.delete_profile(topology)
    command = (sys.executable, "-m", "stormcut.cli.main", "operate", str(config))
    with stage.process(*command, ready="leader:") as process:
        try:
            yield process
        finally:
            # Its Spark would outlive a kill.
            process.terminate()
            process.communicate(timeout=60)


def outlook(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.command("plan", "--json"))
    return found


def profiles(stage: Stage) -> set[str]:
    with nodes_at(stage.cluster.zookeeper_address, stage.cluster.auth_file) as nodes:
        return {name.rsplit("-", 2)[0] for name in nodes.read_profiles()}


def approved(stage: Stage) -> bool:
    """Approve what is proposed; what has changed since it was read is refused."""
    with suppress(AssertionError):
        stage.command("approve", outlook(stage)["proposal"])
        return True
    return False


def everywhere(stage: Stage) -> dict[str, dict[tuple[str, int], frozenset[int]]]:
    return {name: stage.workers(name) for name in TOPOLOGIES}


def hosts(stage: Stage) -> set[str]:
    return {host for workers in everywhere(stage).values() for host, _ in workers}


def test_it_proposes_waits_acts_and_leaves_a_drained_node(stage: Stage, tmp_path: Path) -> None:
    # By a plan that another test has left Nimbus would pack them at once: nothing to propose.
    with nodes_at(stage.cluster.zookeeper_address, stage.cluster.auth_file) as nodes:
        delete_blob(nodes.client, nodes.path("plan"))
    stage.rebalance()
    before = everywhere(stage)
    with operating(stage, tmp_path, mode="approve"):
        wait_until(lambda: outlook(stage)["proposal"], 120, "something is proposed")
        wait_until(lambda: profiles(stage) == set(TOPOLOGIES), 120, "both are measured")
        assert everywhere(stage) == before
        shown = stage.command("plan")
        assert "not now: waits for approval" in shown
        assert max(map(len, shown.splitlines())) <= 100
        wait_until(lambda: approved(stage), 60, "what is proposed stays the same for a moment")
        wait_until(lambda: outlook(stage)["proposal"] is None, 60, "it is done")
        stage.wait_whole()
        assert everywhere(stage) != before
        for name in TOPOLOGIES:
            stage.wait_acks(name)

        stage.command("pause")
        drained = min(hosts(stage))
        stage.command("drain", drained)
        wait_until(lambda: outlook(stage)["withheld"], 60, "a node is to be drained")
        assert outlook(stage)["withheld"][0]["waits_for"] == "paused"
    with operating(stage, tmp_path, mode="automatic", policy={"cool_down": 1}):
        assert drained in hosts(stage)
        stage.command("resume")
        wait_until(lambda: drained not in hosts(stage), 90, "the drained node is left")
        stage.wait_whole()
        stage.command("undrain", drained)
        for name in TOPOLOGIES:
            stage.wait_acks(name)


def hosts_of(stage: Stage, name: str) -> set[str]:
    return {host for host, _ in stage.workers(name)}


def test_a_topology_has_its_nodes_for_itself(stage: Stage, tmp_path: Path) -> None:
    first, second = TOPOLOGIES
    rules = [{"match": first, "alone": True, "most_nodes": 1}]
    changes = {"mode": "automatic", "policy": {"cool_down": 1}, "topologies": rules}
    stage.rebalance()
    with operating(stage, tmp_path, **changes):
        wait_until(lambda: profiles(stage) == set(TOPOLOGIES), 120, "both are measured")
        wait_until(
            lambda: (
                len(hosts_of(stage, first)) == 1
                and not hosts_of(stage, first) & hosts_of(stage, second)
            ),
            120,
            "one topology has a node for itself",
        )
        stage.wait_whole()
        for name in TOPOLOGIES:
            stage.wait_acks(name)


def test_it_outlives_its_spark_and_tells_how_it_is(stage: Stage, tmp_path: Path) -> None:
    with operating(stage, tmp_path, http={"port": 0}) as process:
        read_until(process, "Spark reads")
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        read_until(process, "nothing is measured now")
        read_until(process, "Spark reads")
        # What the mode allows is nothing.
        before = everywhere(stage)
        wait_until(lambda: profiles(stage) == set(TOPOLOGIES), 120, "both are measured")
        wait_until(lambda: outlook(stage)["mode"] == "advise", 60, "Nimbus has asked")
        assert everywhere(stage) == before
        shown = stage.command("status")
        assert "mode advise" in shown
        assert max(map(len, shown.splitlines())) <= 100
    assert process.returncode == 0
