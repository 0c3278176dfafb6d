"""The folder of a bench: what the run is, and a line for each placement, start and cell as made."""

from __future__ import annotations

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from stormcut.adapters.files.json_document import (
    JsonValue,
    optional,
    parse_json,
    write_text,
)
from stormcut.adapters.files.placement_file import read_placement, write_placement
from stormcut.adapters.files.problem_file import read_problem, write_problem
from stormcut.lab.experiment.bench.cells import BenchRun, Cell, Measurement, Placed, Start
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import MeasuredPair, Problem
from stormcut.objective.anchoring import ACKER
from stormcut.placement.solve import Solution
from stormcut.running.measured_pairs import size_without_id

#: In benches of the first version, sizes of acks include an id that they do not carry.
WITH_ACK_IDS, VERSION = 1, 2
#: Facts that may be others when a bench is resumed; the first ones are kept.
PASSING_FACTS = frozenset({"command", "commit", "day"})
MAX_REPETITIONS = 10_000

_RUN, _CELLS = "run.json", "cells.jsonl"
_PLACEMENTS, _STARTS = "placements.jsonl", "starts.jsonl"
_PROBLEMS = "problems"
#: What a placement says that older journals do not.
_LATER = ("reachable", "carried")

T = TypeVar("T")


class FileJournal:
    """A bench as far as it has come.

    Attributes
    ----------
    folder : Path
        Or a ``.zip`` of what a folder holds, which is only read.
    run : Run
        As it is on the disk.
    notes : tuple of str
        What reading had to leave out, for people.
    """

    def __init__(self, folder: Path) -> None:
        """Read a bench's folder, or an archive of one.

        Raises
        ------
        InvalidInput
            There is no bench, or a file is damaged; names file and line.
        """
        self.folder = self._files = folder
        if folder.suffix == ".zip":
            # Goes when the journal does.
            self._unpacked = tempfile.TemporaryDirectory(prefix="stormcut-bench-")
            self._files = Path(self._unpacked.name)
            _unpack(folder, self._files)
        self.run, self._version = _read_run(self._files, folder)
        self.notes: tuple[str, ...] = ()
        self._placements = {
            (each.topology, each.scheduler): each for each in self._read(_PLACEMENTS, _placed)
        }
        self._starts = {
            (each.topology, each.scheduler): each for each in self._read(_STARTS, _start)
        }
        self._measurements = {each.cell: each for each in self._read(_CELLS, self._measurement)}

    @classmethod
    def open(cls, folder: Path, run: BenchRun) -> FileJournal:
        """Return a new bench's journal, or the one of an interrupted bench to go on with.

        More repetitions and more topologies than before are welcome.

        Raises
        ------
        InvalidInput
            The folder holds another bench, or damaged files, or cannot be written.
        """
        _make(folder)
        if not (folder / _RUN).exists():
            if any((folder / name).exists() for name in (_CELLS, _PLACEMENTS)):
                raise InvalidInput(f"has cells of a bench but no {_RUN}", str(folder))
            _write_run(folder / _RUN, run)
            return cls(folder)
        journal = cls(folder)
        journal._go_on(run)
        return journal

    @classmethod
    def check(cls, folder: Path, run: BenchRun) -> None:
        """Refuse a folder before there is a cluster; which limits that lacks is not known yet.

        Raises
        ------
        InvalidInput
            It holds another bench, or damaged files.
        """
        if (folder / _RUN).exists():
            old = cls(folder).run
            _refuse_other(folder, old, replace(_as_read(run), refused=old.refused))

    def placements(self) -> list[Placed]:
        """Return each scheduler's placement of each topology as it was added last."""
        return list(self._placements.values())

    def starts(self) -> list[Start]:
        """Return how each scheduler's start of each topology went last; older benches tell none."""
        return list(self._starts.values())

    def measurements(self) -> list[Measurement]:
        """Return the measured cells in the order of measuring."""
        return list(self._measurements.values())

    def add_placement(self, placed: Placed) -> None:
        """Append a placement; it replaces an earlier one of the same scheduler and topology."""
        _append(self.folder / _PLACEMENTS, asdict(placed))
        self._placements[placed.topology, placed.scheduler] = placed

    def add_start(self, start: Start) -> None:
        """Append a start; it replaces an earlier one of the same scheduler and topology."""
        _append(self.folder / _STARTS, asdict(start))
        self._starts[start.topology, start.scheduler] = start

    def add_measurement(self, measurement: Measurement) -> None:
        """Append a measured cell; it replaces an earlier one of the same cell."""
        _append(self.folder / _CELLS, asdict(measurement))
        self._measurements[measurement.cell] = measurement

    def add_solution(
        self, topology: str, scheduler: str, problem: Problem, solution: Solution
    ) -> None:
        """Write what was to be placed, as measured, and where a scheduler put it."""
        where = self._problem_path(topology)
        _make(where.parent)
        write_problem(where, problem)
        write_placement(self._placement_path(topology, scheduler), problem, solution)

    def solution(self, topology: str, scheduler: str) -> tuple[Problem, Placement] | None:
        """Return what was to be placed and where a scheduler put it; older benches keep neither.

        Raises
        ------
        InvalidInput
            A file is damaged.
        """
        problem, placed = self.problem(topology), self._placement_path(topology, scheduler)
        if problem is None or not placed.exists():
            return None
        return problem, read_placement(placed, problem).placement

    def problem(self, topology: str) -> Problem | None:
        """Return what was to be placed, None if an older bench did not keep it."""
        where = self._problem_path(topology)
        if not where.exists():
            return None
        problem = read_problem(where)
        return _without_ack_ids(problem) if self._version == WITH_ACK_IDS else problem

    def _problem_path(self, topology: str) -> Path:
        return self._files / _PROBLEMS / f"{topology}.json"

    def _placement_path(self, topology: str, scheduler: str) -> Path:
        name = re.sub(r"[^a-z0-9]+", "-", scheduler)
        return self._files / _PROBLEMS / f"{topology}-{name}.placement.json"

    def _go_on(self, run: BenchRun) -> None:
        run = _as_read(run)
        _refuse_other(self.folder, self.run, run)
        if self._version != VERSION:
            what = "holds a bench that an older stormcut began; choose another folder"
            raise InvalidInput(what, str(self.folder))
        passing = {k: v for k, v in self.run.facts.items() if k in PASSING_FACTS}
        self.run = replace(run, facts={**run.facts, **passing})
        _write_run(self.folder / _RUN, self.run)

    def _measurement(self, value: JsonValue) -> Measurement:
        measurement = _measurement(value)
        if not _belongs(measurement.cell, self.run):
            value.fail("is no cell of this bench")
        return measurement

    def _read(self, name: str, read: Callable[[JsonValue], T]) -> Iterator[T]:
        lines = _content(self._files / name).split(b"\n")
        if lines.pop():
            self.notes += (f"{self.folder / name}, line {len(lines) + 1}: cut off, left out",)
        for number, line in enumerate(lines, start=1):
            where = f"{self.folder / name}, line {number}"
            value = parse_json(line, where)
            try:
                yield read(value)
            except InvalidInput as error:
                raise InvalidInput(str(error), where) from None


def _without_ack_ids(problem: Problem) -> Problem:
    """Return a problem with the sizes of acks as they are measured today."""

    def sized(pair: MeasuredPair) -> MeasuredPair:
        if pair.bytes_per_tuple is None or ACKER not in (pair.source[0], pair.target[0]):
            return pair
        return pair._replace(bytes_per_tuple=float(size_without_id(pair.bytes_per_tuple)))

    topologies = tuple(
        replace(topology, measured=tuple(map(sized, topology.measured)))
        for topology in problem.topologies
    )
    return replace(problem, topologies=topologies)


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
    except zipfile.BadZipFile as error:
        raise InvalidInput(f"is no zip archive: {error}", str(archive)) from None
    except OSError as error:
        raise InvalidInput(f"cannot be unpacked: {error.strerror}", str(archive)) from None


def _belongs(cell: Cell, run: BenchRun) -> bool:
    return (
        cell.topology in run.topologies
        and cell.scheduler in run.schedulers
        and cell.repetition <= run.repetitions
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot be made: {error.strerror}", str(folder)) from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(path)) from None


def _append(path: Path, document: Mapping[str, Any]) -> None:
    """Append a line that is on the disk when this returns; a line cut off before goes."""
    line = json.dumps(document, allow_nan=False).encode() + b"\n"
    try:
        with path.open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error.strerror}", str(path)) from None


def _refuse_other(folder: Path, old: BenchRun, new: BenchRun) -> None:
    if difference := _difference(old, new):
        what = f"holds another bench: {difference}; choose another folder"
        raise InvalidInput(what, str(folder))


def _difference(old: BenchRun, new: BenchRun) -> str:
    """Return the first thing in which a run cannot go on with an older one, in words."""
    if old.setting != new.setting:
        return f"its setting is {old.setting}, not {new.setting}"
    if old.schedulers != new.schedulers:
        return f"its schedulers are {', '.join(old.schedulers)}, not {', '.join(new.schedulers)}"
    if missing := [each for each in old.topologies if each not in new.topologies]:
        return f"it has {', '.join(missing)} too"
    if old.repetitions > new.repetitions:
        return f"it has {old.repetitions} repetitions, not {new.repetitions}"
    for topology, options in old.options.items():
        if different := _first_change(options, new.options.get(topology, {})):
            return f"{topology} has {different}"
    facts = ({k: v for k, v in run.facts.items() if k not in PASSING_FACTS} for run in (old, new))
    if different := _first_change(*facts):
        return f"it has {different}"
    # By kind: an engine's words may name a container, which is another one each time.
    if set(old.refused) != set(new.refused):
        return f"limits were refused otherwise: {_kinds(old.refused)}, not {_kinds(new.refused)}"
    return ""


def _kinds(refused: Mapping[str, str]) -> str:
    return ", ".join(sorted(refused)) or "none"


def _first_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    for key in sorted({*old, *new}):
        before, now = (side.get(key, "nothing") for side in (old, new))
        if before != now:
            return f"{key} {before}, not {now}"
    return ""


def _as_read(run: BenchRun) -> BenchRun:
    """Return a run as it is after it was written and read: tuples in options are lists."""
    return _run(JsonValue(json.loads(json.dumps(_run_document(run))), ""))


def _run_document(run: BenchRun) -> dict[str, Any]:
    return {"version": VERSION, **asdict(run)}


def _write_run(path: Path, run: BenchRun) -> None:
    write_text(path, json.dumps(_run_document(run), indent=2) + "\n")


def _read_run(files: Path, folder: Path) -> tuple[BenchRun, int]:
    if not (files / _RUN).exists():
        raise InvalidInput(f"holds no bench: there is no {_RUN}", str(folder))
    where = str(folder / _RUN)
    value = parse_json(_content(files / _RUN), where)
    try:
        version = _run_version(value)
        return _run(value), version
    except InvalidInput as error:
        raise InvalidInput(str(error), where) from None


def _run_version(value: JsonValue) -> int:
    """Return the version of a run; of another one, all else may be unknown."""
    stated = value.members().get("version")
    if stated is not None and stated.raw not in (WITH_ACK_IDS, VERSION):
        stated.mismatch(f"{WITH_ACK_IDS} or {VERSION}: another stormcut wrote this")
    return WITH_ACK_IDS if stated is not None and stated.raw == WITH_ACK_IDS else VERSION


def _run(value: JsonValue) -> BenchRun:
    keys = value.keys(("version", *_names(BenchRun)))
    return BenchRun(
        setting=keys["setting"].name(),
        summary=_text(keys["summary"]),
        schedulers=_texts(keys["schedulers"]),
        topologies=_texts(keys["topologies"]),
        repetitions=keys["repetitions"].integer(1, MAX_REPETITIONS),
        options={
            topology: {key: option.raw for key, option in options.members().items()}
            for topology, options in keys["options"].members().items()
        },
        facts={key: _text(fact) for key, fact in keys["facts"].members().items()},
        refused={key: _text(why) for key, why in keys["refused"].members().items()},
    )


def _placed(value: JsonValue) -> Placed:
    keys = value.keys(tuple(n for n in _names(Placed) if n not in _LATER), _LATER)
    return Placed(
        topology=keys["topology"].name(),
        scheduler=keys["scheduler"].name(),
        refusal=_text(keys["refusal"]),
        nodes=_texts(keys["nodes"]),
        predicted_between=keys["predicted_between"].amount(),
        predicted_total=keys["predicted_total"].amount(),
        kept=optional(keys["kept"], JsonValue.amount),
        reachable=optional(keys.get("reachable"), JsonValue.amount),
        carried=optional(keys.get("carried"), JsonValue.amount),
    )


def _start(value: JsonValue) -> Start:
    keys = value.keys(_names(Start))
    return Start(keys["topology"].name(), keys["scheduler"].name(), _text(keys["failure"]))


def _measurement(value: JsonValue) -> Measurement:
    # Older journals do not say what each node sent and received, nor how often it was throttled.
    later = ("node_sent_mbit_s", "node_received_mbit_s", "node_throttled")
    keys = value.keys(tuple(n for n in _names(Measurement) if n not in later), later)
    cell = keys["cell"].keys(_names(Cell))
    return Measurement(
        cell=Cell(
            cell["topology"].name(),
            cell["repetition"].integer(1, MAX_REPETITIONS),
            cell["scheduler"].name(),
        ),
        begin=keys["begin"].amount(),
        end=keys["end"].amount(),
        tuples_per_10s=keys["tuples_per_10s"].amount(),
        mean_ms=optional(keys["mean_ms"], JsonValue.amount),
        p50_ms=optional(keys["p50_ms"], JsonValue.amount),
        p95_ms=optional(keys["p95_ms"], JsonValue.amount),
        p99_ms=optional(keys["p99_ms"], JsonValue.amount),
        sent_mbit_s=keys["sent_mbit_s"].amount(),
        node_cores=tuple(each.amount() for each in keys["node_cores"].items()),
        other_cores=keys["other_cores"].amount(),
        replayed=keys["replayed"].integer(0, 10**15),
        unsteady=_text(keys["unsteady"]),
        **{key: tuple(each.amount() for each in keys[key].items()) for key in later if key in keys},
    )


def _names(of: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(of))


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(each.name() for each in value.items())


def _text(value: JsonValue) -> str:
    """Return a text, which may be empty."""
    if not isinstance(value.raw, str):
        value.mismatch("a text")
    return value.raw
