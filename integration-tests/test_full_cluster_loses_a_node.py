"""A node of a cluster without a free slot dies: never worse than under Storm alone.

The topologies are pinned, it is quiet all day, and no more than one worker may restart in an hour.
One plan once ended all workers that lived and put everything on the dead node: nothing was acked
for over a minute, where Storm alone took ten seconds.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from benchmarks.cluster.fault_ground import (
    CONFIG,
    SUPERVISORS,
    Ground,
    Silence,
    embedded,
    faults_in_logs,
)
from benchmarks.cluster.fault_list import node_lost, node_returns

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster

pytestmark = [pytest.mark.cluster, pytest.mark.full, pytest.mark.timeout(1200)]

POLICY = {
    "policy": {
        "cool_down": 3600,
        "restarts_per_round": 1,
        "restarts_per_hour": 1,
        "quiet_hours": ["00:00-24:00"],
    },
    "topologies": [{"match": "*", "pin": True}],
}
SLOTS, WORKERS = 2, 3
#: `nimbus.task.launch.secs` here.
GRACE_S = 60.0
#: What two runs of the same differ by.
NOISE_S = 15.0


def silence(ground: Ground) -> float:
    """Kill a node, and return the seconds without acks of a topology.

    Nimbus is more patient with what has just started: it is the same in both clusters.
    """
    wait_until(
        lambda: min(each.uptime_s for each in ground.nimbus.cluster().topologies) > GRACE_S,
        2 * GRACE_S,
        "the topologies have run for long enough",
    )
    with Silence(ground) as measured:
        node_lost(ground)
        wait_until(
            lambda: len(ground.nimbus.cluster().supervisors) < SUPERVISORS,
            120,
            "the node is given up",
        )
        acked = ground.acked()
        wait_until(lambda: not list(ground.wrong_in_storm(acked)), 240, "all is acked again")
    node_returns(ground)
    return measured.longest_s


def alone(folder: Path) -> float:
    """Return the same under Storm alone."""
    name = f"tests-full-stock-{os.getpid()}"
    with LocalCluster.up(name, SUPERVISORS, SLOTS, plugin=False, config=CONFIG) as cluster:
        ground = Ground(cluster, folder, controllers=0, topologies=2, workers=WORKERS)
        for each in ground.topologies:
            ground.submit(each)
        acked = ground.acked()
        wait_until(lambda: not list(ground.wrong_in_storm(acked)), 240, "all is acked")
        return silence(ground)


def test_it_is_no_worse_than_under_storm_alone(tmp_path: Path) -> None:
    stock_s = alone(tmp_path / "stock")
    with embedded(
        f"tests-full-{os.getpid()}",
        tmp_path / "ours",
        whole=False,
        config=lambda _: POLICY,
        workers=WORKERS,
        slots=SLOTS,
    ) as ground:
        ours_s = silence(ground)
        status = json.loads(ground.command("status", "--json"))
        assert not ground.books().lost
        assert not faults_in_logs(ground)
    print(f"{ours_s:.0f} s without acks, {stock_s:.0f} s alone")
    assert ours_s < stock_s + NOISE_S, f"{ours_s:.0f} s without acks, {stock_s:.0f} s alone"
    assert len(status["topologies"]) == len(ground.topologies)
