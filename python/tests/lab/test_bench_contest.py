"""Every scheduler of a bench gets the same problem, and what it says is what Nimbus is told."""

from dataclasses import replace

import pytest
from brain_clusters import profile_of
from hypothesis import given
from hypothesis import strategies as st

from stormcut.application.compare import Contender
from stormcut.lab.experiment.bench.contest import Host, capacities, place
from stormcut.lab.experiment.bench.planner import BenchPlanner, Wanted
from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Subscription,
    Supervisor,
)
from stormcut.model.errors import StormcutError
from stormcut.model.network import Link
from stormcut.objective.resources import executor_loads

SCHEDULERS = ("even", "r-storm", "p-scheduler", "t3-scheduler", "i-scheduler", "stromax", "cut")


def topology(name="linear-cut", tasks=6):
    executors = tuple(
        RunningExecutor(1 + at, 1 + at, ("a", "b", "c")[at // tasks]) for at in range(3 * tasks)
    )
    streams = (
        Subscription("a", "b", "default", "shuffle"),
        Subscription("b", "c", "default", "shuffle"),
    )
    return RunningTopology(f"{name}-1-1700000000", name, 4, executors, streams)


def hosts(*sizes):
    return [Host(f"10.0.0.{at}", size) for at, size in enumerate(sizes, start=1)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 200), st.floats(1, 3))
def test_capacities_hold_everything_in_proportion(sizes, executors, room):
    found = capacities(sizes, executors, room)
    assert sum(found) >= executors
    for size, limit in zip(sizes, found, strict=True):
        assert -1e-9 <= limit - room * executors * size / sum(sizes) <= 1


# OLS's workers need not fit, and P-Scheduler knows nodes of one size: see their refusals.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheduler", "sizes"),
    [(name, (1, 1, 1, 1)) for name in SCHEDULERS]
    + [(name, (3, 2, 1)) for name in SCHEDULERS if name != "p-scheduler"],
)
def test_each_scheduler_places_all_executors_within_capacity(scheduler, sizes):
    at = hosts(*sizes)
    seat = place(topology(), None, at, 1.34, Contender(scheduler), 1)
    assert seat.hosts.keys() == set(range(1, 19))
    assert 0 <= seat.between <= seat.total
    if scheduler == "even":
        return  # Storm's own knows no capacity
    for host, limit in zip(at, capacities(sizes, 18, 1.34), strict=True):
        assert sum(each == host.address for each in seat.hosts.values()) <= limit


def test_stromax_alone_is_its_bootstrap():
    running, at = topology(), [replace(host, cpu_percent=100.0) for host in hosts(1, 1, 1, 1)]
    profile = profile_of(running, rate=lambda source, target: float(source * target % 7))
    # Equal costs would lead Rebalance to the same placement.
    loads = tuple(replace(e, cpu_percent=float(e.start_task)) for e in profile.executors)
    profile = replace(profile, executors=loads)
    alone, bootstrap, rebalance = (
        place(running, profile, at, 1.34, Contender("stromax", options), 1).hosts
        for options in ({}, {"mode": "bootstrap"}, {"mode": "rebalance"})
    )
    assert alone == bootstrap != rebalance


def test_the_cost_model_says_what_narrow_links_let_sources_reach():
    running, wide = topology(), [replace(host, cpu_percent=100.0) for host in hosts(1, 1, 1, 1)]
    # Each executor exchanges most with one partner.
    profile = profile_of(running, cpu=1.0, rate=lambda s, t: 5.0 if (t - s) % 6 else 100.0)
    traffic = tuple(replace(each, bytes_per_tuple=1000.0) for each in profile.traffic)
    profile = replace(profile, traffic=traffic)
    narrow = [replace(host, link=Link(1.0, 1.0)) for host in wide]

    def reachable(at, scheduler):
        return place(running, profile, at, 1.34, Contender(scheduler), 1).reachable

    assert reachable(narrow, "cut") > 1.5 * reachable(narrow, "even")
    assert reachable(narrow, "even") < reachable(wide, "even")
    assert place(running, None, wide, 1.34, Contender("even"), 1).reachable is None


class Seen(Contender):
    """Keeps the problem that it gets."""

    def solve(self, problem, seed):
        self.problems.append(problem)
        return super().solve(problem, seed)


def test_all_loads_shrink_alike_where_nodes_were_full(monkeypatch):
    """Of local-or-shuffle streams the CPU follows from rates, which stayed as they were."""
    running, at = topology(), [replace(host, cpu_percent=30.0) for host in hosts(1, 1, 1)]
    streams = (running.streams[0], replace(running.streams[1], grouping="local_or_shuffle"))
    profile = profile_of(running, cpu=5.0, rate=lambda s, t: 10.0)
    monkeypatch.setattr(Seen, "problems", [], raising=False)
    seat = place(replace(running, streams=streams), profile, at, 1.34, Seen("even"), 1)
    (problem,) = Seen.problems
    asked = executor_loads(problem, seat.solution.placement)
    ratios = asked / executor_loads(seat.problem, seat.solution.placement)
    assert ratios == pytest.approx([0.5] * 18)


def state(*topologies):
    supervisors = tuple(Supervisor(f"id-{at}", f"10.0.0.{at}", (6700, 6701)) for at in (1, 2))
    return ClusterState(supervisors, topologies)


def test_the_planner_says_what_it_was_told_and_nothing_else():
    planner, running = BenchPlanner(), topology(tasks=1)
    wanted = Wanted("cut", 6701, {1: "10.0.0.1", 2: "10.0.0.2", 3: "10.0.0.1"})
    planner.register(running.name, lambda _: wanted)
    plan = planner.plan(state(running, topology("other", 1)))
    (part,) = plan.topologies
    assert {(w.slot, w.executors) for w in part.workers} == {
        (Slot("id-1", 6701), (1, 3)),
        (Slot("id-2", 6701), (2,)),
    }
    assert [each.topology for each in plan.declined] == ["other-1-1700000000"]
    assert planner.plan(state(running, topology("other", 1))) is plan
    assert planner.seen(running.name) == running


def test_a_topology_that_nimbus_did_not_ask_about_is_named():
    with pytest.raises(StormcutError, match="did not ask where to run linear-cut"):
        BenchPlanner().seen("linear-cut")


def test_sources_with_few_tuples_on_their_way_reach_less():
    running, at = topology(), [replace(host, cpu_percent=100.0) for host in hosts(1, 1, 1, 1)]
    few, many, unknown = (
        place(running, profile_of(running), at, 1.5, Contender("even"), 1, window)
        for window in (1, 1000, None)
    )
    assert few.reachable < many.reachable
    assert many.reachable == pytest.approx(unknown.reachable, rel=0.02)
