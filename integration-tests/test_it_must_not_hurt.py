"""Whatever the brain does or does not do, topologies stay fully assigned and Nimbus alive.

Every test also proves that the log says what happened; the fixture `nimbus_survives` checks the
rest after each.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from conftest_zookeeper import is_deleted
from stage import TOPOLOGIES, Stage, read_until

from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.application.waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def nimbus_survives(stage: Stage) -> Iterator[None]:
    """Whatever a test does: Nimbus is the same process, and all topologies are whole."""
    pid = next(d.pid for d in stage.cluster.status().daemons if d.name == "nimbus")
    yield
    (nimbus,) = [d for d in stage.cluster.status().daemons if d.name == "nimbus"]
    assert nimbus.up and nimbus.pid == pid
    stage.wait_whole()


def test_no_brain_at_all(stage: Stage) -> None:
    mark = stage.log_mark()
    stage.rebalance()
    stage.wait_log(mark, "no brain leads")


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("hang", ("did not answer within",)),
        ("garbage", ("brain at",)),
        pytest.param("huge", ("brain at",), marks=pytest.mark.full),
        ("other-state", ("another state",)),
        pytest.param("unknown-slots", ("no-such-supervisor",), marks=pytest.mark.full),
        ("shared-slot", ("is planned for",)),
        ("half", ("is refused", "executor")),
    ],
)
def test_a_brain_that_misbehaves(stage: Stage, mode: str, words: tuple[str, ...]) -> None:
    before = {name: stage.workers(name) for name in TOPOLOGIES}
    mark = stage.log_mark()
    with stage.liar(mode) as liar:
        read_until(liar, "asked")
        stage.wait_log(mark, *words)
        after = {name: stage.workers(name) for name in TOPOLOGIES}
        if mode != "shared-slot":  # there, one of the two topologies may well have the slot
            assert after == before, "a running topology moved for a lie"
        stage.rebalance()
    slots = [slot for name in TOPOLOGIES for slot in stage.workers(name)]
    assert len(slots) == len(set(slots)), "two topologies in one slot"


def test_brain_killed_during_a_plan(stage: Stage) -> None:
    with stage.liar("hang") as brain:
        read_until(brain, "asked")
        mark = stage.log_mark()
        brain.send_signal(signal.SIGKILL)
        stage.rebalance()
        stage.wait_log(mark, "brain")


def test_real_brain_places_and_its_nodes_are_deleted(stage: Stage) -> None:
    mark = stage.log_mark()
    with stage.brain():
        stage.rebalance()
        stage.wait_log(mark, "by cut applied")
        placed = {name: stage.workers(name) for name in TOPOLOGIES}
        credentials = read_auth_file(stage.cluster.auth_file)
        with connected(stage.cluster.zookeeper_address, credentials) as client:
            wait_until(lambda: is_deleted(StormcutNodes(client)), 30, "all nodes are deleted")
            # What it logs depends on what it was doing: that its nodes are gone, or an error.
            wait_until(
                lambda: client.exists(StormcutNodes(client).path("leader")),
                30,
                "the brain publishes its address again",
            )
        assert {name: stage.workers(name) for name in TOPOLOGIES} == placed


def test_supervisor_killed_and_returned(stage: Stage) -> None:
    with stage.brain():
        stage.rebalance()
        used = {host for name in TOPOLOGIES for host, _ in stage.workers(name)}
        hosts = stage.cluster.supervisor_hosts
        victim = next(index for index, host in enumerate(hosts) if host in used)
        mark = stage.log_mark()
        stage.cluster.kill_supervisor(victim)

        def moved() -> bool:
            now = {host for name in TOPOLOGIES for host, _ in stage.workers(name)}
            return hosts[victim] not in now and all(map(stage.is_whole, TOPOLOGIES))

        wait_until(moved, 150, "everything runs on the other supervisors")
        stage.wait_log(mark, "plan")
        stage.cluster.start_supervisor(victim)
    for name in TOPOLOGIES:
        stage.wait_acks(name)


def test_a_supervisor_that_is_away_costs_nothing(stage: Stage) -> None:
    """As with Storm alone: its workers live, and so do those of packed topologies elsewhere."""
    mark = stage.log_mark()
    before, old = slots(stage), stage.worker_processes()
    with stage.brain():
        stage.rebalance()
        stage.wait_log(mark, "by cut applied")
        placed = {name: stage.workers(name) for name in TOPOLOGIES}
        now = slots(stage)
        changed = sum(before.get(slot) != tasks for slot, tasks in now.items())

        def settled() -> bool:
            processes = stage.worker_processes()
            return len(processes) == len(now) and len(processes - old) >= changed

        # Until its supervisor sees the new assignment a worker of the old one lives, and acks.
        wait_until(settled, stage.patience_s, "the workers of the new assignment run, no others")
        for name in TOPOLOGIES:
            stage.wait_acks(name)
        hosts = stage.cluster.supervisor_hosts
        used = {host for workers in placed.values() for host, _ in workers}
        victim = next(index for index, host in enumerate(hosts) if host in used)
        running = stage.worker_processes()
        stage.cluster.kill_supervisor(victim, workers=False)
        wait_until(lambda: offered(stage) == len(hosts) - 1, 120, "Nimbus misses the supervisor")
    # Without a brain, too, and over some rounds of Nimbus.
    rounds = stage.log_mark()
    stage.wait_log(rounds, "no brain leads")
    assert {name: stage.workers(name) for name in TOPOLOGIES} == placed
    stage.cluster.start_supervisor(victim)
    wait_until(lambda: offered(stage) == len(hosts), 120, "Nimbus has the supervisor again")
    assert {name: stage.workers(name) for name in TOPOLOGIES} == placed
    assert stage.worker_processes() == running
    for name in TOPOLOGIES:
        stage.wait_acks(name)


def slots(stage: Stage) -> dict[tuple[str, int], frozenset[int]]:
    """Return the first tasks of the executors in each slot of all topologies."""
    return {slot: tasks for name in TOPOLOGIES for slot, tasks in stage.workers(name).items()}


def offered(stage: Stage) -> int:
    return len(stage.nimbus.cluster().supervisors)
