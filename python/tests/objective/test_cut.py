import numpy as np
import pytest
from hypothesis import given
from problem_strategies import placed_problems, prefers_near

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.objective.cut import inter_node_tuples_per_second, inter_worker_tuples_per_second


def declared_pairs(problem, topology, base, slots):
    """Yield (source, target, rate) pair by pair, straight from the words of the format."""
    size = {c.name: c.executors for c in topology.components}
    first = {name: base + at for name, at in topology.offsets.items()}
    measured = {(p.source[0], p.target[0]) for p in topology.measured}
    for p in topology.measured:
        yield (
            first[p.source[0]] + p.source[1],
            first[p.target[0]] + p.target[1],
            p.tuples_per_second,
        )
    for stream in topology.streams:
        if (stream.source, stream.target) in measured:
            continue
        sources = [first[stream.source] + i for i in range(size[stream.source])]
        targets = [first[stream.target] + i for i in range(size[stream.target])]
        shares = stream.shares or [1 / len(sources)] * len(sources)
        for source, part in zip(sources, shares, strict=True):
            share = stream.tuples_per_second * part
            if stream.grouping == "all":
                yield from ((source, target, share) for target in targets)
                continue
            if stream.grouping == "global":
                yield source, targets[0], share
                continue
            reached = targets
            if prefers_near(topology, stream) and slots[source] >= 0:
                reached = [t for t in targets if slots[t] == slots[source]] or targets
            yield from ((source, target, share / len(reached)) for target in reached)


def naive_cut(problem, slots, place):
    total = 0.0
    for topology, base in zip(problem.topologies, problem.topology_offsets, strict=False):
        for source, target, rate in declared_pairs(problem, topology, base, slots):
            if slots[source] < 0 or slots[target] < 0 or place(source) != place(target):
                total += rate
    return total


@given(placed_problems())
def test_folded_cut_equals_the_sum_over_all_pairs(given_):
    problem, placement = given_
    slots = placement.slots.tolist()
    between_nodes = naive_cut(problem, slots, lambda e: problem.slot_ids[slots[e]][0])
    between_workers = naive_cut(problem, slots, lambda e: problem.slot_ids[slots[e]])
    assert inter_node_tuples_per_second(problem, placement) == pytest.approx(between_nodes)
    assert inter_worker_tuples_per_second(problem, placement) == pytest.approx(between_workers)


@given(placed_problems())
def test_traffic_between_workers_includes_that_between_nodes(given_):
    problem, placement = given_
    between_nodes = inter_node_tuples_per_second(problem, placement)
    between_workers = inter_worker_tuples_per_second(problem, placement)
    assert between_nodes <= between_workers * (1 + 1e-12) + 1e-9


def test_local_or_shuffle_prefers_targets_in_the_same_worker():
    topology = Topology(
        "t",
        (Component.uniform("a", 2), Component.uniform("b", 2)),
        (Stream("a", "b", 100.0, "local_or_shuffle"),),
    )
    problem = Problem((Node("x", (1, 2)), Node("y", (1,))), (topology,))
    # a[0] has b[0] in its worker; a[1] is on the node of a[0] but in a worker without a b.
    placement = Placement(np.array([0, 1, 0, 2]))
    assert inter_node_tuples_per_second(problem, placement) == 25.0
    assert inter_worker_tuples_per_second(problem, placement) == 50.0
