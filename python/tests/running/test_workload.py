"""What a topology does, as measured or declared: cores of executors, streams, local-or-shuffle."""

from dataclasses import replace

import numpy as np
import pytest
from brain_clusters import profile_of, topology
from hypothesis import example, given
from hypothesis import strategies as st

from stormcut.model.cluster import RunningExecutor
from stormcut.model.placement import Placement
from stormcut.model.problem import Node, Problem
from stormcut.model.profile import TaskTraffic, WorkerLoad
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.relaying import relay
from stormcut.objective.resources import executor_loads
from stormcut.running import measured_pairs
from stormcut.running.measured_pairs import pair_table
from stormcut.running.workload import MAX_UNLIKE, _shares, misfit, workload


def _threads(running, profile=None):
    """Cores that an executor of the first component can use."""
    return workload(running, profile).topology.components[0].threads


@pytest.mark.parametrize(
    ("cpu", "memory", "busiest", "threads"),
    [
        (60.0, None, None, 1.0),
        # As measured, a thread that is never idle is about a core; beyond that there are several.
        (103.0, None, None, 1.0),
        (150.0, None, None, 2.0),
        # One process of Python is one core, however little its thread in the JVM does.
        (92.0, 30.0, 85.0, 92 / 85),
        (100.0, 30.0, 100.0, 1.0),
        # Three subprocesses at 80 each fill at 100 each, and the JVM at a third of that.
        (270.0, 90.0, 80.0, 3.375),
        # Measured by an earlier release: one subprocess for each task.
        (60.0, 30.0, None, 1.0),
    ],
)
def test_every_process_of_an_executor_fills_a_core(cpu, memory, busiest, threads):
    running = topology("t")
    profile = profile_of(running, cpu, memory=memory)
    loads = tuple(replace(load, busiest_percent=busiest) for load in profile.executors)
    assert _threads(running, replace(profile, executors=loads)) == pytest.approx(threads)


@pytest.mark.parametrize(
    ("declared", "threads"), [(None, 1.0), (100.0, 1.0), (101.0, 2.0), (250.0, 3.0), (400.0, 4.0)]
)
def test_what_is_declared_above_a_core_has_threads(declared, threads):
    running = topology("t")
    executors = tuple(replace(e, cpu_percent=declared) for e in running.executors)
    assert _threads(replace(running, executors=executors)) == threads


def test_a_metrics_consumer_is_among_what_its_machine_uses():
    """It counted 10 points, of nodes of 35, on which it took one or two."""
    running = topology("t", (1, 1))
    consumer = RunningExecutor(9, 9, "__metrics_consumer", 10.0, 128.0)
    watched = replace(running, executors=(*running.executors, consumer))
    profile = profile_of(running, 5.0, memory=None)
    assert workload(watched, profile).cpu_percent[9] == 10.0
    told = WorkerLoad("h0", 6700, "", 20.0, 2.0, 30.0, 0.0, 0.0)
    assert workload(watched, replace(profile, workers=(told,))).cpu_percent[9] == 0.0


def test_streams_stay_beside_what_was_measured_between_their_executors():
    running = topology("t", (2, 3), acker=False)
    twice = replace(
        running, streams=(*running.streams, replace(running.streams[0], stream="other"))
    )
    profile = profile_of(running, rate=lambda s, t: float(s + t))
    measured = workload(twice, profile).topology
    total = sum(pair.tuples_per_second for pair in measured.measured)
    assert [s.tuples_per_second for s in measured.streams] == [total / 2, total / 2]
    alone = replace(measured, streams=())
    before, after = (Problem((), (t,)).traffic for t in (alone, measured))
    assert before.total == after.total == total


def _flowing(running, slot_of, rates):
    """What local-or-shuffle sends between first tasks of c0 and c1 that run in these slots."""
    sources, targets = (
        [e.start_task for e in running.executors if e.component == name] for name in ("c0", "c1")
    )
    sent = {}
    for source, rate in zip(sources, rates, strict=True):
        near = [each for each in targets if slot_of[each] == slot_of[source]] or targets
        sent |= {(source, each): rate / len(near) for each in near}
    return sent


@given(
    st.lists(st.integers(0, 2), min_size=7, max_size=7),
    st.permutations(range(7)),
    st.lists(st.sampled_from((4.0, 12.0, 36.0)), min_size=4, max_size=4),
)
@example([0, 0, 0, 0, 1, 1, 2], [*range(7)], [12.0] * 4)
def test_local_or_shuffle_is_predicted_for_another_placement(places, order, rates):
    """Measured pairs were taken for those of any placement: what stays was 14 % for 45 %.

    Sources were taken to send alike: what ran was told a head-room of 0.74 at rates that it
    carried.
    """
    running = topology("t", (4, 3), acker=False)
    streams = tuple(replace(s, grouping="local_or_shuffle") for s in running.streams)
    running = replace(running, streams=streams)
    tasks = [e.start_task for e in running.executors]
    before = dict(zip(tasks, places, strict=True))
    after = dict(zip(tasks, [places[at] for at in order], strict=True))
    sent = _flowing(running, before, rates)
    profile = profile_of(running, rate=lambda s, t: sent.get((s, t), 0.0), memory=None)
    load = workload(running, profile)
    nodes = tuple(Node(f"n{at}", (6700,)) for at in range(3))
    problem = Problem(nodes, (load.topology,))
    for where in (before, after):
        placement = Placement(np.array([where[task] for task in tasks]))
        flowing = _flowing(running, where, rates)
        crossing = sum(r for (s, t), r in flowing.items() if where[s] != where[t])
        assert inter_node_tuples_per_second(problem, placement) == pytest.approx(crossing)
        # The CPU of three executors of 10 points each goes where their tuples go.
        cpu = executor_loads(problem, placement)[4:]
        taken = [sum(r for (_, t), r in flowing.items() if t == e) for e in (5, 6, 7)]
        assert cpu == pytest.approx([30.0 * each / sum(rates) for each in taken])


def _passed_on(streams, parts, slot_of, rates):
    """What executors of a chain send each other if sources send so much, by (task, task)."""
    sent, taken = {}, dict(zip(parts[0], rates, strict=True))
    for stream, sources, targets in zip(streams, parts[:-1], parts[1:], strict=True):
        for source in sources:
            near = [each for each in targets if slot_of[each] == slot_of[source]]
            if stream.grouping != "local_or_shuffle":
                near = []
            for each in near or targets:
                sent[source, each] = taken.get(source, 0.0) / len(near or targets)
                taken[each] = taken.get(each, 0.0) + sent[source, each]
    return sent, taken


@given(
    st.lists(st.integers(0, 2), min_size=11, max_size=11),
    st.permutations(range(11)),
    st.lists(st.sampled_from(("local_or_shuffle", "shuffle")), min_size=3, max_size=3),
    st.lists(st.sampled_from((4.0, 12.0, 36.0)), min_size=3, max_size=3),
)
def test_a_chain_is_predicted_for_another_placement(places, order, groupings, rates):
    """In a crawl with its fetchers on two of four nodes the other two did nothing, unpredicted."""
    running = topology("t", (3, 3, 3, 2), acker=False)
    streams = tuple(
        replace(stream, grouping=grouping)
        for stream, grouping in zip(running.streams, groupings, strict=True)
    )
    running = replace(running, streams=streams)
    tasks = [e.start_task for e in running.executors]
    parts = [tasks[:3], tasks[3:6], tasks[6:9], tasks[9:]]
    before = dict(zip(tasks, places, strict=True))
    after = dict(zip(tasks, [places[at] for at in order], strict=True))
    sent, _ = _passed_on(streams, parts, before, rates)
    profile = profile_of(running, rate=lambda s, t: sent.get((s, t), 0.0), memory=None)
    problem = Problem(
        tuple(Node(f"n{at}", (6700,)) for at in range(3)), (workload(running, profile).topology,)
    )
    for where in (before, after):
        _, taken = _passed_on(streams, parts, where, rates)
        _, predicted = relay(problem, np.array([where[task] for task in tasks]))
        assert predicted[3:] == pytest.approx([taken.get(task, 0.0) for task in tasks[3:]])


def table_of(traffic):
    """Return what two executors of a, tasks 1 and 2, send two of b."""
    running = topology("t", (2, 2), acker=False)
    return pair_table(traffic, {"a": running.executors[:2], "b": running.executors[2:]})


def test_pairs_behind_a_chain_keep_what_each_target_takes():
    """Keys are skewed as measured; which parser sends them depends on the placement."""
    traffic = [
        TaskTraffic(source, target, rate, None)
        for source, target, rate in ((1, 3, 9.0), (2, 3, 1.0), (2, 4, 2.0))
    ]
    table = table_of(traffic)
    evened = table.evened({"a"}).pairs(without=set())
    rates = {(p.source[1], p.target[1]): p.tuples_per_second for p in evened}
    assert rates == {(0, 0): 5.0, (1, 0): 5.0, (0, 1): 1.0, (1, 1): 1.0}
    assert table.evened({"b"}).pairs(without=set()) == table.pairs(without=set())


def test_pairs_that_are_evened_keep_the_mean_size_of_a_tuple_as_far_as_it_is_known():
    traffic = [
        TaskTraffic(1, 3, 9.0, 100.0),
        TaskTraffic(2, 3, 3.0, 20.0),
        TaskTraffic(1, 4, 5.0, None),
    ]
    table = table_of(traffic)
    evened = table.evened({"a"}).pairs(without=set())
    assert {(p.source[1], p.target[1]): p.bytes_per_tuple for p in evened} == {
        (0, 0): 80.0,
        (1, 0): 80.0,
        (0, 1): None,
        (1, 1): None,
    }


def test_pairs_of_large_components_stay_as_measured(monkeypatch):
    traffic = [TaskTraffic(1, 3, 9.0, None), TaskTraffic(2, 4, 3.0, None)]
    table = table_of(traffic)
    monkeypatch.setattr(measured_pairs, "MAX_EVENED", 4)
    assert len(table.evened({"a"}).pairs(without=set())) == 4
    monkeypatch.setattr(measured_pairs, "MAX_EVENED", 3)
    assert table.evened({"a"}).pairs(without=set()) == table.pairs(without=set())


def test_an_executor_that_takes_more_is_no_closer_to_what_its_threads_can_do():
    running = topology("t", (2, 2), acker=False)
    once = workload(running, profile_of(running, 40.0))
    parts = zip(once.topology.components, once.times(1.5).topology.components, strict=True)
    for before, after in parts:
        assert after.cpu_percent.tolist() == [60.0, 60.0]
        assert after.threads == pytest.approx(1.5 * before.threads)


def test_a_profile_that_does_not_fit_says_where_it_differs():
    running = topology("t", (2, 3))
    profile = profile_of(running)
    without_acker = replace(profile, executors=profile.executors[1:])
    assert misfit(profile, running) is misfit(without_acker, running) is None
    assert misfit(profile_of(topology("u", (2, 3))), running) == "it is of topology u"
    fewer = replace(profile, executors=profile.executors[:-1])
    assert misfit(fewer, running) == "it lacks executor [6 6] of c1"
    shrunk = replace(running, executors=running.executors[:-1])
    assert misfit(profile, shrunk) == "it has executor [6 6] of c1, which is none now"


@pytest.mark.parametrize(
    ("sent", "shares"),
    [
        ((0.0, 0.0), None),
        ((100.0, 104.0), None),
        ((100.0, 300.0), (0.25, 0.75)),
        # Of few tuples that may be chance.
        ((0.01, 0.03), None),
        ((0.0792, 0.0056, 0.0056, 0.0056), None),
        ((1.0,) * MAX_UNLIKE + (99.0,), None),
    ],
)
def test_executors_that_send_unlike_have_shares(sent, shares):
    assert _shares(np.array(sent), 60.0) == shares


def test_a_load_is_so_many_times_another_and_what_is_unknown_stays_unknown():
    running = topology("t", (1, 1, 1))
    streams = tuple(replace(each, grouping="local_or_shuffle") for each in running.streams)
    running = replace(running, streams=streams)
    load = workload(running, profile_of(running, cpu=20.0, rate=lambda *_: 4.0))
    thrice = load.times(3.0)
    assert {task: 3.0 * cpu for task, cpu in load.cpu_percent.items()} == thrice.cpu_percent
    known = [each.cpu_us_per_tuple for each in load.topology.components]
    assert {each is None for each in known} == {True, False}
    assert [each.cpu_us_per_tuple for each in thrice.topology.components] == [
        None if each is None else pytest.approx(3.0 * each) for each in known
    ]
