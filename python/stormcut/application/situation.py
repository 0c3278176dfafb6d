"""From Storm's ids to a problem and back: one topology against what the others leave.

Everything Storm-shaped (task ids, supervisors' meta, defaults) ends here; algorithms see
`stormcut.model.problem` only.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Supervisor,
    Worker,
)
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import (
    DEFAULT_CPU_PERCENT,
    DEFAULT_MEMORY_MB,
    Component,
    MeasuredPair,
    Node,
    Problem,
    Stream,
    Topology,
)
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic
from stormcut.model.traffic import Traffic

log = logging.getLogger(__name__)

MAX_EXECUTORS_KEY = "stormcut.max.executors"
RACK_KEY = "stormcut.rack"


@dataclass(frozen=True, eq=False)
class Workload:
    """A topology as a problem's value, with the first task of each executor ordinal."""

    topology: Topology
    tasks: tuple[int, ...]
    measured: bool

    @cached_property
    def traffic(self) -> Traffic:
        """The traffic between the executors."""
        return Problem((), (self.topology,)).traffic

    @cached_property
    def cpu_percent(self) -> dict[int, float]:
        """CPU of each executor in points, by first task."""
        loads = np.concatenate([c.cpu_percent for c in self.topology.components])
        return dict(zip(self.tasks, loads.tolist(), strict=True))

    @cached_property
    def memory_mb(self) -> dict[int, float]:
        """Memory of each executor in MB, by first task."""
        loads = np.concatenate([c.memory_mb for c in self.topology.components])
        return dict(zip(self.tasks, loads.tolist(), strict=True))


def misfit(profile: Profile, running: RunningTopology) -> str | None:
    """Return why a profile says nothing about the executors that run now, None if it does.

    System executors (``__acker``...) may be missing from a profile, but not differ.
    """
    if profile.topology != running.id:
        return f"it is of topology {profile.topology}"
    measured = {(e.component, e.start_task, e.end_task) for e in profile.executors}
    wanted = {(e.component, e.start_task, e.end_task) for e in running.executors}
    missing = sorted(key for key in wanted - measured if not key[0].startswith("__"))
    extra = sorted(key for key in measured - wanted if not key[0].startswith("__"))
    if missing:
        return "it lacks executor [{1} {2}] of {0}".format(*missing[0])
    if extra:
        return "it has executor [{1} {2}] of {0}, which is none now".format(*extra[0])
    return None


def workload(running: RunningTopology, profile: Profile | None) -> Workload:
    """Return a topology's loads and traffic, measured (a fitting profile) or as declared.

    Declared: every source executor sends 1 tuple/s on each of its streams. Measured: the measured
    pairs are all the traffic there is, and no declared stream remains.
    """
    by_component: dict[str, list[RunningExecutor]] = defaultdict(list)
    for executor in sorted(running.executors, key=lambda e: e.start_task):
        by_component[executor.component].append(executor)
    loads = {(e.component, e.start_task): e for e in profile.executors} if profile else {}
    targets = {stream.target for stream in running.streams}
    components = tuple(
        Component(
            name,
            "bolt" if name in targets or name.startswith("__") else "spout",
            len(executors),
            np.array([_cpu(e, loads.get((name, e.start_task))) for e in executors]),
            np.array([_memory(e, loads.get((name, e.start_task))) for e in executors]),
        )
        for name, executors in by_component.items()
    )
    if profile:
        streams: tuple[Stream, ...] = ()
        pairs = _measured_pairs(profile, by_component)
    else:
        streams, pairs = _declared_streams(running, by_component), ()
    tasks = tuple(e.start_task for executors in by_component.values() for e in executors)
    topology = Topology(running.id, components, streams, pairs, running.workers)
    return Workload(topology, tasks, profile is not None)


def _cpu(executor: RunningExecutor, load: ExecutorLoad | None) -> float:
    if load is not None:
        return load.cpu_percent
    return DEFAULT_CPU_PERCENT if executor.cpu_percent is None else executor.cpu_percent


def _memory(executor: RunningExecutor, load: ExecutorLoad | None) -> float:
    """Return declared heap plus measured memory of the subprocess.

    Storm's default heap of an executor is nobody's statement: what a worker takes is set by
    worker.childopts, and the default scheduler looks at none of it. It counts as nothing, lest
    24 small executors "fill" a supervisor of 3072 MB.
    """
    declared = executor.memory_mb or 0.0
    heap = 0.0 if declared == DEFAULT_MEMORY_MB else declared
    return heap + ((load.memory_mb or 0.0) if load else 0.0)


def _declared_streams(
    running: RunningTopology, by_component: Mapping[str, list[RunningExecutor]]
) -> tuple[Stream, ...]:
    return tuple(
        Stream(s.source, s.target, float(len(by_component[s.source])), s.grouping, s.stream)
        for s in running.streams
        if s.source in by_component and s.target in by_component
    )


def _measured_pairs(
    profile: Profile, by_component: Mapping[str, list[RunningExecutor]]
) -> tuple[MeasuredPair, ...]:
    names = [(name, index) for name, of in by_component.items() for index in range(len(of))]
    executors = (executor for of in by_component.values() for executor in of)
    owner = {
        task: ordinal
        for ordinal, executor in enumerate(executors)
        for task in range(executor.start_task, executor.end_task + 1)
    }
    between: dict[tuple[int, int], list[TaskTraffic]] = defaultdict(list)
    for traffic in profile.traffic:
        source, target = owner.get(traffic.source_task), owner.get(traffic.target_task)
        if source is not None and target is not None and source != target:
            between[source, target].append(traffic)
    pairs = (
        MeasuredPair(names[source], names[target], _rate(parts), _bytes_per_tuple(parts))
        for (source, target), parts in sorted(between.items())
    )
    return tuple(pair for pair in pairs if pair.tuples_per_second > 0)


def _rate(parts: list[TaskTraffic]) -> float:
    return sum(part.tuples_per_second for part in parts)


def _bytes_per_tuple(parts: list[TaskTraffic]) -> float | None:
    """Return the mean size of a tuple by the parts of known size, None without any."""
    sized = [(p.tuples_per_second, p.bytes_per_tuple) for p in parts if p.bytes_per_tuple]
    total = sum(rate for rate, _ in sized)
    return sum(rate * size for rate, size in sized) / total if total else None


@dataclass(frozen=True, eq=False)
class Situation:
    """One topology on the nodes that the others leave to it."""

    load: Workload
    problem: Problem

    def placement(self, workers: Iterable[Worker]) -> Placement:
        """Return workers as a placement in this problem's ordinals."""
        return _placement(self.load, self.problem.slot_ordinals, workers)

    def workers(self, placement: Placement) -> tuple[Worker, ...]:
        """Return a placement as workers in Storm's ids, ascending by slot."""
        content: dict[Slot, list[int]] = defaultdict(list)
        for task, ordinal in zip(self.load.tasks, placement.slots.tolist(), strict=True):
            if ordinal != UNASSIGNED:
                content[Slot(*self.problem.slot_ids[ordinal])].append(task)
        return tuple(sorted(Worker(slot, tuple(sorted(of))) for slot, of in content.items()))

    def narrowed(self, nodes: tuple[Node, ...]) -> Situation:
        """Return the same situation with only these nodes to choose from."""
        present = self.workers(Placement(self.problem.current_slots()))
        return Situation(self.load, _problem(self.load, nodes, present))


def situation(
    load: Workload,
    state: ClusterState,
    present: tuple[Worker, ...],
    others: Iterable[tuple[Workload, tuple[Worker, ...]]],
) -> Situation:
    """Return a topology's situation: slots and capacities without those that others use.

    Parameters
    ----------
    present : tuple of Worker
        What runs of this topology now; its slots are its own.
    others : iterable of (Workload, tuple of Worker)
        The other topologies and where their executors run or are going to.
    """
    taken: set[Slot] = set()
    cpu: dict[str, float] = defaultdict(float)
    memory: dict[str, float] = defaultdict(float)
    executors: dict[str, int] = defaultdict(int)
    for other, workers in others:
        for worker in workers:
            node = worker.slot.node
            taken.add(worker.slot)
            executors[node] += len(worker.executors)
            cpu[node] += sum(other.cpu_percent[task] for task in worker.executors)
            memory[node] += sum(other.memory_mb[task] for task in worker.executors)
    nodes = tuple(
        Node(
            supervisor.id,
            tuple(p for p in sorted(supervisor.ports) if Slot(supervisor.id, p) not in taken),
            rack(supervisor),
            _left(supervisor.cpu_percent, cpu[supervisor.id]),
            _left(supervisor.memory_mb, memory[supervisor.id]),
            None
            if (most := max_executors(supervisor)) is None
            else max(most - executors[supervisor.id], 0),
        )
        for supervisor in sorted(state.supervisors, key=lambda s: s.id)
    )
    return Situation(load, _problem(load, nodes, present))


def _left(capacity: float | None, used: float) -> float | None:
    return None if capacity is None else max(capacity - used, 0.0)


def _problem(load: Workload, nodes: tuple[Node, ...], present: tuple[Worker, ...]) -> Problem:
    bare = Problem(nodes, (load.topology,))
    lost = sorted({w.slot for w in present} - {Slot(*slot) for slot in bare.slot_ids})
    lost_slots = tuple((slot.node, slot.port) for slot in lost)
    ordinals = {slot: at for at, slot in enumerate((*bare.slot_ids, *lost_slots))}
    current = _placement(load, ordinals, present)
    problem = Problem(nodes, (load.topology,), current, lost_slots)
    # The same whatever the nodes are; to fold it anew for every set of nodes takes most of a round.
    vars(problem)["traffic"] = load.traffic
    return problem


def _placement(
    load: Workload, ordinals: Mapping[tuple[str, int], int], workers: Iterable[Worker]
) -> Placement:
    slot_of = {task: w.slot for w in workers for task in w.executors}
    slots = [
        ordinals[slot_of[task].node, slot_of[task].port] if task in slot_of else UNASSIGNED
        for task in load.tasks
    ]
    return Placement(np.array(slots, dtype=np.int64))


def max_executors(supervisor: Supervisor) -> int | None:
    """Return the supervisor's own limit of executors, None without a usable one (logged)."""
    text = supervisor.meta.get(MAX_EXECUTORS_KEY)
    return None if text is None else _positive_integer(supervisor.id, text)


@lru_cache(maxsize=4096)
def _positive_integer(supervisor: str, text: str) -> int | None:
    """Return the number or None; cached so that a wrong one is logged once, not every round."""
    if text.strip().isascii() and text.strip().isdigit() and int(text) > 0:
        return int(text)
    log.warning(
        "supervisor %s: %s: %r is not a whole number above 0; ignored (no limit)",
        supervisor,
        MAX_EXECUTORS_KEY,
        text,
    )
    return None


def rack(supervisor: Supervisor) -> str | None:
    """Return the supervisor's rack, None if its storm.yaml names none."""
    return supervisor.meta.get(RACK_KEY, "").strip() or None
