"""The hand-made vectors of the project's reading of StroMAX, and what its claims come to."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problem_strategies import problems
from small_problems import chain, microbenchmark, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Problem, Stream, Topology
from stormcut.objective.cut import executor_nodes, inter_node_tuples_per_second
from stormcut.placement.algorithms.stromax.place import Options
from stormcut.placement.algorithms.stromax.reassignment import load_limits, reassign
from stormcut.placement.algorithms.stromax.streaming import NeighbourCosts, stream
from stormcut.placement.graph.component_graph import component_graph, linear_order
from stormcut.placement.packing.capacity import hosts, loads
from stormcut.placement.packing.fit import TrafficPlaces
from stormcut.placement.packing.groups import fold
from stormcut.placement.packing.room import Room
from stormcut.placement.solve import solve

#: Components and edges of the paper's topologies (Fig. 4).
EDGES = {
    "WC": ("sp split count", "sp>split split>count"),
    "TT": ("sp id anchor", "sp>id id>anchor"),
    "TWTT": ("sp prep rank merge", "sp>prep prep>rank rank>merge"),
    "LP": ("sp rules index counter", "sp>rules rules>index rules>counter"),
    "TSSA": (
        "sp sens clean pos neg join score",
        "sp>sens sens>clean clean>pos clean>neg pos>join neg>join join>score",
    ),
    "SC": ("sp c1 c2 c3", "sp>c1 c1>c2 c2>c3"),
}


def topology(name, spouts, *bolts):
    """Return a topology whose pairs of tasks all exchange one tuple/s."""
    parts, edges = EDGES[name]
    names = parts.split()
    bolts = bolts if len(bolts) > 1 else bolts * (len(names) - 1)
    sizes = dict(zip(names, (spouts, *bolts), strict=True))
    ends = [edge.split(">") for edge in edges.split()]
    return Topology(
        name,
        tuple(Component.uniform(c, sizes[c], "bolt" if c != "sp" else "spout") for c in names),
        tuple(Stream(a, b, float(sizes[a] * sizes[b])) for a, b in ends),
    )


def cluster(*topologies):
    return Problem(nodes(40), topologies)


def cut_and_sizes(problem, **options):
    options = {key: str(value) for key, value in options.items()}
    solution = solve(problem, "stromax", options={"mode": "bootstrap", **options})
    on = executor_nodes(problem, solution.placement)
    return solution.metrics.inter_node_tuples_per_second, np.bincount(on, minlength=40)


# ---------------------------------------------------------------- linearisation


def test_topologies_interleave_level_by_level():
    problem = cluster(*(topology(name, 5, 20) for name in ("WC", "TT", "TWTT")))
    graph = component_graph(problem)
    sources = sorted(range(10), key=lambda c: not graph.spout[c])
    names = [f"{t.id}.{c.name}" for t in problem.topologies for c in t.components]
    order = [names[c] for c in linear_order(10, graph.edges, sources)]
    assert order == [
        *("WC.sp", "TT.sp", "TWTT.sp", "WC.split", "TT.id", "TWTT.prep", "WC.count"),
        *("TT.anchor", "TWTT.rank", "TWTT.merge"),
    ]


@given(st.integers(1, 8), st.data())
def test_a_vertex_follows_all_that_feed_it(count, data):
    ends = st.integers(0, count - 1)
    pairs = st.tuples(ends, ends).filter(lambda e: e[0] != e[1])
    edges = data.draw(st.lists(pairs, max_size=15, unique=True))
    order = linear_order(count, edges, range(count))
    assert sorted(order) == list(range(count))
    forward = [(a, b) for a, b in edges if a < b]
    order = linear_order(count, forward, range(count))
    assert all(order.index(a) < order.index(b) for a, b in forward)


def test_a_cycle_is_entered_at_its_first_component():
    assert linear_order(4, [(0, 1), (1, 2), (2, 1), (2, 3)], range(4)) == [0, 1, 2, 3]


# ---------------------------------------------------------------- streaming


def scored(sizes, edges, costs, capacity):
    """Return (host of each task, loads, scores of each task before it was placed)."""
    component = np.repeat(np.arange(len(sizes)), sizes)
    cost = np.array(costs, float)[component]
    capacity = np.array(capacity, float)
    problem = Problem(nodes(len(capacity)), (chain(sizes),))
    scores = []

    class Watched(NeighbourCosts):
        def of(self, executor, at):
            weights = super().of(executor, at)
            used = np.bincount(at[at >= 0], weights=cost[at >= 0], minlength=len(capacity))
            scores.append((weights * (1 - used / capacity)).tolist())
            return weights

    room = Room(hosts(problem), loads(problem), problem.executor_topology)
    at = stream(
        range(len(cost)),
        np.full(len(cost), -1),
        cost,
        np.zeros(len(capacity)),
        capacity,
        Watched(component, edges, cost, len(capacity)),
        room,
    )
    return (at + 1).tolist(), np.bincount(at, weights=cost).tolist(), scores


CHAIN = [(0, 1), (1, 2)]


def test_bootstrap_of_a_chain():
    at, used, scores = scored([2, 3, 2], CHAIN, [1, 1, 1], [4, 4])
    assert (at, used) == ([1, 2, 1, 2, 1, 2, 1], [4, 3])
    assert scores == [
        *([0, 0], [0, 0], [3 / 4, 3 / 4], [1 / 2, 3 / 4], [1 / 2, 1 / 2]),
        *([1 / 2, 1 / 2], [1 / 2, 1 / 4]),
    ]


def test_costs_of_a_chain():
    at, used, scores = scored([2, 3, 2], CHAIN, [1, 3, 2], [10, 10])
    assert (at, used) == ([1, 2, 1, 2, 1, 2, 1], [9, 6])
    assert scores[5] == pytest.approx([9 / 5, 9 / 5])
    assert scores[6] == pytest.approx([9 / 5, 6 / 5])


def test_nodes_of_different_capacity():
    at, used, scores = scored([2, 3, 2], CHAIN, [1, 3, 2], [6, 12])
    assert (at, used) == ([1, 2, 2, 1, 2, 2, 2], [4, 11])
    assert scores[5] == pytest.approx([1, 5 / 2])
    assert scores[6] == pytest.approx([1, 3 / 2])


def test_log_processing_reduced():
    at, used, _ = scored([2, 2, 2, 2], [(0, 1), (1, 2), (1, 3)], [1, 2, 4, 1], [10, 10])
    assert (at, used) == ([1, 2, 1, 2, 1, 2, 1, 2], [8, 8])


@pytest.mark.parametrize(("weight", "host"), [("cost", 0), ("comm", 1)])
@pytest.mark.parametrize("amounts", [((1.0, None), (5.0, None)), ((2.0, 100.0), (1.0, 1000.0))])
def test_neighbours_weigh_by_cost_as_printed_or_by_traffic(weight, host, amounts):
    """Traffic is bytes where sizes are known: of few large tuples there are more."""
    parts = (
        Component.uniform("a", 1, "spout", cpu_percent=40.0),
        Component.uniform("b", 1, "spout", cpu_percent=10.0),
        Component.uniform("j", 1, cpu_percent=10.0),
    )
    pairs = tuple(
        MeasuredPair((source, 0), ("j", 0), *amount)
        for source, amount in zip("ab", amounts, strict=True)
    )
    problem = Problem(nodes(2, cpu_percent=125.0), (Topology("t", parts, (), pairs),))
    options = {"mode": "rebalance", "steps": "partition", "weight": weight}
    solution = solve(problem, "stromax", options=options)
    assert executor_nodes(problem, solution.placement).tolist() == [0, 1, host]


# ---------------------------------------------------------------- bootstrap


@pytest.mark.parametrize(
    ("topologies", "edges", "least_load", "first"),
    [
        ([("LP", 10, 50, 30, 30)], 3500, 3250, 3500),
        ([("TSSA", 8, 20)], 2560, 2340, 2480),
        ([("WC", 5, 20)], 500, 400, 450),
        ([("TT", 5, 20)], 500, 400, 450),
        ([("TWTT", 5, 20)], 900, 780, 825),
        ([("WC", 3, 10)], 130, 87, 88),
        ([("TT", 3, 10)], 130, 87, 88),
        ([("TWTT", 3, 10)], 230, 164, 167),
        ([("SC", 3, 10)], 230, 164, 167),
        ([("LP", 3, 10)], 230, 164, 188),
        ([("TSSA", 3, 10)], 630, 544, 525),
    ],
)
def test_cuts_of_bootstrap_by_the_rule_for_ties(topologies, edges, least_load, first):
    problem = cluster(*(topology(*each) for each in topologies))
    assert problem.traffic.total == edges
    assert cut_and_sizes(problem)[0] == least_load
    assert cut_and_sizes(problem, ties="first")[0] == first


@pytest.mark.parametrize(
    ("name", "sizes", "cap", "cut"),
    [
        ("LP", (10, 50, 30, 30), 3, 3420),
        ("TSSA", (8, 20), 4, 2456),
        ("WC", (5, 20), 2, 480),
        ("TT", (5, 20), 2, 480),
        ("TWTT", (5, 20), 2, 875),
    ],
)
def test_little_is_gained_with_parts_of_equal_size(name, sizes, cap, cut):
    assert cut_and_sizes(cluster(topology(name, *sizes)), tasks_per_node=cap)[0] == cut


def contents(problem, placement):
    """Return {tasks per component on a node: number of such nodes}."""
    on = executor_nodes(problem, placement)
    graph = component_graph(problem)
    component = np.repeat(np.arange(len(graph.size)), graph.size)
    counts = np.zeros((len(problem.nodes), len(graph.size)), dtype=int)
    np.add.at(counts, (on, component), 1)
    kinds, times = np.unique(counts, axis=0, return_counts=True)
    return {tuple(kind): int(n) for kind, n in zip(kinds.tolist(), times, strict=True)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("LP", 10, 50, 30, 30), {(1, 5, 3, 1): 10, (0, 0, 0, 1): 20, (0, 0, 0, 0): 10}),
        (
            ("TSSA", 8, 20),
            {
                (1, 3, 3, 2, 1, 0, 0): 4,
                (1, 2, 2, 3, 2, 0, 0): 4,
                (0, 0, 0, 0, 1, 3, 3): 4,
                (0, 0, 0, 0, 1, 2, 2): 4,
                (0,) * 7: 24,
            },
        ),
        (("WC", 5, 20), {(1, 4, 4): 5, (0, 0, 0): 35}),
        (("TWTT", 5, 20), {(1, 4, 4, 1): 5, (0, 0, 0, 1): 15, (0, 0, 0, 0): 20}),
    ],
)
def test_what_nodes_hold_after_bootstrap(given, expected):
    problem = cluster(topology(*given))
    solution = solve(problem, "stromax", options={"mode": "bootstrap"})
    assert contents(problem, solution.placement) == expected


def test_topologies_in_turn_use_the_nodes_that_are_least_loaded():
    problem = cluster(*(topology(name, 5, 20) for name in ("WC", "TT", "TWTT")))
    cut, _ = cut_and_sizes(problem)
    assert cut == 400 + 400 + 780
    on = executor_nodes(problem, solve(problem, "stromax").placement)
    used = [sorted(set(on[problem.executor_topology == t].tolist())) for t in range(3)]
    assert used == [list(range(5)), list(range(5, 10)), list(range(10, 30))]


def test_the_global_graph_with_equal_costs_gains_nothing():
    problem = cluster(*(topology(name, 5, 20) for name in ("WC", "TT", "TWTT")))
    problem = replace(problem, nodes=nodes(40, max_executors=10))
    options = {"mode": "rebalance", "steps": "partition"}
    solution = solve(problem, "stromax", options=options)
    on = executor_nodes(problem, solution.placement)
    assert (problem.executor_count, problem.traffic.total) == (155, 1900)
    assert solution.metrics.inter_node_tuples_per_second == 1580
    sizes, counts = np.unique(np.bincount(on), return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {10: 5, 9: 10, 1: 15}


def test_executors_of_all_six_topologies():
    six = ("WC", "TT", "TWTT", "LP", "TSSA", "SC")
    assert cluster(*(topology(name, 3, 10) for name in six)).executor_count == 208


def followed(given, on):
    """Return a topology with the traffic of tuples that stay on their node wherever they can.

    Every task sends one tuple for each that it receives, on each of its streams.
    """
    sizes = {c.name: c.executors for c in given.components}
    parts = np.split(on, np.cumsum(list(sizes.values()))[:-1])
    homes = dict(zip(sizes, parts, strict=True))
    arrived = {c.name: np.full(c.executors, float(c.kind == "spout")) for c in given.components}
    pairs = []
    for stream_ in given.streams:
        source, target = stream_.source, stream_.target
        for task, rate in enumerate(arrived[source].tolist()):
            near = np.flatnonzero(homes[target] == homes[source][task])
            reached = near if len(near) else np.arange(sizes[target])
            arrived[target][reached] += rate / len(reached)
            ends = ((target, int(other)) for other in reached)
            pairs += [MeasuredPair((source, task), end, rate / len(reached)) for end in ends]
    return replace(given, streams=(), measured=tuple(p for p in pairs if p.tuples_per_second))


@pytest.mark.parametrize(
    ("given", "shuffled", "local"),
    [
        (("LP", 10, 50, 30, 30), (0.978, 0.922), (0.333, 0.0)),
        (("TSSA", 8, 20), (0.988, 0.906), (0.750, 0.250)),
        (("WC", 5, 20), (0.994, 0.800), (0.875, 0.0)),
        (("TT", 5, 20), (1.0, 0.800), (1.0, 0.0)),
        (("TWTT", 5, 20), (0.967, 0.850), (0.333, 0.0)),
    ],
)
def test_local_or_shuffle_explains_what_cuts_cannot(given, shuffled, local):
    # Section 5.4 reports -87.3 % on TT, section 5.2 -37 % on LP and -39 % on TSSA, against Storm's
    # default. Shares of the tuples that leave their node, by default and by Bootstrap; with
    # shuffles everywhere TSSA's join sends the tuples of two classifiers.
    given = replace(topology(*given), workers=40)
    alike = tuple(
        replace(s, tuples_per_second=2.0 if s.source == "join" else 1.0) for s in given.streams
    )
    for at, algorithm in enumerate(("even", "stromax")):
        placement = solve(cluster(given), algorithm).placement
        on = executor_nodes(cluster(given), placement)
        shares = [
            inter_node_tuples_per_second(problem, placement) / problem.traffic.total
            for problem in (cluster(replace(given, streams=alike)), cluster(followed(given, on)))
        ]
        assert shares == pytest.approx([shuffled[at], local[at]], abs=0.0006), algorithm


# ---------------------------------------------------------------- reassignment


def reassignment_problem():
    """Return a problem of seven tasks of different cost, on three nodes."""
    parts = tuple(
        Component.uniform(n, 1, cpu_percent=float(c))
        for n, c in zip("abcdefg", (4, 3, 3, 3, 2, 2, 1), strict=True)
    )
    pairs = tuple(
        MeasuredPair((a, 0), (b, 0), float(rate))
        for a, b, rate in (
            *(("a", "d", 5), ("a", "f", 1), ("b", "f", 4), ("c", "e", 2)),
            *(("b", "c", 3), ("f", "g", 1)),
        )
    )
    return Problem(nodes(3), (Topology("t", parts, (), pairs),))


def passed(problem, at, threshold="above_average", guard="average", rates="renewed"):
    """Return (moves, loads, traffic between nodes) after one pass."""
    at, cost = np.array(at), problem.executor_cpu
    room = Room(hosts(problem), loads(problem), problem.executor_topology)
    for executor, host in enumerate(at.tolist()):
        room.put(executor, host)
    limits = load_limits(cost, np.full(len(problem.nodes), np.inf), 0.12, threshold)
    traffic = TrafficPlaces(fold(problem), len(problem.nodes))
    moves = reassign(at, cost, traffic, limits, room, guard, rates)
    for move in moves:
        at[move.executor] = move.target
    names = [f"{'abcdefg'[m.executor]}{m.source + 1}{m.target + 1}" for m in moves]
    used = np.bincount(at, weights=cost, minlength=len(problem.nodes)).tolist()
    slots = Placement(at * 4)
    return names, used, inter_node_tuples_per_second(problem, slots)


@pytest.mark.parametrize(
    ("variant", "moves", "used", "remote"),
    [
        ({"rates": "frozen", "guard": "none"}, ["a12", "a23", "a32"], [6, 9, 3], 7),
        ({"guard": "none"}, ["a12", "e21", "a23", "a32"], [8, 7, 3], 5),
        ({"guard": "average"}, ["b13"], [7, 5, 6], 11),
        ({"guard": "less"}, ["a12", "e21", "d23"], [8, 4, 6], 10),
    ],
)
def test_one_pass_of_reassignment(variant, moves, used, remote):
    problem = reassignment_problem()
    assert passed(problem, [0, 0, 0, 1, 1, 2, 2], **variant) == (moves, used, remote)


def test_the_printed_threshold_moves_nearly_everything():
    moves, used, remote = passed(
        reassignment_problem(), [0, 0, 0, 1, 1, 2, 2], threshold="literal", guard="none"
    )
    assert (len(moves), used, remote) == (13, [6, 12, 0], 4)


def test_balanced_nodes_are_left_alone_unless_the_threshold_is_literal():
    parts = tuple(Component.uniform(n, 1, cpu_percent=1.0) for n in "abcd")
    pairs = (MeasuredPair(("a", 0), ("c", 0), 1.0), MeasuredPair(("b", 0), ("d", 0), 1.0))
    problem = Problem(nodes(2), (Topology("t", parts, (), pairs),))
    assert passed(problem, [0, 0, 1, 1], guard="none")[0] == []
    moves, used, _ = passed(problem, [0, 0, 1, 1], threshold="literal", guard="none")
    assert (len(moves), used) == (6, [4, 0])


def test_unequal_nodes_share_load_by_capacity():
    cost = np.ones(12)
    limits = load_limits(cost, np.array([10.0, 20.0, 30.0]), 0.5, "above_average")
    assert limits.tolist() == [3.0, 6.0, 9.0]


# ---------------------------------------------------------------- placement


def measured_chain(current):
    base = chain([3, 3])
    pairs = tuple(
        MeasuredPair(("c0", i), ("c1", j), 100.0 if i == j else 1.0)
        for i in range(3)
        for j in range(3)
    )
    slots = None if current is None else Placement(np.array(current))
    return Problem(nodes(3, max_executors=4), (replace(base, measured=pairs),), slots)


def test_mode_follows_from_what_is_known():
    def placed(problem, **options):
        return solve(problem, "stromax", options=options).placement

    for problem, mode in (
        (measured_chain(None), "bootstrap"),
        (measured_chain([0, 0, 4, 4, 8, 8]), "rebalance"),
        (Problem(nodes(3), (chain([3, 3]),), Placement(np.zeros(6, dtype=int))), "bootstrap"),
    ):
        assert placed(problem) == placed(problem, mode=mode)


def test_a_submission_partitions_anew_and_a_skew_only_reassigns():
    """What ran was partitioned again on each skew, though the paper then moves executors only."""

    def placed(problem, **options):
        return solve(problem, "stromax", options=options).placement

    skewed = replace(measured_chain([0, 0, 0, 4, 4, 8]), nodes=nodes(3))
    assert placed(skewed) == placed(skewed, steps="reassign")
    assert placed(skewed) != placed(skewed, steps="both")
    submitted = replace(measured_chain([0, 0, 4, 4, 8, -1]), nodes=nodes(3))
    assert placed(submitted) == placed(submitted, steps="both")


def test_reassignment_alone_keeps_who_is_not_on_a_busy_node():
    problem = replace(measured_chain([0, 0, 4, 4, 8, -1]), nodes=nodes(3))
    options = {"mode": "rebalance", "steps": "reassign"}
    placement = solve(problem, "stromax", options=options).placement
    assert (placement.slots[:5] == problem.current.slots[:5]).all()
    assert placement.slots[5] >= 0


@pytest.mark.parametrize("mode", ["bootstrap", "rebalance"])
def test_parts_stay_where_their_executors_run(mode):
    options = {"mode": mode, "steps": "partition"}
    problem = measured_chain(None)
    first = executor_nodes(problem, solve(problem, "stromax", options=options).placement)
    turned = Placement((first + 1) % 3 * 4)
    again = solve(replace(problem, current=turned), "stromax", options=options)
    assert again.placement == turned
    assert again.metrics.workers_restarted == 0


def test_metis_partitions_the_global_graph():
    options = {"mode": "rebalance", "steps": "partition", "partitioner": "metis"}
    solution = solve(microbenchmark("linear", 32), "stromax", options=options)
    assert solution.metrics.inter_node_tuples_per_second == 28
    assert solution.metrics.nodes_used == 8


def test_ackers_come_last_in_turn_on_the_nodes_in_use():
    given = topology("WC", 2, 2)
    given = replace(given, components=(Component.uniform("__acker", 3), *given.components))
    problem = Problem(nodes(4), (given,))
    on = executor_nodes(problem, solve(problem, "stromax").placement)
    assert on.tolist() == [0, 1, 0, 0, 1, 0, 1, 0, 1]


def test_limits_and_slots_bind_while_streaming():
    small = Problem(nodes(4, memory_mb=400.0), (chain([4, 4]),))
    placement = solve(small, "stromax").placement
    assert placement.notes == ()
    assert np.bincount(executor_nodes(small, placement)).max() <= 3
    topologies = tuple(chain([2, 2], name=f"t{i}") for i in range(4))
    solution = solve(Problem(nodes(4, slots=1), topologies), "stromax")
    assert solution.metrics.nodes_used == 4


@pytest.mark.parametrize(
    ("option", "value"), [("tasks_per_node", 0), ("cpu_share", 1.5), ("skew", -0.1)]
)
def test_options_are_checked(option, value):
    with pytest.raises(InvalidInput, match=option):
        Options(**{option: value})


@given(
    problems(),
    st.sampled_from(("auto", "partition", "reassign", "both")),
    st.sampled_from(("cost", "comm")),
    st.sampled_from(("average", "less", "none")),
    st.sampled_from(("above_average", "literal")),
)
def test_every_variant_of_rebalance_gives_feasible_placements(
    problem, steps, weight, guard, threshold
):
    options = {
        "mode": "rebalance",
        "steps": steps,
        "weight": weight,
        "guard": guard,
        "threshold": threshold,
    }
    try:
        solution = solve(problem, "stromax", options=options)
    except Infeasible:
        assume(False)
    assert (solution.placement.slots >= 0).all()
