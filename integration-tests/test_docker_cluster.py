"""The loop in containers with limited nodes: plan, measure, lose a node, take stormcut out.

The tests run in the order in which they stand here: the last one removes the plugin.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from stage import DockerStage

from stormcut import __version__
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.bench.counters import read_counters
from stormcut.lab.experiment.bench.counters import usage
from stormcut.model.problem import CORE_PERCENT
from stormcut.running.declared import LINK_KEY

pytestmark = pytest.mark.docker

TOPOLOGY = "alpha"
#: Of the hook, after which what workers say of their machines is compared with the kernel.
INTERVALS = 14


def test_the_kernel_has_the_limits(docker_stage: DockerStage) -> None:
    status = docker_stage.cluster.status()
    assert status.refused == {}
    for container in status.containers:
        now = container.effective
        assert now is not None
        if container.name.startswith("node-"):
            assert (now.cpus, now.period_us, now.memory_mb) == (0.5, 100_000, 768)
            assert (now.rate_out, now.rate_in) == ("20Mbit", "10Mbit")
        else:
            assert (now.cpus, now.memory_mb) == (None, None)
            assert (now.rate_out, now.rate_in) == (None, None)


def test_the_status_command_tells_the_same(docker_stage: DockerStage) -> None:
    name = docker_stage.cluster.name
    document = json.loads(docker_stage.command("docker", "status", "--name", name, "--json"))
    assert document["refused"] == {}
    assert [each["state"] for each in document["containers"]] == ["running"] * 5
    table = docker_stage.command("docker", "status", "--name", name)
    assert (table.count("20Mbit"), table.count("10Mbit")) == (3, 3)
    assert "not limited" not in table


def test_placements_come_from_the_brain(docker_stage: DockerStage) -> None:
    stage = docker_stage
    mark = stage.log_mark()
    stage.cluster.lift()
    with stage.brain():
        stage.rebalance()
        stage.wait_log(mark, "by cut applied", TOPOLOGY)
        history = json.loads(stage.command("history", "--json"))
        stage.wait_acks(TOPOLOGY)
    stage.cluster.limit()
    planned = [line for entry in history for line in entry["topologies"]]
    assert any(line["topology"].startswith(f"{TOPOLOGY}-") for line in planned)


def test_traffic_is_measured(docker_stage: DockerStage, tmp_path: Path) -> None:
    stage = docker_stage
    topology = stage.nimbus.topology(TOPOLOGY)
    begin, enough = time.time(), lines(stage) + 4 * len(topology.executors)
    wait_until(lambda: lines(stage) > enough, 120, "every task has written some lines", poll_s=1)
    folders = stage.cluster.log_folders
    result = profile_logs(folders, tmp_path, topology=topology.id, from_epoch=begin)
    measured = result.measured[topology.id]
    assert measured.missing_executors == ()
    assert measured.emitted_per_s > 0
    assert len(result.profiles[topology.id].traffic) > 0
    assert measured.nodes_used == len({executor.host for executor in topology.executors})


def test_what_machines_are_said_to_use_is_what_the_kernel_counts(
    docker_stage: DockerStage, tmp_path: Path
) -> None:
    """Of all nodes with a worker: CPU of everything that runs there, and both ways of links."""
    stage, plan = docker_stage, docker_stage.cluster.plan
    topology = stage.nimbus.topology(TOPOLOGY)
    names = [plan.container_name(node) for node in plan.nodes]
    before, enough = read_counters(names), lines(stage) + INTERVALS * len(topology.executors)
    wait_until(lambda: lines(stage) > enough, 240, "every task has written many lines", poll_s=1)
    used = usage(before, read_counters(names))
    result = profile_logs(
        stage.cluster.log_folders, tmp_path, topology=topology.id, from_epoch=before.taken_at
    )
    told = {worker.host: worker for worker in result.profiles[topology.id].workers}
    shared = [at for at, node in enumerate(plan.nodes) if node.address in told]
    assert shared
    workers = [told[plan.nodes[at].address] for at in shared]
    said = [
        sum(worker.machine_percent for worker in workers) / CORE_PERCENT,
        sum(worker.in_mbit for worker in workers),
        sum(worker.out_mbit for worker in workers),
    ]
    counted = [
        sum(values[at] for at in shared)
        for values in (used.node_cores, used.node_received_mbit_s, used.node_sent_mbit_s)
    ]
    assert said == pytest.approx(counted, rel=0.05)


def lines(stage: DockerStage) -> int:
    """Return how many lines of the hook there are on the host."""
    logs = [log for each in stage.cluster.log_folders for log in each.rglob("worker.log.metrics")]
    return sum(log.read_text().count("\tstormcut ") for log in logs)


def test_a_node_that_returns_has_its_limits(docker_stage: DockerStage) -> None:
    """The node's limits hold again, and the topology acks with workers that have started since."""
    stage = docker_stage
    used = {host for host, _ in stage.workers(TOPOLOGY)}
    nodes = enumerate(stage.cluster.plan.nodes, start=1)
    victim = next(number for number, node in nodes if node.address in used)
    before = uptimes(stage)
    stage.cluster.kill_node(victim)
    killed = stage.cluster.status().containers[1 + victim]
    assert (killed.state, killed.effective) == ("exited", None)
    stage.cluster.start_node(victim)
    returned = stage.cluster.status().containers[1 + victim].effective
    assert returned is not None
    assert returned.cpus == 0.5
    assert (returned.rate_out, returned.rate_in) == ("20Mbit", "10Mbit")

    def has_restarted() -> bool:
        return any(0 < uptime < before[task] for task, uptime in uptimes(stage).items())

    stage.cluster.lift()
    wait_until(has_restarted, stage.patience_s, "what ran on the node runs again")
    stage.wait_acks(TOPOLOGY)
    stage.cluster.limit()


def uptimes(stage: DockerStage) -> dict[int, int]:
    """Return each executor's uptime by its first task, as of its last heartbeat."""
    return {e.start_task: e.uptime_s for e in stage.nimbus.topology(TOPOLOGY).executors}


@pytest.mark.full
def test_a_node_is_killed_and_returns(docker_stage: DockerStage) -> None:
    stage = docker_stage
    nodes = stage.cluster.plan.nodes
    with stage.brain():
        used = {host for host, _ in stage.workers(TOPOLOGY)}
        victim = next(i for i, node in enumerate(nodes, start=1) if node.address in used)
        address = nodes[victim - 1].address
        stage.cluster.lift()
        stage.cluster.kill_node(victim)

        def moved() -> bool:
            now = {host for host, _ in stage.workers(TOPOLOGY)}
            return address not in now and stage.is_whole(TOPOLOGY)

        wait_until(moved, stage.patience_s, "everything runs on the other nodes")
        killed = stage.cluster.status().containers[1 + victim]
        assert (killed.state, killed.effective) == ("exited", None)
        stage.cluster.start_node(victim)
    stage.wait_acks(TOPOLOGY)
    stage.cluster.limit()
    returned = stage.cluster.status().containers[1 + victim].effective
    assert returned is not None
    assert returned.cpus == 0.5
    assert (returned.rate_out, returned.rate_in) == ("20Mbit", "10Mbit")


def test_a_topology_with_redis_is_drained_and_checked(docker_stage: DockerStage) -> None:
    stage, name = docker_stage, docker_stage.cluster.name
    run = ("topologies", "run", "load_prediction", "--docker", name, "--json", "--minutes", "0.3")
    outcome = json.loads(stage.command(*run, "--option", "scale=0.1"))
    assert outcome["whole"]
    assert outcome["totals"]["sent"] > 0
    assert outcome["answer"].startswith("equals Spark's")
    assert [each.name for each in stage.nimbus.cluster().topologies] == [TOPOLOGY]
    nodes = [each.effective for each in stage.cluster.status().containers[2:]]
    assert [each and each.cpus for each in nodes] == [0.5] * 3


def test_the_plugin_is_removed_without_a_trace(docker_stage: DockerStage) -> None:
    stage, name = docker_stage, docker_stage.cluster.name
    before = stage.workers(TOPOLOGY)
    stage.command("docker", "plugin", "remove", "--name", name)
    wait_until(lambda: stage.is_whole(TOPOLOGY), 60, "the topology is known to Nimbus again")
    assert stage.workers(TOPOLOGY) == before, "a topology moved for the removal"
    homes = stage.cluster.storm_homes.values()
    assert traces(homes) == {f"stormcut-hook-{__version__}.jar"}, (
        "its topology still needs the hook"
    )

    stage.nimbus.kill_topology(TOPOLOGY)
    wait_until(lambda: not stage.nimbus.cluster().topologies, 60, f"{TOPOLOGY} is gone")
    mark = stage.log_mark()
    stage.command("docker", "plugin", "remove", "--name", name)
    assert traces(homes) == set()

    started = stage.log_text(mark)
    assert "Using default scheduler" in started
    assert "io.stormcut" not in started

    cluster = stage.cluster
    with connected(cluster.zookeeper_address, read_auth_file(cluster.auth_file)) as client:
        client.delete("/stormcut", recursive=True)
        assert "stormcut" not in client.get_children("/")
    stage.submit(TOPOLOGY)
    stage.wait_whole()
    stage.wait_acks(TOPOLOGY)
    assert traces(homes) == set()
    assert not [path for home in homes for path in home.rglob("stormcut-*")]


def traces(storm_homes: Iterable[Path]) -> set[str]:
    """Return what of the plugin is in Storm homes: names of jars, lines of storm.yaml."""
    jars = {jar.name for home in storm_homes for jar in home.glob("extlib*/*")}
    lines = {
        line
        for home in storm_homes
        for line in (home / "conf" / "storm.yaml").read_text().splitlines()
        # What the cluster states of a node's link is not the plugin's.
        if "stormcut" in line and "/opt/stormcut/" not in line and LINK_KEY not in line
    }
    return jars | lines
