import pytest

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.network import Link
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.registry import ALGORITHMS, FEATURES, algorithm, parse_options
from stormcut.placement.solve import solve


def test_names_are_keys():
    assert all(name == each.name for name, each in ALGORITHMS.items())


def test_an_unknown_algorithm_is_answered_with_those_there_are():
    with pytest.raises(InvalidInput, match=r"even, exact, .*p-scheduler"):
        algorithm("best")


def test_options_are_read_as_their_type():
    options = parse_options(
        algorithm("p-scheduler"),
        {"cpu_share": "0.5", "max_tasks_per_worker": "2", "capacity": "smallest"},
    )
    assert (options.cpu_share, options.max_tasks_per_worker) == (0.5, 2)
    assert (options.partitioner, options.capacity) == ("recursive", "smallest")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_options_as_a_start_are_allowed(name):
    """A start that cannot be had is left out, so that nobody would notice."""
    parse_options(algorithm(name), algorithm(name).start_options)


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("cpu_share", "much", "a number"),
        ("cpu_share", "0", "above 0"),
        ("cpu_share", "nan", "above 0"),
        ("max_tasks_per_worker", "1.5", "a whole number"),
        ("max_tasks_per_worker", "0", "at least 1"),
        ("partitioner", "magic", "recursive or kway"),
        ("capacity", "", "refuse or smallest"),
    ],
)
def test_bad_values_are_answered_with_what_is_allowed(key, value, allowed):
    with pytest.raises(InvalidInput, match=allowed) as caught:
        parse_options(algorithm("p-scheduler"), {key: value})
    assert key in str(caught.value)


@pytest.mark.parametrize(
    ("name", "blind", "sighted"),
    [("stromax", "bootstrap", "rebalance"), ("bframework", "offline", "online")],
)
def test_modes_that_use_traffic_need_a_topology_that_runs(name, blind, sighted):
    chosen = algorithm(name)
    uses = {
        mode: [chosen.uses_traffic(parse_options(chosen, {"mode": mode}), runs) for runs in (0, 1)]
        for mode in (blind, "auto", sighted)
    }
    assert [list(map(bool, each)) for each in uses.values()] == [
        [False, False],
        [False, True],
        [False, True],
    ]


def test_what_an_algorithm_does_not_count_is_told():
    nodes = (
        Node("a", (1,), "r0", cpu_percent=400.0, link=Link(10.0, None)),
        Node("b", (1,), "r1", cpu_percent=400.0),
    )
    parts = (Component.uniform("s", 2, "spout"), Component.uniform("b", 2))
    streams = (Stream("s", "b", 10.0, "local_or_shuffle"),)
    problem = Problem(nodes, (Topology("t", parts, streams),))
    assert algorithm("cut").ignores(problem) == []
    assert algorithm("exact").ignores(problem) == ["links", "racks"]
    assert algorithm("even").ignores(problem) == list(FEATURES)
    assert algorithm("even").ignores(Problem((Node("a", (1,)),), ())) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["cpu_percent", "memory_mb", "max_executors"])
@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - {"p-scheduler"}))
def test_limits_of_nodes_are_kept_where_the_record_says_so(name, limit):
    """Dealt out evenly, a small node would get four executors; it holds one."""
    small = {"cpu_percent": 25.0, "memory_mb": 300.0, "max_executors": 1}[limit]
    most = {"cpu_percent": 400.0, "memory_mb": 8000.0, "max_executors": 40}[limit]
    sizes = enumerate((small, most, small))
    nodes = tuple(Node(f"n{at}", (0, 1, 2, 3), **{limit: size}) for at, size in sizes)
    parts = tuple(
        Component.uniform(n, 6, k, 20.0, 200.0) for n, k in (("a", "spout"), ("b", "bolt"))
    )
    problem = Problem(nodes, (Topology("t", parts, (Stream("a", "b", 100.0),), workers=3),))
    options = {"max_heap_mb": "100000"} if name == "r-storm" else {}
    if algorithm(name).knows_capacity:
        solve(problem, name, 1, options)
    else:
        with pytest.raises(Infeasible):
            solve(problem, name, 1, options)
