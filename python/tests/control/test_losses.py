"""Which nodes have just lost a topology's workers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from brain_clusters import dealt, supervisors, topology

from stormcut.control.observe.hearing import EMPTIED_SECONDS
from stormcut.control.observe.losses import Losses
from stormcut.model.cluster import ClusterState, Slot

WHOLE = dealt(topology("t", (2, 2)), [Slot("n0", 6700), Slot("n1", 6700)])
LEFT = replace(WHOLE, assignment=tuple(w for w in WHOLE.assignment if w.slot.node == "n0"))


def cluster(*topologies):
    return ClusterState(supervisors(3), topologies)


def lost():
    before = Losses().observe(cluster(WHOLE), 0.0)
    assert before.nodes() == {}
    return before.observe(cluster(LEFT), 10.0)


def test_a_node_has_lost_a_topology_for_a_while():
    losses = lost()
    assert losses.nodes() == {"t": {"n1"}}
    assert losses.ends_in(15.0) == EMPTIED_SECONDS - 5.0
    assert losses.observe(cluster(LEFT), 9.0 + EMPTIED_SECONDS).nodes() == {"t": {"n1"}}
    assert losses.observe(cluster(LEFT), 10.0 + EMPTIED_SECONDS).nodes() == {}


@pytest.mark.parametrize("after", [cluster(WHOLE), cluster()], ids=["runs there again", "killed"])
def test_it_has_not_once_it_runs_there_again_or_is_gone(after):
    assert lost().observe(after, 20.0).nodes() == {}


def test_what_was_ended_or_rebalanced_is_not_lost():
    before = Losses().observe(cluster(WHOLE), 0.0)
    ended = replace(WHOLE, assignment=())
    moved = dealt(topology("t", (2, 2)), [Slot("n0", 6700), Slot("n2", 6700)])
    for after in (ended, moved):
        assert before.observe(cluster(after), 10.0).nodes() == {}
