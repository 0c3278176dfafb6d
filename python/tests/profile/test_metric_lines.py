"""What a line of a metrics log says, or why it cannot be used."""

from __future__ import annotations

import json
import random

import pytest
from storm_metrics import Task, metric_line

from stormcut.profile import metric_lines
from stormcut.profile.metric_lines import (
    AHEAD,
    BROKEN_HOOK,
    MAX_AHEAD_S,
    NEWER_HOOK,
    NO_TASK,
    NO_TIME,
    NO_WORKER,
    NOT_A_METRIC,
    LineKind,
    LineReader,
    NumberReader,
    parse_numbers,
)

AT = 1_700_000_000
WORDS = Task(1, "words", "node1", 6700, to={2: (600, 6, 240)}, local=600, cpu_ms=500.0)
LINE = WORDS.line(AT)


def reader_of(*lines: str, with_reports: bool = False) -> LineReader:
    reader = LineReader("wc-1-1", AT, with_reports)
    reader.read("".join(f"{line}\n" for line in lines).encode())
    return reader


def hook(**parts: object) -> str:
    """The line with other parts; None for one that is missing."""
    value = {**WORDS.hook(10_000), **parts}
    present = {name: part for name, part in value.items() if part is not None}
    return WORDS.metric(AT, "stormcut", json.dumps(present))


def test_a_line_of_the_hook_is_an_interval():
    reader = reader_of(LINE)
    assert reader.lines.kinds == {LineKind("stormcut", False, None, 10): 1}
    (interval,) = reader.tasks[1].intervals
    assert (interval.begin_s, interval.end_s, interval.ms) == (AT - 10, AT, 10_000)
    assert (interval.host, interval.port, interval.component) == ("node1", 6700, "words")
    assert (interval.to, interval.executor) == ({2: (600, 6, 240)}, (1, 1))
    assert (interval.cpu_ms, interval.child, interval.worker) == (500.0, None, None)


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (NOT_A_METRIC, ""),
        (NOT_A_METRIC, "größe"),
        (NOT_A_METRIC, LINE.replace("\t", " ")),
        (NOT_A_METRIC, "\t\t\t"),
        (NO_TIME, "\t\t\t\t"),
        (NO_TIME, LINE.replace(f"{AT}\t", f"-{AT}\t")),
        (NO_TIME, LINE.replace(f"{AT}\t", f"{AT}.5\t")),
        (NO_TIME, LINE.replace(f"{AT}\t", "9223372036854775807\t")),
        (NO_TIME, LINE.replace(f"{AT}\t", "1" * 10_000 + "\t")),
        (NO_WORKER, LINE.replace(":6700", "/6700")),
        (NO_WORKER, LINE.replace(":6700", ":-1")),
        (NO_WORKER, LINE.replace("node1", "node 1")),
        (NO_WORKER, LINE.replace("node1:", ":")),
        (NO_TASK, LINE.replace("1:words", "one:words")),
        (NO_TASK, LINE.replace("1:words", "1 words")),
        (NO_TASK, LINE.replace("1:words", "-99999999999:words")),
        (NO_TASK, LINE.replace("1:words", "--1:words")),
        (AHEAD, WORDS.line(AT + int(MAX_AHEAD_S) + 1)),
        (NEWER_HOOK, hook(v=2)),
        (NEWER_HOOK, hook(v=2, to=[1, 2])),
        (BROKEN_HOOK, hook(v="2")),
        (BROKEN_HOOK, hook(v=None)),
        (BROKEN_HOOK, LINE[:-30]),
        (BROKEN_HOOK, LINE[:-1]),
        (BROKEN_HOOK, hook(task=2)),
        (BROKEN_HOOK, hook(executor=[1])),
        (BROKEN_HOOK, hook(ms=0.5)),
        (BROKEN_HOOK, hook(ms=2e10)),
        (BROKEN_HOOK, hook(ms=None)),
        (BROKEN_HOOK, hook(acked=-1)),
        (BROKEN_HOOK, hook(acked=10**10 + 1)),
        (BROKEN_HOOK, hook(acked=1.5)),
        (BROKEN_HOOK, hook(measured_ms=20_000)),
        (BROKEN_HOOK, hook(measured_ms=0.5)),
        (BROKEN_HOOK, hook(to={"2": [1, 2]})),
        (BROKEN_HOOK, hook(to={"two": [1, 2, 3]})),
        (BROKEN_HOOK, hook(to={"2": [1, 2, 10**15 + 1]})),
        (BROKEN_HOOK, hook(cpu_ms=-1.0)),
        (BROKEN_HOOK, hook(child={"cpu_ms": 1e300})),
        (BROKEN_HOOK, hook(worker={"in_bytes": -1})),
        (BROKEN_HOOK, hook(complete_ms=[1e16, 1])),
        (BROKEN_HOOK, WORDS.metric(AT, "stormcut", "[" * 100_000)),
    ],
)
def test_a_line_that_cannot_be_used_says_why_and_hides_no_other(problem, line):
    reader = reader_of(LINE, line, LINE)
    assert reader.lines.kinds[LineKind(problem=problem)] == 1
    assert [unused.line for unused in reader.lines.unused] == [line]
    assert len(reader.tasks[1].intervals) == 2


def test_what_is_at_the_limit_is_used():
    lines = (
        WORDS.line(AT + int(MAX_AHEAD_S)),
        hook(ms=1, measured_ms=1),
        hook(acked=10**10, cpu_ms=None, child={}, worker={}),
        hook(later={"what": "a newer hook may add"}),
    )
    reader = reader_of(*lines)
    assert (len(reader.tasks[1].intervals), reader.lines.unused) == (len(lines), [])


def test_a_busy_task_is_scaled_but_for_what_it_sent():
    busy = hook(measured_ms=400, executed=3, acked=1, local=30, complete_ms=[8.0, 2])
    (interval,) = reader_of(busy).tasks[1].intervals
    assert (interval.share, interval.to) == (0.04, {2: (600, 6, 240)})
    assert (interval.executed, interval.acked, interval.local) == (75, 25, 750)
    assert (interval.complete_ms, interval.completed) == (200.0, 50)


def test_tasks_of_system_are_counted_and_never_placed():
    system = Task(-1, "__system", "node1", 6700)
    reader = reader_of(system.line(AT), system.metric(AT, "startTimeSecs", "1.7E9"))
    kinds = {LineKind("stormcut", True, None, 10): 1, LineKind("startTimeSecs", True): 1}
    assert (reader.lines.kinds, dict(reader.tasks)) == (kinds, {})
    assert reader.lines.starts == {("node1", 6700): {1.7e9}}


def test_storm_s_own_metrics_name_tasks_and_give_reports():
    reader = reader_of(
        metric_line(AT, "node1", 6700, 3, "count", "__ack-count", "{words:default=20}"),
        metric_line(AT + 10, "node1", 6700, 3, "count", "__receive", "{population=1}"),
        metric_line(AT + 20, "node1", 6700, 3, "count", "__ack-count", "{}"),
        metric_line(AT, "node1", 6700, 9, "__acker", "__ack-count", "{a=20}"),
        # A topology may have metrics of any name.
        metric_line(AT, "node1", 6700, 3, "count", "startTimeSecs", "5"),
        with_reports=True,
    )
    log = reader.tasks[3]
    assert (log.component, log.epochs) == ("count", {AT, AT + 10, AT + 20})
    assert log.reports == [(AT, "__ack-count", b"{words:default=20}")]
    assert (reader.tasks[9].component, reader.tasks[9].reports) == ("__acker", [])
    assert reader.lines.starts == {}


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ("3", [(None, 3.0)]),
        ("1.7E9", [(None, 1.7e9)]),
        ("1_0", []),
        ("{}", []),
        ("soon", []),
        ("{a=1, b=2.5}", [("a", 1.0), ("b", 2.5)]),
        ("{a=b=1}", [("b", 1.0)]),
        ("{a=, b=x, =3, c=4}", [("c", 4.0)]),
        ("{x={a=1, b=2}, y={a=3}}", [("a", 1.0), ("b", 2.0), ("a", 3.0)]),
        ('{#object[Info "0x1"] {:a 1}}', []),
    ],
)
def test_numbers_of_a_value(value, numbers):
    assert parse_numbers(value.encode()) == numbers


def test_all_numbers_are_read_where_they_are_wanted():
    reader = NumberReader("wc-1-1", AT)
    text = metric_line(AT, "node1", 6700, -1, "__system", "memory/heap", "{usedBytes=5}")
    reader.read(f"{text}\n{LINE}\nnone\n".encode())
    ((source, *number),) = reader.numbers
    assert (source.component, number) == ("__system", [AT, "memory/heap", "usedBytes", 5.0])


def test_more_series_than_are_known_at_a_time(monkeypatch):
    lines = [
        metric_line(AT, "node1", 6700, task, "count", name, "{a=1}")
        for task in range(10)
        for name in ("__ack-count", "__emit-count", "other")
    ]
    random.Random(1).shuffle(lines)
    whole = reader_of(*lines, *lines, with_reports=True)
    monkeypatch.setattr(metric_lines, "MAX_SERIES", 4)
    few = reader_of(*lines, *lines, with_reports=True)
    assert few.lines.kinds == whole.lines.kinds
    assert dict(few.tasks) == dict(whole.tasks)
    assert sum(few.lines.kinds.values()) == 2 * len(lines)


def test_lines_are_counted_once_however_often_they_are_asked_for():
    reader = reader_of(LINE, metric_line(AT, "node1", 6700, 3, "count", "other", "1"))
    assert sum(reader.lines.kinds.values()) == sum(reader.lines.kinds.values()) == 2
