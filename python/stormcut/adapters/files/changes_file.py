"""Reads what happens in a simulation: ``stormcut-events/1``, and loads over time."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from stormcut.adapters.files.json_document import JsonValue, optional, read_json
from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import check_format, within
from stormcut.model.errors import InvalidInput
from stormcut.model.problem import Problem
from stormcut.simulator.changes import (
    Change,
    LoadChange,
    NodeBack,
    NodeLost,
    SimulatedMove,
    SpeedChange,
    WorkersKilled,
)

FORMAT = "stormcut-events/1"

#: What an event can be, by the key that tells it from others.
KEYS = ("load", "cpu", "link", "lost", "killed", "placement")


def read_changes(path: Path, problem: Problem) -> tuple[Change, ...]:
    """Read events; placements' paths are relative to the file's folder.

    Raises
    ------
    InvalidInput
        It cannot be read or is no such file; names file and place.
    """
    root = read_json(path)
    try:
        check_format(root, FORMAT)
        events = root.keys(("format", "events"))["events"]
        return tuple(_change(each, path.parent, problem) for each in events.items())
    except InvalidInput as error:
        raise within(path, error) from None


def _change(value: JsonValue, folder: Path, problem: Problem) -> Change:
    keys = value.keys(("at",), ("topology", "node", *KEYS))
    second = keys["at"].amount()
    kinds = {key for key in KEYS if key in keys}
    if kinds == {"load"} and "node" not in keys:
        topology = optional(keys.get("topology"), JsonValue.name)
        return LoadChange(second, keys["load"].amount(), topology)
    if kinds == {"placement"} and "node" not in keys and "topology" not in keys:
        return SimulatedMove(
            second, read_placement(folder / keys["placement"].name(), problem).placement
        )
    if "node" in keys and "topology" not in keys:
        node = keys["node"].name()
        if kinds == {"lost"}:
            return (NodeLost if _yes(keys["lost"]) else NodeBack)(second, node)
        if kinds == {"killed"} and _yes(keys["killed"]):
            return WorkersKilled(second, node)
        if kinds and kinds <= {"cpu", "link"}:
            cpu, link = (optional(keys.get(key), _factor) for key in ("cpu", "link"))
            return SpeedChange(second, node, cpu, link)
    value.fail(
        'must be one of {"at", "load"[, "topology"]}, {"at", "node", "cpu" and or "link"}, '
        '{"at", "node", "lost"}, {"at", "node", "killed": true}, {"at", "placement"}'
    )


def _yes(value: JsonValue) -> bool:
    if not isinstance(value.raw, bool):
        value.mismatch("true or false")
    return bool(value.raw)


def _factor(value: JsonValue) -> float:
    factor = value.amount()
    if factor <= 0:
        value.fail('must be above 0; a node that has nothing is {"at", "node", "lost": true}')
    return factor


def read_load_trace(path: Path) -> tuple[LoadChange, ...]:
    """Read a load over time: a line for each change, the second and the factor of all rates.

    Raises
    ------
    InvalidInput
        It cannot be read, a line is none, or time goes back; names file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no text in UTF-8"
        raise InvalidInput(f"cannot be read: {why}", str(path)) from error
    loads = tuple(_loads(lines, path))
    if not loads:
        raise InvalidInput("no line says a load: write lines such as 3600,1.5", str(path))
    return loads


def _loads(lines: list[str], path: Path) -> Iterator[LoadChange]:
    last = 0.0
    for number, row in enumerate(csv.reader(lines), start=1):
        if not row or row[0].lstrip().startswith("#") or (number == 1 and row[0] == "seconds"):
            continue
        where = f"{path}: line {number}"
        try:
            second, factor = (float(each) for each in row)
        except ValueError:
            raise InvalidInput(f"must be seconds,factor, not {','.join(row)!r}", where) from None
        if not (0 <= second < float("inf") and 0 <= factor < float("inf")):
            raise InvalidInput("must be two numbers of at least 0", where)
        if second < last:
            raise InvalidInput(
                f"second {second:g} comes after second {last:g}: time goes back", where
            )
        last = second
        yield LoadChange(second, factor)
