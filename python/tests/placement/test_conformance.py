"""What every algorithm of the registry must do."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from problem_strategies import problems
from small_problems import chain, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import MeasuredPair, Node, Problem, Topology
from stormcut.objective.metrics import measure
from stormcut.objective.verify import violations
from stormcut.placement.registry import ALGORITHMS, algorithm, parse_options
from stormcut.placement.solve import solve

pytestmark = pytest.mark.parametrize("name", ALGORITHMS)

CASES = {
    "one node": Problem(nodes(1), (chain([2, 2]),)),
    "no executor": Problem(nodes(1), ()),
    "one executor": Problem(nodes(2), (chain([1]),)),
    "no traffic": Problem(nodes(2), (chain([2, 2], rate=0.0),)),
    "disconnected": Problem(nodes(2, max_executors=4), (chain([2, 2]), chain([2, 2], name="b"))),
    "several topologies": Problem(nodes(3), tuple(chain([1, 2], name=f"t{i}") for i in range(5))),
    "more workers than executors": Problem(nodes(2), (chain([1, 1], workers=7),)),
    "current": Problem(
        nodes(2), (chain([2, 2], workers=4),), Placement(np.array([0, 1, -1, 8])), (("gone", 1),)
    ),
    "tight": Problem(nodes(3, max_executors=2, cpu_percent=25.0), (chain([3, 3], workers=3),)),
}
#: Problems without a feasible placement, and the constraint that a refusal must name.
HOPELESS = {
    "no node": (Problem((), (chain([2]),)), "slots"),
    "zero slots": (Problem((Node("n", ()),), (chain([2, 2]),)), "slots"),
    "fewer slots than topologies": (
        Problem(nodes(1, slots=1), (chain([1, 1], workers=1), chain([1, 1], name="b", workers=1))),
        "slots",
    ),
    "not enough CPU": (Problem(nodes(2, cpu_percent=15.0), (chain([2, 2]),)), "cpu"),
    "not enough memory": (Problem(nodes(2, memory_mb=200.0), (chain([2, 2]),)), "memory"),
    "not enough room": (Problem(nodes(2, max_executors=1), (chain([2, 2]),)), "max_executors"),
}


#: Options under which the suite runs an algorithm.
OPTIONS = {"cut": {"effort": "0.05"}, "exact": {"time_limit": "3"}}
#: Why an algorithm's placement may be worth something else when nodes have other names.
DEPENDS_ON_NAMES = {
    "even": "Storm's order of nodes is the hash order of their names",
    "cut": "it starts from what others find, `even` among them",
}
#: Why it may be when components have other names.
DEPENDS_ON_COMPONENT_NAMES = dict.fromkeys(
    ("even", "default", "r-storm"), "Storm numbers executors in the order of components' names"
)
#: (algorithm, case): why it may refuse although a feasible placement exists.
MAY_REFUSE = {}
#: Of the random problems that `exact` places each algorithm places this share at least, so that the
#: suite is not one of refusals.
MIN_PLACED = 1 / 16


def outcome(problem, name, seed=1):
    """Return the placement, or the constraint for which there is none."""
    try:
        solution = solve(problem, name, seed, OPTIONS.get(name))
    except Infeasible as error:
        assert "\n" not in str(error)
        return error.constraint
    assert violations(problem, solution.placement) == []
    return solution.placement


@pytest.mark.parametrize("case", CASES)
def test_feasible_cases(name, case):
    result = outcome(CASES[case], name)
    if isinstance(result, str) and (name, case) not in MAY_REFUSE:
        assert algorithm(name).needs_traffic
        assert result == "traffic"
        assert CASES[case].traffic.total == 0


@pytest.mark.parametrize("case", HOPELESS)
def test_hopeless_cases(name, case):
    problem, constraint = HOPELESS[case]
    assert outcome(problem, name) == constraint


def test_rates_matter_where_the_record_says_so(name):
    parts = chain([4, 4]).components

    def partners(shift):
        rates = {(i, j): 100.0 if j == (i + shift) % 4 else 1.0 for i in range(4) for j in range(4)}
        pairs = (MeasuredPair(("c0", i), ("c1", j), rate) for (i, j), rate in rates.items())
        return Problem(nodes(3, max_executors=4), (Topology("t", parts, (), tuple(pairs)),))

    one, other = (outcome(partners(shift), name) for shift in (0, 1))
    chosen = algorithm(name)
    options = parse_options(chosen, OPTIONS.get(name, {}))
    assert (one != other) is chosen.uses_traffic(options, False)


def test_nodes_of_different_size_are_refused_where_the_record_says_so(name):
    cluster = tuple(Node(f"n{i}", (1, 2), max_executors=most) for i, most in enumerate((2, 6)))
    chosen, problem = algorithm(name), Problem(cluster, (chain([2, 2]),))
    assert isinstance(outcome(problem, name), str) is chosen.one_capacity
    if chosen.one_capacity:
        assert isinstance(solve(problem, name, 1, {"capacity": "smallest"}).placement, Placement)
    assert not chosen.fills_cpu or parse_options(chosen, {"cpu_share": "0.8"}).cpu_share == 0.8


def test_capacities_matter_only_where_the_record_says_so(name):
    """Both clusters hold what any of them places: what differs is how much more they could."""

    def placed(most):
        cluster = (Node(f"n{i}", (1, 2), cpu_percent=cpu) for i, cpu in enumerate(most))
        return outcome(Problem(tuple(cluster), (chain([4, 4], workers=2),)), name)

    alike, unlike = placed((400.0, 400.0, 400.0)), placed((85.0, 400.0, 200.0))
    assert alike == unlike or algorithm(name).knows_capacity


@pytest.mark.slow
def test_another_topologys_load_and_traffic_count_where_the_record_says_so(name):
    """One that places in turn puts the first topology where it does whatever the others are."""
    first, homes = chain([2, 2], name="a", workers=2), set()
    for size, rate in ((1, 1.0), (2, 1.0), (2, 1000.0), (4, 1.0), (6, 1.0)):
        other = chain([size, size], name="b", rate=rate, workers=2)
        where = Placement(np.array([0, 0, 4, 4, *[1, 5] * size]))
        problem = Problem(
            nodes(4, slots=4, max_executors=6, cpu_percent=400.0), (first, other), where
        )
        found = outcome(problem, name)
        if isinstance(found, Placement):
            homes.add(tuple(problem.slot_node[found.slots[:4]].tolist()))
    assert (len(homes) > 1) is algorithm(name).joint


def unproven(found):
    """Return whether time ended a search: another run may then find something else."""
    return isinstance(found, Placement) and any("not proven" in note for note in found.notes)


def is_another_optimum(problem, found, again):
    """Return whether time made a search prove its optimum in another of its ways."""
    if not (isinstance(found, Placement) and isinstance(again, Placement)):
        return False
    ways = {each.bound.method for each in (found, again) if each.bound}
    return len(ways) == 2 and worth(problem, found) == pytest.approx(worth(problem, again))


def worth(problem, found):
    return measure(problem, found).inter_node_tuples_per_second


@pytest.mark.slow
def test_random_problems_are_placed_feasibly_or_refused_and_alike_each_time(name):
    """And no placement is below a bound that was proven, by this algorithm or by `exact`."""
    outcomes, possible = [], []

    @given(problem=problems(homogeneous=algorithm(name).one_capacity))
    def each(problem):
        pickled, before = pickle.dumps(problem), problem.current_slots().copy()
        found, again = outcome(problem, name), outcome(problem, name)
        alike = found == again or is_another_optimum(problem, found, again)
        assert alike or unproven(found) or unproven(again)
        assert np.array_equal(problem.current_slots(), before)
        outcomes.append(found)
        possible.append(by_exact(pickled))
        placed = [it for it in (found, by_exact(pickled)) if isinstance(it, Placement)]
        least = min((crossing(problem, placement) for placement in placed), default=0.0)
        for placement in placed:
            if placement.bound is not None:
                assert placement.bound.tuples_per_second <= least * (1 + 1e-9) + 1e-9

    each()
    count, most = (
        sum(isinstance(found, Placement) for found in each) for each in (outcomes, possible)
    )
    assert count >= MIN_PLACED * most > 0


@cache
def by_exact(pickled):
    """Return what `exact` finds: once, as every algorithm is given the same problems."""
    return outcome(pickle.loads(pickled), "exact")


def crossing(problem, placement):
    return measure(problem, placement).inter_node_tuples_per_second


@pytest.mark.slow
@given(problem=problems(homogeneous=True))
def test_names_of_nodes_do_not_change_the_worth(name, problem):
    if name in DEPENDS_ON_NAMES:
        pytest.skip(DEPENDS_ON_NAMES[name])
    problem = replace(problem, current=None, lost_slots=())
    ports = tuple(6700 + i for i in range(3))
    equal = tuple(replace(node, ports=ports) for node in problem.nodes)
    problem = replace(problem, nodes=equal)
    renamed = tuple(replace(node, id=f"x{-i % 7}") for i, node in enumerate(equal))
    one, other = outcome(problem, name), outcome(replace(problem, nodes=renamed), name)
    if unproven(one) or unproven(other) or is_another_optimum(problem, one, other):
        return
    if isinstance(one, str):
        assert one == other
        return
    assert measure(problem, one) == measure(replace(problem, nodes=renamed), other)


@pytest.mark.slow
@given(problem=problems(homogeneous=True))
def test_names_of_components_do_not_change_the_worth(name, problem):
    if name in DEPENDS_ON_COMPONENT_NAMES:
        pytest.skip(DEPENDS_ON_COMPONENT_NAMES[name])
    renamed = replace(problem, topologies=tuple(map(with_other_names, problem.topologies)))
    one, other = outcome(problem, name), outcome(renamed, name)
    if unproven(one) or unproven(other) or is_another_optimum(problem, one, other):
        return
    if isinstance(one, str):
        assert one == other
        return
    assert measure(problem, one) == measure(renamed, other)


def with_other_names(topology):
    """Return a topology whose components have names in the opposite order."""
    names = sorted(part.name for part in topology.components)
    other = dict(zip(names, (f"x{9 - at}" for at in range(len(names))), strict=True))

    def end(executor):
        return other[executor[0]], executor[1]

    return replace(
        topology,
        components=tuple(replace(part, name=other[part.name]) for part in topology.components),
        streams=tuple(
            replace(each, source=other[each.source], target=other[each.target])
            for each in topology.streams
        ),
        measured=tuple(
            pair._replace(source=end(pair.source), target=end(pair.target))
            for pair in topology.measured
        ),
    )


def test_unknown_options_are_refused(name):
    with pytest.raises(InvalidInput, match="no such option"):
        parse_options(algorithm(name), {"nonsense": "1"})


def test_a_negative_seed_is_refused(name):
    with pytest.raises(InvalidInput, match="seed"):
        solve(CASES["one node"], name, seed=-1)
