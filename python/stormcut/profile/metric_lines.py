r"""Lines of `worker.log.metrics`: what each says of a task, or why it cannot be used.

Storm's LoggingMetricsConsumer writes, behind log4j's ``<time> <ms since JVM start>``::

    <epoch s>\t<host>:<port>\t<task>:<component>\t<name>\t<value>
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, Literal, NamedTuple

import numpy as np
from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

from stormcut.arrays import Ints
from stormcut.profile.intervals import AnyStay, Child, Interval, WorkerUsage
from stormcut.profile.lines import UnusedLine
from stormcut.profile.scan import Scanned, scan_lines

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
#: Most series, one a task, metric and worker, that are known at a time.
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


class _ChildReport(Struct, gc=False):
    cpu_ms: _Amount | None = None
    rss_bytes: _Size | None = None


class _WorkerReport(Struct, gc=False):
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
    child: _ChildReport | None = None
    worker: _WorkerReport | None = None


_decode = Decoder(_Hook).decode


#: A key of a map, None outside one, and its value.
Numbers = list[tuple[str | None, float]]


#: A value of one of Storm's own metrics of a task: seconds since the epoch, metric, text.
Report = tuple[int, str, bytes]


class Source(NamedTuple):
    """Who reports."""

    host: str
    port: int
    task: int
    component: str


class LineKind(NamedTuple):
    """What a line is: of a metric, or unusable for a problem.

    ``system`` marks tasks of ``__system``, ``seconds`` is the length of the hook's interval.
    """

    metric: str | None = None
    system: bool | None = None
    problem: str | None = None
    seconds: int | None = None


class TaskLog(Struct, Generic[AnyStay], array_like=True):
    """What lines say of one task.

    Parameters
    ----------
    component : str or None
        As Storm's own metrics name it.
    intervals : list of Interval, or of Stay
        Of the hook, in the order of the lines, some perhaps twice.
    epochs : set of int
        When Storm's own metrics came, if their values are wanted.
    reports : list of Report
        Those of them that are summed up.
    """

    component: str | None = None
    intervals: list[AnyStay] = []
    epochs: set[int] = set()
    reports: list[Report] = []

    def add(self, other: TaskLog[AnyStay]) -> None:
        """Add what other lines say of the same task."""
        self.component = other.component or self.component
        self.intervals += other.intervals
        self.epochs |= other.epochs
        self.reports += other.reports


TaskLogs = defaultdict[int, TaskLog[Interval]]


@dataclass
class Lines:
    """What lines of one topology's logs are, how many of each kind, and a few that are unusable.

    ``starts`` are the times at which workers' JVMs started, by host and port.
    """

    kinds: Counter[LineKind] = field(default_factory=Counter)
    unused: list[UnusedLine] = field(default_factory=list)
    starts: dict[tuple[str, int], set[float]] = field(default_factory=dict)

    def add(self, other: Lines) -> None:
        """Add what other lines of the same topology are."""
        self.kinds.update(other.kinds)
        self.unused = (self.unused + other.unused)[:EXAMPLES]
        for place, starts in other.starts.items():
            self.starts.setdefault(place, set()).update(starts)


class _LineSeries:
    """What lines of one task, metric and worker have in common.

    ``problem`` says why none of them can be used, ``kind`` what each is if it can; ``is_read``
    says whether their values matter, ``own_task`` is the task of Storm's own metrics, else -1.
    """

    __slots__ = ("is_read", "kind", "metric", "own_task", "problem", "source")

    def __init__(self, worker: bytes, task: bytes, metric: bytes) -> None:
        place, who = _worker(_text(worker)), _task(_text(task))
        self.problem = NO_WORKER if place is None else NO_TASK if who is None else None
        self.source = Source(*(place or ("", 0)), *(who or (0, "")))
        self.metric = _text(metric)
        self.kind = LineKind(self.metric, self.source.task < 0)
        self.is_read = False
        is_own = self.problem is None and self.metric != HOOK_METRIC
        self.own_task = max(self.source.task, -1) if is_own else -1


class LineReader:
    """Reads the lines of one topology's logs; linear in their length.

    Most lines are of Storm's own metrics, of which mostly nothing is wanted but how many there are:
    lines are found in C++, and these are counted all at once.

    Parameters
    ----------
    topology : str
    now_s : float
        The time, in seconds since the epoch: lines of more than `MAX_AHEAD_S` later are refused.
    with_reports : bool
        Keep when Storm's own metrics came, and the values of those that are summed up.
    """

    def __init__(self, topology: str, now_s: float, with_reports: bool = False) -> None:
        self.lines = Lines()
        self.tasks: TaskLogs = defaultdict(TaskLog)
        self._topology = topology
        self._with_reports = with_reports
        self._latest_s = min(now_s + MAX_AHEAD_S, LAST_EPOCH_S)
        self._series: dict[bytes, _LineSeries] = {}

    def read(self, text: bytes) -> None:
        """Take whole lines."""
        scanned = scan_lines(text)
        series = [
            self._series_of(text[begin:end])
            for begin, end in zip(scanned.series_begins, scanned.series_ends, strict=True)
        ]
        is_usable = np.array([*(each.problem is None for each in series), False])
        is_read = np.array([*(each.is_read for each in series), False])
        usable = is_usable[scanned.series] & (scanned.epochs <= self._latest_s)
        for line in np.flatnonzero(~usable):
            self._take_odd(text[scanned.begins[line] : scanned.ends[line]])
        self._count(series, scanned.series[usable], scanned.epochs[usable])
        self._read_values(text, series, scanned, np.flatnonzero(usable & is_read[scanned.series]))

    def _series_of(self, text: bytes) -> _LineSeries:
        series = self._series.get(text)
        if series is None:
            if len(self._series) >= MAX_SERIES:
                self._series.clear()
            series = self._series[text] = _LineSeries(*text.split(b"\t"))
            series.is_read = self._is_read(series.source, series.metric)
        return series

    def _is_read(self, source: Source, metric: str) -> bool:
        """Return whether values of a metric matter."""
        if source.component.startswith("__"):
            return metric in (HOOK_METRIC, _START)
        return metric == HOOK_METRIC or (self._with_reports and metric in _SUMMED)

    def _count(self, series: Sequence[_LineSeries], ids: Ints, epochs: Ints) -> None:
        """Count lines of Storm's own metrics, and note when they came if that is wanted."""
        for each, count in zip(series, np.bincount(ids, minlength=len(series)), strict=True):
            if count and each.metric != HOOK_METRIC:
                self.lines.kinds[each.kind] += int(count)
                self._name(each)
        if not self._with_reports:
            return
        tasks = np.array([each.own_task for each in series], dtype=np.int64)[ids]
        for task in np.unique(tasks[tasks >= 0]).tolist():
            self.tasks[task].epochs.update(np.unique(epochs[tasks == task]).tolist())

    def _name(self, series: _LineSeries) -> None:
        """Note which component a task is of, as Storm's own metrics name it."""
        if series.own_task >= 0:
            self.tasks[series.own_task].component = series.source.component

    def _read_values(
        self, text: bytes, series: Sequence[_LineSeries], scanned: Scanned, lines: Ints
    ) -> None:
        columns = (scanned.series, scanned.epochs, scanned.begins, scanned.values, scanned.ends)
        rows = zip(*(column[lines].tolist() for column in columns), strict=True)
        for one, epoch_s, begin, value, end in rows:
            each = series[one]
            if each.metric != HOOK_METRIC:
                self._take_own(each.source, epoch_s, each.metric, text[value:end])
            elif problem := self._take_hook(each.source, epoch_s, text[value:end]):
                self._refuse(text[begin:end], problem)

    def _take_odd(self, line: bytes) -> None:
        """Take a line that cannot be used, or has its numbers in another script than ours."""
        parts = line.split(b"\t", 4)
        if len(parts) < 5:
            self._refuse(line, NOT_A_METRIC)
            return
        head, *who, value = parts
        epoch_s = _number(_text(head[head.rfind(b" ") + 1 :]), LAST_EPOCH_S)
        series = self._series_of(b"\t".join(who))
        source, metric = series.source, series.metric
        if epoch_s is None or series.problem or epoch_s > self._latest_s:
            self._refuse(line, NO_TIME if epoch_s is None else series.problem or AHEAD)
        elif metric == HOOK_METRIC:
            if problem := self._take_hook(source, epoch_s, value):
                self._refuse(line, problem)
        else:
            self.lines.kinds[series.kind] += 1
            self._name(series)
            if self._with_reports and series.own_task >= 0:
                self.tasks[series.own_task].epochs.add(epoch_s)
            if series.is_read:
                self._take_own(source, epoch_s, metric, value)

    def _refuse(self, line: bytes, problem: str) -> None:
        self.lines.kinds[LineKind(problem=problem)] += 1
        if len(self.lines.unused) < EXAMPLES:
            text = line.decode(errors="replace")
            self.lines.unused.append(UnusedLine(self._topology, problem, text))

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
        self.lines.kinds[LineKind(HOOK_METRIC, source.task < 0, None, round(hook.ms / 1000))] += 1
        return None

    def _take_own(self, source: Source, epoch_s: int, metric: str, value: bytes) -> None:
        if metric == _START:
            starts = self.lines.starts.setdefault((source.host, source.port), set())
            starts.update(number for _, number in parse_numbers(value))
        elif value != b"{}":
            self.tasks[source.task].reports.append((epoch_s, metric, value))


class NumberReader(LineReader):
    """Reads all numbers of all metrics but the hook's, by who reports them."""

    def __init__(self, topology: str, now_s: float) -> None:
        super().__init__(topology, now_s)
        self.numbers: list[tuple[Source, int, str, str | None, float]] = []

    def _is_read(self, source: Source, metric: str) -> bool:
        return metric != HOOK_METRIC

    def _take_hook(self, source: Source, epoch_s: int, value: bytes) -> None:
        pass

    def _take_own(self, source: Source, epoch_s: int, metric: str, value: bytes) -> None:
        self.numbers += [(source, epoch_s, metric, *number) for number in parse_numbers(value)]


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
            scale(count, share) for count in (executed, acked, failed, local, completed)
        )
    child, worker = hook.child, hook.worker
    return Interval(
        epoch_s,
        epoch_s - hook.ms / 1000,
        source.host,
        source.port,
        source.component,
        hook.ms,
        None,
        hook.executor,
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
        else WorkerUsage(
            worker.cpu_ms or 0.0,
            worker.cores or 0.0,
            worker.machine_cpu_ms or 0.0,
            worker.in_bytes or 0.0,
            worker.out_bytes or 0.0,
            worker.machine or "",
        ),
    )


def scale(counted: int, share: float) -> int:
    """Return a count of the measured ``share`` of an interval as one of the whole interval."""
    return counted if share == 1 else math.floor(counted / share + 0.5)


def parse_numbers(value: bytes) -> Numbers:
    """Return the numbers that a value of Storm's own metrics holds.

    A map ``{a=1, b=2.5}`` has one for each entry. Of nested maps the
    innermost entries are taken, so that a key can occur more than once.
    """
    text = value.decode(errors="replace")
    if "=" not in text:
        number = _float(text)
        return [] if number is None else [(None, number)]
    numbers: Numbers = []
    for entry in _entries(text):
        *before, last = entry.split("=")
        key = before[-1].strip(" ") if before else ""
        if key and (number := _float(last)) is not None:
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
