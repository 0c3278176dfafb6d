"""Reads and writes ``stormcut-problem/1``."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import re
import zlib
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np

from stormcut.adapters.files.json_document import (
    JsonValue,
    is_amount,
    optional,
    read_json,
    write_text,
)
from stormcut.arrays import Floats
from stormcut.model.errors import InvalidInput
from stormcut.model.network import NO_HOP, SHIPPED, UNKNOWN, Costs, HopDelay, Link
from stormcut.model.operator import Operator
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import (
    ARRIVALS,
    DEFAULT_CPU_PERCENT,
    DEFAULT_MEMORY_MB,
    GROUPINGS,
    SERVICES,
    SHUFFLES,
    Component,
    MeasuredPair,
    Node,
    Problem,
    Stream,
    Topology,
)

FORMAT = "stormcut-problem/1"
GZIP_MAGIC = b"\x1f\x8b"
#: How a serialised StormTopology begins: field 1, the map of spouts.
THRIFT_SPOUTS = b"\x0d\x00\x01"
LARGEST_PORT = 65535
#: More executors than Storm could ever run; a file that asks for more is a mistake.
MAX_EXECUTORS = 10_000_000
#: By which shares of executors may miss 1 in all.
SHARES_OFF = 1e-6
#: Of a packed file, to tell what it is: a few KB can unpack to many GB.
MAX_UNPACKED = 16 << 20
_EXECUTOR = re.compile(r"(.*)\[(0|[1-9][0-9]{0,7})\]", re.DOTALL)

Slot = tuple[str, int]


def read_problem(path: Path) -> Problem:
    """Read a problem file.

    Raises
    ------
    InvalidInput
        It cannot be read or is no problem; names file, place, and what would be right.
    """
    try:
        return _problem(read_json(path))
    except InvalidInput as error:
        raise _something_else(path) or within(path, error) from None


def _something_else(path: Path) -> InvalidInput | None:
    """Return what to do with a file that other programs made, None if it is nothing we know."""
    try:
        content = path.read_bytes()
        packed = content.startswith(GZIP_MAGIC)
        if packed:
            with gzip.open(path) as file:
                content = file.read(MAX_UNPACKED)
        if content.startswith(THRIFT_SPOUTS):
            what = "a serialised Storm topology: make a problem of it with `stormcut import storm`"
        else:
            what = _other_json(content) or ("gzip: unpack it" if packed else "")
    except (OSError, EOFError, zlib.error):
        return None
    return InvalidInput(f"is no {FORMAT} but {what}", str(path)) if what else None


def _other_json(content: bytes) -> str:
    try:
        members = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(members, dict) or "format" in members:
        return ""
    if "topology.name" in members:
        return "a topology's configuration: give it to `stormcut import storm` after the topology"
    if "supervisors" in members:
        return "a table of supervisors: give it to `stormcut import storm --supervisors`"
    if "nodes" in members and ("links" in members or "edges" in members):
        return (
            'a bare graph without topologies or a cluster: write its links as "traffic" of a '
            "topology's executors (docs/problem-format.md)"
        )
    return ""


def within(path: Path, error: InvalidInput) -> InvalidInput:
    """Return an error about a place in a document with the file's name before it."""
    if error.where == str(path):
        return error
    return InvalidInput(error.what, f"{path}: {error.where}" if error.where else str(path))


def check_format(root: JsonValue, wanted: str) -> None:
    """Check a document's ``format`` before anything else, so that the message fits.

    Raises
    ------
    InvalidInput
        It is missing, or another.
    """
    members = root.members()
    if "format" not in members:
        root.fail('missing key "format"')
    if members["format"].raw != wanted:
        members["format"].mismatch(json.dumps(wanted))


def _problem(root: JsonValue) -> Problem:
    check_format(root, FORMAT)
    keys = root.keys(("format", "nodes", "topologies"), ("current", "racks", "costs", "hop_us"))
    nodes = tuple(_node(value) for value in keys["nodes"].items())
    keys["nodes"].distinct([node.id for node in nodes], "node id")
    topologies = tuple(_topology(value) for value in keys["topologies"].items())
    keys["topologies"].distinct([topology.id for topology in topologies], "topology id")
    problem = Problem(
        nodes,
        topologies,
        uplinks=_uplinks(keys["racks"]) if "racks" in keys else (),
        costs=optional(keys.get("costs"), costs_of),
        hop=optional(keys.get("hop_us"), _hop) or NO_HOP,
    )
    if problem.executor_count > MAX_EXECUTORS:
        keys["topologies"].fail(f"{problem.executor_count} executors, at most {MAX_EXECUTORS}")
    if "current" not in keys:
        return problem
    slots, lost = read_slots(problem, keys["current"], complete=False)
    return dataclasses.replace(problem, current=Placement(slots), lost_slots=lost)


def _uplinks(value: JsonValue) -> tuple[tuple[str, Link], ...]:
    return tuple(
        (name, link_of(rack.keys((), ("uplink_mbit",)).get("uplink_mbit")))
        for name, rack in value.members().items()
    )


def _hop(value: JsonValue) -> HopDelay:
    given = value.keys((), ("node", "distance"))
    return HopDelay(**{f"{key}_us": each.amount() for key, each in given.items()})


def link_of(value: JsonValue | None) -> Link:
    """Return a link of ``link_mbit``: one number for both ways, or one each; unknown without.

    Raises
    ------
    InvalidInput
        It is something else.
    """
    if value is None or value.raw is None:
        return UNKNOWN
    if not isinstance(value.raw, dict):
        if not is_amount(value.raw):
            value.mismatch('a number of at least 0 or {"out": ..., "in": ...}')
        return Link(value.amount(), value.amount())
    ways = value.keys((), ("out", "in"))
    return Link(*(optional(ways.get(way), JsonValue.amount) for way in ("out", "in")))


#: Of `Costs`, with the constants.
COSTS = tuple(field.name for field in dataclasses.fields(Costs) if field.name != "source")
TUPLE_COSTS = {"send_us_per_tuple", "receive_us_per_tuple"}


def costs_of(value: JsonValue, source: str = "the problem") -> Costs:
    """Return the constants in a document; what it leaves out is as shipped.

    Costs of a tuple are of every tuple, and workers cost nothing, unless it says otherwise.
    """
    given = {key: member.amount() for key, member in value.keys((), COSTS).items()}
    plain = {"batches_per_s": math.inf, "worker_percent": 0.0} if TUPLE_COSTS & set(given) else {}
    return dataclasses.replace(SHIPPED, **{**plain, **given}, source=source)


def costs_document(costs: Costs) -> dict[str, float]:
    """Return the constants as a document has them: without batches, every tuple counts."""
    every = {name: getattr(costs, name) for name in COSTS}
    return {name: value for name, value in every.items() if math.isfinite(value)}


def _node(value: JsonValue) -> Node:
    keys = value.keys(
        ("id", "ports"), ("rack", "cpu_percent", "memory_mb", "max_executors", "link_mbit")
    )
    ports = tuple(port.integer(0, LARGEST_PORT) for port in keys["ports"].items())
    keys["ports"].distinct(list(ports), "port")
    return Node(
        keys["id"].name(),
        ports,
        optional(keys.get("rack"), JsonValue.name),
        optional(keys.get("cpu_percent"), JsonValue.amount),
        optional(keys.get("memory_mb"), JsonValue.amount),
        optional(keys.get("max_executors"), lambda v: v.integer(0, 2**53)),
        link_of(keys.get("link_mbit")),
    )


_TOPOLOGY_KEYS = (
    "traffic",
    "max_spout_pending",
    "shuffle",
    "streams_measured",
    "loss",
    "resend_ms",
)


def _topology(value: JsonValue) -> Topology:
    keys = value.keys(("id", "workers", "components", "streams"), _TOPOLOGY_KEYS)
    components = tuple(_component(item) for item in keys["components"].items())
    keys["components"].distinct([component.name for component in components], "component")
    sizes = {component.name: component.executors for component in components}
    spouts = {component.name for component in components if component.kind == "spout"}
    return Topology(
        keys["id"].name(),
        components,
        tuple(_stream(item, sizes, spouts) for item in keys["streams"].items()),
        _traffic(keys["traffic"], sizes) if "traffic" in keys else (),
        optional(keys["workers"], lambda v: v.integer(1, MAX_EXECUTORS)),
        optional(keys.get("max_spout_pending"), lambda v: v.integer(1, 2**53)),
        keys["shuffle"].choice(SHUFFLES) if "shuffle" in keys else SHUFFLES[0],
        "streams_measured" in keys and keys["streams_measured"].boolean(),
        optional(keys.get("loss"), _share) or 0.0,
        optional(keys.get("resend_ms"), JsonValue.amount),
    )


_COMPONENT_KEYS = (
    "cpu_percent",
    "memory_mb",
    "cpu_us_per_tuple",
    "threads",
    "service",
    "arrivals",
    "operator",
    "buffer",
)


def _component(value: JsonValue) -> Component:
    keys = value.keys(("name", "kind", "executors"), _COMPONENT_KEYS)
    executors = keys["executors"].integer(1, MAX_EXECUTORS)
    kind = keys["kind"].choice(("spout", "bolt"))
    if kind == "bolt" and "arrivals" in keys:
        keys["arrivals"].fail("is for spouts only")
    if kind == "spout" and "buffer" in keys:
        keys["buffer"].fail("is for bolts only")
    return Component(
        keys["name"].name(),
        kind,
        executors,
        _loads(keys.get("cpu_percent"), executors, DEFAULT_CPU_PERCENT),
        _loads(keys.get("memory_mb"), executors, DEFAULT_MEMORY_MB),
        optional(keys.get("cpu_us_per_tuple"), JsonValue.amount),
        optional(keys.get("threads"), _threads) or 1.0,
        optional(keys.get("service"), lambda v: v.choice(SERVICES)) or SERVICES[0],
        optional(keys.get("arrivals"), lambda v: v.choice(ARRIVALS)) or ARRIVALS[0],
        optional(keys.get("operator"), _operator),
        optional(keys.get("buffer"), lambda v: v.integer(1, 2**53)),
    )


def _operator(value: JsonValue) -> Operator:
    try:
        return msgspec.convert(value.raw, Operator)
    except msgspec.ValidationError as error:
        value.fail(str(error))


def _share(value: JsonValue) -> float:
    if value.amount() >= 1:
        value.mismatch("a number of at least 0, below 1")
    return value.amount()


def _threads(value: JsonValue) -> float:
    if not value.amount():
        value.mismatch("a number above 0")
    return value.amount()


def _loads(value: JsonValue | None, executors: int, default: float) -> Floats:
    if value is None:
        return np.broadcast_to(np.float64(default), executors)
    if not isinstance(value.raw, list):
        return np.broadcast_to(np.float64(value.amount()), executors)
    return _per_executor(value, executors)


def _per_executor(value: JsonValue, executors: int) -> Floats:
    if len(value.array()) != executors:
        value.fail(f"{len(value.raw)} numbers for {executors} executors")
    return np.array([item.amount() for item in value.items()])


def _stream(value: JsonValue, sizes: Mapping[str, int], spouts: Set[str]) -> Stream:
    keys = value.keys(
        ("source", "target", "stream", "grouping", "tuples_per_second"),
        ("bytes_per_tuple", "shares"),
    )
    for end in ("source", "target"):
        if keys[end].name() not in sizes:
            keys[end].fail(f"no component {json.dumps(keys[end].raw)} in this topology")
    source = keys["source"].name()
    if "shares" in keys and source not in spouts:
        keys["shares"].fail("are for streams of spouts only")
    return Stream(
        source,
        keys["target"].name(),
        keys["tuples_per_second"].amount(),
        keys["grouping"].choice(GROUPINGS),
        keys["stream"].name(),
        optional(keys.get("bytes_per_tuple"), JsonValue.amount),
        optional(keys.get("shares"), lambda v: _shares(v, sizes[source])),
    )


def _shares(value: JsonValue, executors: int) -> tuple[float, ...]:
    shares = _per_executor(value, executors)
    if not math.isclose(shares.sum(), 1.0, abs_tol=SHARES_OFF):
        value.fail(f"add up to {shares.sum():g}, not to 1")
    return tuple(shares.tolist())


def _traffic(value: JsonValue, sizes: Mapping[str, int]) -> tuple[MeasuredPair, ...]:
    executors = _ExecutorNames(sizes)
    pairs: list[MeasuredPair] = []
    for index, row in enumerate(value.array()):
        try:
            source, target, rate, *size = row
            amounts = map(float, (rate, *size))
            pair = MeasuredPair(executors[source], executors[target], *amounts)
        except (ValueError, TypeError, KeyError, OverflowError):
            pair = None
        if pair is None or type(row) is not list or not all(map(is_amount, (rate, *size))):
            _traffic_mismatch(JsonValue(row, f"{value.path}[{index}]"), executors)
        else:
            pairs.append(pair)
    return tuple(pairs)


class _ExecutorNames(dict[str, tuple[str, int]]):
    """Component and index of ``component[index]``: of those asked for, however many there are."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self._sizes = sizes

    def __missing__(self, text: object) -> tuple[str, int]:
        match = _EXECUTOR.fullmatch(text) if isinstance(text, str) else None
        if match is None or int(match[2]) >= self._sizes.get(match[1], 0):
            raise KeyError(text)
        self[match[0]] = executor = match[1], int(match[2])
        return executor


def _traffic_mismatch(row: JsonValue, executors: _ExecutorNames) -> NoReturn:
    if len(row.array()) not in (3, 4):
        row.fail(
            "must be [source executor, target executor, tuples per second] and may go on with "
            "bytes per tuple"
        )
    source, target, *amounts = row.items()
    for end in (source, target):
        try:
            executors[end.name()]
        except KeyError:
            end.fail(f"no executor {json.dumps(end.raw)} in this topology")
    bad = next(amount for amount in amounts if not is_amount(amount.raw))
    bad.mismatch("a number of at least 0")


def read_slots(
    problem: Problem, value: JsonValue, complete: bool
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], tuple[Slot, ...]]:
    """Return the slot ordinal of every executor, and further slots that it names.

    The value has the form of ``current`` and ``assignments``. Slots that the problem has no ordinal
    for are numbered after those it has.

    Parameters
    ----------
    complete : bool
        Whether every topology has to occur; those that do not are unassigned.

    Raises
    ------
    InvalidInput
        A topology, component or executor is missing or unknown, or a slot is none.
    """
    by_topology = value.members()
    known = [topology.id for topology in problem.topologies]
    for name, member in by_topology.items():
        if name not in known:
            member.fail("no such topology in the problem")
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    ordinals = dict(problem.slot_ordinals)
    for topology, offset in zip(
        problem.topologies, problem.topology_offsets.tolist(), strict=False
    ):
        if topology.id not in by_topology:
            if complete:
                value.fail(f"missing key {json.dumps(topology.id)}")
            continue
        names = tuple(component.name for component in topology.components)
        lists = by_topology[topology.id].keys(names)
        for component in topology.components:
            first = offset + topology.offsets[component.name]
            slots[first : first + component.executors] = _slot_list(
                lists[component.name], component.executors, ordinals
            )
    return slots, tuple(list(ordinals)[len(problem.slot_ids) :])


def _slot_list(value: JsonValue, executors: int, ordinals: dict[Slot, int]) -> list[int]:
    if len(value.array()) != executors:
        value.fail(f"{len(value.array())} slots for {executors} executors")
    return [
        UNASSIGNED if item.raw is None else ordinals.setdefault(_slot(item), len(ordinals))
        for item in value.items()
    ]


def _slot(value: JsonValue) -> Slot:
    node, colon, port = value.name().rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else -1
    if not node or not colon or port != str(number):
        value.mismatch('"node:port" or null')
    return node, number


def slot_lists(problem: Problem, placement: Placement) -> dict[str, dict[str, list[str | None]]]:
    """Return a placement in the form of ``current`` and ``assignments``."""
    names = [f"{node}:{port}" for node, port in problem.slot_ids]
    slots = [None if slot == UNASSIGNED else names[slot] for slot in placement.slots.tolist()]
    result: dict[str, dict[str, list[str | None]]] = {}
    begin = 0
    for topology in problem.topologies:
        lists = result[topology.id] = {}
        for component in topology.components:
            lists[component.name] = slots[begin : begin + component.executors]
            begin += component.executors
    return result


def write_problem(path: Path, problem: Problem) -> None:
    """Write a problem file, whole or not at all.

    Raises
    ------
    InvalidInput
        It cannot be written there.
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "nodes": [_node_document(node) for node in problem.nodes],
        "topologies": [_topology_document(topology) for topology in problem.topologies],
    }
    if problem.uplinks:
        racks = {name: {"uplink_mbit": _link_document(link)} for name, link in problem.uplinks}
        document["racks"] = racks
    if problem.costs is not None:
        document["costs"] = costs_document(problem.costs)
    if problem.hop != NO_HOP:
        hop = problem.hop
        document["hop_us"] = {"node": hop.node_us, "distance": hop.distance_us}
    if problem.current is not None:
        document["current"] = slot_lists(problem, problem.current)
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def _link_document(link: Link) -> dict[str, float | None] | float | None:
    return link.out if link.out == link.into else {"out": link.out, "in": link.into}


def _node_document(node: Node) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": node.id,
        "rack": node.rack,
        "ports": list(node.ports),
        "cpu_percent": node.cpu_percent,
        "memory_mb": node.memory_mb,
        "max_executors": node.max_executors,
    }
    return document if node.link == UNKNOWN else document | {"link_mbit": _link_document(node.link)}


def _topology_document(topology: Topology) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": topology.id,
        "workers": topology.workers,
        "components": [_component_document(component) for component in topology.components],
        "streams": [_stream_document(stream) for stream in topology.streams],
    }
    if topology.measured:
        document["traffic"] = [_traffic_row(pair) for pair in topology.measured]
    if topology.max_spout_pending is not None:
        document["max_spout_pending"] = topology.max_spout_pending
    if topology.shuffle != SHUFFLES[0]:
        document["shuffle"] = topology.shuffle
    if topology.streams_measured:
        document["streams_measured"] = True
    if topology.loss:
        document["loss"] = topology.loss
    if topology.resend_ms is not None:
        document["resend_ms"] = topology.resend_ms
    return document


def _component_document(component: Component) -> dict[str, Any]:
    document = {
        "name": component.name,
        "kind": component.kind,
        "executors": component.executors,
        "cpu_percent": _loads_document(component.cpu_percent),
        "memory_mb": _loads_document(component.memory_mb),
    }
    others = {
        "cpu_us_per_tuple": (component.cpu_us_per_tuple, None),
        "threads": (component.threads, 1.0),
        "service": (component.service, SERVICES[0]),
        "arrivals": (component.arrivals, ARRIVALS[0]),
        "buffer": (component.buffer, None),
        "operator": (component.operator and msgspec.to_builtins(component.operator), None),
    }
    return document | {key: value for key, (value, usual) in others.items() if value != usual}


def _traffic_row(pair: MeasuredPair) -> list[str | float]:
    ends = (f"{name}[{index}]" for name, index in (pair.source, pair.target))
    size = () if pair.bytes_per_tuple is None else (pair.bytes_per_tuple,)
    return [*ends, pair.tuples_per_second, *size]


def _loads_document(loads: Floats) -> float | list[float]:
    values: list[float] = loads.tolist()
    return values[0] if len(set(values)) == 1 else values


def _stream_document(stream: Stream) -> dict[str, Any]:
    document: dict[str, Any] = {
        "source": stream.source,
        "target": stream.target,
        "stream": stream.stream,
        "grouping": stream.grouping,
        "tuples_per_second": stream.tuples_per_second,
    }
    if stream.bytes_per_tuple is not None:
        document["bytes_per_tuple"] = stream.bytes_per_tuple
    if stream.shares is not None:
        document["shares"] = list(stream.shares)
    return document
