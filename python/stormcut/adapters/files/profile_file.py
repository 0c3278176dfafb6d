"""Reads and writes `stormcut-profile/1`, strictly: what is not in the format is an error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from stormcut.adapters.files.json_document import write_text
from stormcut.model.errors import InvalidInput
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic, WorkerLoad

FORMAT = "stormcut-profile/1"

_LARGEST = 2**63 - 1
_SHOWN = 40

_PROFILE_KEYS = ("format", "topology", "from_epoch_s", "to_epoch_s", "executors", "traffic")
_EXECUTOR_KEYS = ("component", "start_task", "end_task", "cpu_percent", "memory_mb")
_BUSIEST = "busiest_percent"
_WORKERS = "workers"
_WORKER_KEYS = tuple(field.name for field in fields(WorkerLoad))


def read_profile(path: Path) -> Profile:
    """Read a profile.

    Raises
    ------
    InvalidInput
        The file cannot be read or is not a profile; names the file and the path inside it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(path)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 at byte {error.start}", str(path)) from error
    return parse_profile(text, str(path))


def write_profile(path: Path, profile: Profile) -> None:
    """Write a profile, whole or not at all."""
    write_text(path, format_profile(profile) + "\n")


def format_profile(profile: Profile) -> str:
    """Return a profile as JSON text, one executor and one traffic pair a line."""
    executors = [
        {key: getattr(executor, key) for key in _EXECUTOR_KEYS}
        | ({} if executor.busiest_percent is None else {_BUSIEST: executor.busiest_percent})
        for executor in profile.executors
    ]
    traffic = [
        [pair.source_task, pair.target_task, pair.tuples_per_second, pair.bytes_per_tuple]
        for pair in profile.traffic
    ]
    head = {
        "format": FORMAT,
        "topology": profile.topology,
        "from_epoch_s": profile.from_epoch_s,
        "to_epoch_s": profile.to_epoch_s,
    }
    lines = [f'  "{key}": {json.dumps(value)}' for key, value in head.items()]
    lines += [_rows("executors", executors), _rows("traffic", traffic)]
    if profile.workers:
        lines.append(_rows(_WORKERS, [asdict(worker) for worker in profile.workers]))
    return "{\n" + ",\n".join(lines) + "\n}"


def _rows(key: str, rows: list[Any]) -> str:
    if not rows:
        return f'  "{key}": []'
    body = ",\n".join(f"    {json.dumps(row, allow_nan=False)}" for row in rows)
    return f'  "{key}": [\n{body}\n  ]'


def parse_profile(text: str | bytes, where: str) -> Profile:
    """Return the profile in a JSON text.

    Parameters
    ----------
    where : str
        What an error names as its place: a file, or a ZooKeeper node.

    Raises
    ------
    InvalidInput
        Not JSON, an unknown or a missing key, or a value that a profile cannot have.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"is not JSON: {error}", where) from error
    reader = _Reader(where)
    reader.keys(document, _PROFILE_KEYS, "", (_WORKERS,))
    if document["format"] != FORMAT:
        reader.fail(f'must be "{FORMAT}", is {_shown(document["format"])}', "format")
    begin = reader.whole(document["from_epoch_s"], "from_epoch_s")
    end = reader.whole(document["to_epoch_s"], "to_epoch_s")
    if end <= begin:
        reader.fail(f"must be after from_epoch_s ({begin}), is {end}", "to_epoch_s")
    return Profile(
        reader.text(document["topology"], "topology"),
        begin,
        end,
        reader.executors(document["executors"]),
        reader.traffic(document["traffic"]),
        reader.workers(document.get(_WORKERS, [])),
    )


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _is_unicode(text: str) -> bool:
    """Return whether a text can be written: JSON's escapes can name half a character."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


class _Reader:
    """Checks values; every error names the file and the path inside it."""

    def __init__(self, where: str) -> None:
        self._where = where

    def fail(self, what: str, path: str) -> NoReturn:
        raise InvalidInput(what, f"{self._where}: {path}" if path else self._where)

    def keys(
        self, value: Any, required: tuple[str, ...], path: str, others: tuple[str, ...] = ()
    ) -> None:
        if not isinstance(value, Mapping):
            self.fail("must be an object", path)
        prefix = f"{path}." if path else ""
        for key in value:
            if key not in (*required, *others):
                known = ", ".join((*required, *others))
                self.fail(f"unknown key; known are {known}", f"{prefix}{key}")
        for key in required:
            if key not in value:
                self.fail("is missing", f"{prefix}{key}")

    def text(self, value: Any, path: str) -> str:
        if not isinstance(value, str) or not value or not _is_unicode(value):
            self.fail(f"must be a non-empty string, is {_shown(value)}", path)
        return value

    def whole(self, value: Any, path: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
            self.fail(f"must be a whole number from 0 to {_LARGEST}, is {_shown(value)}", path)
        return value

    def number(self, value: Any, path: str) -> float:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not 0 <= value <= sys.float_info.max:
            self.fail(f"must be a finite number of at least 0, is {_shown(value)}", path)
        return float(value)

    def optional(self, value: Any, path: str) -> float | None:
        return None if value is None else self.number(value, path)

    def rows(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            self.fail("must be a list", path)
        return value

    def executors(self, value: Any) -> tuple[ExecutorLoad, ...]:
        rows = enumerate(self.rows(value, "executors"))
        loads = [self._executor(row, f"executors[{index}]") for index, row in rows]
        order = sorted(range(len(loads)), key=lambda index: loads[index].start_task)
        for left, right in pairwise(order):
            if loads[right].start_task <= loads[left].end_task:
                what = f"task {loads[right].start_task} is already in executors[{left}]"
                self.fail(what, f"executors[{right}]")
        return tuple(loads)

    def _executor(self, row: Any, path: str) -> ExecutorLoad:
        self.keys(row, _EXECUTOR_KEYS, path, (_BUSIEST,))
        start = self.whole(row["start_task"], f"{path}.start_task")
        end = self.whole(row["end_task"], f"{path}.end_task")
        if end < start:
            self.fail(f"must be at least start_task ({start}), is {end}", f"{path}.end_task")
        cpu = self.number(row["cpu_percent"], f"{path}.cpu_percent")
        busiest = self.optional(row.get(_BUSIEST), f"{path}.{_BUSIEST}")
        if busiest is not None and busiest > cpu:
            self.fail(
                f"must be at most cpu_percent ({cpu:g}), is {busiest:g}", f"{path}.{_BUSIEST}"
            )
        return ExecutorLoad(
            self.text(row["component"], f"{path}.component"),
            start,
            end,
            cpu,
            self.optional(row["memory_mb"], f"{path}.memory_mb"),
            busiest,
        )

    def workers(self, value: Any) -> tuple[WorkerLoad, ...]:
        rows = enumerate(self.rows(value, _WORKERS))
        return tuple(self._worker(row, f"{_WORKERS}[{index}]") for index, row in rows)

    def _worker(self, row: Any, path: str) -> WorkerLoad:
        self.keys(row, _WORKER_KEYS, path)
        if not isinstance(row["machine"], str) or not _is_unicode(row["machine"]):
            self.fail(f"must be a string, is {_shown(row['machine'])}", f"{path}.machine")
        return WorkerLoad(
            self.text(row["host"], f"{path}.host"),
            self.whole(row["port"], f"{path}.port"),
            row["machine"],
            *(self.number(row[key], f"{path}.{key}") for key in _WORKER_KEYS[3:]),
        )

    def traffic(self, value: Any) -> tuple[TaskTraffic, ...]:
        seen: dict[tuple[int, int], str] = {}
        result = []
        for index, row in enumerate(self.rows(value, "traffic")):
            path = f"traffic[{index}]"
            if not isinstance(row, list) or len(row) != 4:
                self.fail("must be [source task, target task, tuples/s, bytes per tuple]", path)
            pair = TaskTraffic(
                self.whole(row[0], f"{path}[0]"),
                self.whole(row[1], f"{path}[1]"),
                self.number(row[2], f"{path}[2]"),
                self.optional(row[3], f"{path}[3]"),
            )
            earlier = seen.setdefault((pair.source_task, pair.target_task), path)
            if earlier != path:
                self.fail(f"is the same pair of tasks as {earlier}", path)
            result.append(pair)
        return tuple(result)
