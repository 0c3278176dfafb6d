"""Where fewer workers than a topology asks for would do, what that saves, and what it risks."""

from dataclasses import replace

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology

from stormcut.application.fewer_workers import find_fewer_workers
from stormcut.model.cluster import ClusterState, Slot

NODES = supervisors(4, slots=2, cpu=400.0)
RUNNING = replace(
    dealt(topology("t", (4, 4), workers=4, acker=False), [Slot(f"n{n}", 6700) for n in range(4)]),
    workers_policy=None,
)


def found(cpu=5.0, rate=50.0, running=RUNNING):
    profile = profile_of(running, cpu, lambda source, target: rate)
    return list(find_fewer_workers(ClusterState(NODES, (running,)), {"t": profile}))


def test_one_worker_carries_what_four_do_and_saves_their_cpu():
    (one,) = found()
    assert (one.topology, one.now, one.then) == ("t", 4, 1)
    assert one.saved_percent > 3 * 7.5  # three idle workers, and what they send each other
    assert one.of_node == pytest.approx(one.saved_percent / 400.0)
    assert (one.stops_now, one.stops_then) == (0.25, 1.0)
    assert "1 worker would carry it instead of 4" in str(one)
    assert "100% of its executors instead of 25%" in str(one)


def test_what_fills_its_nodes_keeps_its_workers():
    """Eight executors of 95 points fill two nodes of 400: one cannot hold them."""
    assert all(each.then > 1 for each in found(cpu=95.0))


def test_what_was_not_measured_or_has_one_worker_is_left_out():
    assert not list(find_fewer_workers(ClusterState(NODES, (RUNNING,)), {}))
    alone = dealt(topology("t", (4, 4), workers=1, acker=False), [Slot("n0", 6700)])
    assert not found(running=alone)
