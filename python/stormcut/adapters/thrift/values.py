"""Between the Thrift structs of stormcut.thrift and the model's values; checks what arrives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import thriftpy2
from thriftpy2.protocol.binary import TBinaryProtocol

from stormcut.adapters.thrift.decode import Decoder, Malformed
from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Subscription,
    Supervisor,
    Worker,
)
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Declined, Plan, TopologyPlan

idl: Any = thriftpy2.load(
    str(Path(__file__).with_name("stormcut.thrift")), module_name="stormcut_protocol_thrift"
)

PROTOCOL_VERSION: int = idl.PROTOCOL_VERSION
MAX_MESSAGE_BYTES: int = idl.MAX_MESSAGE_BYTES


class ReadBuffer:
    """A received message as a transport that ends: reading past its end is an error."""

    def __init__(self, data: bytes) -> None:
        self.decoder = Decoder(data)

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        return self.decoder.take(size)


class WriteBuffer:
    """A message to send, as a transport."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._parts.append(bytes(data))

    def flush(self) -> None:
        """Do nothing: `content` is always whole."""

    @property
    def content(self) -> bytes:
        """Everything written."""
        return b"".join(self._parts)


class BinaryProtocol(TBinaryProtocol):
    """The protocol that both sides speak, over a buffer; structs are read by our `Decoder`."""

    def __init__(self, buffer: Any) -> None:
        super().__init__(buffer)  # type: ignore[no-untyped-call]
        self._buffer = buffer

    def read_struct(self, obj: Any) -> None:
        """Read a struct's fields into an instance of it."""
        self._buffer.decoder.into(obj)

    def skip(self, ttype: int) -> None:
        """Pass over a value."""
        self._buffer.decoder.skip(ttype)

    def write_struct(self, obj: Any) -> None:
        """Append a struct."""
        super().write_struct(obj)  # type: ignore[no-untyped-call]


def encode_plan(plan: Plan) -> bytes:
    """Return a plan in Thrift's binary protocol."""
    buffer = WriteBuffer()
    BinaryProtocol(buffer).write_struct(to_plan_struct(plan))
    return buffer.content


def decode_plan(data: bytes, where: str) -> Plan:
    """Return the plan in Thrift's binary protocol.

    Raises
    ------
    InvalidInput
        The bytes are no plan, or one of a newer protocol.
    """
    struct = idl.Plan()
    try:
        Decoder(data).into(struct)
    except Malformed as error:
        raise InvalidInput(f"is not a plan: {error}", where) from error
    return from_plan_struct(struct, where)


def check_version(version: object, what: str) -> None:
    """Refuse a message of another protocol version than this program speaks.

    Raises
    ------
    InvalidInput
        The version is newer, or none at all.
    """
    if not isinstance(version, int) or version < 1:
        raise InvalidInput(f"has no usable protocol version ({version!r})", what)
    if version > PROTOCOL_VERSION:
        raise InvalidInput(
            f"is of protocol version {version}, this stormcut speaks up to {PROTOCOL_VERSION}:"
            " upgrade the older side",
            what,
        )


def to_state_struct(state: ClusterState) -> Any:
    """Return a cluster state as its struct."""
    return idl.ClusterState(
        version=PROTOCOL_VERSION,
        fingerprint=state.fingerprint(),
        supervisors=[
            idl.Supervisor(
                id=s.id,
                host=s.host,
                ports=list(s.ports),
                cpu_percent=s.cpu_percent,
                memory_mb=s.memory_mb,
                meta=dict(s.meta),
            )
            for s in state.supervisors
        ],
        topologies=[_to_topology_struct(t) for t in state.topologies],
    )


def _to_topology_struct(topology: RunningTopology) -> Any:
    executors = [idl.Executor(**vars_of(e)) for e in topology.executors]
    streams = [idl.Stream(**vars_of(s)) for s in topology.streams]
    return idl.Topology(
        id=topology.id,
        name=topology.name,
        workers=topology.workers,
        executors=executors,
        streams=streams,
        assignment=to_worker_structs(topology.assignment),
        workers_policy=topology.workers_policy,
        worker_heap_mb=topology.worker_heap_mb,
        operators=dict(topology.operators) or None,
    )


def vars_of(value: object) -> dict[str, Any]:
    """Return the fields of a flat frozen value by name."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}  # type: ignore[attr-defined]


def to_worker_structs(workers: tuple[Worker, ...]) -> list[Any]:
    """Return workers as their structs."""
    return [
        idl.Worker(slot=idl.Slot(node=w.slot.node, port=w.slot.port), executors=sorted(w.executors))
        for w in workers
    ]


def to_plan_struct(plan: Plan) -> Any:
    """Return a plan as its struct."""
    return idl.Plan(
        version=PROTOCOL_VERSION,
        id=plan.id,
        fingerprint=plan.fingerprint,
        created_ms=plan.created_ms,
        topologies=[
            idl.TopologyPlan(
                topology=p.topology,
                workers=to_worker_structs(p.workers),
                algorithm=p.algorithm,
                reason=p.reason,
            )
            for p in plan.topologies
        ],
        declined=[idl.Declined(topology=d.topology, reason=d.reason) for d in plan.declined],
    )


def from_state_struct(struct: Any) -> ClusterState:
    """Return the state in a struct.

    Raises
    ------
    InvalidInput
        It is of a newer protocol, contradicts itself, or its fingerprint is not that
        of its content.
    """
    check_version(getattr(struct, "version", None), "cluster state")
    state = ClusterState(
        tuple(
            Supervisor(s.id, s.host, tuple(s.ports), s.cpu_percent, s.memory_mb, dict(s.meta))
            for s in struct.supervisors
        ),
        tuple(_from_topology_struct(t) for t in struct.topologies),
    )
    if struct.fingerprint != state.fingerprint():
        raise InvalidInput(
            f"its fingerprint {struct.fingerprint[:64]} is not that of its content,"
            f" {state.fingerprint()}",
            "cluster state",
        )
    return state


def _from_topology_struct(struct: Any) -> RunningTopology:
    return RunningTopology(
        struct.id,
        struct.name,
        struct.workers,
        tuple(
            RunningExecutor(e.start_task, e.end_task, e.component, e.cpu_percent, e.memory_mb)
            for e in struct.executors
        ),
        tuple(Subscription(s.source, s.target, s.stream, s.grouping) for s in struct.streams),
        from_worker_structs(struct.assignment),
        struct.workers_policy,
        struct.worker_heap_mb,
        tuple(sorted((struct.operators or {}).items())),
    )


def from_worker_structs(structs: list[Any]) -> tuple[Worker, ...]:
    """Return the workers in structs that have been checked; those without executors are none."""
    return tuple(
        Worker(Slot(w.slot.node, w.slot.port), tuple(sorted(w.executors)))
        for w in structs
        if w.executors
    )


def from_plan_struct(struct: Any, where: str = "plan") -> Plan:
    """Return the plan in a struct.

    Raises
    ------
    InvalidInput
        It is of a newer protocol.
    """
    check_version(getattr(struct, "version", None), where)
    return Plan(
        struct.id,
        struct.fingerprint,
        struct.created_ms,
        tuple(
            TopologyPlan(p.topology, from_worker_structs(p.workers), p.algorithm, p.reason)
            for p in struct.topologies
        ),
        tuple(Declined(d.topology, d.reason) for d in struct.declined),
    )
