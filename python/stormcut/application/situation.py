"""From Storm's ids to a problem and back: one topology against what the others leave.

Everything Storm-shaped (task ids, supervisors' meta, defaults) ends here; algorithms see
`stormcut.model.problem` only.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stormcut.application.declared import link, max_executors, rack
from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Supervisor,
    Worker,
)
from stormcut.model.errors import InvalidInput
from stormcut.model.network import UNKNOWN, Link
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
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.resources import LINK_IN, LINK_OUT, uses
from stormcut.placement.cut.weighing import is_measured, weighed


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
    def by_size(self) -> tuple[Problem, float] | None:
        """The topology with rates in tuples of mean size, and that size; None without sizes."""
        problem = Problem((), (self.topology,))
        return weighed(problem) if is_measured(problem) else None

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
    pairs are all the traffic there is; streams have the rates and sizes that follow from them.
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
    streams = _declared_streams(running, by_component)
    pairs: tuple[MeasuredPair, ...] = ()
    if profile:
        pairs = _measured_pairs(profile, by_component)
        streams = _measured_streams(streams, pairs)
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


def _measured_streams(
    declared: tuple[Stream, ...], pairs: tuple[MeasuredPair, ...]
) -> tuple[Stream, ...]:
    """Return streams as measured; several between the same components share the rate evenly."""
    between: dict[tuple[str, str], list[MeasuredPair]] = defaultdict(list)
    for pair in pairs:
        between[pair.source[0], pair.target[0]].append(pair)
    count = Counter((stream.source, stream.target) for stream in declared)
    return tuple(
        replace(
            stream,
            tuples_per_second=_rate(between[edge]) / count[edge],
            bytes_per_tuple=_bytes_per_tuple(between[edge]),
        )
        for stream in declared
        for edge in ((stream.source, stream.target),)
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


def _rate(parts: Sequence[TaskTraffic | MeasuredPair]) -> float:
    return sum(part.tuples_per_second for part in parts)


def _bytes_per_tuple(parts: Sequence[TaskTraffic | MeasuredPair]) -> float | None:
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
        return _placement(self.load, workers, self.problem.slot_ordinals)

    def workers(self, placement: Placement) -> tuple[Worker, ...]:
        """Return a placement as workers in Storm's ids, ascending by slot."""
        content: dict[Slot, list[int]] = defaultdict(list)
        for task, ordinal in zip(self.load.tasks, placement.slots.tolist(), strict=True):
            if ordinal != UNASSIGNED:
                content[Slot(*self.problem.slot_ids[ordinal])].append(task)
        return tuple(sorted(Worker(slot, tuple(sorted(of))) for slot, of in content.items()))

    def bytes_between_nodes(self, placement: Placement) -> float | None:
        """Return the bytes/s between nodes, None where no tuple's size was measured."""
        if self.load.by_size is None:
            return None
        weighty, mean = self.load.by_size
        resized = replace(self.problem, topologies=weighty.topologies)
        vars(resized)["traffic"] = weighty.traffic
        return mean * inter_node_tuples_per_second(resized, placement)

    def narrowed(self, nodes: tuple[Node, ...]) -> Situation:
        """Return the same situation with only these nodes to choose from."""
        present = self.workers(Placement(self.problem.current_slots()))
        return Situation(self.load, _problem_alone(self.load, nodes, present))


@dataclass(frozen=True)
class _Share:
    """What a topology uses of a node."""

    cpu_percent: float
    memory_mb: float
    executors: int
    ports: tuple[int, ...]
    sends_mbit: float = 0.0
    gets_mbit: float = 0.0


class Usage:
    """Who uses what of a cluster's nodes, kept while topologies are placed one after another.

    Notes
    -----
    To place a topology takes O(its executors), to tell what is left O(nodes x topologies on them).
    """

    def __init__(self, state: ClusterState) -> None:
        self._supervisors = [
            (each, rack(each), max_executors(each), link(each))
            for each in sorted(state.supervisors, key=_proximity)
        ]
        self._shares: dict[str, dict[str, _Share]] = defaultdict(dict)
        self._nodes_of: dict[str, set[str]] = {}
        self._has_links = any(its != UNKNOWN for *_, its in self._supervisors)

    def put(self, load: Workload, workers: Iterable[Worker]) -> None:
        """Let a topology's executors use these workers, and nothing else any more."""
        name, workers = load.topology.id, tuple(workers)
        for node in self._nodes_of.pop(name, ()):
            del self._shares[node][name]
        by_node: dict[str, list[Worker]] = defaultdict(list)
        for worker in workers:
            by_node[worker.slot.node].append(worker)
        mbit = _mbit(load, workers) if self._has_links else {}
        for node, its in by_node.items():
            tasks = [task for worker in its for task in worker.executors]
            self._shares[node][name] = _Share(
                sum(load.cpu_percent[task] for task in tasks),
                sum(load.memory_mb[task] for task in tasks),
                len(tasks),
                tuple(worker.slot.port for worker in its),
                *mbit.get(node, (0.0, 0.0)),
            )
        self._nodes_of[name] = set(by_node)

    def taken(self, but: str) -> set[Slot]:
        """Return the slots in use by others than this topology."""
        return {
            Slot(node, port)
            for node, shares in self._shares.items()
            for name, share in shares.items()
            if name != but
            for port in share.ports
        }

    def left(self, but: str = "", only: Container[str] | None = None) -> tuple[Node, ...]:
        """Return the nodes (``only`` those, by default all), by host.

        Without what others than the topology ``but`` use of them.
        """
        wanted = (each for each in self._supervisors if only is None or each[0].id in only)
        return tuple(self._left(*each, but) for each in wanted)

    def _left(
        self,
        supervisor: Supervisor,
        its_rack: str | None,
        most: int | None,
        its_link: Link,
        but: str,
    ) -> Node:
        shares = [s for name, s in self._shares.get(supervisor.id, {}).items() if name != but]
        taken = {port for share in shares for port in share.ports}
        return Node(
            supervisor.id,
            tuple(port for port in sorted(supervisor.ports) if port not in taken),
            its_rack,
            _rest(supervisor.cpu_percent, sum(share.cpu_percent for share in shares)),
            _rest(supervisor.memory_mb, sum(share.memory_mb for share in shares)),
            None if most is None else max(most - sum(s.executors for s in shares), 0),
            Link(
                _rest(its_link.out, sum(share.sends_mbit for share in shares)),
                _rest(its_link.into, sum(share.gets_mbit for share in shares)),
            ),
        )


def _mbit(load: Workload, workers: tuple[Worker, ...]) -> dict[str, tuple[float, float]]:
    """Return what each node sends to others and gets from them for a topology, Mbit/s."""
    nodes = tuple(Node(name, ()) for name in sorted({worker.slot.node for worker in workers}))
    problem = _problem_alone(load, nodes, workers)
    used = {
        use.kind: use.load.tolist() for use in uses(problem, Placement(problem.current_slots()))
    }
    names = [node.id for node in nodes]
    return dict(zip(names, zip(used[LINK_OUT], used[LINK_IN], strict=True), strict=True))


def _proximity(supervisor: Supervisor) -> tuple[list[str | int], str]:
    """Return what puts supervisors of one host side by side, and node10 after node9.

    Their ids are random: to follow them would say that any two are near.
    """
    parts = re.split(r"([0-9]+)", supervisor.host)
    return [int(part) if at % 2 else part for at, part in enumerate(parts)], supervisor.id


def _rest(capacity: float | None, used: float) -> float | None:
    return None if capacity is None else max(capacity - used, 0.0)


def situation(load: Workload, nodes: tuple[Node, ...], present: tuple[Worker, ...]) -> Situation:
    """Return a topology's situation on nodes that are left to it.

    Parameters
    ----------
    nodes : tuple of Node
        See `Usage.left`.
    present : tuple of Worker
        What runs of this topology now; its slots are its own.
    """
    return Situation(load, _problem_alone(load, nodes, present))


def running_problem(
    state: ClusterState, profiles: Mapping[str, Profile], only: str | None = None
) -> Problem:
    """Return the problem of placing what runs, each topology as in `workload`.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By topology id; those that do not fit are not used, see `unmeasured`.
    only : str, optional
        Id or name of a topology: only this one, on what the others leave.

    Raises
    ------
    InvalidInput
        No topology of this id or name runs.
    """
    topologies = sorted((t for t in state.topologies if t.executors), key=lambda t: t.id)
    loads = {t.id: workload(t, _fitting(profiles, t)) for t in topologies}
    if only is None:
        present = [tuple(sorted(t.assignment)) for t in topologies]
        return _problem(list(loads.values()), Usage(state).left(), present)
    chosen = next((t for t in topologies if only in (t.id, t.name)), None)
    if chosen is None:
        running = ", ".join(t.id for t in topologies) or "none"
        raise InvalidInput(f"no such topology runs (running: {running})", only)
    usage = Usage(state)
    for each in topologies:
        usage.put(loads[each.id], each.assignment)
    present_alone = tuple(sorted(chosen.assignment))
    return situation(loads[chosen.id], usage.left(chosen.id), present_alone).problem


def named_by_host(problem: Problem, state: ClusterState) -> Problem:
    """Return a problem whose nodes have their hosts' names, if every supervisor has its own host.

    Storm's ids of supervisors are random and tell people nothing.
    """
    hosts = {supervisor.id: supervisor.host for supervisor in state.supervisors}
    if len(set(hosts.values())) < len(hosts):
        return problem
    nodes = tuple(replace(node, id=hosts[node.id]) for node in problem.nodes)
    lost = tuple((hosts.get(node, node), port) for node, port in problem.lost_slots)
    return replace(problem, nodes=nodes, lost_slots=lost)


def unmeasured(
    state: ClusterState, profiles: Mapping[str, Profile], topologies: Iterable[str]
) -> Iterator[str]:
    """Yield a line for each of the topologies that has no profile that fits."""
    running = {t.id: t for t in state.topologies}
    for name in topologies:
        profile = profiles.get(name)
        reason = misfit(profile, running[name]) if profile else "no profile"
        if reason:
            yield f"{name} counts as declared, 1 tuple/s from each executor on a stream: {reason}"


def _fitting(profiles: Mapping[str, Profile], running: RunningTopology) -> Profile | None:
    """Return a topology's profile if there is one that fits."""
    profile = profiles.get(running.id)
    return profile if profile and not misfit(profile, running) else None


def _problem(
    loads: Sequence[Workload], nodes: tuple[Node, ...], present: Sequence[tuple[Worker, ...]]
) -> Problem:
    topologies = tuple(load.topology for load in loads)
    bare = Problem(nodes, topologies)
    used = {worker.slot for workers in present for worker in workers}
    lost = sorted(used - {Slot(*slot) for slot in bare.slot_ids})
    lost_slots = tuple((slot.node, slot.port) for slot in lost)
    ordinals = {slot: at for at, slot in enumerate((*bare.slot_ids, *lost_slots))}
    current = [_placement(*each, ordinals).slots for each in zip(loads, present, strict=True)]
    none: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    return Problem(nodes, topologies, Placement(np.concatenate((none, *current))), lost_slots)


def _problem_alone(load: Workload, nodes: tuple[Node, ...], present: tuple[Worker, ...]) -> Problem:
    problem = _problem((load,), nodes, (present,))
    # The same whatever the nodes are; to fold it anew for every set of nodes takes most of a round.
    vars(problem)["traffic"] = load.traffic
    return problem


def _placement(
    load: Workload, workers: Iterable[Worker], ordinals: Mapping[tuple[str, int], int]
) -> Placement:
    slot_of = {task: w.slot for w in workers for task in w.executors}
    slots = [
        ordinals[slot_of[task].node, slot_of[task].port] if task in slot_of else UNASSIGNED
        for task in load.tasks
    ]
    return Placement(np.array(slots, dtype=np.int64))
