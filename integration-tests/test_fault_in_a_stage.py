"""Faults that strike between two stages of a move: it ends as it was meant to, at no other cost.

Two workers leave a node that is drained, one in each stage. Whatever strikes between them, all
other workers stay the processes that they were.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

import pytest
from benchmarks.cluster.fault_ground import (
    Fault,
    Ground,
    embedded,
    faults_in_logs,
    is_there,
    recovered,
)
from benchmarks.cluster.fault_list import (
    COMPILER,
    ROOT,
    clock_set,
    comes_back,
    controllers_start,
    daemon,
    emptied,
    full,
    goes_on,
    killed,
    leader,
    stopped,
)

from stormcut.application.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.full, pytest.mark.timeout(1200)]

CONFIG = {
    "policy": {"cool_down": 1, "workers_at_a_time": 1},
    # All in one worker would be one stage.
    "topologies": [{"match": "*", "workers": "keep"}],
}
#: One for each executor: each node has two, or one.
WORKERS = 5

FAULTS = (
    Fault("the leading controller killed", killed(leader), controllers_start, 5),
    Fault("the leading controller stopped for 40 s", stopped(leader), goes_on, 40),
    Fault("ZooKeeper stopped for 60 s", stopped(daemon("zookeeper")), comes_back("zookeeper"), 60),
    Fault("Nimbus stopped for 80 s", stopped(daemon("nimbus")), comes_back("nimbus"), 80),
    Fault("the spool's disk full for 30 s", full("spool"), emptied("spool"), 30, needs=ROOT),
    Fault("clocks 1 h ahead for 30 s", clock_set(3600), clock_set(0), 30, needs=COMPILER),
    Fault("clocks 10 min behind for 30 s", clock_set(-600), clock_set(0), 30, needs=COMPILER),
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two controllers that may start one worker at a time, and a topology of five workers.

    Nimbus itself gives no worker up while ZooKeeper is away.
    """
    folder = tmp_path_factory.mktemp("stages")
    name, config = f"tests-stages-{os.getpid()}", lambda _: CONFIG
    storm = {"nimbus.task.timeout.secs": 150, "nimbus.supervisor.timeout.secs": 150}
    with embedded(
        name, folder, topologies=1, workers=WORKERS, config=config, storm=storm
    ) as ground:
        yield ground


def ports_by_host(ground: Ground) -> dict[str, set[int]]:
    (name,) = ground.topologies
    found: dict[str, set[int]] = {}
    for host, port in ground.nimbus.topology(name).workers:
        found.setdefault(host, set()).add(port)
    return found


def left(ground: Ground, host: str) -> int:
    return len(ports_by_host(ground).get(host, ()))


@pytest.mark.parametrize("fault", [pytest.param(each, id=each.name) for each in FAULTS])
def test_the_move_ends_and_no_other_worker_does(ground: Ground, fault: Fault) -> None:
    if not is_there(fault.needs):
        pytest.skip(f"needs {fault.needs}")
    crowded = max(ports_by_host(ground).items(), key=lambda each: len(each[1]))[0]
    leaving = ports_by_host(ground)[crowded]
    assert len(leaving) > 1
    others = {pid for pid, port in ground.workers().items() if port not in leaving}
    since = time.time()
    ground.command("drain", crowded)
    try:
        wait_until(
            lambda: 0 < left(ground, crowded) < len(leaving),
            120,
            "a stage is made, one is left",
        )
        fault.strike(ground)
        try:
            time.sleep(fault.seconds or 0)
        finally:
            fault.undo(ground)
        wait_until(lambda: is_answered(ground, crowded), 300, "the node is drained")
        acked = ground.acked()
        recovery = recovered(ground, acked, time.time(), fault.bound_s)
        assert not recovery.wrong, recovery.wrong
        assert others <= set(ground.workers()), "a worker that was to stay has ended"
        assert not ground.books().lost
        assert json.loads(ground.command("status", "--json"))["moving"] == []
        assert not faults_in_logs(ground)
    finally:
        ground.command("undrain", crowded)
    print(f"{fault.name}: drained {time.time() - since:.0f} s after it was asked for")


def is_answered(ground: Ground, host: str) -> bool:
    try:
        return left(ground, host) == 0
    except Exception:  # Nimbus is still away
        return False
