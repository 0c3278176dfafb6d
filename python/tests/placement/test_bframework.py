"""Example query W1 of the project's reconstruction of Bframework, worked through by hand.

s -> f -> p -> {a, u}, a -> k, four layers; one tuple/s in the problem stands for one byte/s.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import problems
from small_problems import chain, microbenchmark, nodes

from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.cut import executor_nodes
from stormcut.placement.algorithms.bframework.assigner import assign_processes, assign_threads
from stormcut.placement.algorithms.bframework.deployment import Deployment
from stormcut.placement.algorithms.bframework.offline import schedule
from stormcut.placement.algorithms.bframework.online import executor_labels, nearer
from stormcut.placement.algorithms.bframework.partitioner import (
    HEAVY,
    LIGHT,
    UNKNOWN,
    Partition,
    partition,
    pull_boundary,
    steady,
)
from stormcut.placement.algorithms.bframework.place import Options, bounds
from stormcut.placement.algorithms.bframework.query import queries
from stormcut.placement.packing.groups import fold
from stormcut.placement.solve import solve

VOLUMES = (2e6, 1e6, 250_000.0, 40_000.0, None, 40_000.0)
LOADS = {"s": 12.5, "f": 25.0, "p": 25.0, "a": 50.0, "u": 6.25, "k": 2.5}
STREAMS = {
    ("s", "f"): 2e6,
    ("f", "p"): 1e6,
    ("p", "a"): 250_000.0,
    ("p", "u"): 250_000.0,
    ("a", "k"): 40_000.0,
}


def w1_nodes(cpu=(400.0, 400.0, 200.0)):
    ports = (6700, 6701, 6702, 6703)
    return tuple(Node(f"n{i + 1}", ports, cpu_percent=c) for i, c in enumerate(cpu))


def w1(local=False, scale=1.0, current=None, cpu=(400.0, 400.0, 200.0), u=None):
    """Return W1; ``local``: measured within layers, but for u, which is measured at ``u``."""
    parts = tuple(
        Component.uniform(name, 4, "spout" if name == "s" else "bolt", load * scale, 0.0)
        for name, load in LOADS.items()
    )
    streams = tuple(
        Stream(a, b, rate * scale, bytes_per_tuple=None if b == "u" else 1.0)
        for (a, b), rate in STREAMS.items()
    )
    rates = {ends: rate for ends, rate in STREAMS.items() if local and ends != ("p", "u")}
    if u is not None:
        rates["p", "u"] = u
    measured = tuple(
        MeasuredPair((a, layer), (b, layer), rate * scale / 4)
        for (a, b), rate in rates.items()
        for layer in range(4)
    )
    topology = Topology("w1", parts, streams, measured)
    return Problem(w1_nodes(cpu), (topology,), current)


def stages(problem):
    """Return (threads, processes, deployment) of the off-line phase."""
    (query,) = queries(problem)
    deployment = Deployment(problem, fold(problem), 0.8)
    bound = bounds(deployment, Options())
    labels = partition(query.declared).labels
    everyone = np.arange(problem.executor_count)
    threads = assign_threads(query, labels, deployment.loads, bound, everyone)
    count = len(problem.nodes)
    processes = assign_processes(query, threads, deployment.groups, bound, count)
    assert schedule(deployment, processes) == []
    return threads, processes, deployment


def test_a_problem_file_has_the_same_volumes():
    (query,) = queries(w1())
    assert query.declared == VOLUMES


def test_partition_of_w1():
    found = partition(VOLUMES)
    assert found.labels.tolist() == [HEAVY, HEAVY, LIGHT, LIGHT, UNKNOWN, LIGHT]
    assert (round(found.ratio, 2), found.count) == (13.64, 3)
    gap = partition(VOLUMES, threshold="gap")
    assert gap.labels.tolist() == [HEAVY, HEAVY, HEAVY, LIGHT, UNKNOWN, LIGHT]


def test_pulled_boundary_of_w1():
    found = partition(VOLUMES)
    edges = [(0, 1, 2e6), (1, 2, 1e6), (2, 3, 250_000.0), (3, 5, 40_000.0)]
    pulled = pull_boundary(found.labels, edges, 666_000.0)
    assert pulled.tolist() == [HEAVY, HEAVY, HEAVY, LIGHT, UNKNOWN, LIGHT]


def test_alike_operators_are_one_partition():
    found = partition((100.0, 90.0, 80.0))
    assert (found.labels.tolist(), found.ratio, found.count) == ([HEAVY] * 3, None, 1)


def test_unknown_operators_are_one_partition():
    found = partition((None, None))
    assert (found.labels.tolist(), found.ratio, found.count) == ([UNKNOWN] * 2, None, 1)


@given(
    volumes=st.lists(st.one_of(st.none(), st.floats(0, 1e9)), max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_partition_does_not_depend_on_order(volumes, order):
    shuffled = list(range(len(volumes)))
    order.shuffle(shuffled)
    labels = partition(volumes).labels
    assert (partition([volumes[k] for k in shuffled]).labels == labels[shuffled]).all()


def test_threads_and_processes_of_w1():
    threads, processes, _ = stages(w1())
    loads = [(t.partition, round(t.load[0] / 100, 4)) for t in threads]
    assert loads == [(HEAVY, 0.375)] * 4 + [(LIGHT, 0.775)] * 4 + [(UNKNOWN, 0.25)]
    loads = [(p.partition, round(p.load[0] / 100, 4)) for p in processes]
    assert loads == [(HEAVY, 1.5), (LIGHT, 1.55), (LIGHT, 0.775), (LIGHT, 0.775), (UNKNOWN, 0.25)]


def test_placement_of_w1():
    _, processes, deployment = stages(w1())
    assert [deployment.host_of[process] for process in processes] == [0, 1, 2, 0, 1]
    assert deployment.utilisation().tolist() == pytest.approx([0.56875, 0.45, 0.3875])


@pytest.mark.parametrize(("local", "share"), [(True, 0.247), (False, 0.298)])
def test_traffic_of_w1_between_nodes(local, share):
    solution = solve(
        w1(local=local, u=250_000.0 if local else None), "bframework", options={"mode": "offline"}
    )
    crossing = solution.metrics.inter_node_tuples_per_second
    assert round(crossing / 3_540_000, 3) == share
    assert solution.notes == ("w1: 3 partitions, R 13.64",)
    assert solution.metrics.workers_used == 5


def test_measured_unknown_operators_go_to_the_nearer_partition():
    assert nearer(300_000.0, 1_500_000.0, 110_000.0) == LIGHT
    assert nearer(1.0, 5.0, None) == HEAVY
    assert nearer(1.0, None, 5.0) == LIGHT
    placed = solve(w1(), "bframework").placement
    (query,) = queries(w1(local=True, u=300_000.0))
    labels = partition(VOLUMES).labels
    threads = executor_labels(query, labels, placed.slots)
    assert (threads == np.repeat(np.where(labels == UNKNOWN, LIGHT, labels), 4)).all()


SAME = (
    "w1: 3 partitions, R 13.64 as declared; 3 partitions, R 13.64 as measured; "
    "6 of 6 operators in the same one"
)


def online(problem, **options):
    return solve(problem, "bframework", options={"mode": "online", **options})


def test_no_node_can_take_what_an_overloaded_one_has():
    placed = solve(w1(), "bframework").placement
    solution = online(w1(local=True, scale=1.45, current=placed))
    assert solution.placement == placed
    assert solution.notes == (
        SAME,
        "capacity short: n1 stays at 82%",
        "overloaded: above the target utilisation on n1",
    )


def test_a_node_that_joins_takes_a_light_process():
    placed = solve(w1(), "bframework").placement
    more = w1(local=True, scale=1.45, current=placed, cpu=(400.0, 400.0, 200.0, 400.0))
    solution = online(more)
    at = executor_nodes(more, solution.placement)
    used = np.bincount(at, weights=more.executor_cpu) / (400.0, 400.0, 200.0, 400.0)
    assert used.tolist() == pytest.approx([0.54375, 0.6525, 0.561875, 0.2809375])
    assert solution.metrics.workers_restarted == 2


def test_operators_change_partition_only_beyond_doubt():
    before = np.array([HEAVY, LIGHT, UNKNOWN, LIGHT])
    # Four known operators with a mean of 666,000 in every case.
    for first, second, expected in (
        (600_000.0, 732_000.0, [HEAVY, LIGHT]),
        (599_000.0, 733_000.0, [LIGHT, HEAVY]),
    ):
        volumes = (first, second, None, 2 * 666_000.0 - first - second + 666_000.0)
        after = Partition(np.array([LIGHT, HEAVY, UNKNOWN, LIGHT]), None, 3)
        labels = steady(before, volumes, after, 1.0, 0.1)
        assert labels.tolist() == [*expected, UNKNOWN, LIGHT]


def test_a_quiet_cluster_stays_as_it_is():
    placed = solve(w1(), "bframework").placement
    solution = solve(w1(local=True, current=placed), "bframework")
    assert solution.placement == placed
    assert solution.notes == (SAME,)


def test_no_more_moves_than_allowed():
    spread = solve(w1(), "even").placement
    for most in (0, 1, 2):
        solution = online(w1(local=True, current=spread), moves_max=str(most))
        assert solution.metrics.workers_restarted <= 2 * most


def test_workers_of_a_lost_node_run_elsewhere():
    placed = solve(w1(), "bframework").placement
    lost = tuple(("gone", port) for port in range(4))
    problem = w1(local=True)
    # Slots 4 to 7 were n2's: the same executors now name slots that nobody offers.
    of_n2 = (placed.slots >= 4) & (placed.slots < 8)
    gone = np.where(of_n2, placed.slots - 4 + problem.slot_count, placed.slots)
    problem = replace(problem, current=Placement(gone), lost_slots=lost)
    slots = solve(problem, "bframework").placement.slots
    kept = gone < problem.slot_count
    assert (slots[kept] == gone[kept]).all()


def test_online_needs_measurements():
    with pytest.raises(InvalidInput, match="online needs"):
        online(w1())


def test_queries_are_isolated_while_nodes_last():
    problem = Problem(
        nodes(4, cpu_percent=400.0), (chain([2, 2], name="a"), chain([2, 2], name="b"))
    )
    at = executor_nodes(problem, solve(problem, "bframework").placement)
    assert not set(at[:4].tolist()) & set(at[4:].tolist())


@pytest.mark.parametrize("layout", ["linear", "diamond", "star"])
@pytest.mark.parametrize(
    ("capacities", "singly"), [((4,) * 10, 0), ((6,) * 3 + (4,) * 3 + (2,) * 4, 8)]
)
def test_micro_benchmarks_are_placed(layout, capacities, singly):
    # Eight processes of four: with three nodes for 6 and three for 4 there is no room for two.
    solution = solve(microbenchmark(layout, 32, capacities), "bframework")
    why = f"{singly} executors in processes that no node has room for: placed singly"
    assert solution.notes[1:] == ((why,) if singly else ())


@given(problem=problems())
def test_every_executor_is_in_one_process_on_one_host(problem):
    if not any(node.ports for node in problem.nodes):
        return
    groups = fold(problem)
    deployment = Deployment(problem, groups, 0.8)
    if not len(deployment.capacity):
        return
    bound = bounds(deployment, Options())
    for query in queries(problem):
        own = np.arange(query.first[0], query.first[0] + query.size.sum())
        labels = partition(query.declared).labels
        threads = assign_threads(query, labels, deployment.loads, bound, own)
        processes = assign_processes(query, threads, groups, bound, len(deployment.capacity))
        assert sorted(e for t in threads for e in t.executors.tolist()) == own.tolist()
        assert sorted(e for p in processes for e in p.executors.tolist()) == own.tolist()
        left = schedule(deployment, processes)
        assert len(left) + len(deployment.host_of) >= len(processes)


@pytest.mark.parametrize(
    ("option", "value"),
    [("theta", "0"), ("utilisation", "1.5"), ("overload", "nan"), ("moves_max", "-1")],
)
def test_options_out_of_range_are_refused(option, value):
    with pytest.raises(InvalidInput, match=option):
        solve(w1(), "bframework", options={option: value})
