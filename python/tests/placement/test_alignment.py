"""Parts go where most of them stays; of equals, first to first."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from small_problems import chain

from stormcut.model.placement import Placement
from stormcut.model.problem import Node, Problem
from stormcut.placement.packing.alignment import aligned, among_equals
from stormcut.placement.packing.capacity import hosts

shapes = st.tuples(st.integers(1, 4), st.integers(0, 1)).map(lambda s: (s[0], s[0] + s[1]))


@given(
    shapes.flatmap(
        lambda s: st.tuples(arrays(np.int64, s, elements=st.integers(0, 4)), arrays(np.bool_, s))
    ),
    st.booleans(),
)
def test_nothing_keeps_more(problem, in_order):
    kept, allowed = problem
    rows = np.arange(len(kept))
    ways = [np.array(way) for way in permutations(range(kept.shape[1]), len(kept))]
    ways = [way for way in ways if allowed[rows, way].all()]
    if not ways:
        with pytest.raises(ValueError, match="infeasible"):
            aligned(kept, allowed, in_order)
        return
    found = aligned(kept, allowed, in_order)
    assert allowed[rows, found].all() and len(set(found.tolist())) == len(found)
    best = max(kept[rows, way].sum() for way in ways)
    assert kept[rows, found].sum() == best
    if in_order and allowed.all() and not kept.any():
        assert (found == rows).all()


def test_only_equal_nodes_are_exchanged_and_running_executors_stay():
    limits = enumerate((2, 2, 4))
    cluster = tuple(Node(f"n{i}", (0, 1), max_executors=most) for i, most in limits)
    problem = Problem(cluster, (chain([1, 1, 1]),))
    first = problem.slot_node.tolist().index
    running = Problem(cluster, problem.topologies, Placement(np.array([first(1), first(0), -1])))
    able = hosts(running)
    assert among_equals(running, able, np.array([0, 1, 2])).tolist() == [1, 0, 2]
    assert among_equals(problem, able, np.array([0, 1, 2])).tolist() == [0, 1, 2]
    # The large node is not exchanged for a small one, whoever runs there.
    assert among_equals(running, able, np.array([2, 0, 0])).tolist() == [2, 0, 0]
