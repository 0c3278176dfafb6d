"""`caps`: plans worked by hand, and the best of all plans where these can be listed."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import chain, microbenchmark, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.objective.verify import violations
from stormcut.placement.algorithms.caps.place import Options
from stormcut.placement.solve import solve

NAME = "caps"

GROUPINGS = ("shuffle", "local_or_shuffle")


def topology(loads, streams=()):
    """A topology: components (executors, CPU), streams (source, target, tuples/s, grouping)."""
    parts = tuple(
        Component.uniform(f"c{i}", count, cpu_percent=cpu, memory_mb=0.0)
        for i, (count, cpu) in enumerate(loads)
    )
    return Topology("t", parts, tuple(Stream(f"c{a}", f"c{b}", *rest) for a, b, *rest in streams))


def loads_of(problem, placement):
    """Return the CPU in use and the tuples/s sent to other nodes, per node."""
    at = executor_nodes(problem, placement)
    compute = np.bincount(at, problem.executor_cpu, minlength=len(problem.nodes))
    network = np.zeros(len(problem.nodes))
    for sources, targets, rate, local in streams_of(problem):
        for source in sources:
            near = targets[at[targets] == at[source]]
            if not (local and len(near)):
                network[at[source]] += rate * (len(targets) - len(near)) / len(targets)
    return compute, network


def streams_of(problem):
    """Yield (sources, targets, tuples/s of one source, whether local-or-shuffle) of each stream."""
    for ordinal, each in enumerate(problem.topologies):
        first = problem.topology_offsets[ordinal]
        size = {part.name: part.executors for part in each.components}
        for stream in each.streams:
            sources = first + each.offsets[stream.source] + np.arange(size[stream.source])
            targets = first + each.offsets[stream.target] + np.arange(size[stream.target])
            rate = stream.tuples_per_second / len(sources)
            yield sources, targets, rate, stream.grouping == "local_or_shuffle"


def test_heavy_executors_are_spread():
    problem = Problem(nodes(4, max_executors=2), (topology([(4, 90.0), (4, 5.0)]),))
    compute, _ = loads_of(problem, solve(problem, NAME).placement)
    assert compute.tolist() == [95.0] * 4


def test_the_plan_that_no_other_dominates():
    # A heavy and a light one on each node: 50 points and 50 tuples/s. Both heavy ones together: 80
    # points and 100 tuples/s.
    problem = Problem(nodes(2, max_executors=2), (topology([(2, 40), (2, 10)], [(0, 1, 100.0)]),))
    compute, network = loads_of(problem, solve(problem, NAME).placement)
    assert compute.tolist() == [50.0, 50.0]
    assert network.max() == 25.0


def test_traffic_decides_where_cpu_does_not():
    # Two chains of two: a node each sends nothing.
    problem = Problem(
        nodes(2, max_executors=2),
        (topology([(1, 10.0)] * 4, [(0, 1, 50.0), (2, 3, 50.0)]),),
    )
    _, network = loads_of(problem, solve(problem, NAME).placement)
    assert network.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("max_steps", ["50000", "1"])
def test_local_or_shuffle_stays_where_a_target_is(max_steps):
    # By shuffle, three quarters of 400 tuples/s would leave wherever the executors are.
    parts = topology([(4, 40.0), (4, 20.0)], [(0, 1, 400.0, "local_or_shuffle")])
    problem = Problem(nodes(4, max_executors=2), (parts,))
    found = solve(problem, NAME, options={"max_steps": max_steps}).placement
    compute, network = loads_of(problem, found)
    assert compute.tolist() == [60.0] * 4
    assert network.tolist() == [0.0] * 4


def test_cpu_counts_in_shares_of_the_node():
    sizes = (100.0, 300.0)
    cluster = tuple(Node(f"n{i}", (6700,), cpu_percent=cpu) for i, cpu in enumerate(sizes))
    problem = Problem(cluster, (topology([(4, 20.0)]),))
    compute, _ = loads_of(problem, solve(problem, NAME).placement)
    assert compute.tolist() == [20.0, 60.0]


def test_a_search_that_ends_too_soon_falls_back_and_says_so():
    problem = microbenchmark("star", 18)
    solution = solve(problem, NAME, options={"max_steps": "1"})
    assert solution.notes == ("no plan found in 1 steps a search: placed heaviest first",)
    assert solve(problem, NAME).notes == ()


def test_what_fits_nowhere_names_the_constraint():
    problem = Problem(nodes(2, cpu_percent=100.0), (topology([(3, 60.0)]),))
    with pytest.raises(Infeasible, match="caps found none: neither") as caught:
        solve(problem, NAME)
    assert caught.value.constraint == "cpu"


def test_a_topology_has_one_worker_on_a_node():
    problem = Problem(nodes(3), tuple(chain([3, 3], name=f"t{i}", workers=9) for i in range(2)))
    slots = solve(problem, NAME).placement.slots
    for ordinal in range(2):
        own = np.unique(slots[problem.executor_topology == ordinal])
        assert len(np.unique(problem.slot_node[own])) == len(own)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_steps": 0}, "max_steps"),
        ({"granularity": 0.0}, "granularity"),
        ({"relax_rate": 1.5}, "relax_rate"),
    ],
)
def test_options_check_themselves(options, named):
    with pytest.raises(InvalidInput, match=f"option {named}"):
        Options(**options)


@st.composite
def small(draw):
    """A problem whose placements can all be listed."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    loads = [(size, float(draw(st.integers(0, 40)))) for size in sizes]
    end = st.integers(0, len(sizes) - 1)
    stream = st.tuples(end, end, st.sampled_from((1.0, 10.0, 40.0)), st.sampled_from(GROUPINGS))
    streams = [each for each in draw(st.lists(stream, max_size=3)) if each[0] != each[1]]
    limit = draw(st.sampled_from((None, 2, 3)))
    return Problem(nodes(3, slots=1, max_executors=limit), (topology(loads, streams),))


@given(problem=small())
def test_no_plan_dominates_the_one_chosen(problem):
    costs = []
    for slots in product(range(3), repeat=min(problem.executor_count, 7)):
        placement = Placement(np.array(slots, dtype=np.int64))
        if problem.executor_count <= 6 and not violations(problem, placement):
            costs.append([each.max() for each in loads_of(problem, placement)])
    try:
        found = solve(problem, NAME).placement
    except Infeasible:
        assert not costs
        return
    ours = np.array([each.max() for each in loads_of(problem, found)])
    for cost in np.array(costs).reshape(-1, 2):
        no_worse = (cost <= ours + 1e-9).all()
        assert not (no_worse and (cost < ours - 1e-6).any())
