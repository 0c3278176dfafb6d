"""What a topology does: its executors' loads and their traffic, measured or as declared."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stormcut.arrays import Floats
from stormcut.model.cluster import RunningExecutor, RunningTopology, Worker
from stormcut.model.network import Costs
from stormcut.model.operator import read_operator
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import (
    CORE_PERCENT,
    CORE_US,
    DEFAULT_CPU_PERCENT,
    DEFAULT_MEMORY_MB,
    Component,
    MeasuredPair,
    Node,
    Problem,
    Stream,
    Topology,
    threads_for,
)
from stormcut.model.profile import ExecutorLoad, Profile
from stormcut.model.traffic import Traffic
from stormcut.objective.resources import CPU, costs_of, executor_loads, uses
from stormcut.placement.graph.weighing import is_measured, weighed
from stormcut.running.measured_pairs import pair_table

#: What processes are taken to need for their executors, as a part of what threads take, at most.
MAX_BEYOND = 2.0

#: Executors of a spout send alike if none differs from their mean by more than this part of it, or
#: by more standard deviations than these of what comes by chance: each that differs makes placing
#: slower. Of more executors than `MAX_UNLIKE` all are taken to be alike.
ALIKE, CHANCE, MAX_UNLIKE = 0.1, 3.0, 100

#: Points above a core at which a thread that is busy all the time may be measured.
MEASURED_ABOVE = 5.0


@dataclass(frozen=True, eq=False)
class Workload:
    """A topology as a problem's value, with the first task of each executor ordinal.

    It was measured for so many ``seconds``, infinite where that does not apply.
    """

    topology: Topology
    tasks: tuple[int, ...]
    measured: bool
    seconds: float = math.inf

    @cached_property
    def traffic(self) -> Traffic:
        """The traffic between the executors."""
        return Problem((), (self.topology,)).traffic

    @cached_property
    def content(self) -> Traffic | None:
        """The traffic in bytes/s, None where no tuple's size was measured."""
        problem = Problem((), (self.topology,))
        if not is_measured(problem):
            return None
        weights, mean = weighed(problem)
        return weights.times(mean)

    def times(self, factor: float) -> Workload:
        """Return the same with executors that take so many times the CPU, and no more is full."""
        if factor == 1.0:
            return self
        components = tuple(
            replace(
                each,
                cpu_percent=factor * each.cpu_percent,
                cpu_us_per_tuple=each.cpu_us_per_tuple and factor * each.cpu_us_per_tuple,
                threads=factor * each.threads,
            )
            for each in self.topology.components
        )
        return replace(self, topology=replace(self.topology, components=components))

    def variance(self, traffic: Traffic) -> Traffic:
        """Return the variance of each pair of `traffic` or `content`: tuples come by chance."""
        counted = self.traffic.rate * self.seconds
        return replace(traffic, rate=traffic.rate**2 / np.maximum(counted, 1.0), blocks=())

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

    def placement(
        self, workers: Iterable[Worker], ordinals: Mapping[tuple[str, int], int]
    ) -> Placement:
        """Return workers as a placement, given the ordinals of slots; others run nowhere."""
        slot_of = {task: w.slot for w in workers for task in w.executors}
        slots = [
            ordinals[slot_of[task].node, slot_of[task].port] if task in slot_of else UNASSIGNED
            for task in self.tasks
        ]
        return Placement(np.array(slots, dtype=np.int64))


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


def workload(
    running: RunningTopology, profile: Profile | None, costs: Costs | None = None
) -> Workload:
    """Return a topology's loads and traffic, measured (a fitting profile) or as declared.

    Where all its workers have told what their processes take, executors get the share of it that
    the costs of transfer and of workers do not explain: collecting garbage, compiling, threads of
    their own.

    Declared: every source executor sends 1 tuple/s on each of its streams. Measured: the measured
    pairs are all the traffic there is; streams have the rates and sizes that follow from them.
    Only where a component sends another all by local-or-shuffle, the pairs are those of the
    placement under which they were measured: the stream stands for them, and the CPU of who takes
    it follows from what it takes. What that one sends others then is taken to come from each of its
    executors alike: who sent more had taken more, where it ran. A spout's executors took nothing:
    each sends as much as was measured.
    """
    by_component: dict[str, list[RunningExecutor]] = defaultdict(list)
    for executor in sorted(running.executors, key=lambda e: e.start_task):
        by_component[executor.component].append(executor)
    loads = _measured_loads(running, profile) if profile else {}
    targets = {stream.target for stream in running.streams}
    streams = _declared_streams(running, by_component)
    operators = {name: read_operator(text) for name, text in running.operators}
    pairs: tuple[MeasuredPair, ...] = ()
    us: Mapping[str, float] = {}
    if profile:
        table = pair_table(profile.traffic, by_component)
        streams = table.measured(streams)
        local = _local_edges(streams)
        streams = tuple(
            replace(each, shares=_shares(table.sent(each.source, each.target), profile.seconds))
            if (each.source, each.target) in local and each.source not in targets
            else each
            for each in streams
        )
        pairs = table.evened(sources={target for _, target in local}).pairs(without=local)
        us = _cpu_us({target for _, target in local}, table.received(), by_component, loads)
    components = tuple(
        Component(
            name,
            "bolt" if name in targets or name.startswith("__") else "spout",
            len(executors),
            np.array([_cpu(e, loads.get((name, e.start_task))) for e in executors]),
            np.array([_memory(e, loads.get((name, e.start_task))) for e in executors]),
            us.get(name),
            threads=_threads([(e, loads.get((name, e.start_task))) for e in executors]),
            operator=operators.get(name),
        )
        for name, executors in by_component.items()
    )
    tasks = tuple(e.start_task for executors in by_component.values() for e in executors)
    # A topology may ask for no worker, or fewer: a problem has one at least.
    topology = Topology(
        running.id,
        components,
        streams,
        pairs,
        max(running.workers, 1),
        streams_measured=profile is not None,
    )
    load = Workload(topology, tasks, profile is not None, profile.seconds if profile else math.inf)
    return load.times(_beyond_threads(load, running, profile, costs)) if profile else load


def _beyond_threads(
    load: Workload, running: RunningTopology, profile: Profile, costs: Costs | None
) -> float:
    """Return how many times what its executors' threads take a topology's processes take for them.

    At least 1, at most `MAX_BEYOND`: what is beyond that is of some other kind.
    """
    if not profile.workers or len(profile.workers) != len(running.assignment):
        return 1.0
    places = sorted({worker.slot for worker in running.assignment})
    names = sorted({slot.node for slot in places})
    ports = {name: tuple(s.port for s in places if s.node == name) for name in names}
    problem = Problem(
        tuple(Node(name, ports[name]) for name in names), (load.topology,), costs=costs
    )
    placement = load.placement(
        running.assignment, {(s.node, s.port): index for index, s in enumerate(places)}
    )
    own = float(executor_loads(problem, placement).sum())
    (cpu,) = (use.load for use in uses(problem, placement) if use.kind == CPU)
    transfer = float(cpu.sum()) - own
    idle = costs_of(problem).worker_percent * len(places)
    taken = sum(worker.cpu_percent for worker in profile.workers)
    return float(np.clip((taken - transfer - idle) / own, 1.0, MAX_BEYOND)) if own > 0 else 1.0


def _measured_loads(
    running: RunningTopology, profile: Profile
) -> dict[tuple[str, int], ExecutorLoad]:
    """Return what was measured of executors, by component and first task.

    Storm passes on no metrics of a metrics consumer. Where workers tell of their machines, what it
    takes is among what these use, and counts as nothing here.
    """
    loads = {(e.component, e.start_task): e for e in profile.executors}
    if profile.workers:
        for each in running.executors:
            key = each.component, each.start_task
            if each.component.startswith("__") and key not in loads:
                loads[key] = ExecutorLoad(*key, each.end_task, 0.0, None)
    return loads


def _cpu(executor: RunningExecutor, load: ExecutorLoad | None) -> float:
    if load is not None:
        return load.cpu_percent
    return DEFAULT_CPU_PERCENT if executor.cpu_percent is None else executor.cpu_percent


def _threads(executors: Sequence[tuple[RunningExecutor, ExecutorLoad | None]]) -> float:
    """Return the cores that an executor of a component can use, by all its executors' loads.

    A multilang executor is full when one of its processes has a core to itself, be it that its
    threads in the JVM have, or a subprocess; if these were not told apart, it has a core for each
    of its tasks' subprocesses. What takes more than a core in the JVM, as declared or measured, has
    threads of its own, so many.
    """
    busiest = [load for _, load in executors if load and load.busiest_percent]
    if busiest:
        return sum(e.cpu_percent for e in busiest) / sum(e.busiest_percent or 0.0 for e in busiest)
    if any(load and load.memory_mb is not None for _, load in executors):
        return float(min(e.end_task - e.start_task + 1 for e, _ in executors))
    return threads_for(
        max(_cpu(e, load) - (MEASURED_ABOVE if load else 0) for e, load in executors)
    )


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


def _local_edges(streams: Iterable[Stream]) -> set[tuple[str, str]]:
    """Return which components send others all that they send them by local-or-shuffle."""
    groupings: dict[tuple[str, str], set[str]] = defaultdict(set)
    for stream in streams:
        groupings[stream.source, stream.target].add(stream.grouping)
    return {edge for edge, its in groupings.items() if its == {"local_or_shuffle"}}


def _shares(sent: Floats, seconds: float) -> tuple[float, ...] | None:
    """Return what executors send as parts of all, None where they are taken to send alike."""
    mean = float(sent.mean())
    if mean <= 0 or len(sent) > MAX_UNLIKE:
        return None
    off = max(ALIKE, CHANCE / math.sqrt(max(mean * seconds, 1.0)))
    is_alike = bool((np.abs(sent - mean) <= off * mean).all())
    return None if is_alike else tuple((sent / sent.sum()).tolist())


def _cpu_us(
    names: Iterable[str],
    received: Mapping[str, float],
    by_component: Mapping[str, list[RunningExecutor]],
    loads: Mapping[tuple[str, int], ExecutorLoad],
) -> dict[str, float]:
    """Return the CPU of a tuple in microseconds of components that were measured taking some."""
    points = {
        name: sum(_cpu(e, loads.get((name, e.start_task))) for e in by_component[name])
        for name in names
    }
    return {
        name: total / received[name] * (CORE_US / CORE_PERCENT)
        for name, total in points.items()
        if name in received
    }
