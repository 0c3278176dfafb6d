"""What a topology's author declares of its operators stays beside what is measured."""

from dataclasses import replace

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology

from stormcut.model.cluster import ClusterState, Slot
from stormcut.placement.algorithms.bframework.partitioner import HEAVY, LIGHT, UNKNOWN
from stormcut.placement.algorithms.bframework.place import Options, labelled
from stormcut.placement.algorithms.bframework.query import queries
from stormcut.running.situation import running_problem

SOURCE = '{"kind": "source", "rate": 100, "schema": {"text": 1000}}'
DECLARED = (
    ("c0", SOURCE),
    ("c1", '{"kind": "filter", "selectivity": 0.01, "schema": {"text": 1000}}'),
    ("c2", '{"kind": "map", "schema": {"word": 10}}'),
    ("c3", '{"kind": "end", "schema": {"word": 10}}'),
)


def running(operators=(), sizes=(2, 2, 2, 2)):
    plain = dealt(topology("t", sizes, acker=False), [Slot("n0", 6700), Slot("n1", 6700)])
    return replace(plain, operators=operators)


def labels(its, profile=None):
    """Return the partitions of a topology's operators as declared and as measured."""
    state = ClusterState(supervisors(2), (its,))
    (query,) = queries(running_problem(state, {} if profile is None else {"t": profile}))
    return tuple(
        labelled(query, volumes, Options()).labels.tolist()
        for volumes in (query.declared, query.measured)
    )


def sized(its, size_of):
    profile = profile_of(its)
    traffic = tuple(replace(t, bytes_per_tuple=size_of(t.source_task)) for t in profile.traffic)
    return replace(profile, traffic=traffic)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 12, 2)])
def test_an_unmeasured_topology_without_a_word_is_unknown_throughout(sizes):
    """Each executor was taken to send a tuple per second, so that wide components were heavy."""
    before, after = labels(running(sizes=sizes))
    assert set(before) == set(after) == {UNKNOWN}


def test_what_was_measured_says_nothing_of_what_was_declared():
    """Declared streams were overwritten: partitions before and after were the same, always."""
    its = running(DECLARED)
    light_first, heavy_first = (
        labels(its, sized(its, lambda task, at=at: 10_000.0 if (task <= 2) == at else 10.0))
        for at in (False, True)
    )
    assert light_first[0] == heavy_first[0] == [HEAVY, LIGHT, LIGHT, LIGHT]
    assert heavy_first[1] == [HEAVY, LIGHT, LIGHT, LIGHT]
    assert light_first[1] == [LIGHT, HEAVY, HEAVY, HEAVY]


def test_without_a_word_measured_partitions_stand_alone():
    its = running()
    before, after = labels(its, sized(its, lambda task: 10_000.0 if task <= 2 else 10.0))
    assert set(before) == {UNKNOWN}
    assert after == [HEAVY, LIGHT, LIGHT, LIGHT]


def test_what_is_no_operator_counts_as_unknown():
    before, _ = labels(running((("c0", SOURCE), ("c1", "{kind: filter"))))
    assert before == [HEAVY, UNKNOWN, UNKNOWN, UNKNOWN]
