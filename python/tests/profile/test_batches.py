"""What comes batch by batch adds up to what is read at once."""

from __future__ import annotations

import random

import pytest
from storm_metrics import Task, metric_line

from stormcut.profile.batches import FORGET_S, Batches
from stormcut.profile.decay import merged
from stormcut.profile.intervals import Window
from stormcut.profile.metric_lines import AHEAD, NOT_A_METRIC

START = 1_700_000_000
NOW = START + 10_000
TOPOLOGY = "wc-1-1700000000"


def tasks(chance):
    places = [("node1", 6700), ("node1", 6701), ("node2", 6700)]
    return [
        Task(
            number,
            "words",
            *chance.choice(places),
            to={t: (chance.randint(0, 99), 3, 120) for t in range(1, 6) if t != number},
            acked=chance.randint(0, 9),
        )
        for number in range(1, 6)
    ]


def history(chance):
    """Lines of a topology whose tasks stop, move and restart, some of them twice."""
    lines, at = [], START
    for _ in range(chance.randint(1, 4)):
        placed = tasks(chance)
        for _ in range(chance.randint(1, 8)):
            at += 10
            lines += [task.line(at) for task in placed if chance.random() < 0.95]
        at += chance.choice((0, 5, 60))
    lines += chance.sample(lines, len(lines) // 10)
    # Lines come in about the order of time.
    order = sorted(range(len(lines)), key=lambda n: n + chance.uniform(0, 3))
    return [lines[n].encode() for n in order]


def cut(lines, chance):
    cuts = sorted(chance.sample(range(1, len(lines)), min(5, len(lines) - 1)))
    return [lines[b:e] for b, e in zip([0, *cuts], [*cuts, len(lines)], strict=True)]


def summed(parts, warm_up_s):
    batches = Batches(Window(0.0, None, warm_up_s))
    slices = []
    for part in parts:
        found, problems = batches.add({TOPOLOGY: b"\n".join(part)}, NOW)
        assert not problems
        slices += found.values()
    return merged(slices) if slices else None


def text(lines):
    return "\n".join(lines).encode()


def by_task(slice_):
    counts = ("ms", "sent", "local", "executed", "acked", "unplaced")
    tasks = {t.task: [getattr(t, n) for n in counts] for t in slice_.tasks if t.ms}
    pairs = {(p.source_task, p.target_task): p.tuples for p in slice_.pairs}
    return slice_.from_epoch_s, slice_.to_epoch_s, tasks, pairs


@pytest.mark.parametrize("seed", range(40))
def test_batches_add_up_to_what_is_read_at_once(seed):
    """Where no line comes after a later one of its task from another batch."""
    chance = random.Random(seed)
    lines = sorted(history(chance), key=lambda line: line.split(b"\t")[0])
    lines = list(dict.fromkeys(lines))
    warm_up_s = chance.choice((0.0, 10.0))
    whole = summed([lines], warm_up_s)
    parts = summed(cut(lines, chance), warm_up_s)
    assert (whole is None) == (parts is None)
    if whole is None:
        return
    one, other = by_task(parts), by_task(whole)
    assert one[:2] == other[:2]
    # Where a target was is not known before its first line.
    assert {t: v[:-1] for t, v in one[2].items()} == {t: v[:-1] for t, v in other[2].items()}
    assert one[3] == other[3]


def test_a_line_that_comes_again_in_the_next_batch_counts_once():
    placed = tasks(random.Random(1))
    lines = [task.line(START + 10 * n).encode() for n in range(6) for task in placed]
    batches = Batches(Window(0.0, None, 0.0))
    first, _ = batches.add({TOPOLOGY: b"\n".join(lines)}, NOW)
    again, _ = batches.add({TOPOLOGY: b"\n".join(lines[-5:])}, NOW)
    assert sum(t.ms for t in first[TOPOLOGY].tasks) == 6 * 5 * 10_000
    assert again == {}


def test_topologies_know_nothing_of_each_other():
    batches = Batches(Window(0.0, None, 0.0))
    one, other = tasks(random.Random(1)), tasks(random.Random(2))
    for at in (START, START + 10):
        found, _ = batches.add(
            {"a": text(t.line(at) for t in one), "b": text(t.line(at) for t in other)},
            NOW,
        )
    assert set(found) == {"a", "b"}
    found, problems = batches.add({"a": text(["none", one[0].line(NOW + 1000)])}, NOW)
    assert (found, problems) == ({}, {NOT_A_METRIC: 1, AHEAD: 1})


def test_a_task_that_only_storm_s_own_metrics_name_is_known_and_not_measured():
    batches = Batches(Window(0.0, None, 0.0))
    lines = [tasks(random.Random(1))[0].line(START)]
    lines.append(metric_line(START, "node1", 6700, 7, "rank", "__emit-count", "{default=3}"))
    found, _ = batches.add({TOPOLOGY: text(lines)}, NOW)
    assert {t.task: (t.component, t.ms > 0) for t in found[TOPOLOGY].tasks} == {
        1: ("words", True),
        7: ("rank", False),
    }


def test_a_task_that_was_silent_for_long_is_forgotten():
    one, other = tasks(random.Random(1))[:2]
    batches = Batches(Window(0.0, None, 10.0))

    def at(seconds, *heard):
        lines = [task.line(START + seconds).encode() for task in heard]
        return batches.add({TOPOLOGY: b"\n".join(lines)}, NOW)[0]

    at(0, one, other)
    (slice_,) = at(10, one).values()
    assert {task.task for task in slice_.tasks} == {one.task, other.task}
    late = int(FORGET_S) + 20
    at(late, one)
    (slice_,) = at(late + 10, one).values()
    assert {task.task for task in slice_.tasks} == {one.task}


def test_a_topology_that_was_silent_for_long_is_forgotten():
    one, other = tasks(random.Random(1))[:2]
    batches = Batches(Window(0.0, None, 0.0))
    batches.add({TOPOLOGY: text(task.line(START) for task in (one, other))}, NOW)
    for epoch, later, known in ((10, FORGET_S, 2), (20, 2 * FORGET_S + 1, 1)):
        found, _ = batches.add({TOPOLOGY: one.line(START + epoch).encode()}, NOW + later)
        assert len(found[TOPOLOGY].tasks) == known
        batches.add({"another-1-1": b""}, NOW + later)
