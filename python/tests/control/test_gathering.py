"""Storm's bookkeeping gets no node of its own while there is room where its topology runs."""

from dataclasses import replace

import numpy as np
import pytest
from brain_clusters import dealt, profile_of, situation_of, supervisors, topology
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.gathering import gathered
from stormcut.control.decide.question import Question
from stormcut.model.cluster import ClusterState, RunningExecutor, Slot, Subscription, Worker
from stormcut.model.placement import Placement
from stormcut.objective.cut import executor_nodes
from stormcut.objective.verify import violations
from stormcut.running.situation import situation
from stormcut.running.usage import Usage
from stormcut.running.workload import workload

CONSUMER = "__metricsorg.apache.storm.metric.LoggingMetricsConsumer"


def with_consumer(sizes):
    """A chain of components, and a consumer that every task sends metrics to."""
    running = topology("t", sizes)
    task = max(e.end_task for e in running.executors) + 1
    consumer = RunningExecutor(task, task, CONSUMER, 10.0, 128.0)
    names = sorted({e.component for e in running.executors})
    streams = tuple(Subscription(name, CONSUMER, "__metrics", "shuffle") for name in names)
    executors = (*running.executors, consumer)
    return replace(running, executors=executors, streams=(*running.streams, *streams)), task


def measured(running, task):
    """A profile as the hook's: sizes, and no load of the consumer, which nobody measures."""
    rate = lambda source, target: 0.3 if target == task else 40.0  # noqa: E731
    found = profile_of(running, rate=rate)
    traffic = tuple(
        replace(pair, bytes_per_tuple=340.0 if pair.target_task == task else 21.0)
        for pair in found.traffic
    )
    loads = tuple(load for load in found.executors if load.start_task != task)
    return replace(found, executors=loads, traffic=traffic)


def nodes_of(decisions):
    (decided,) = decisions.decided
    return {task: w.slot.node for w in decided.workers for task in w.executors}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["cut", "p-scheduler", "even"])
@pytest.mark.parametrize("known", [True, False])
def test_the_brain_uses_no_node_for_the_consumer_alone(known, algorithm):
    running, task = with_consumer((4, 4, 2, 1, 1))
    slots = [Slot(f"n{i}", 6700) for i in range(4)]
    running = dealt(running, slots) if known else running
    state = ClusterState(supervisors(4, meta={"stormcut.max.executors": "8"}), (running,))
    profiles = {running.id: measured(running, task)} if known else {}
    nodes = nodes_of(decide(Question(state, profiles, None, Settings(algorithm))))
    assert nodes.pop(task) in set(nodes.values())


def test_a_consumer_goes_where_most_of_what_it_takes_comes_from():
    """Three tasks on one node send it less than one on another."""
    running, task = with_consumer((3, 1))
    heavy = next(e.start_task for e in running.executors if e.component == "c1")
    places = [
        Worker(Slot("n0", 6700), tuple(t for t in range(1, task) if t != heavy)),
        Worker(Slot("n1", 6700), (heavy,)),
        Worker(Slot("n2", 6700), (task,)),
    ]
    running = replace(running, assignment=tuple(places))
    profile = profile_of(running, rate=lambda source, _: 10.0 if source == heavy else 0.1)
    state = ClusterState(supervisors(3), (running,))
    found, here = situation_of(state, profile)
    names = [node.id for node in found.problem.nodes]
    nodes = executor_nodes(found.problem, gathered(found, here))
    assert names[nodes[list(found.loads[0].tasks).index(task)]] == "n1"


@given(st.data())
def test_any_placement_stays_allowed_and_only_lonely_consumers_move(data):
    running, task = with_consumer(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    most = data.draw(st.integers(1, 4))
    nodes = supervisors(11, slots=2, meta={"stormcut.max.executors": str(most)})
    load = workload(running, measured(running, task))
    at = situation((load,), Usage(ClusterState(nodes, (running,))).left(), ((),))
    seats = [slot for slot in range(22) if slot % 2 == 0 for _ in range(most)]
    slots = data.draw(st.permutations(seats))[: len(load.tasks)]
    placement = Placement(np.array(slots))
    keep_workers = data.draw(st.booleans())
    result = gathered(at, placement, keep_workers)
    assert not keep_workers or len({*result.slots}) == len({*placement.slots})
    assert not violations(at.problem, result)
    own = load.tasks.index(task)
    before, after = (executor_nodes(at.problem, each) for each in (placement, result))
    others = np.delete(before, own)
    assert np.array_equal(np.delete(after, own), others)
    has_room = any((others == node).sum() < most for node in set(others.tolist()))
    if before[own] in others:
        assert result == placement
    else:
        assert (after[own] in others) is has_room
