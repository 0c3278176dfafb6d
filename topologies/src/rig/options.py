"""Options of a topology, given as `sparse submit -o rig.NAME=VALUE` and nowhere else."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rig.pace import rates
from rig.records import data_file
from rig.store import address

PREFIX = "rig."
#: Before a component's name: its number of tasks, whatever the scale.
PARALLELISM = "parallelism."


def number(value: Any) -> float:
    """Return a finite number, 0 or more."""
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not (usable and math.isfinite(value) and value >= 0):
        raise ValueError(f"{value!r} must be a number, 0 or more")
    return float(value)


def positive(value: Any) -> float:
    """Return a finite number above 0."""
    if not number(value):
        raise ValueError("0 must be above 0")
    return float(value)


def whole(value: Any) -> int:
    """Return a whole number, 0 or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} must be a whole number, 0 or more")
    return value


def count(value: Any) -> int:
    """Return a whole number, 1 or more."""
    if not whole(value):
        raise ValueError("0 must be 1 or more")
    return int(value)


def share(value: Any) -> float:
    """Return a number from 0 to 1."""
    if number(value) > 1:
        raise ValueError(f"{value!r} must be from 0 to 1")
    return float(value)


def choice(*allowed: str) -> Callable[[Any], str]:
    """Return the parser of an option with few values."""

    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"{value!r} must be one of {', '.join(allowed)}")
        return str(value)

    return parse


@dataclass(frozen=True)
class Option:
    """An option: its default, how a value is read (ValueError if it cannot be used), its help."""

    default: Any
    parse: Callable[[Any], Any]
    help: str


#: Options that every topology has.
COMMON: Mapping[str, Option] = {
    "scale": Option(1.0, positive, "times the tasks of every component, each at least 1"),
    "rate": Option(
        0,
        rates,
        "tuples/s of each kind of source; 0: as fast as possible; 100,200,400: a staircase",
    ),
    "step.seconds": Option(30.0, positive, "how long each step of a staircase lasts"),
    "noise": Option(
        0.0, share, "each second's rate differs by up to this share; rare stalls of 3 s; 0: even"
    ),
    "replays": Option(0, whole, "how often the data is replayed; 0: without end"),
    "seconds": Option(0.0, number, "sources stop after so many seconds; 0: never"),
    "payload": Option(0, whole, "bytes of padding in every tuple"),
    "cpu.ms": Option(0.0, number, "CPU milliseconds that every bolt spends on a tuple"),
    "io.bytes": Option(0, whole, "bytes that every bolt writes to disk for a tuple"),
    "results": Option("", str, "folder for each task's report; empty: worker logs only"),
}

#: Where a thesis's grouping gives wrong answers, it is kept for its traffic.
MODE = Option(
    "correct", choice("correct", "thesis"), "correct: right answers; thesis: groupings as printed"
)

#: Of topologies with a store.
REDIS = Option("127.0.0.1:6379", address, "host:port of Redis, or password@host:port")

#: Storm's own settings, the same for all topologies; `-o` overrides them.
STORM: Mapping[str, Any] = {
    "topology.workers": 4,
    "topology.acker.executors": 2,
    # Load-aware shuffle prefers targets in the same worker, so that traffic would depend on
    # the placement that is to be compared.
    "topology.disable.loadaware.messaging": True,
    # A spout asks its subprocess "next?" after each pause; at Storm's 1 ms sixteen idle
    # sources would keep a core busy with questions.
    "topology.sleep.spout.wait.strategy.time.ms": 10,
    "topology.max.spout.pending": 100,
    "topology.message.timeout.secs": 30,
    # Dozens of Python processes that start at once on few cores are slow, not dead.
    "topology.subprocess.timeout.secs": 120,
    "topology.builtin.metrics.bucket.size.secs": 10,
}


class Options(Mapping[str, Any]):
    """The options of one topology with the values of this submission.

    Parameters
    ----------
    declared : mapping
        Every option the topology has.
    given : mapping
        Values that replace defaults.

    Raises
    ------
    ValueError
        A value cannot be used, or there is no such option.
    """

    def __init__(self, declared: Mapping[str, Option], given: Mapping[str, Any]) -> None:
        self.declared = declared
        self._parallelism = {
            name.removeprefix(PARALLELISM): _parsed(name, Option(1, count, ""), value)
            for name, value in given.items()
            if name.startswith(PARALLELISM)
        }
        for name in given:
            if name not in declared and not name.startswith(PARALLELISM):
                raise ValueError(f"{PREFIX}{name}: no such option; there are {', '.join(declared)}")
        self._values = {
            name: _parsed(name, option, given.get(name, option.default))
            for name, option in declared.items()
        }

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def tasks(self, full_size: int) -> int:
        """Return the scaled number of tasks of a component, at least 1."""
        return max(1, round(full_size * self["scale"]))

    def check_components(self, names: Iterable[str]) -> None:
        """Refuse tasks of components that a topology does not have.

        Raises
        ------
        ValueError
            It has no such component.
        """
        there = list(names)
        for name in self._parallelism:
            if name not in there:
                what = f"no such component; there are {', '.join(there)}"
                raise ValueError(f"{PREFIX}{PARALLELISM}{name}: {what}")

    def with_parallelism(self, topology: Any) -> Any:
        """Give a topology's components the tasks that the options name, and return it."""
        specs = {spec.name: spec for spec in topology.specs}
        self.check_components(specs)
        for name, tasks in self._parallelism.items():
            specs[name].par = specs[name].common.parallelism_hint = tasks
        return topology

    def config(self, **storm: Any) -> dict[str, Any]:
        """Return a topology's configuration; the components read the options in it.

        Keywords set further Storm keys, written with underscores for dots.
        """
        further = {key.replace("_", "."): value for key, value in storm.items()}
        return {
            **STORM,
            **further,
            **{PREFIX + name: value for name, value in self.items()},
            **{PREFIX + PARALLELISM + name: tasks for name, tasks in self._parallelism.items()},
        }


def _parsed(name: str, option: Option, value: Any) -> Any:
    try:
        return option.parse(value)
    except ValueError as error:
        raise ValueError(f"{PREFIX}{name}: {error}") from None


def declare(
    defaults: Mapping[str, Any] | None = None,
    own: Mapping[str, Option] | None = None,
    data: str = "",
    given: Mapping[str, Any] | None = None,
) -> Options:
    """Return the options of the topology that is being submitted.

    Parameters
    ----------
    defaults : mapping, optional
        Defaults of common options that this topology has otherwise.
    own : mapping, optional
        Options that only this topology has.
    data : str, optional
        Its input file, below `src/data`.
    given : mapping, optional
        Values; those of the command line if left out.
    """
    declared = {**COMMON, **(own or {})}
    if data:
        help_text = "input file: below src/data, or a path that exists on every machine"
        declared["data"] = Option(data, data_file, help_text)
    for name, value in (defaults or {}).items():
        declared[name] = replace(declared[name], default=value)
    return Options(declared, command_line() if given is None else given)


def command_line() -> dict[str, Any]:
    """Return what `-o rig.NAME=VALUE` sets on the command line of `sparse`.

    Parallelism and groupings are part of what Nimbus stores, so they must be known when a
    topology's module is loaded; streamparse hands its options out only later.
    """
    if Path(sys.argv[0]).name not in ("sparse", "streamparse"):
        return {}
    from streamparse.cli.common import add_options

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_options(parser)
    options = parser.parse_known_args(sys.argv[1:])[0].options or {}
    return {
        key.removeprefix(PREFIX): value for key, value in options.items() if key.startswith(PREFIX)
    }
