"""A scheduling problem as a pure value.

Real ids live here; algorithms work on dense ordinals. Executors are numbered through topologies,
components and their executors in the order given; slots through nodes and their ports.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.network import NO_HOP, UNKNOWN, Costs, HopDelay, Link
from stormcut.model.operator import Operator
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.relays import Relay, relays_of
from stormcut.model.traffic import Traffic, emitted, fold_streams

#: Storm's defaults per executor: ``topology.component.cpu.pcore.percent`` and
#: ``topology.component.resources.onheap.memory.mb``.
DEFAULT_CPU_PERCENT = 10.0
DEFAULT_MEMORY_MB = 128.0

GROUPINGS = (
    "shuffle",
    "local_or_shuffle",
    "fields",
    "partial_key",
    "all",
    "global",
    "none",
    "direct",
    "custom",
)

#: To whom ``shuffle`` streams send: to all targets alike, or first to those in the same worker, as
#: Storm 2.x does unless ``topology.disable.loadaware.messaging`` is set.
SHUFFLES = ("round_robin", "load_aware")

#: How long a tuple takes, and when sources send: for simulations.
SERVICES = ("deterministic", "exponential")
ARRIVALS = ("uniform", "poisson")

#: Points of a core, and the microseconds of CPU in a second of it.
CORE_PERCENT = 100.0
CORE_US = 1e6


def threads_for(cpu_percent: float) -> float:
    """Return how many threads so many points of CPU take: each has a core at most."""
    return float(max(1, math.ceil(cpu_percent / CORE_PERCENT)))


@dataclass(frozen=True)
class Node:
    """A supervisor: its slots and its capacity (None: no limit).

    Of topologies that are not in the problem it holds ``others`` executors; slots and capacity are
    what these leave.
    """

    id: str
    ports: tuple[int, ...]
    rack: str | None = None
    cpu_percent: float | None = None
    memory_mb: float | None = None
    max_executors: int | None = None
    link: Link = UNKNOWN
    others: int = 0


@dataclass(frozen=True, eq=False)
class Component:
    """A spout or bolt with the load of each of its executors.

    ``cpu_percent`` and ``memory_mb`` have shape (executors,), in points and MB. With
    ``cpu_us_per_tuple`` (of a tuple that it takes; of a spout, that it emits) the CPU follows from
    the rates instead. An executor uses ``threads`` cores at most. ``operator`` is what its author
    declares of it. In simulations ``buffer`` tuples may wait for an executor, None: any number.
    """

    name: str
    kind: str
    executors: int
    cpu_percent: Floats
    memory_mb: Floats
    cpu_us_per_tuple: float | None = None
    threads: float = 1.0
    service: str = SERVICES[0]
    arrivals: str = ARRIVALS[0]
    operator: Operator | None = None
    buffer: int | None = None

    @classmethod
    def uniform(
        cls,
        name: str,
        executors: int,
        kind: str = "bolt",
        cpu_percent: float = DEFAULT_CPU_PERCENT,
        memory_mb: float = DEFAULT_MEMORY_MB,
    ) -> Component:
        """Return a component whose executors all have the same load."""
        return cls(
            name,
            kind,
            executors,
            np.full(executors, cpu_percent, dtype=np.float64),
            np.full(executors, memory_mb, dtype=np.float64),
        )


@dataclass(frozen=True)
class Stream:
    """A subscription: ``tuples_per_second`` is the total over all source executors, as sent.

    Of it each executor of a spout sends its part of ``shares``, which add up to 1; None: all the
    same.
    """

    source: str
    target: str
    tuples_per_second: float
    grouping: str = "shuffle"
    stream: str = "default"
    bytes_per_tuple: float | None = None
    shares: tuple[float, ...] | None = None

    def sent_by_each(self, executors: int) -> Floats:
        """Return the tuples/s that each source executor sends, shape (executors,)."""
        if self.shares is None:
            return np.full(executors, self.tuples_per_second / executors)
        return self.tuples_per_second * np.array(self.shares)


class MeasuredPair(NamedTuple):
    """Traffic from one executor to another: (component, index) on both sides, tuples/s."""

    source: tuple[str, int]
    target: tuple[str, int]
    tuples_per_second: float
    bytes_per_tuple: float | None = None


@dataclass(frozen=True, eq=False)
class Topology:
    """What runs: components, their streams, and what was measured between executors.

    If a (source, target) component pair occurs in ``measured``, its pairs are all the traffic
    between those two components and the rates of their streams are ignored. ``streams_measured``
    says that these are no declaration either. ``shuffle`` is one of `SHUFFLES`. In simulations a
    share ``loss`` of the tuples gets lost between nodes; these, and those that find a full buffer,
    are sent again after ``resend_ms``, None: never.
    """

    id: str
    components: tuple[Component, ...]
    streams: tuple[Stream, ...] = ()
    measured: tuple[MeasuredPair, ...] = ()
    workers: int | None = None
    max_spout_pending: int | None = None
    shuffle: str = SHUFFLES[0]
    streams_measured: bool = False
    loss: float = 0.0
    resend_ms: float | None = None

    @cached_property
    def offsets(self) -> dict[str, int]:
        """First executor ordinal of each component, counted within the topology."""
        result, begin = {}, 0
        for component in self.components:
            result[component.name] = begin
            begin += component.executors
        return result

    @cached_property
    def executor_count(self) -> int:
        """Number of executors of all components."""
        return sum(component.executors for component in self.components)


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes, topologies, and where executors run now.

    Parameters
    ----------
    nodes : tuple of Node
        Those that follow each other are near, for algorithms that know nothing better.
    current : Placement, optional
        Ordinals at or above ``slot_count`` stand for ``lost_slots``: slots that executors still
        name although no node offers them any more.
    lost_slots : tuple of (node id, port)
    uplinks : tuple of (rack, Link)
        What carries tuples between a rack and the others.
    costs : Costs, optional
        Of sending tuples between workers; None: not stated.
    hop : HopDelay
        Between nodes, in simulations.
    """

    nodes: tuple[Node, ...]
    topologies: tuple[Topology, ...]
    current: Placement | None = None
    lost_slots: tuple[tuple[str, int], ...] = field(default=())
    uplinks: tuple[tuple[str, Link], ...] = ()
    costs: Costs | None = None
    hop: HopDelay = NO_HOP
    #: What `with_traffic` was given: no copy keeps it, as it may have other topologies.
    _traffic: Traffic | None = field(default=None, init=False, compare=False, repr=False)

    @cached_property
    def executor_count(self) -> int:
        """Number of executors of all topologies."""
        return sum(topology.executor_count for topology in self.topologies)

    @cached_property
    def topology_offsets(self) -> Ints:
        """First executor ordinal of each topology, and the total: shape (topologies + 1,)."""
        counts = [topology.executor_count for topology in self.topologies]
        return np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int64)

    @cached_property
    def executor_topology(self) -> Ints:
        """Topology ordinal of each executor, shape (executors,)."""
        counts = [topology.executor_count for topology in self.topologies]
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts)

    @cached_property
    def executor_cpu(self) -> Floats:
        """CPU load of each executor in points, shape (executors,).

        Of a local-or-shuffle stream every target takes its share, wherever it is.
        """
        given = self._per_executor([c.cpu_percent for c in self._components])
        us = self.executor_cpu_us
        if np.isnan(us).all():
            return given
        return np.where(np.isnan(us), given, us * self.executor_rate * (CORE_PERCENT / CORE_US))

    @cached_property
    def executor_cpu_us(self) -> Floats:
        """CPU that a tuple costs each executor in microseconds, NaN if not known, (executors,)."""
        return self._of_components([c.cpu_us_per_tuple for c in self._components])

    @cached_property
    def executor_threads(self) -> Floats:
        """Cores that each executor can use at most, shape (executors,)."""
        return self._of_components([c.threads for c in self._components])

    @cached_property
    def executor_is_spout(self) -> npt.NDArray[np.bool_]:
        """Which executors are sources, shape (executors,)."""
        return self._of_components([c.kind == "spout" for c in self._components]) > 0

    @cached_property
    def executor_rate(self) -> Floats:
        """Tuples/s that each executor takes, or emits if it is a source, shape (executors,)."""
        rates = [emitted(topology) for topology in self.topologies]
        return np.where(self.executor_is_spout, self._per_executor(rates), self.traffic.taken)

    @property
    def _components(self) -> list[Component]:
        return [c for t in self.topologies for c in t.components]

    def _of_components(self, values: Sequence[float | None]) -> Floats:
        counts = [c.executors for c in self._components]
        numbers = [np.nan if value is None else float(value) for value in values]
        return np.repeat(np.array(numbers, dtype=np.float64), counts)

    @cached_property
    def executor_memory(self) -> Floats:
        """Memory of each executor in MB, shape (executors,)."""
        return self._per_executor([c.memory_mb for c in self._components])

    @staticmethod
    def _per_executor(parts: list[Floats]) -> Floats:
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def slot_count(self) -> int:
        """Number of slots of all nodes."""
        return sum(len(node.ports) for node in self.nodes)

    @cached_property
    def slot_node(self) -> Ints:
        """Node ordinal of each slot, shape (slots,)."""
        counts = [len(node.ports) for node in self.nodes]
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts)

    @cached_property
    def slot_ids(self) -> tuple[tuple[str, int], ...]:
        """(node id, port) of every slot ordinal, lost slots last."""
        known = [(node.id, port) for node in self.nodes for port in node.ports]
        return (*known, *self.lost_slots)

    @cached_property
    def slot_ordinals(self) -> dict[tuple[str, int], int]:
        """Inverse of `slot_ids`."""
        return {slot: ordinal for ordinal, slot in enumerate(self.slot_ids)}

    @cached_property
    def slot_hosts(self) -> Ints:
        """Node ordinal of every entry of `slot_ids`, lost ones included, shape (slot ids,).

        Nodes that only lost slots name are numbered after the known ones.
        """
        ordinals = {node.id: ordinal for ordinal, node in enumerate(self.nodes)}
        lost = [ordinals.setdefault(node, len(ordinals)) for node, _ in self.lost_slots]
        return np.concatenate((self.slot_node, np.array(lost, dtype=np.int64)))

    def with_lost_slots(self, slots: tuple[tuple[str, int], ...]) -> Problem:
        """Return this problem with ordinals for further slots that no node offers."""
        return replace(self, lost_slots=self.lost_slots + slots) if slots else self

    @cached_property
    def traffic(self) -> Traffic:
        """All traffic in executor ordinals, declared streams kept folded."""
        if self._traffic is not None:
            return self._traffic
        parts = [
            fold_streams(topology, int(offset))
            for topology, offset in zip(self.topologies, self.topology_offsets, strict=False)
        ]
        return Traffic.join(parts, self.executor_count)

    @cached_property
    def relays(self) -> tuple[Relay, ...]:
        """Components whose executors send more or less than each other, as tuples pass them."""
        return relays_of(self.traffic, self.component_starts, self.executor_is_spout)

    @cached_property
    def executor_component(self) -> Ints:
        """Component ordinal of each executor, over all topologies, shape (executors,)."""
        counts = [component.executors for component in self._components]
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts)

    @cached_property
    def component_starts(self) -> Ints:
        """First executor ordinal of each component of all topologies, shape (components,)."""
        counts = [component.executors for component in self._components]
        return np.cumsum([0, *counts], dtype=np.int64)[:-1]

    def with_traffic(self, traffic: Traffic) -> Problem:
        """Return the same problem with this traffic: to fold that of many streams takes long."""
        other = replace(self)
        object.__setattr__(other, "_traffic", traffic)
        return other

    def current_slots(self) -> Ints:
        """Slot ordinal of each executor now, `UNASSIGNED` where it runs nowhere, (executors,)."""
        if self.current is None:
            return np.full(self.executor_count, UNASSIGNED, dtype=np.int64)
        return self.current.slots

    @cached_property
    def executors_now(self) -> Ints:
        """Executors in each slot now, (slots,)."""
        slots = self.current_slots()
        return np.bincount(slots[slots >= 0], minlength=self.slot_count)

    def current_nodes(self) -> Ints:
        """Node ordinal of each executor now, `UNASSIGNED` where its slot is lost or it has none."""
        slots = self.current_slots()
        offered = (slots >= 0) & (slots < self.slot_count)
        nodes = np.full(self.executor_count, UNASSIGNED, dtype=np.int64)
        nodes[offered] = self.slot_node[slots[offered]]
        return nodes

    def executor_names(self) -> Iterator[tuple[str, str, int]]:
        """Yield (topology id, component, index) in the order of executor ordinals."""
        for topology in self.topologies:
            for component in topology.components:
                for index in range(component.executors):
                    yield topology.id, component.name, index
