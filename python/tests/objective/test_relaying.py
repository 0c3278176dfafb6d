"""What executors take of chains of local-or-shuffle streams, pair by pair and in the simulator."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import placed_problems_with_resources, prefers_near

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.objective.cut import routed
from stormcut.objective.relaying import relay
from stormcut.objective.resources import executor_loads
from stormcut.simulator.events import running
from stormcut.simulator.system import system_of


def component(name, count, us=1.0, kind="bolt"):
    idle = np.zeros(count)
    return Component(name, kind, count, idle, idle, us)


def crawler(*measured):
    """Return two sources by key to fetchers, and a chain from these to indexers."""
    local = "local_or_shuffle"
    topology = Topology(
        "crawl",
        (
            component("frontier", 2, kind="spout"),
            component("fetch", 4, 20.0),
            component("parse", 4, 900.0),
            component("index", 2, 300.0),
            component("status", 3, 50.0),
        ),
        (
            Stream("frontier", "fetch", 400.0, "fields"),
            Stream("fetch", "parse", 400.0, local),
            Stream("parse", "index", 800.0, local),
            Stream("parse", "status", 400.0, "fields"),
        ),
        measured,
    )
    nodes = tuple(Node(f"n{at}", (1,), cpu_percent=400.0) for at in range(3))
    return Problem(nodes, (topology,))


#: Two fetchers on each of the first nodes; parsers on all.
CRAWL = [0, 1, 0, 0, 1, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2]


def naive_takes(problem, slots):
    """Return what executors take, tuple streams followed component by component."""
    (topology,) = problem.topologies
    size = {c.name: c.executors for c in topology.components}
    first = topology.offsets
    taken = {c.name: np.zeros(c.executors) for c in topology.components}
    for part in topology.components:  # in the order of the crawler
        took = taken[part.name]
        share = took / took.mean() if took.any() else np.ones(part.executors)
        for stream in (s for s in topology.streams if s.source == part.name):
            each = stream.tuples_per_second / part.executors
            for at in range(part.executors):
                home = slots[first[part.name] + at]
                targets = list(range(size[stream.target]))
                if prefers_near(topology, stream):
                    near = [t for t in targets if slots[first[stream.target] + t] == home]
                    targets = near or targets
                for target in targets:
                    taken[stream.target][target] += each * share[at] / len(targets)
    return np.concatenate([taken[c.name] for c in topology.components])


@given(st.lists(st.integers(0, 2), min_size=15, max_size=15))
def test_executors_pass_on_what_they_take(slots):
    problem = crawler()
    traffic, taken = relay(problem, np.array(slots))
    assert taken == pytest.approx(naive_takes(problem, slots))
    pairs = routed(traffic, np.array(slots))
    source, target, rate = pairs.unfolded()
    assert np.bincount(target, rate, 15) == pytest.approx(taken)
    sent = np.bincount(source, rate, 15)
    # A parser sends three tuples for each that it takes, a fetcher one.
    assert sent[6:10] == pytest.approx(3 * taken[6:10])
    assert sent[2:6] == pytest.approx(taken[2:6])


def test_parsers_without_a_fetcher_get_nothing():
    problem, placement = crawler(), Placement(np.array(CRAWL))
    loads = executor_loads(problem, placement)
    assert loads[6:10] == pytest.approx([9.0, 9.0, 18.0, 0.0])
    # Those on the second node have no indexer there, and send to both.
    assert loads[10:12] == pytest.approx([18.0, 6.0])


def test_measured_pairs_of_a_chain_follow_and_keep_their_sum():
    pairs = [MeasuredPair(("parse", at), ("status", at % 3), 100.0, None) for at in range(4)]
    problem = crawler(*pairs)
    _, taken = relay(problem, np.array(CRAWL))
    # Parsers take 100, 100, 200 and 0.
    assert taken[12:] == pytest.approx([100.0, 100.0, 200.0])


def test_a_circle_of_chains_sends_equal_shares():
    problem = crawler()
    (topology,) = problem.topologies
    streams = (*topology.streams, Stream("index", "parse", 100.0, "local_or_shuffle"))
    circle = replace(problem, topologies=(replace(topology, streams=streams),))
    traffic, taken = relay(circle, np.array(CRAWL))
    assert traffic.sending[6:12] == pytest.approx(1.0)
    assert taken.sum() == pytest.approx(2100.0)


@given(placed_problems_with_resources())
def test_components_take_what_is_declared(given_):
    """How executors are placed decides who takes what, not how much all take."""
    problem, placement = given_
    _, taken = relay(problem, placement.slots)
    assert (taken >= -1e-6).all()
    starts = np.cumsum([0, *(c.executors for t in problem.topologies for c in t.components)])[:-1]
    sums = [np.add.reduceat(each, starts) for each in (taken, problem.traffic.taken)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-6, abs=1e-6)


def test_the_simulator_runs_what_the_model_says():
    problem, placement = crawler(), Placement(np.array(CRAWL))
    with running(system_of(problem, placement), 1, 1) as engine:
        engine.run(60.0, lambda done, wanted: None)
        executed = engine.counts.executed / 60.0
    _, taken = relay(problem, placement.slots)
    assert executed[2:] == pytest.approx(taken[2:], rel=0.1, abs=2.0)


def test_fetchers_that_take_more_send_more():
    """Keys were measured: two fetchers take most of what the frontier sends."""
    pairs = [
        MeasuredPair(("frontier", 0), ("fetch", at), rate, None)
        for at, rate in enumerate((220.0, 100.0, 60.0, 20.0))
    ]
    problem, placement = crawler(*pairs), Placement(np.array(CRAWL))
    _, taken = relay(problem, placement.slots)
    assert taken[6:10] == pytest.approx([160.0, 160.0, 80.0, 0.0])
    with running(system_of(problem, placement), 1, 1) as engine:
        engine.run(60.0, lambda done, wanted: None)
        executed = engine.counts.executed / 60.0
    assert executed[2:] == pytest.approx(taken[2:], rel=0.1, abs=2.0)
