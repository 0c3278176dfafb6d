"""Reads what Nimbus stores of topologies: serialised code and configuration, into a problem.

A topology is two files: a Thrift ``StormTopology`` (``stormcode.ser``) and its whole configuration
as one JSON object (``stormconf.ser``), both plain or gzip. Java objects inside stay opaque bytes.

What Storm's own Nimbus would make of them:

- A component has ``topology.tasks`` tasks and its parallelism hint's number of executors, never
  more than tasks; a hint that is absent or 0 counts as 1.
- An executor's CPU and memory (on-heap and off-heap together) are those of
  ``topology.component.resources.map`` in the component's ``json_conf``, else the same keys beside
  that map, else those of the topology's configuration, else Storm's defaults. CPU above 100
  points is that of several threads.
- ``fields`` with an empty list is ``global``; custom groupings, whose Java objects are not looked
  into, count as spread over all targets.
- System components (ackers, metrics consumers) are added by Storm later and are not in the files.

Such files hold no rates: every stream carries ``rate`` tuples/s per source executor.

References
----------
Apache Storm, storm.thrift (its structs are taken from streamparse) and ``StormCommon``.
"""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thriftpy2.protocol.binary import TBinaryProtocol

from stormcut.adapters.files.json_document import Value, optional, parse_json, read_json
from stormcut.adapters.files.problem_file import GZIP_MAGIC, LARGEST_PORT, MOST_EXECUTORS, within
from stormcut.adapters.thrift.decode import Malformed
from stormcut.adapters.thrift.values import ReadBuffer
from stormcut.model.errors import InvalidInput
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
STORM_DEFAULTS = {CPU: DEFAULT_CPU_PERCENT, ON_HEAP: DEFAULT_MEMORY_MB, OFF_HEAP: 0.0}


@dataclass(frozen=True)
class TopologyFiles:
    """The two files of a topology; ``name`` is used if its configuration has none."""

    name: str
    code: Path
    conf: Path


def find_topologies(paths: Sequence[Path]) -> list[TopologyFiles]:
    """Return the topologies that files and folders hold.

    Parameters
    ----------
    paths : sequence of Path
        Folders, searched for ``*stormcode.ser`` with a ``*stormconf.ser`` of the same beginning
        beside it, as in a supervisor's ``stormdist``, and for the same as blobs of Nimbus,
        ``blobs/<number>/data_<topology id>-stormcode.ser/data``; and files, code and configuration
        by turns. Copies of one topology in a folder count once.

    Raises
    ------
    InvalidInput
        A file lacks its other half, a folder holds none, or there is no such file.
    """
    found: list[TopologyFiles] = []
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InvalidInput("no such file or folder", str(path))
        if path.is_dir():
            found.extend(_without_copies(_in_folder(path)))
        else:
            files.append(path)
    if len(files) % 2:
        raise InvalidInput("has no configuration after it: give CODE CONF by turns", str(files[-1]))
    for code, conf in zip(files[::2], files[1::2], strict=True):
        found.append(TopologyFiles(_name(code), code, conf))
    return found


def _without_copies(found: Iterable[TopologyFiles]) -> list[TopologyFiles]:
    """Return each topology once: Nimbus and every supervisor that runs it have its files."""
    first: dict[tuple[str, bytes, bytes], TopologyFiles] = {}
    for files in found:
        first.setdefault((files.name, _content(files.code), _content(files.conf)), files)
    return list(first.values())


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
        yield _pair(_name(code), code, code.with_name(_conf_of(code)))
    for code in blobs:
        # Nimbus spreads blobs over numbered folders by a hash of their names.
        conf = next(code.parent.parent.glob(f"*/{glob.escape(_conf_of(code))}"), None)
        missing = code.parent.parent / "*" / _conf_of(code)
        yield _pair(_name(code).removeprefix(BLOB), code / "data", (conf or missing) / "data")


def _conf_of(code: Path) -> str:
    return code.name.removesuffix(CODE) + CONF


def _pair(name: str, code: Path, conf: Path) -> TopologyFiles:
    for half, other in ((conf, code), (code, conf)):
        if not half.is_file():
            raise InvalidInput(
                f"is missing, the other half of {other}: give a folder that holds both, such as "
                "the storm.local.dir of Nimbus or of a supervisor",
                str(half),
            )
    return TopologyFiles(name, code, conf)


def _name(code: Path) -> str:
    """Return what is before ``-stormcode.ser``, else the folder's name, as in ``stormdist``."""
    return code.name.removesuffix(CODE).rstrip("-._") or code.absolute().parent.name


def read_supervisors(path: Path) -> tuple[Node, ...]:
    """Read a table of supervisors: ``{"supervisors": [{rack, count, ...}, ...]}``.

    One entry is ``count`` equal supervisors of a rack, named ``<rack>s<number in the rack>``, with
    ports 0 to ``slots`` - 1, ``cpu_pcore_percent`` and ``memory_mb`` each (null: no limit).
    ``cluster`` and ``totals`` are for people.

    Raises
    ------
    InvalidInput
        It cannot be read or is no such table.
    """
    try:
        keys = read_json(path).keys(("supervisors",), ("cluster", "totals"))
        nodes: list[Node] = []
        in_rack: dict[str, int] = {}
        for entry in keys["supervisors"].items():
            nodes.extend(_supervisors(entry, in_rack))
    except InvalidInput as error:
        raise within(path, error) from None
    return tuple(nodes)


def _supervisors(entry: Value, in_rack: dict[str, int]) -> Iterator[Node]:
    keys = entry.keys(("rack", "count", "cpu_pcore_percent", "memory_mb", "slots"))
    rack = keys["rack"].name()
    ports = tuple(range(keys["slots"].integer(0, LARGEST_PORT)))
    cpu = optional(keys["cpu_pcore_percent"], Value.amount)
    memory = optional(keys["memory_mb"], Value.amount)
    for _ in range(keys["count"].integer(1, MOST_EXECUTORS)):
        number = in_rack[rack] = in_rack.get(rack, -1) + 1
        yield Node(f"{rack}s{number:03d}", ports, rack, cpu, memory)


def import_storm(
    topologies: Iterable[TopologyFiles],
    nodes: tuple[Node, ...],
    rate: float = 1.0,
    keep_workers: bool = False,
) -> Problem:
    """Return the problem of placing serialised topologies on nodes.

    Parameters
    ----------
    rate : float
        Tuples/s that each source executor sends on each stream.
    keep_workers : bool
        Whether ``topology.workers`` is kept; Storm's resource-aware scheduler ignores it.

    Raises
    ------
    InvalidInput
        A file cannot be read, or is not what it should be; two topologies have one name.
    """
    result: dict[str, Topology] = {}
    for files in topologies:
        topology = read_topology(files, rate, keep_workers)
        if topology.id in result:
            raise InvalidInput(f"a topology {topology.id!r} was there before", str(files.conf))
        result[topology.id] = topology
    return Problem(nodes, tuple(result.values()))


def read_topology(files: TopologyFiles, rate: float, keep_workers: bool) -> Topology:
    """Return one topology; see `import_storm`."""
    struct = _decode(files.code)
    conf = _configuration(files.conf)
    kinds = dict.fromkeys(struct.spouts, "spout") | dict.fromkeys(struct.bolts, "bolt")
    specs = {**struct.spouts, **struct.bolts}
    components = {
        name: _component(name, kinds[name], specs[name].common, conf, files.code)
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
    name = conf.get("topology.name") or files.name
    return Topology(str(name), tuple(components.values()), streams, workers=workers)


def _decode(path: Path) -> Any:
    """Return the ``StormTopology`` struct in a file."""
    # streamparse parses Storm's whole Thrift file on import: no other command shall wait for it.
    from streamparse.thrift import StormTopology

    buffer = ReadBuffer(_content(path))
    struct = StormTopology()
    try:
        # thriftpy2's own decoder: some values are Java's bytes, and the file is the reader's own.
        TBinaryProtocol(buffer).read_struct(struct)  # type: ignore[no-untyped-call]
    except Exception as error:  # the decoder raises whatever it stumbles over
        raise InvalidInput(f"is no serialised Storm topology: {error}", str(path)) from error
    specs = [*(struct.spouts or {}).values(), *(struct.bolts or {}).values()]
    if not _at_end(buffer) or struct.spouts is None or struct.bolts is None or not specs:
        raise InvalidInput("is no serialised Storm topology", str(path))
    if any(spec.common is None for spec in specs):
        raise InvalidInput("has a component without its common part", str(path))
    return struct


def _at_end(buffer: ReadBuffer) -> bool:
    try:
        buffer.read(1)
    except Malformed:
        return True
    return False


def _configuration(path: Path) -> dict[str, Any]:
    value = parse_json(_content(path), str(path))
    if not isinstance(value.raw, dict):
        raise InvalidInput("must be the JSON object of a topology's configuration", str(path))
    return value.raw


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInput(f"is damaged gzip: {error}", str(path)) from None
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(path)) from None


def _component(name: str, kind: str, common: Any, conf: Mapping[str, Any], path: Path) -> Component:
    own = parse_json((common.json_conf or "{}").encode(), f"{path}: {name}: json_conf").raw
    resources = own.get(RESOURCES)
    sources = [resources if isinstance(resources, dict) else {}, own, conf, STORM_DEFAULTS]
    amounts = {key: _amount(key, sources, f"{path}: {name}") for key in STORM_DEFAULTS}
    executors = common.parallelism_hint or 1
    tasks = own.get("topology.tasks")
    if type(tasks) is int and tasks >= 1:
        executors = min(executors, tasks)
    cpu, memory = amounts[CPU], amounts[ON_HEAP] + amounts[OFF_HEAP]
    component = Component.uniform(name, executors, kind, cpu, memory)
    return replace(component, threads=threads_for(cpu))


def _amount(key: str, sources: list[Mapping[str, Any]], where: str) -> float:
    raw = next(source[key] for source in sources if source.get(key) is not None)
    return Value(raw, f"{where}: {key}").amount()


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
