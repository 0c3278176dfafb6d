"""Moves that save no tuples: reassignment, a node that joins, others' load, links."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from brain_clusters import dealt, profile_of, supervisors, topology

from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.control.decide.wording import sentence
from stormcut.model.cluster import ClusterState, Slot, Supervisor, Worker
from stormcut.model.network import UNKNOWN, Link
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic
from stormcut.running.declared import link

HEADROOM = Settings(options={"objective": "headroom"})


def decided(state, profiles, settings=HEADROOM):
    return {d.topology: d for d in decide(Question(state, profiles, None, settings)).decided}


def cpu_by_node(decision, profile):
    """Return the CPU of each node in use, most first."""
    loads = {e.start_task: e.cpu_percent for e in profile.executors}
    sums = {}
    for worker in decision.workers:
        sums[worker.slot.node] = sums.get(worker.slot.node, 0.0) + sum(
            loads[task] for task in worker.executors
        )
    return sorted(sums.values(), reverse=True)


def busy(name="t", executors=8, cpu=55.0):
    """A topology without traffic to speak of, and its profile."""
    running = topology(name, (executors // 2, executors // 2), acker=False)
    return running, profile_of(running, cpu, lambda s, t: 0.01, memory=1.0)


def test_stromax_may_move_what_only_balances():
    running, profile = busy()
    tasks = [e.start_task for e in running.executors]
    uneven = (
        Worker(Slot("n0", 6700), tuple(tasks[:6])),
        Worker(Slot("n1", 6700), (tasks[6],)),
        Worker(Slot("n2", 6700), (tasks[7],)),
    )
    state = ClusterState(supervisors(3), (replace(running, assignment=uneven),))
    decision = decided(state, {"t": profile}, Settings(algorithm="stromax"))["t"]
    # 330, 55 and 55 points.
    assert cpu_by_node(decision, profile)[0] <= 220.0
    assert sentence(decision).startswith("moved")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"objective": "headroom"}, {"objective": "cut"}])
def test_a_node_that_joins_takes_its_part(options):
    running, profile = busy()
    here = (Slot("n0", 6700),)
    state = ClusterState(supervisors(1, cpu=450.0), (dealt(running, here),))
    assert sentence(decided(state, {"t": profile})["t"]).startswith("kept")
    grown = replace(state, supervisors=supervisors(2, cpu=450.0))
    decision = decided(grown, {"t": profile}, Settings(options=options))["t"]
    assert "for head-room, 1.01 -> " in sentence(decision)
    assert "CPU of node n0 was full first" in sentence(decision)
    if options["objective"] == "headroom":
        assert cpu_by_node(decision, profile) == [220.0, 220.0]
    else:
        # As much together as 80 % of a node allows.
        assert cpu_by_node(decision, profile) == [330.0, 110.0]


def test_what_another_topology_uses_counts():
    first, measured = busy("a", 6)
    second, light = busy("b", 2, 45.0)
    state = ClusterState(
        supervisors(2),
        (dealt(first, [Slot("n0", 6700)]), dealt(second, [Slot("n0", 6701)])),
    )
    decisions = decided(state, {"a": measured, "b": light})
    homes = {name: {w.slot.node for w in d.workers} for name, d in decisions.items()}
    # 330 and 90 points of 400: they no longer share what there is one of.
    assert homes["a"] != {"n0"} or homes["b"] != {"n0"}
    total = np.zeros(2)
    for name, profile in (("a", measured), ("b", light)):
        for worker in decisions[name].workers:
            loads = {e.start_task: e.cpu_percent for e in profile.executors}
            total[int(worker.slot.node[1])] += sum(loads[task] for task in worker.executors)
    assert total.max() < 330.0


def test_a_slow_link_is_left_though_no_tuple_is_saved():
    running = topology("t", (1, 1), acker=False)
    first, second = (e.start_task for e in running.executors)
    loads = tuple(
        ExecutorLoad(e.component, e.start_task, e.end_task, 1.0, 1.0) for e in running.executors
    )
    profile = Profile("t", 100, 160, loads, (TaskTraffic(first, second, 100.0, 1000.0),))
    meta = {"stormcut.max.executors": "1"}
    nodes = (
        Supervisor("n0", "h0", (6700,), 400.0, 3072.0, {**meta, "stormcut.link.mbit": "out=0.5"}),
        Supervisor("n1", "h1", (6700,), 400.0, 3072.0, {**meta, "stormcut.link.mbit": "100"}),
    )
    where = (Worker(Slot("n0", 6700), (first,)), Worker(Slot("n1", 6700), (second,)))
    state = ClusterState(nodes, (replace(running, assignment=where),))
    decision = decided(state, {"t": profile})["t"]
    assert decision.workers[0].executors == (second,)
    assert "link out of node n0 was full first" in sentence(decision)
    assert decision.after.metrics.inter_node_tuples_per_second == 100.0


def test_a_topology_that_runs_nowhere_uses_no_link():
    nodes = supervisors(2, meta={"stormcut.link.mbit": "20"})
    state = ClusterState(nodes, (topology("t"),))
    assert sentence(decided(state, {})["t"]).startswith("placed")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("50", Link(50.0, 50.0)),
        ("out=50, in=25", Link(50.0, 25.0)),
        ("in=2.5", Link(None, 2.5)),
        ("fast", UNKNOWN),
        ("-1", UNKNOWN),
        ("out=50,up=3", UNKNOWN),
        ("nan", UNKNOWN),
    ],
)
def test_links_are_read_from_storm_yaml(text, meant, caplog):
    with caplog.at_level(logging.WARNING):
        assert link(Supervisor("n0", "h", (1,), meta={"stormcut.link.mbit": text})) == meant
    assert bool(caplog.records) == (meant == UNKNOWN)


@pytest.mark.slow
@pytest.mark.parametrize(("held", "text"), [(75.0, "spouts could send only"), (100.0, "moved")])
def test_sources_that_wait_for_acks_send_more_elsewhere(held, text):
    """`cut` had 1.45 times the head-room of `even`, and acked 0.90 times as much.

    Of six tasks on five nodes two share one. Where their sources send less than others they wait
    for acks; where they are fed as much, they fall behind.
    """
    running = topology("t", (6, 6), acker=False, policy="keep", workers=5)
    streams = tuple(replace(each, grouping="local_or_shuffle") for each in running.streams)
    slots = [Slot(f"n{at}", 6700) for at in (0, 1, 2, 3, 4, 0)]
    running = dealt(replace(running, streams=streams), slots)
    sent = {(s, s + 6): held if s in (1, 6) else 100.0 for s in range(1, 7)}
    profile = profile_of(running, 7.0, lambda s, t: sent.get((s, t), 0.0), memory=None)
    loads = tuple(
        replace(e, cpu_percent=7.0 * held / 100.0 if e.start_task in (1, 6) else 7.0)
        for e in profile.executors
    )
    profile = replace(profile, executors=loads)
    state = ClusterState(supervisors(5, slots=1, cpu=25.0), (running,))
    assert text in sentence(decided(state, {"t": profile}, Settings())["t"])
