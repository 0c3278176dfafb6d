"""What-if answers for the cluster that runs; a plan is previewed, applied and undone on it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from stage import TOPOLOGIES, Stage

from stormcut.adapters.files.problem_file import read_problem
from stormcut.adapters.files.profile_file import write_profile
from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.leader import leaders_client
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.model.cluster import ClusterState, RunningTopology
from stormcut.model.errors import InvalidInput
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic
from stormcut.placement.packing.thesis import ThesisOptions

pytestmark = pytest.mark.cluster

NAME = TOPOLOGIES[0]
#: More than two supervisors of 400 points hold at the brain's share of 80 %; three have room to
#: spare, wherever the other topology runs.
CPU_IN_ALL = 700.0


@pytest.fixture
def client(stage: Stage) -> Iterator[BrainClient]:
    """A client of the brain, which Nimbus has asked."""
    credentials = read_auth_file(stage.cluster.auth_file)
    with stage.brain(), connected(stage.cluster.zookeeper_address, credentials) as zookeeper:
        client = leaders_client(StormcutNodes(zookeeper), 60.0)
        assert client is not None
        described_since(client, 0.0)
        yield client


def described_since(client: BrainClient, moment: float) -> ClusterState:
    """Return a state that Nimbus described after a moment."""

    def state() -> ClusterState | None:
        try:
            described = client.described()
        except InvalidInput:
            return None
        return described.state if described.moment_ms > moment * 1000 else None

    return wait_until(state, 60, "Nimbus describes the cluster to the brain")


def running(client: BrainClient) -> RunningTopology:
    return next(t for t in client.described().state.topologies if t.name == NAME)


def heavy(topology: RunningTopology) -> Profile:
    """A measurement by which the topology needs all three nodes."""
    share = CPU_IN_ALL / len(topology.executors)
    tasks: dict[str, list[int]] = {}
    for executor in topology.executors:
        tasks.setdefault(executor.component, []).append(executor.start_task)
    return Profile(
        topology.id,
        100,
        160,
        tuple(
            ExecutorLoad(e.component, e.start_task, e.end_task, share, None)
            for e in topology.executors
        ),
        tuple(
            TaskTraffic(source, target, float(1 + source * target % 7), 40.0 + source)
            for stream in topology.streams
            for source in tasks[stream.source]
            for target in tasks[stream.target]
        ),
    )


def planned_workers(
    topology: RunningTopology, assignments: Mapping[str, list[str]]
) -> dict[tuple[str, int], frozenset[int]]:
    """Return a placement file's slots with the first tasks of their executors."""
    found: dict[tuple[str, int], set[int]] = {}
    for component, slots in assignments.items():
        tasks = sorted(e.start_task for e in topology.executors if e.component == component)
        for task, slot in zip(tasks, slots, strict=True):
            host, _, port = slot.rpartition(":")
            found.setdefault((host, int(port)), set()).add(task)
    return {slot: frozenset(tasks) for slot, tasks in found.items()}


def moved(
    stage: Stage, done: Callable[[dict[tuple[str, int], frozenset[int]]], bool], what: str
) -> None:
    """Wait until where the topology runs is as it should be; tell where it runs if it never is."""
    try:
        wait_until(lambda: done(stage.workers(NAME)), 60, what)
    except TimedOut as error:
        raise AssertionError(f"{error}: {stage.workers(NAME)}") from error
    stage.wait_whole()


def test_what_if_is_what_follows_and_undo_brings_it_back_for_good(
    stage: Stage, client: BrainClient, tmp_path: Path
) -> None:
    topology, before = running(client), stage.workers(NAME)
    assert (topology.workers, topology.workers_policy) == (2, "pack")
    profile, problem, placement, now = (
        tmp_path / f"{name}.json" for name in ("profile", "problem", "placement", "now")
    )
    write_profile(profile, heavy(topology))
    imported = ("import", "cluster", "--topology", NAME, "--profile", str(profile))
    stage.command(*imported, "--output", str(problem), "--current", str(now))
    assert {node.id for node in read_problem(problem).nodes} == set(stage.cluster.supervisor_hosts)
    assert planned_workers(topology, assigned(now, topology.id)) == before

    # What the brain asks for first.
    asked = ("--option", f"cpu_share={ThesisOptions.cpu_share}")
    stage.command("place", str(problem), *asked, "--output", str(placement))
    assert "feasible" in stage.command("check", str(problem), str(placement))
    score = json.loads(stage.command("score", str(problem), str(placement), "--json"))
    told = {key: score.pop(key) for key in ("headroom", "throughput", "latency_ms")}
    assert told["headroom"]["value"] > 0 and told["throughput"]["acked"] > 0
    assert told["latency_ms"][topology.id]["p50"] > 0
    assert "__acker[0]" in stage.command("explain", str(problem), str(placement), "__acker[0]")
    assert planned_workers(topology, assigned(placement, topology.id)) != before

    published = json.loads(stage.command("publish", str(profile), "--yes", "--json"))
    assert published["done"]
    (line,) = [t for t in published["preview"]["topologies"] if t["topology"] == topology.id]
    assert line["after"].items() >= score.items()
    assert line["after"]["inter_node_bytes_per_second"] > 0
    assert line["workers_asked"] == 2 and line["after"]["nodes_used"] == 3
    moved(stage, lambda workers: workers not in ({}, before), "Nimbus has placed it again")
    # Among equal nodes the brain, asked for all topologies, may choose others than `place`.
    stage.command(*imported, "--output", str(problem), "--current", str(now))
    runs = json.loads(stage.command("score", str(problem), str(now), "--json"))
    del score["workers_restarted"]  # from there on there is nothing to restart
    assert runs.items() >= score.items()

    assert topology.id in completed(stage, "undo")
    assert completed(stage, "drain") == set(stage.cluster.supervisor_hosts)

    # Else the preview may be of the cluster before the move.
    described_since(client, time.time())
    shown = stage.command("undo", NAME, "--yes")
    assert "undone: back to where it ran before" in " ".join(shown.split())
    moved(stage, lambda workers: workers == before, "Nimbus has undone it")
    for _ in range(2):  # Nimbus asks again and again, and the answer stays
        described_since(client, time.time())
        assert stage.workers(NAME) == before
    stage.command("publish", "--withdraw", topology.id, "--yes")
    stage.wait_acks(NAME)


def completed(stage: Stage, command: str) -> set[str]:
    """Return what a shell completes after a command."""
    shell = {
        "_STORMCUT_COMPLETE": "bash_complete",
        "COMP_WORDS": f"stormcut {command} ",
        "COMP_CWORD": "2",
    }
    program = str(Path(sys.executable).with_name("stormcut"))
    environment = stage.environment | shell
    done = subprocess.run([program], capture_output=True, text=True, env=environment, check=True)
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


def assigned(placement: Path, topology: str) -> Any:
    return json.loads(placement.read_text())["assignments"][topology]


def test_topologies_are_imported_from_nimbus_blobs_and_from_supervisors(
    stage: Stage, tmp_path: Path
) -> None:
    supervisors, problem = tmp_path / "supervisors.json", tmp_path / "problem.json"
    rack = {"rack": "r", "count": 3, "cpu_pcore_percent": 400, "memory_mb": 4096, "slots": 3}
    supervisors.write_text(json.dumps({"supervisors": [rack]}))
    hosts = stage.cluster.supervisor_hosts
    used = {hosts.index(host) for host, _ in stage.workers(NAME)}
    for folder in ("nimbus", f"supervisor-{min(used)}", "."):
        local = stage.cluster.folder / folder
        table = ("--supervisors", str(supervisors))
        stage.command("import", "storm", str(local), *table, "--output", str(problem))
        assert NAME in {topology.id for topology in read_problem(problem).topologies}
