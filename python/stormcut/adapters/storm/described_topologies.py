"""Reads topologies as people and Storm's tools describe them: Flux, load generator, the UI's JSON.

References
----------
Apache Storm: Flux (``flux/README.md``), "Storm Load Generation Tools" (``storm-loadgen``), and the
UI's REST API (``docs/STORM-UI-REST-API.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stormcut.adapters.files.json_document import JsonValue, read_json
from stormcut.adapters.files.problem_file import MAX_EXECUTORS, within
from stormcut.adapters.files.yaml_document import read_yaml
from stormcut.model.errors import InvalidInput
from stormcut.model.problem import (
    CORE_PERCENT,
    GROUPINGS,
    Component,
    Stream,
    Topology,
    threads_for,
)

US_PER_MS = 1000.0
#: Of a whole number in a configuration.
MOST = 2**31 - 1


def read_flux(path: Path, rate: float) -> tuple[Topology, ...]:
    """Return the topology of a Flux file.

    It holds no rates: each source executor sends ``rate`` tuples/s on each stream.

    Raises
    ------
    InvalidInput
        It cannot be read, or is no such file; names the place.
    """
    try:
        members = JsonValue(read_yaml(path), "").members()
        name = members["name"].name() if "name" in members else path.stem
        parts = dict(_components(members, "parallelism", _load_by_default))
        streams = []
        for each in _list(members, "streams"):
            keys = each.members()
            grouping = _member(keys.get("grouping"), each, "grouping")
            source, target = (_known(keys, end, each, parts) for end in ("from", "to"))
            stream = grouping.get("streamId")
            streams.append(
                Stream(
                    source,
                    target,
                    rate * parts[source].executors,
                    _grouping(grouping.get("type"), each),
                    "default" if stream is None else stream.name(),
                )
            )
        return (_topology(name, parts, streams, members.get("config")),)
    except InvalidInput as error:
        raise within(path, error) from None


def read_loadgen(path: Path) -> tuple[Topology, ...]:
    """Return the topologies of a file of Storm's load generator (``CaptureLoad``, ``GenLoad``).

    Rates are tuples/s of each executor on each of its streams, and a bolt's ``executeLatency`` is
    taken for the CPU of a tuple.

    Raises
    ------
    InvalidInput
        It cannot be read, or is no such file; names the place.
    """
    try:
        root = JsonValue(read_yaml(path), "")
        members = root.members()
        whole = _list(members, "topologies") if "topologies" in members else [root]
        return tuple(_read_generated(each, path.stem) for each in whole)
    except InvalidInput as error:
        raise within(path, error) from None


def _read_generated(value: JsonValue, otherwise: str) -> Topology:
    members = value.members()
    name = members["name"].name() if "name" in members else otherwise
    parts = dict(_components(members, "parallelism", _load_by_latency))
    rates: dict[tuple[str, str], float] = {}
    for each in (*_list(members, "spouts"), *_list(members, "bolts")):
        keys = each.members()
        component = keys["id"].name()
        for stream in _list(keys, "streams"):
            its = stream.members()
            mean = _member(its["rate"], stream, "rate").get("mean") if "rate" in its else None
            name_of = its["id"].name() if "id" in its else "default"
            many = 0.0 if mean is None else mean.amount()
            rates[component, name_of] = many * parts[component].executors
    streams = []
    for each in _list(members, "streams"):
        keys = each.members()
        source, target = (_known(keys, end, each, parts) for end in ("from", "to"))
        stream_id = keys["id"].name() if "id" in keys else "default"
        total = rates.get((source, stream_id), 0.0)
        streams.append(
            Stream(source, target, total, _grouping(keys.get("grouping"), each), stream_id)
        )
    return _topology(name, parts, streams, members.get("config"))


def read_ui(path: Path) -> tuple[Topology, ...]:
    """Return the topology of the UI's ``/api/v1/topology/ID``: executors and loads, no streams.

    A bolt's ``capacity`` is the part of the time in which its fullest executor worked.

    Raises
    ------
    InvalidInput
        It cannot be read, or is no such file; names the place.
    """
    try:
        members = read_json(path).members()
        if "spouts" not in members or "bolts" not in members:
            raise InvalidInput(
                "has no spouts and bolts: give the answer of the UI's /api/v1/topology/ID", ""
            )
        parts: dict[str, Component] = {}
        for kind in ("spout", "bolt"):
            for each in _list(members, f"{kind}s"):
                keys = each.members()
                name = _require(keys, f"{kind}Id", each).name()
                executors = _require(keys, "executors", each).integer(1, MAX_EXECUTORS)
                if name in parts:
                    each.fail(f"component {name!r} occurs twice")
                parts[name] = _load_by_capacity(Component.uniform(name, executors, kind), keys)
        its = _require(members, "name", JsonValue(None, "")).name()
        topology = _topology(its, parts, [], None)
        workers = members.get("workersTotal")
        return (replace(topology, workers=_workers(workers)),)
    except InvalidInput as error:
        raise within(path, error) from None


def _load_by_capacity(component: Component, keys: Mapping[str, JsonValue]) -> Component:
    """Return a component with the load that ``capacity``, a text or a number, tells."""
    raw = keys["capacity"].raw if "capacity" in keys else None
    try:
        share = math.nan if raw is None else float(raw)
    except (TypeError, ValueError):
        keys["capacity"].mismatch("a number")
    if not 0 <= share < math.inf:
        return component
    return Component.uniform(
        component.name, component.executors, component.kind, share * CORE_PERCENT
    )


def _components(
    members: Mapping[str, JsonValue], hint: str, loaded: Any
) -> Iterator[tuple[str, Component]]:
    seen: set[str] = set()
    for kind in ("spout", "bolt"):
        for each in _list(members, f"{kind}s"):
            keys = each.members()
            name = _require(keys, "id", each).name()
            if name in seen:
                each.fail(f"component {name!r} occurs twice")
            seen.add(name)
            count = keys[hint].integer(1, MAX_EXECUTORS) if hint in keys else 1
            yield name, loaded(Component.uniform(name, count, kind), keys)
    if not seen:
        raise InvalidInput("has neither spouts nor bolts", "")


def _load_by_default(component: Component, _: Mapping[str, JsonValue]) -> Component:
    return component


def _load_by_latency(component: Component, keys: Mapping[str, JsonValue]) -> Component:
    """Return a component with the CPU and memory that the load generator gives it."""
    latency = keys.get("executeLatency")
    if latency is not None and component.kind == "bolt":
        mean = latency.members().get("mean")
        us = None if mean is None else US_PER_MS * mean.amount()
        component = replace(component, cpu_us_per_tuple=us)
    cpu, memory = keys.get("cpuLoad"), keys.get("memoryLoad")
    if cpu is not None:
        points = cpu.amount()
        load = np.full(component.executors, points)
        component = replace(component, cpu_percent=load, threads=threads_for(points))
    if memory is not None:
        component = replace(component, memory_mb=np.full(component.executors, memory.amount()))
    return component


def _topology(
    name: str, parts: Mapping[str, Component], streams: list[Stream], config: JsonValue | None
) -> Topology:
    its = {} if config is None or config.raw is None else config.members()
    pending = its.get("topology.max.spout.pending")
    return Topology(
        name,
        tuple(parts.values()),
        tuple(streams),
        workers=_workers(its.get("topology.workers")),
        max_spout_pending=None
        if pending is None or pending.raw is None
        else pending.integer(1, MOST),
    )


def _workers(value: JsonValue | None) -> int | None:
    return None if value is None or not value.raw else value.integer(1, MOST)


def _grouping(value: JsonValue | None, stream: JsonValue) -> str:
    if value is None:
        stream.fail('missing key "grouping"')
    text = value.raw.lower() if isinstance(value.raw, str) else value.raw
    return JsonValue(text, value.path).choice(GROUPINGS)


def _known(
    keys: Mapping[str, JsonValue], end: str, stream: JsonValue, parts: Mapping[str, Component]
) -> str:
    name = _require(keys, end, stream).name()
    if name not in parts:
        keys[end].fail(f"{name!r} is no component")
    return name


def _require(keys: Mapping[str, JsonValue], key: str, where: JsonValue) -> JsonValue:
    if key not in keys:
        where.fail(f'missing key "{key}"')
    return keys[key]


def _member(value: JsonValue | None, where: JsonValue, key: str) -> dict[str, JsonValue]:
    if value is None:
        where.fail(f'missing key "{key}"')
    return value.members()


def _list(members: Mapping[str, JsonValue], key: str) -> list[JsonValue]:
    """Return the elements of a list, none if there is no such key or no value."""
    value = members.get(key)
    return [] if value is None or value.raw is None else list(value.items())
