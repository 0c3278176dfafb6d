r"""Lines of `worker.log.metrics`: what each says of a task, or why it cannot be used.

Storm's LoggingMetricsConsumer writes, behind log4j's ``<time> <ms since JVM start>``::

    <epoch s>\t<host>:<port>\t<task>:<component>\t<name>\t<value>
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

from stormcut.profile.intervals import Child, Interval, Worker
from stormcut.profile.lines import UnusedLine

HOOK_METRIC = "stormcut"
HOOK_VERSION = 1

#: Why a line was not used.
NOT_A_METRIC = "not a line of Storm's metrics consumer"
NO_TIME = "no seconds since 1970 before its first tab"
NO_WORKER = "no host:port before its second tab"
NO_TASK = "no task:component before its third tab"
NEWER_HOOK = f"written by another version of the hook than {HOOK_VERSION}: update stormcut"
BROKEN_HOOK = "value of the hook with missing or wrong parts"
AHEAD = "dated in the future: its host's clock is more than 5 minutes ahead"

#: Clocks of two hosts may differ by this much. A line dated later would make all lines of the same
#: topology that follow look old.
MAX_AHEAD_S = 300.0
#: The year 5138.
LAST_EPOCH_S = 100_000_000_000
#: Most unused lines of which the text is kept.
EXAMPLES = 5
#: Most series of a log, one a task, metric and worker, that are known at a time.
MAX_SERIES = 100_000

#: Storm's own counters and latencies that are summed up, by their names in its logs.
EMITTED, EXECUTED, ACKED, FAILED = "__emit-count", "__execute-count", "__ack-count", "__fail-count"
EXECUTE_MS, COMPLETE_MS = "__execute-latency", "__complete-latency"
_SUMMED = frozenset((EMITTED, EXECUTED, ACKED, FAILED, EXECUTE_MS, COMPLETE_MS))
_START = "startTimeSecs"

_NUMBER = r"-?(?:[0-9][0-9.]*(?:E-?[0-9]+)?|Infinity|NaN)"
_ENTRY = re.compile(rf"[^{{}},=]+={_NUMBER}(?=[,}}])")

# What an interval can hold, with much to spare.
_INT32 = Meta(ge=-(2**31), le=2**31 - 1)
_TaskId = Annotated[int, _INT32]
_Count = Annotated[int, Meta(ge=0, le=10**10)]
_Size = Annotated[int, Meta(ge=0, le=10**15)]
_Amount = Annotated[float, Meta(ge=0, le=1e15)]
_Length = Annotated[float, Meta(ge=1, le=1e10)]
MIN_SHARE = 1e-4


class _Child(Struct, gc=False):
    cpu_ms: _Amount | None = None
    rss_bytes: _Size | None = None


class _Worker(Struct, gc=False):
    cpu_ms: _Amount | None = None
    cores: _Amount | None = None
    machine_cpu_ms: _Amount | None = None
    in_bytes: _Amount | None = None
    out_bytes: _Amount | None = None
    machine: str | None = None


class _Hook(Struct, gc=False):
    """The value that the hook writes (docs/protocol.md)."""

    v: Literal[1]
    task: _TaskId
    executor: tuple[_TaskId, _TaskId]
    ms: _Length
    to: dict[_TaskId, tuple[_Count, _Count, _Size]]
    local: _Count
    executed: _Count
    acked: _Count
    failed: _Count
    complete_ms: tuple[_Amount, _Count]
    measured_ms: float | None = None
    cpu_ms: _Amount | None = None
    child: _Child | None = None
    worker: _Worker | None = None


_decode = Decoder(_Hook).decode


#: A key of a map, None outside one, and its value.
Numbers = list[tuple[str | None, float]]


class Report(NamedTuple):
    """A number that Storm's own metrics give for a task."""

    epoch_s: int
    metric: str
    key: str | None
    value: float


class Source(NamedTuple):
    """Who reports."""

    host: str
    port: int
    task: int
    component: str


class Kind(NamedTuple):
    """What a line is: of a metric, or unusable for a problem.

    ``system`` tells tasks of ``__system``, ``seconds`` is the length of the hook's interval.
    """

    metric: str | None = None
    system: bool | None = None
    problem: str | None = None
    seconds: int | None = None


class TaskLog(Struct, array_like=True):
    """What lines say of one task.

    Parameters
    ----------
    component : str or None
        As Storm's own metrics name it.
    intervals : list of Interval
        Of the hook, in the order of the lines, some perhaps twice.
    epochs : set of int
        When Storm's own metrics came.
    reports : list of Report
        Those of them that are summed up.
    """

    component: str | None = None
    intervals: list[Interval] = []
    epochs: set[int] = set()
    reports: list[Report] = []

    def add(self, other: TaskLog) -> None:
        """Add what other lines say of the same task."""
        self.component = other.component or self.component
        self.intervals += other.intervals
        self.epochs |= other.epochs
        self.reports += other.reports


@dataclass
class Lines:
    """What lines of one topology's logs are, how many of each kind, and a few that are unusable.

    ``starts`` are the times at which workers' JVMs started, by host and port.
    """

    kinds: Counter[Kind] = field(default_factory=Counter)
    unused: list[UnusedLine] = field(default_factory=list)
    starts: dict[tuple[str, int], set[float]] = field(default_factory=dict)

    def add(self, other: Lines) -> None:
        """Add what other lines of the same topology are."""
        self.kinds.update(other.kinds)
        self.unused = (self.unused + other.unused)[:EXAMPLES]
        for place, starts in other.starts.items():
            self.starts.setdefault(place, set()).update(starts)


class _Series:
    """What lines of one task, metric and worker have in common.

    ``problem`` says why none of them can be used, ``kind`` what each is if it can; ``is_read``
    tells whether their values matter, ``epochs`` collects their times.
    """

    __slots__ = ("count", "epochs", "is_read", "kind", "metric", "problem", "source")

    def __init__(self, worker: bytes, task: bytes, metric: bytes) -> None:
        place, who = _worker(_text(worker)), _task(_text(task))
        self.problem = NO_WORKER if place is None else NO_TASK if who is None else None
        self.source = Source(*(place or ("", 0)), *(who or (0, "")))
        self.metric = _text(metric)
        self.kind = Kind(self.metric, self.source.task < 0)
        self.is_read = False
        self.epochs: set[int] | None = None
        self.count = 0


class LineReader:
    """Reads the lines of one topology's logs; linear in their length.

    Parameters
    ----------
    topology : str
    now_s : float
        The time, in seconds since the epoch: lines of more than `MAX_AHEAD_S` later are refused.
    """

    def __init__(self, topology: str, now_s: float) -> None:
        self.tasks: defaultdict[int, TaskLog] = defaultdict(TaskLog)
        self._topology = topology
        self._latest_s = min(now_s + MAX_AHEAD_S, LAST_EPOCH_S)
        self._series: dict[tuple[bytes, bytes, bytes], _Series] = {}
        self._lines = Lines()

    @property
    def lines(self) -> Lines:
        """What the lines are that were read."""
        for series in self._series.values():
            if series.count:
                self._lines.kinds[series.kind] += series.count
                series.count = 0
        return self._lines

    def read(self, lines: Iterable[bytes]) -> None:
        """Take lines without their ends."""
        token, epoch_s = b"", None
        for line in lines:
            parts = line.split(b"\t", 4)
            if len(parts) < 5:
                self._refuse(line, NOT_A_METRIC)
                continue
            head, worker, task, metric, value = parts
            last = head[head.rfind(b" ") + 1 :]
            if last != token:
                token, epoch_s = last, _number(_text(last), LAST_EPOCH_S)
            series = self._series.get((worker, task, metric)) or self._met(worker, task, metric)
            if epoch_s is None or series.problem or epoch_s > self._latest_s:
                self._refuse(line, NO_TIME if epoch_s is None else series.problem or AHEAD)
            elif series.metric == HOOK_METRIC:
                if problem := self._take_hook(series.source, epoch_s, value):
                    self._refuse(line, problem)
            else:
                series.count += 1
                if series.epochs is not None:
                    series.epochs.add(epoch_s)
                if series.is_read and value != b"{}":
                    self._take_own(series.source, epoch_s, series.metric, numbers_in(_text(value)))

    def _met(self, worker: bytes, task: bytes, metric: bytes) -> _Series:
        if len(self._series) >= MAX_SERIES:
            self._lines = self.lines
            self._series.clear()
        series = self._series[worker, task, metric] = _Series(worker, task, metric)
        source = series.source
        series.is_read = self._is_read(source, series.metric)
        if not series.problem and series.metric != HOOK_METRIC and source.task >= 0:
            log = self.tasks[source.task]
            log.component = source.component
            series.epochs = log.epochs
        return series

    def _is_read(self, source: Source, metric: str) -> bool:
        """Return whether values of a metric matter."""
        is_system = source.component.startswith("__")
        return metric in (HOOK_METRIC, _START) or (metric in _SUMMED and not is_system)

    def _refuse(self, line: bytes, problem: str) -> None:
        self._lines.kinds[Kind(problem=problem)] += 1
        if len(self._lines.unused) < EXAMPLES:
            text = line.decode(errors="replace")
            self._lines.unused.append(UnusedLine(self._topology, problem, text))

    def _take_hook(self, source: Source, epoch_s: int, value: bytes) -> str | None:
        """Take a value of the hook, or return what is wrong with it."""
        try:
            hook = _decode(value)
        except (MsgspecError, UnicodeError):
            return _problem(value)
        share = 1.0 if hook.measured_ms is None else hook.measured_ms / hook.ms
        if hook.task != source.task or not MIN_SHARE <= share <= 1:
            return BROKEN_HOOK
        # The tasks of __system run in every worker and are never placed.
        if source.task >= 0:
            self.tasks[source.task].intervals.append(_interval(source, epoch_s, hook, share))
        self._lines.kinds[Kind(HOOK_METRIC, source.task < 0, None, round(hook.ms / 1000))] += 1
        return None

    def _take_own(self, source: Source, epoch_s: int, metric: str, numbers: Numbers) -> None:
        if source.task >= 0:
            reports = self.tasks[source.task].reports
            reports += [Report(epoch_s, metric, key, number) for key, number in numbers]
        elif metric == _START:
            starts = self._lines.starts.setdefault((source.host, source.port), set())
            starts.update(number for _, number in numbers)


class NumberReader(LineReader):
    """Reads all numbers of all metrics but the hook's, by who reports them."""

    def __init__(self, topology: str, now_s: float) -> None:
        super().__init__(topology, now_s)
        self.numbers: list[tuple[Source, Report]] = []

    def _is_read(self, source: Source, metric: str) -> bool:
        return True

    def _take_hook(self, source: Source, epoch_s: int, value: bytes) -> None:
        pass

    def _take_own(self, source: Source, epoch_s: int, metric: str, numbers: Numbers) -> None:
        self.numbers += [(source, Report(epoch_s, metric, *number)) for number in numbers]


def _text(part: bytes) -> str:
    return part.decode(errors="replace").strip(" ")


def _problem(value: bytes) -> str:
    """Return why a value of the hook cannot be decoded."""
    try:
        version = json.loads(value)["v"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return BROKEN_HOOK
    other = isinstance(version, int) and version != HOOK_VERSION
    return NEWER_HOOK if other else BROKEN_HOOK


def _number(text: str, most: int) -> int | None:
    """Return a whole number of 0 or more; Java writes it in the digits of its locale."""
    if not text.isdecimal() or len(text) > len(str(most)):
        return None
    number = int(text)
    return number if number <= most else None


def _worker(text: str) -> tuple[str, int] | None:
    host, _, port_text = text.rpartition(":")
    port = _number(port_text, 2**31 - 1)
    return None if port is None or not host or " " in host else (host, port)


def _task(text: str) -> tuple[int, str] | None:
    number, colon, component = text.partition(":")
    task = _number(number.removeprefix("-"), 2**31 - 1)
    if task is None or not colon:
        return None
    return -task if number.startswith("-") else task, component


def _interval(source: Source, epoch_s: int, hook: _Hook, share: float) -> Interval:
    """Return an interval; a busy task is measured for a share of it: all is scaled but ``to``."""
    executed, acked, failed, local = hook.executed, hook.acked, hook.failed, hook.local
    complete_ms, completed = hook.complete_ms
    if share != 1:
        executed, acked, failed, local, completed = (
            scaled(count, share) for count in (executed, acked, failed, local, completed)
        )
    child, worker = hook.child, hook.worker
    return Interval(
        epoch_s,
        epoch_s - hook.ms / 1000,
        source.host,
        source.port,
        source.component,
        hook.executor,
        hook.ms,
        share,
        hook.to,
        local,
        executed,
        acked,
        failed,
        complete_ms / share,
        completed,
        hook.cpu_ms,
        None if child is None else Child(child.cpu_ms, child.rss_bytes),
        None
        if worker is None
        else Worker(
            worker.cpu_ms or 0.0,
            worker.cores or 0.0,
            worker.machine_cpu_ms or 0.0,
            worker.in_bytes or 0.0,
            worker.out_bytes or 0.0,
            worker.machine or "",
        ),
    )


def scaled(counted: int, share: float) -> int:
    """Return a count of the measured ``share`` of an interval as one of the whole interval."""
    return counted if share == 1 else math.floor(counted / share + 0.5)


def numbers_in(value: str) -> Numbers:
    """Return the numbers that a value of Storm's own metrics holds.

    A map ``{a=1, b=2.5}`` has one for each entry. Of nested maps the
    innermost entries are taken, so that a key can occur more than once.
    """
    if "=" not in value:
        number = _float(value)
        return [] if number is None else [(None, number)]
    numbers: Numbers = []
    for entry in _entries(value):
        *before, text = entry.split("=")
        key = before[-1].strip(" ") if before else ""
        if key and (number := _float(text)) is not None:
            numbers.append((key, number))
    return numbers


def _entries(value: str) -> list[str]:
    inner = value[1:-1]
    if value.startswith("{") and value.endswith("}") and "{" not in inner:
        return inner.split(",")
    return _ENTRY.findall(value)


def _float(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None
