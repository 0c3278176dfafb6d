"""Reads what Nimbus stores of topologies: serialised code and configuration, into a problem.

A topology is two files: a Thrift ``StormTopology`` (``stormcode.ser``) and its whole configuration
as one JSON object (``stormconf.ser``), both plain or gzip. Java objects inside stay opaque bytes.

What Storm's own Nimbus would make of them:

- A component has ``topology.tasks`` tasks, ``topology.max.task.parallelism`` at most, and its
  parallelism hint's number of executors, never more than tasks; a hint that is absent or 0 counts
  as 1.
- An executor's CPU and memory (on-heap and off-heap together) are those of
  ``topology.component.resources.map`` in the component's ``json_conf``, else the same keys beside
  that map, else those of the topology's configuration, else Storm's defaults. CPU above 100
  points is that of several threads.
- ``fields`` with an empty list is ``global``; custom groupings, whose Java objects are not looked
  into, count as spread over all targets.
- An id stands for one topology, wherever its files lie; of incarnations of one name the one counts
  that was submitted last.
- System components (ackers, metrics consumers) are added by Storm later and are not in the files.

Such files hold no rates: every stream carries ``rate`` tuples/s per source executor.

References
----------
Apache Storm, storm.thrift (its structs are taken from streamparse) and ``StormCommon``.
"""

from __future__ import annotations

import glob
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from stormcut.adapters.files.json_document import JsonValue, optional, parse_json, read_json
from stormcut.adapters.files.problem_file import GZIP_MAGIC, LARGEST_PORT, MAX_EXECUTORS, within
from stormcut.adapters.thrift.decode import Decoder, Malformed
from stormcut.model.errors import InvalidInput
from stormcut.model.operator import Operator, read_operator
from stormcut.model.problem import (
    DEFAULT_CPU_PERCENT,
    DEFAULT_MEMORY_MB,
    Component,
    Node,
    Problem,
    Stream,
    Topology,
    threads_for,
)

CODE = "stormcode.ser"
CONF = "stormconf.ser"
#: How a folder of Nimbus's that holds a blob begins; the blob is its file ``data``.
BLOB = "data_"

CPU = "topology.component.cpu.pcore.percent"
ON_HEAP = "topology.component.resources.onheap.memory.mb"
OFF_HEAP = "topology.component.resources.offheap.memory.mb"
RESOURCES = "topology.component.resources.map"
#: The same in `topology.component.resources.map` since Storm 2.
STORM_2 = {
    CPU: "cpu.pcore.percent",
    ON_HEAP: "onheap.memory.mb",
    OFF_HEAP: "offheap.memory.mb",
}
#: What an author declares of a component, before its name.
OPERATOR = "stormcut.operator."
#: What a file may unpack to.
MAX_BYTES = 256 << 20
STORM_DEFAULTS = {CPU: DEFAULT_CPU_PERCENT, ON_HEAP: DEFAULT_MEMORY_MB, OFF_HEAP: 0.0}


@dataclass(frozen=True)
class TopologyFiles:
    """The two files of a topology.

    Parameters
    ----------
    id : str
        As Nimbus numbers it, ``<name>-<number>-<epoch s>``; of files that were given by name, what
        they are called. It stands for the topology's name if its configuration has none.
    code, conf : Path
    is_found : bool
        In a folder: what is wrong with it is no reason to refuse the others.
    """

    id: str
    code: Path
    conf: Path
    is_found: bool = False

    @property
    def submitted(self) -> tuple[int, int]:
        """Sorts incarnations of one name: when it was submitted, and which one it was."""
        number = _INCARNATION.search(self.id)
        return (int(number[2]), int(number[1])) if number else (-1, -1)


_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_INCARNATION = re.compile(r"-(\d+)-(\d+)$", re.ASCII)


@dataclass(frozen=True)
class Imported:
    """A problem, and in a line each what was left out of it and why."""

    problem: Problem
    notes: tuple[str, ...]


def find_topologies(paths: Sequence[Path]) -> list[TopologyFiles]:
    """Return the topologies that files and folders hold, copies of one among them.

    Parameters
    ----------
    paths : sequence of Path
        Folders, searched for ``*stormcode.ser`` with a ``*stormconf.ser`` of the same beginning
        beside it, as in a supervisor's ``stormdist``, and for the same as blobs of Nimbus,
        ``blobs/<number>/data_<topology id>-stormcode.ser/data``; and files, code and configuration
        by turns.

    Raises
    ------
    InvalidInput
        A folder holds none, or there is no such file.
    """
    stored: list[TopologyFiles] = []
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InvalidInput("no such file or folder", str(path))
        if path.is_dir():
            stored.extend(_in_folder(path))
        else:
            files.append(path)
    if len(files) % 2:
        raise InvalidInput("has no configuration after it: give CODE CONF by turns", str(files[-1]))
    for code, conf in zip(files[::2], files[1::2], strict=True):
        stored.append(TopologyFiles(_name(code), code, conf))
    return stored


def _in_folder(folder: Path) -> Iterator[TopologyFiles]:
    codes = sorted(folder.rglob(f"*{CODE}"))
    blobs = [code for code in codes if code.is_dir() and code.name.startswith(BLOB)]
    plain = [code for code in codes if code.is_file()]
    if not blobs and not plain:
        raise InvalidInput(
            f"holds neither a *{CODE}, as a supervisor's stormdist does, nor a {BLOB}*{CODE}, "
            "as Nimbus's blobs do: give the storm.local.dir of a machine where the topology runs",
            str(folder),
        )
    for code in plain:
        # A supervisor names its folders as URLs do: a blank is a plus.
        its_id = unquote_plus(_name(code))
        yield TopologyFiles(its_id, code, code.with_name(_conf_of(code)), is_found=True)
    for code in blobs:
        # Nimbus spreads blobs over numbered folders by a hash of their names.
        conf = next(code.parent.parent.glob(f"*/{glob.escape(_conf_of(code))}"), None)
        conf = conf or code.parent.parent / "*" / _conf_of(code)
        its_id = _name(code).removeprefix(BLOB)
        yield TopologyFiles(its_id, code / "data", conf / "data", is_found=True)


def _conf_of(code: Path) -> str:
    return code.name.removesuffix(CODE) + CONF


def _require_both(files: TopologyFiles) -> None:
    for half, other in ((files.conf, files.code), (files.code, files.conf)):
        if not half.is_file():
            raise InvalidInput(
                f"is missing, the other half of {other}: give a folder that holds both, such as "
                "the storm.local.dir of Nimbus or of a supervisor",
                str(half),
            )


def _name(code: Path) -> str:
    """Return what is before ``-stormcode.ser``, else the folder's name, as in ``stormdist``."""
    return code.name.removesuffix(CODE).rstrip("-._") or code.absolute().parent.name


def read_supervisors(path: Path) -> tuple[Node, ...]:
    """Read a table of supervisors: ``{"supervisors": [{rack, count, ...}, ...]}``.

    One entry is ``count`` equal supervisors of a rack, named ``<rack>s<number in the rack>``, with
    ports 0 to ``slots`` - 1, ``cpu_pcore_percent`` and ``memory_mb`` each (null: no limit).
    ``cluster`` and ``totals`` are for people. What the UI's ``/api/v1/supervisor/summary`` answers
    is read, too: one entry for each supervisor, named by its host.

    Raises
    ------
    InvalidInput
        It cannot be read or is no such table.
    """
    try:
        root = read_json(path)
        known = root.members().get("supervisors")
        entries = [] if known is None else list(known.items())
        if entries and "slotsTotal" in entries[0].members():
            return _of_ui(entries)
        keys = root.keys(("supervisors",), ("cluster", "totals"))
        nodes: list[Node] = []
        in_rack: dict[str, int] = {}
        for entry in keys["supervisors"].items():
            nodes.extend(_supervisors(entry, in_rack))
    except InvalidInput as error:
        raise within(path, error) from None
    return tuple(nodes)


def _of_ui(entries: Sequence[JsonValue]) -> tuple[Node, ...]:
    """Return the supervisors in Storm's UI, named by host, or by id where two share one."""
    nodes: dict[str, Node] = {}
    for entry in entries:
        keys = entry.members()
        for key in ("host", "id", "slotsTotal"):
            if key not in keys:
                entry.fail(f'missing key "{key}"')
        ports = tuple(range(keys["slotsTotal"].integer(0, LARGEST_PORT)))
        # The UI shows 0 where a supervisor declares none.
        cpu, memory = (
            optional(keys.get(key), JsonValue.amount) or None for key in ("totalCpu", "totalMem")
        )
        host = keys["host"].name()
        name = keys["id"].name() if host in nodes else host
        if name in nodes:
            entry.fail(f"supervisor {name!r} occurs twice")
        nodes[name] = Node(name, ports, None, cpu, memory)
    return tuple(nodes.values())


def _supervisors(entry: JsonValue, in_rack: dict[str, int]) -> Iterator[Node]:
    keys = entry.keys(("rack", "count", "cpu_pcore_percent", "memory_mb", "slots"))
    rack = keys["rack"].name()
    ports = tuple(range(keys["slots"].integer(0, LARGEST_PORT)))
    cpu = optional(keys["cpu_pcore_percent"], JsonValue.amount)
    memory = optional(keys["memory_mb"], JsonValue.amount)
    for _ in range(keys["count"].integer(1, MAX_EXECUTORS)):
        number = in_rack[rack] = in_rack.get(rack, -1) + 1
        yield Node(f"{rack}s{number:03d}", ports, rack, cpu, memory)


def import_storm(
    topologies: Iterable[TopologyFiles],
    nodes: tuple[Node, ...],
    rate: float = 1.0,
    keep_workers: bool = False,
) -> Imported:
    """Return the problem of placing serialised topologies on nodes.

    Of what was found in folders, a topology that cannot be read, has no components, or was
    submitted again later under its name is left out, and named.

    Parameters
    ----------
    rate : float
        Tuples/s that each source executor sends on each stream.
    keep_workers : bool
        Whether ``topology.workers`` is kept; Storm's resource-aware scheduler ignores it.

    Raises
    ------
    InvalidInput
        A file that was given by name cannot be read, or is not what it should be; two of these
        topologies have one name; or nothing is left.
    """
    left_out: dict[str, str] = {}
    read: dict[str, tuple[TopologyFiles, Topology]] = {}
    for files in topologies:
        if files.is_found and files.id in read:
            continue  # a copy
        try:
            _require_both(files)
            imported = files, read_topology(files, rate, keep_workers)
        except InvalidInput as error:
            if not files.is_found:
                raise
            left_out.setdefault(files.id, str(error))
            continue
        if not files.is_found and files.id in read:
            raise InvalidInput(f"a topology {files.id!r} was there before", str(files.conf))
        read[files.id] = imported
        left_out.pop(files.id, None)
    newest: dict[str, tuple[TopologyFiles, Topology]] = {}
    for files, topology in sorted(read.values(), key=lambda each: each[0].submitted):
        if before := newest.get(topology.id):
            if not (files.is_found and before[0].is_found):
                why = f"a topology {topology.id!r} was there before"
                raise InvalidInput(why, str(files.conf))
            left_out[before[0].id] = f"{topology.id} was submitted again later, as {files.id}"
        newest[topology.id] = files, topology
    if not newest:
        raise InvalidInput(next(iter(left_out.values()), "holds no topology"))
    kept = tuple(topology for files, topology in read.values() if newest[topology.id][0] is files)
    notes = tuple(f"left out {name}: {why}" for name, why in left_out.items())
    return Imported(Problem(nodes, kept), notes)


def read_topology(files: TopologyFiles, rate: float, keep_workers: bool) -> Topology:
    """Return one topology; see `import_storm`."""
    struct = _decode(files.code)
    conf = _configuration(files.conf)
    kinds = dict.fromkeys(struct.spouts, "spout") | dict.fromkeys(struct.bolts, "bolt")
    specs = {**struct.spouts, **struct.bolts}
    components = {
        name: replace(
            _component(name, kinds[name], specs[name].common, conf, files.code),
            operator=_operator(conf.get(OPERATOR + name)),
        )
        for name in sorted(specs)
    }
    streams = tuple(
        stream
        for target in sorted(specs)
        for stream in _streams(target, specs[target].common, components, rate, files.code)
    )
    workers = conf.get("topology.workers")
    if not (keep_workers and type(workers) is int and workers >= 1):
        workers = None
    name = conf.get("topology.name") or files.id
    return Topology(str(name), tuple(components.values()), streams, workers=workers)


def _operator(value: object) -> Operator | None:
    """Return what a topology's configuration declares, as the plugin reads it."""
    if value is None:
        return None
    return read_operator(value if isinstance(value, str) else json.dumps(value))


class _StormDecoder(Decoder):
    """Reads Storm's structs, in which some texts are Java's bytes."""

    def _text(self) -> Any:
        content = self.take(self._count(1))
        try:
            return content.decode()
        except UnicodeDecodeError:
            return content


def _decode(path: Path) -> Any:
    """Return the ``StormTopology`` struct in a file."""
    # streamparse parses Storm's whole Thrift file on import: no other command shall wait for it.
    from streamparse.thrift import StormTopology

    decoder, struct = _StormDecoder(_content(path)), StormTopology()
    try:
        decoder.into(struct)
    except Malformed as error:
        raise InvalidInput(f"is no serialised Storm topology: {error}", str(path)) from error
    if decoder.at < len(decoder.data):
        raise InvalidInput("is no serialised Storm topology", str(path))
    specs = {**struct.spouts, **struct.bolts}
    if not specs:
        raise InvalidInput("is a topology without components", str(path))
    odd = [name for name in specs if not isinstance(name, str) or not name]
    if odd:
        raise InvalidInput(f"has a component with the name {odd[0]!r}", str(path))
    return struct


def _configuration(path: Path) -> dict[str, Any]:
    value = parse_json(_content(path), str(path))
    if not isinstance(value.raw, dict):
        raise InvalidInput("must be the JSON object of a topology's configuration", str(path))
    return value.raw


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        if not data.startswith(GZIP_MAGIC):
            return data
        with gzip.GzipFile(fileobj=BytesIO(data)) as unpacked:
            content = unpacked.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InvalidInput(f"unpacks to more than {MAX_BYTES >> 20} MiB", str(path))
        return content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInput(f"is damaged gzip: {error}", str(path)) from None
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(path)) from None


def _component(name: str, kind: str, common: Any, conf: Mapping[str, Any], path: Path) -> Component:
    where = f"{path}: {name}"
    text = common.json_conf or "{}"
    raw = text if isinstance(text, bytes) else text.encode()
    own = parse_json(raw, f"{where}: json_conf").raw
    if not isinstance(own, dict):
        raise InvalidInput("must be a JSON object", f"{where}: json_conf")
    resources = own.get(RESOURCES)
    resources = resources if isinstance(resources, dict) else {}
    of_storm_2 = {key: resources[short] for key, short in STORM_2.items() if short in resources}
    sources = [resources, of_storm_2, own, conf, STORM_DEFAULTS]
    amounts = {key: _amount(key, sources, where) for key in STORM_DEFAULTS}
    executors = common.parallelism_hint or 1
    if not 1 <= executors <= MAX_EXECUTORS:
        raise InvalidInput(f"must be from 1 to {MAX_EXECUTORS}, is {executors}", f"{where}: hint")
    for key in ("topology.tasks", "topology.max.task.parallelism"):
        tasks = own.get(key, conf.get(key))
        if type(tasks) is int and tasks >= 1:
            executors = min(executors, tasks)
    cpu, memory = amounts[CPU], amounts[ON_HEAP] + amounts[OFF_HEAP]
    component = Component.uniform(name, executors, kind, cpu, memory)
    return replace(component, threads=threads_for(cpu))


def _amount(key: str, sources: list[Mapping[str, Any]], where: str) -> float:
    raw = next(source[key] for source in sources if source.get(key) is not None)
    # What is set on a command line is a text.
    if isinstance(raw, str) and _NUMBER.fullmatch(raw.strip()):
        raw = float(raw)
    return JsonValue(raw, f"{where}: {key}").amount()


def _streams(
    target: str, common: Any, components: Mapping[str, Component], rate: float, path: Path
) -> Iterator[Stream]:
    inputs = common.inputs or {}
    for stream in sorted(inputs, key=lambda stream: (stream.componentId, stream.streamId)):
        if stream.componentId not in components:
            raise InvalidInput(
                f"{target} subscribes to {stream.componentId!r}, which is no component", str(path)
            )
        yield Stream(
            stream.componentId,
            target,
            rate * components[stream.componentId].executors,
            _grouping(inputs[stream]),
            stream.streamId,
        )


def _grouping(grouping: Any) -> str:
    if grouping.fields is not None:
        return "fields" if grouping.fields else "global"
    plain = ("shuffle", "local_or_shuffle", "all", "none", "direct")
    return next((name for name in plain if getattr(grouping, name) is not None), "custom")
