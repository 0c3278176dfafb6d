"""What a running Storm cluster looks like, in Storm's own ids: the brain's question."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stormcut.model.errors import InvalidInput


@dataclass(frozen=True, order=True)
class Slot:
    """A port of a supervisor: room for one worker."""

    node: str
    port: int


@dataclass(frozen=True, order=True)
class Worker:
    """Executors of one topology, named by their first tasks in ascending order, in a slot."""

    slot: Slot
    executors: tuple[int, ...]


def worker_rows(workers: Iterable[Worker]) -> list[list[Any]]:
    """Return workers as rows for JSON: node, port, first tasks of executors."""
    return [[w.slot.node, w.slot.port, list(w.executors)] for w in workers]


@dataclass(frozen=True)
class RunningExecutor:
    """A thread with the tasks ``start_task`` to ``end_task``; ``start_task`` names it.

    ``cpu_percent`` (points) and ``memory_mb`` are declared; None where Storm knows none.
    """

    start_task: int
    end_task: int
    component: str
    cpu_percent: float | None = None
    memory_mb: float | None = None


@dataclass(frozen=True)
class Subscription:
    """``target`` subscribes to ``stream`` of ``source``; Storm's name of the grouping."""

    source: str
    target: str
    stream: str
    grouping: str


@dataclass(frozen=True)
class Supervisor:
    """A node; ``ports`` are the slots that Nimbus would use, none when it is blacklisted.

    ``cpu_percent`` and ``memory_mb`` are capacities (None: no limit), ``meta`` is the
    ``supervisor.scheduler.meta`` of its storm.yaml.
    """

    id: str
    host: str
    ports: tuple[int, ...]
    cpu_percent: float | None = None
    memory_mb: float | None = None
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunningTopology:
    """A topology that Nimbus wants to run, and which of its executors run where now.

    ``workers`` is its ``topology.workers``; ``workers_policy`` its ``stormcut.workers``, None where
    it has none. ``worker_heap_mb`` is the heap of each of its workers, None where that is not told.
    ``operators`` are the texts of its ``stormcut.operator.<component>``, by component.
    """

    id: str
    name: str
    workers: int
    executors: tuple[RunningExecutor, ...]
    streams: tuple[Subscription, ...] = ()
    assignment: tuple[Worker, ...] = ()
    workers_policy: str | None = None
    worker_heap_mb: float | None = None
    operators: tuple[tuple[str, str], ...] = ()

    @cached_property
    def unassigned(self) -> tuple[int, ...]:
        """First tasks of the executors that run nowhere, ascending."""
        running = {task for worker in self.assignment for task in worker.executors}
        return tuple(sorted({e.start_task for e in self.executors} - running))


@dataclass(frozen=True)
class ClusterState:
    """Supervisors and topologies at one moment.

    Raises
    ------
    InvalidInput
        The state contradicts itself: an id or a task occurs twice, a slot holds two workers, a
        worker names an executor that its topology does not have, or a number is impossible.
    """

    supervisors: tuple[Supervisor, ...]
    topologies: tuple[RunningTopology, ...]

    def __post_init__(self) -> None:
        for supervisor in self.supervisors:
            _check_supervisor(supervisor)
        for topology in self.topologies:
            _check_topology(topology)
        _refuse_repeats([s.id for s in self.supervisors], "supervisors", "supervisor")
        _refuse_repeats([t.id for t in self.topologies], "topologies", "topology")
        slots = [worker.slot for t in self.topologies for worker in t.assignment]
        _refuse_repeats([f"{s.node}:{s.port}" for s in slots], "assignment", "slot")

    @cached_property
    def slots(self) -> frozenset[Slot]:
        """Every slot that Nimbus would use."""
        return frozenset(Slot(s.id, port) for s in self.supervisors for port in s.ports)

    @cached_property
    def hosts(self) -> dict[str, str]:
        """The host of every supervisor, by its id."""
        return {supervisor.id: supervisor.host for supervisor in self.supervisors}

    def fingerprint(self) -> str:
        """Return the SHA-256 of nodes, slots, capacities and executors: docs/protocol.md."""
        return hashlib.sha256("".join(f"{line}\n" for line in self._lines()).encode()).hexdigest()

    def _lines(self) -> Iterator[str]:
        for node in sorted(self.supervisors, key=lambda node: node.id.encode()):
            ports = ",".join(str(port) for port in sorted(node.ports))
            yield f"node {node.id} {ports} {_bits(node.cpu_percent)} {_bits(node.memory_mb)}"
            for key, value in sorted(node.meta.items(), key=lambda item: item[0].encode()):
                yield f"meta {key}={value}"
        for topology in sorted(self.topologies, key=lambda topology: topology.id.encode()):
            yield f"topology {topology.id}"
            for executor in sorted(topology.executors, key=lambda e: e.start_task):
                yield f"executor {executor.start_task} {executor.end_task} {executor.component}"


def _bits(amount: float | None) -> str:
    """Return a number as its IEEE 754 bits, which all languages write alike."""
    return "-" if amount is None else struct.pack("!d", amount).hex()


@dataclass(frozen=True)
class Described:
    """A state, and when Nimbus described it: milliseconds since 1970-01-01 UTC."""

    state: ClusterState
    moment_ms: int


def _check_supervisor(supervisor: Supervisor) -> None:
    where = f"supervisor {supervisor.id}"
    _refuse_repeats([str(port) for port in supervisor.ports], where, "port")
    _check_amounts(supervisor.cpu_percent, supervisor.memory_mb, where)


def _check_topology(topology: RunningTopology) -> None:
    where = f"topology {topology.id}"
    last = 0
    for executor in sorted(topology.executors, key=lambda e: e.start_task):
        if not last < executor.start_task <= executor.end_task:
            raise InvalidInput(
                f"executor [{executor.start_task} {executor.end_task}] shares tasks with another"
                " or ends before it starts",
                where,
            )
        last = executor.end_task
        _check_amounts(executor.cpu_percent, executor.memory_mb, where)
    running = [task for worker in topology.assignment for task in worker.executors]
    _refuse_repeats([str(task) for task in running], where, "running executor")
    unknown = set(running) - {executor.start_task for executor in topology.executors}
    if unknown:
        raise InvalidInput(f"runs the unknown executor {min(unknown)}", where)


def _check_amounts(cpu_percent: float | None, memory_mb: float | None, where: str) -> None:
    for amount in (cpu_percent, memory_mb):
        if amount is not None and not 0 <= amount < float("inf"):
            raise InvalidInput(f"{amount} is not an amount of CPU or memory", where)


def _refuse_repeats(names: list[str], where: str, what: str) -> None:
    if len(set(names)) == len(names):
        return
    repeated = next(name for name in names if names.count(name) > 1)
    raise InvalidInput(f"{what} {repeated} occurs twice", where)


def name_in(topology_id: str) -> str:
    """Return a topology's name: its id without the two numbers that Storm appends."""
    return topology_id.rsplit("-", 2)[0]
