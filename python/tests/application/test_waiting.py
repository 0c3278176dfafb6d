"""Waiting ends by what moves, and time that a process queued for a core is not its fault."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace

import psutil
import pytest

from stormcut.application import served_time, waiting
from stormcut.application.served_time import ServedTime
from stormcut.application.waiting import NotYet, TimedOut, Watch, wait_until

BUSY = [sys.executable, "-c", "while True: pass"]


def test_waiting_returns_the_first_true_value() -> None:
    values = iter([None, 0, 7])
    assert wait_until(lambda: next(values), 5.0, "seven", poll_s=0.0) == 7


def test_waiting_outlives_what_does_not_answer_yet() -> None:
    answers: Iterator[object] = iter([NotYet("down"), "up"])

    def ask() -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert wait_until(ask, 5.0, "it answers", poll_s=0.0) == "up"


def test_waiting_in_vain_says_for_what_why_and_what_was_said_last() -> None:
    def refuse() -> bool:
        raise NotYet("no connection")

    watch = Watch(last_words=lambda: "the moon said last: never")
    with pytest.raises(TimedOut) as error:
        wait_until(refuse, 0.0, "the moon is blue", poll_s=0.0, watch=watch)
    assert str(error.value) == (
        "not within 0 s: the moon is blue (no connection); the moon said last: never"
    )


def test_a_failure_that_is_certain_ends_the_wait_at_once() -> None:
    def dead() -> bool:
        raise RuntimeError("it is dead")

    with pytest.raises(RuntimeError):
        wait_until(dead, 3600.0, "it lives")


def test_who_waits_long_asks_seldom_and_is_late_by_a_tenth_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, pauses = [0.0], []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(waiting, "time", clock)
    for moment in (0.3, 4.0, 60.0):
        now[0] = 0.0
        pauses.clear()
        wait_until(lambda at=moment: now[0] >= at, 3600.0, "it is time")  # type: ignore[misc]
        assert now[0] <= 1.1 * moment + 0.25
        assert (pauses[0], max(pauses) <= 1.0) == (0.25, True)
    assert len(pauses) < 80


@pytest.mark.slow
def test_what_moves_is_waited_for_longer_than_the_patience() -> None:
    began = time.monotonic()
    watch = Watch(moves=lambda: (int(10 * (time.monotonic() - began)),))
    wait_until(lambda: time.monotonic() - began > 1.2, 0.4, "a second is over", 0.05, watch)
    assert time.monotonic() - began > 1.2


@pytest.mark.slow
def test_what_only_rises_and_falls_does_not_move() -> None:
    """A worker that crashes and starts again for ever is given up."""
    counts = iter(range(10**9))
    watch = Watch(moves=lambda: (next(counts) % 3,))
    with pytest.raises(TimedOut, match="without any progress: the worker is up"):
        wait_until(lambda: False, 0.5, "the worker is up", 0.05, watch)


@pytest.fixture
def crowd() -> Iterator[list[int]]:
    """Ids of four busy processes that share one core."""
    core = {min(os.sched_getaffinity(0))}
    crowd = [
        subprocess.Popen(BUSY, preexec_fn=lambda: os.sched_setaffinity(0, core)) for _ in range(4)
    ]
    yield [process.pid for process in crowd]
    for process in crowd:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_time_in_which_processes_queue_for_a_core_is_not_counted(
    crowd: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_time, "LOOK_S", 0.1)
    clock = ServedTime(lambda: crowd)
    began = time.monotonic()
    while time.monotonic() - began < 2:
        served = clock.seconds
        time.sleep(0.05)
    # A quarter, if nothing else runs on that core.
    assert 0 < served < 0.5 * (time.monotonic() - began)


@pytest.mark.slow
def test_patience_with_a_crowd_lasts_longer(
    crowd: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_time, "LOOK_S", 0.1)
    began = time.monotonic()
    with pytest.raises(TimedOut):
        wait_until(lambda: False, 0.5, "it is done", 0.02, Watch(processes=lambda: crowd))
    # One core for four: until the first look all is served, then a quarter of it.
    assert time.monotonic() - began > 0.7


@pytest.mark.slow
def test_time_of_what_sleeps_or_has_ended_is_wall_time() -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        while psutil.Process(sleeper.pid).status() != psutil.STATUS_SLEEPING:
            time.sleep(0.01)
        assert_is_wall_time(sleeper.pid)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert_is_wall_time(sleeper.pid)


def assert_is_wall_time(pid: int) -> None:
    earliest = time.monotonic()
    clock = ServedTime(lambda: [pid])
    latest = time.monotonic()
    time.sleep(0.3)
    least = time.monotonic() - latest
    # What is told to wait for its core is not waited for: a hundredth of a second is a tick.
    assert least - 0.05 <= clock.seconds <= time.monotonic() - earliest + 0.05


def test_a_process_that_has_ended_takes_no_part(monkeypatch):
    monkeypatch.setattr(served_time, "LOOK_S", 0.0)
    gone = subprocess.Popen(["true"])
    gone.wait()
    clock = ServedTime(lambda: [gone.pid, os.getpid()])
    assert clock.seconds <= clock.seconds
