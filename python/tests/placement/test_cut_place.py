"""What `cut` promises beyond the conformance suite: its options, restarts, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from problem_strategies import problems
from small_problems import chain, microbenchmark, nodes

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import executor_nodes
from stormcut.objective.verify import violations
from stormcut.placement.algorithms.cut.place import Options, improve
from stormcut.placement.solve import solve


def solved(problem, **options):
    return solve(problem, "cut", 1, {key: str(value) for key, value in options.items()})


def found_at(problem, solution):
    """Return the node id of every executor."""
    at = executor_nodes(problem, solution.placement)
    return [problem.nodes[node].id for node in at.tolist()]


def crossing(solution):
    return solution.metrics.inter_node_tuples_per_second


DIAMOND = microbenchmark("diamond", 10)
OPTIMUM = 10.0
#: Two components of four on four nodes for three executors, and no other limit.
CHAIN = Problem(nodes(4, max_executors=3), (chain([4, 4], workers=4),))


def test_the_certificate_holds():
    solution = solved(DIAMOND)
    assert crossing(solution) == OPTIMUM
    assert solution.certificate is not None
    assert 0 <= solution.certificate.lower_bound <= OPTIMUM


def test_excluded_nodes_stay_empty():
    used = set(found_at(CHAIN, solved(CHAIN)))
    name = sorted(used)[0]
    assert name not in found_at(CHAIN, solved(CHAIN, exclude=name))


def test_pins_hold_and_one_executor_overrides_its_component():
    at = found_at(CHAIN, solved(CHAIN, pin="chain/c0[1]@n02,chain/c0[3]@n03"))
    assert (at[1], at[3]) == ("n02", "n03")
    roomy = Problem(nodes(4, max_executors=4), CHAIN.topologies)
    at = found_at(roomy, solved(roomy, pin="chain/c0@n01,chain/c0[0]@n00"))
    assert at[:4] == ["n00", "n01", "n01", "n01"]


def test_a_comma_in_a_name_is_written_behind_a_backslash():
    parts = tuple(replace(c, name=f"{c.name},x") for c in CHAIN.topologies[0].components)
    streams = tuple(
        replace(s, source=f"{s.source},x", target=f"{s.target},x")
        for s in CHAIN.topologies[0].streams
    )
    named = replace(CHAIN.topologies[0], components=parts, streams=streams)
    problem = replace(CHAIN, topologies=(named,))
    at = found_at(problem, solved(problem, pin=r"chain/c0\,x[1]@n02,chain/c0\,x[3]@n03"))
    assert (at[1], at[3]) == ("n02", "n03")


def test_a_component_is_spread():
    at = found_at(CHAIN, solved(CHAIN, apart="chain/c1"))
    assert len(set(at[4:])) == 4
    crowded = Problem(nodes(2, max_executors=6), CHAIN.topologies)
    at = found_at(crowded, solved(crowded, apart="chain/c1"))
    assert sorted(at[4:].count(node) for node in set(at[4:])) == [2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("option", ["reserve", "cpu_share", "balance"])
def test_less_of_the_cpu_may_be_used(option):
    problem = Problem(nodes(4, cpu_percent=100.0), (chain([6, 6], workers=4),))
    value = {"reserve": 0.7, "cpu_share": 0.3, "balance": 1.0}[option]
    solution = solved(problem, **{option: value})
    at = executor_nodes(problem, solution.placement)
    assert np.bincount(at, weights=problem.executor_cpu).max() == pytest.approx(30.0)
    packed = executor_nodes(problem, solved(problem, objective="cut").placement)
    assert np.bincount(packed).max() >= 10


@pytest.mark.parametrize(
    ("options", "constraint"),
    [
        ({"reserve": "0.5"}, "max_executors"),
        ({"exclude": "n00,n01,n02"}, "max_executors"),
        ({"exclude": "n00,n01,n02,n03"}, "slots"),
        ({"pin": "chain/c0@n01"}, "pin"),
    ],
)
def test_a_refusal_names_what_binds(options, constraint):
    with pytest.raises(Infeasible, match="cut found none") as refusal:
        solve(CHAIN, "cut", 1, options)
    assert refusal.value.constraint == constraint


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"exclude": "nowhere"}, "option exclude: there is no node 'nowhere'"),
        ({"pin": "a@b@nowhere"}, "option pin: there is no "),
        ({"pin": "nonsense"}, "option pin: needs TOPOLOGY"),
        ({"apart": "nonsense"}, "option apart: there is no executor or component"),
        ({"reserve": "1"}, "option reserve: must be at least 0 and below 1"),
        ({"cpu_share": "0"}, "option cpu_share: must be above 0"),
        ({"distances": "1,0.5,2"}, "option distances: must be three numbers"),
        ({"balance": "0.5"}, "option balance: must be at least 1"),
    ],
)
def test_options_are_checked(options, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        solve(CHAIN, "cut", 1, options)


def test_racks_come_before_nodes_only_at_a_price():
    racks = ["a", "b", "a", "b"]
    hosts = tuple(replace(node, rack=rack) for node, rack in zip(CHAIN.nodes, racks, strict=True))
    problem = Problem(hosts, (chain([2, 2], workers=2), chain([1, 1], name="b", workers=1)))
    at = executor_nodes(problem, solved(problem).placement)
    assert {racks[node] for node in at[:4].tolist()} in ({"a"}, {"b"})


class TestRestarts:
    """Two pairs that should be together, apart now."""

    def problem(self, rate):
        now = Placement(np.array([0, 4, 4, 0]))
        topologies = (chain([1, 1], rate=rate, workers=2), chain([1, 1], rate=rate, name="b"))
        problem = Problem(nodes(2, slots=4, max_executors=2), topologies)
        return replace(problem, current=Placement(now.slots + np.array([0, 0, 1, 1])))

    def test_what_pays_moves(self):
        solution = solved(self.problem(100.0), restart_price=1.0)
        assert crossing(solution) == 0.0

    def test_what_does_not_pay_stays(self):
        problem = self.problem(1.0)
        solution = solved(problem, restart_price=100.0)
        assert np.array_equal(solution.placement.slots, problem.current.slots)

    def test_workers_stay_as_they_are_at_a_price(self):
        now = Placement(np.array([0, 1, 2, 3]))
        problem = Problem(nodes(2, slots=4), (chain([2, 2], workers=4),), now)
        assert solved(problem, restart_price=1.0).placement == now
        assert solved(problem, objective="cut").metrics.workers_used == 1

    def test_workers_that_share_a_node_stay_where_fewer_save_nothing(self):
        now = Placement(np.array([0, 1, 2, 3]))
        problem = Problem(nodes(2, slots=4), (chain([2, 2], workers=4),), now)
        assert solved(problem).placement == now

    @pytest.mark.slow
    def test_what_runs_nowhere_is_placed_and_nothing_else_moves(self):
        problem = microbenchmark("linear", 18)
        full = solved(problem)
        node = int(executor_nodes(problem, full.placement)[0])
        lost = executor_nodes(problem, full.placement) == node
        slots = np.where(lost, -1, full.placement.slots)
        again = solved(replace(problem, current=Placement(slots)), restart_price=1000.0)
        assert np.array_equal(again.placement.slots[~lost], slots[~lost])

    @pytest.mark.slow
    def test_alike_nodes_are_not_exchanged(self):
        problem = microbenchmark("star", 18)
        first = solved(problem)
        again = solved(replace(problem, current=first.placement))
        assert again.placement == first.placement


@pytest.mark.slow
@given(problem=problems())
def test_a_current_placement_is_not_made_worse(problem):
    try:
        first = solved(replace(problem, current=None, lost_slots=()), effort=0.1)
    except Infeasible:
        assume(False)
    again = solved(
        replace(problem, current=first.placement, lost_slots=()), restart_price=0.5, effort=0.1
    )
    assert crossing(again) <= crossing(first) + 1e-9
    saved = crossing(first) - crossing(again)
    assert again.metrics.workers_restarted * 0.5 <= saved * 1.01 + 1e-9


@pytest.mark.parametrize(("cpu", "asked"), [(100.0, []), (22.0, [True])])
def test_what_takes_long_is_asked_only_where_nothing_carries_the_rates(cpu, asked):
    """I-Scheduler took two thirds of the time where `even` was overloaded and `cut` was not."""
    problem = Problem(nodes(2, cpu_percent=cpu), (chain([2, 2]),))  # of 10 points each
    calls = []

    def more():
        calls.append(True)
        return [Placement(np.array([0, 0, 4, 4]))]

    placement = improve(problem, np.random.default_rng(1), Options(), (), more)
    assert calls == asked
    assert not violations(problem, placement)
