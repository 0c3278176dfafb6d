"""Clusters for tests: hypothesis strategies, and what a shim does with a plan."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Subscription,
    Supervisor,
    Worker,
)
from stormcut.model.placement import Placement
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic
from stormcut.running.situation import situation
from stormcut.running.usage import Usage
from stormcut.running.workload import workload

#: What topologies say of their operators, as a rule nothing.
OPERATORS = (
    (),
    (),
    (("c0", '{"kind": "source", "schema": {"word": 8}}'),),
    (("c0", "no JSON"), ("nobody", '{"kind": "map"}')),
)


def topology(
    name, sizes=(2, 3), *, tasks_each=1, workers=2, assignment=(), acker=True, policy="pack"
):
    """A chain of components c0 -> c1 -> ..., with an acker, on any number of workers."""
    executors, task = [], 1
    counts = [*((("__acker", 1),) if acker else ()), *((f"c{i}", n) for i, n in enumerate(sizes))]
    for component, count in counts:
        for _ in range(count):
            executors.append(RunningExecutor(task, task + tasks_each - 1, component, 10.0, 128.0))
            task += tasks_each
    streams = tuple(
        Subscription(f"c{i}", f"c{i + 1}", "default", "shuffle") for i in range(len(sizes) - 1)
    )
    return RunningTopology(
        name, name, workers, tuple(executors), streams, tuple(assignment), policy
    )


def supervisors(count, slots=4, cpu=400.0, meta=None, memory=3072.0):
    return tuple(
        Supervisor(
            f"n{i}", f"h{i}", tuple(range(6700, 6700 + slots)), cpu, memory, dict(meta or {})
        )
        for i in range(count)
    )


def profile_of(running, cpu=10.0, rate=lambda source, target: 10.0, memory=30.0):
    """Loads, and traffic along the streams, between first tasks."""
    by = {}
    for executor in running.executors:
        by.setdefault(executor.component, []).append(executor)
    traffic = tuple(
        TaskTraffic(s.start_task, t.start_task, rate(s.start_task, t.start_task), None)
        for stream in running.streams
        for s in by[stream.source]
        for t in by[stream.target]
    )
    loads = tuple(
        ExecutorLoad(e.component, e.start_task, e.end_task, cpu, memory) for e in running.executors
    )
    return Profile(running.id, 100, 160, loads, traffic)


def dealt(running, slots):
    """The topology with its executors dealt to slots in turn, as Storm does."""
    content = {}
    for index, executor in enumerate(running.executors):
        content.setdefault(slots[index % len(slots)], []).append(executor.start_task)
    workers = tuple(Worker(slot, tuple(sorted(tasks))) for slot, tasks in content.items())
    return replace(running, assignment=workers)


def applied(state, plan_parts):
    """The state after a shim has done as the plan says."""
    parts = {part.topology: part.workers for part in plan_parts}
    return replace(
        state,
        topologies=tuple(
            replace(t, assignment=parts.get(t.id, t.assignment)) for t in state.topologies
        ),
    )


def situation_of(state, profile):
    """The situation of the only topology of a cluster, and where it runs."""
    (running,) = state.topologies
    nodes = Usage(state).left({running.id})
    found = situation((workload(running, profile),), nodes, (running.assignment,))
    return found, Placement(found.problem.current_slots())


def closed(state, node):
    """The state with a node that may hold no executor, as when it is drained."""
    full = {"stormcut.max.executors": "0"}
    nodes = (replace(s, meta=full) if s.id == node else s for s in state.supervisors)
    return replace(state, supervisors=tuple(nodes))


def assert_worth_is_shown(decision):
    """Check that a move carries what its topology's places are worth, before and after it."""
    choice = decision.choice
    for worth, figures in ((choice.now, decision.before), (choice.then, decision.after)):
        travels = figures.metrics.inter_node_tuples_per_second
        assert (worth.travels, worth.unit) == (pytest.approx(travels), "tuples/s")


@st.composite
def clusters(draw):
    """(state, profiles): some topologies run whole, some in part, some not; some measured."""
    count = draw(st.integers(1, 5))
    nodes = tuple(
        Supervisor(
            f"n{i}",
            f"h{i}",
            tuple(range(6700, 6700 + draw(st.integers(0, 4)))),
            draw(st.sampled_from([None, 100.0, 400.0])),
            draw(st.sampled_from([None, 500.0, 3072.0])),
            draw(
                st.sampled_from(
                    [
                        {},
                        {"stormcut.max.executors": "6"},
                        {"stormcut.rack": "r"},
                        {"stormcut.link.mbit": "0.01"},
                    ]
                )
            ),
        )
        for i in range(count)
    )
    free = draw(st.permutations([Slot(n.id, port) for n in nodes for port in n.ports]))
    free = [*free, Slot("gone", 6700)] if draw(st.booleans()) else list(free)
    topologies, profiles = [], {}
    for index in range(draw(st.integers(0, 3))):
        sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
        running = topology(f"t{index}", sizes, tasks_each=draw(st.integers(1, 2)))
        own, free = free[:2], free[2:]
        if own and draw(st.booleans()):
            running = dealt(running, own)
            if draw(st.booleans()):
                running = replace(running, assignment=running.assignment[1:])
        running = replace(
            running,
            workers_policy=draw(st.sampled_from([None, "pack", "pack", "keep"])),
            operators=draw(st.sampled_from(OPERATORS)),
        )
        if draw(st.booleans()):
            cpu = draw(st.sampled_from([0.0, 10.0, 40.0]))
            profiles[running.id] = profile_of(running, cpu, lambda s, t: float(s * t % 7))
        topologies.append(running)
    return ClusterState(nodes, tuple(topologies)), profiles


def swapping(*loads):
    """Return three executors on two nodes of 100 points, and profiles by their points of CPU."""
    running = topology("a", (3,), acker=False)
    running = replace(
        running,
        assignment=(Worker(Slot("n0", 6700), (1,)), Worker(Slot("n1", 6700), (2, 3))),
    )
    state = ClusterState(supervisors(2, cpu=100.0), (running,))

    def profile(loads, at):
        known = profile_of(running)
        its = zip(known.executors, loads, strict=True)
        return replace(
            known,
            to_epoch_s=at,
            executors=tuple(replace(each, cpu_percent=points) for each, points in its),
        )

    return state, profile, loads
