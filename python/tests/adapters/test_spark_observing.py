"""When Spark is started again, and when it is ended."""

import logging
import subprocess
import sys
import threading
import time
from contextlib import suppress

import psutil
import pytest

from stormcut.adapters.files.pieces import METRICS_LOG
from stormcut.adapters.spark import observing
from stormcut.adapters.spark.observing import (
    FIRST_PAUSE_S,
    MAX_PAUSE_S,
    Sources,
    Stall,
    pause_after,
)
from stormcut.adapters.spark.session import kill, spark_session
from stormcut.adapters.spark.streaming import StreamSettings
from stormcut.application.waiting import wait_until


def test_spark_is_tried_again_soon_after_it_has_run_long():
    pauses = [0.0]
    for _ in range(8):
        pauses.append(pause_after(1.0, pauses[-1]))
    assert pauses[1:4] == [5.0, 10.0, 20.0]
    assert pauses[-1] == MAX_PAUSE_S
    assert pause_after(3600.0, pauses[-1]) == FIRST_PAUSE_S


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [False, True])
def test_spark_is_ended_that_reads_nothing_or_hangs(hangs):
    ended = threading.Event()
    stall = Stall(1.0)
    with stall.watched(ended.set):
        for _ in range(30):
            stall.cut(10)
            stall.batch()
            assert not ended.wait(0.1)
        while not (hangs or ended.wait(0.1)):
            stall.cut(10)
        assert ended.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize("reads", [False, True])
def test_spark_is_ended_that_waits_for_a_clock_that_was_set_back(monkeypatch, reads):
    """Also where nobody tells whether lines wait, as in a topic."""
    ended, now = threading.Event(), time.time
    # The first second has lines, on a machine that is five times as slow, too.
    stall = Stall(5.0)
    with stall.watched(ended.set):
        for ahead_s in (0, 3600, 0):
            monkeypatch.setattr(time, "time", lambda ahead_s=ahead_s: now() + ahead_s)
            for _ in range(15):
                stall.cut(0)
                assert not ended.wait(0.02)
        if reads:
            stall.batch()
        for _ in range(30 if reads else 3000):
            stall.cut(0)
            if ended.wait(0.1):
                break
        assert ended.is_set() != reads


@pytest.mark.spark
def test_a_stream_that_stands_still_is_begun_anew(tmp_path, monkeypatch, caplog):
    """Spark is stopped, as a JVM that hangs; the next one reads the lines that wait."""
    # Spark's first batch fits in this on a busy machine, too: what ends too soon costs the CPU time
    # of another start.
    monkeypatch.setattr(observing, "STALL_S", 10.0)
    monkeypatch.setattr(observing, "STALL_BATCHES", 1)
    monkeypatch.setattr(observing, "FIRST_PAUSE_S", 0.1)
    monkeypatch.setattr(observing, "MAX_DOUBLINGS", 3)
    log = tmp_path / "logs" / "workers-artifacts" / "t-1-1700000000" / "6700" / METRICS_LOG
    log.parent.mkdir(parents=True)
    log.touch()
    problems = []
    sources = Sources((tmp_path / "logs",), str(tmp_path / "spool"), 3600.0, "local[1]")
    settings = StreamSettings(every_s=1.0)
    with observing.observing(sources, settings, lambda slices, found: problems.append(found)) as up:
        wait_until(up, 120, "Spark reads")
        (java,) = (p for p in psutil.Process().children(recursive=True) if p.name() == "java")
        java.suspend()
        with log.open("a") as file:
            file.write("no line of metrics\n")
        wait_until(lambda: problems, 120, "what waited is read")
        assert not java.is_running()
    # The reason was that a connection was refused.
    assert "nothing is measured now: Spark's JVM has ended; tried again" in caplog.text


@pytest.mark.spark
def test_py4j_is_not_in_the_log(caplog):
    caplog.set_level(logging.INFO)
    with spark_session("local[1]") as spark:
        kill(spark)
        with suppress(Exception):
            spark.range(1).count()
    assert not [r for r in caplog.records if "py4j" in r.pathname]


@pytest.mark.slow
def test_two_controllers_do_not_share_a_spool(tmp_path):
    with observing.sole_user(tmp_path):
        other = (
            "import sys, pathlib; from stormcut.adapters.spark.observing import sole_user\n"
            "with sole_user(pathlib.Path(sys.argv[1])): print('mine')"
        )
        command = [sys.executable, "-c", other, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert "another controller uses the spool" in done.stderr
    # As after a kill, too: the kernel knows who lives.
    assert subprocess.run(command, capture_output=True, text=True).stdout == "mine\n"
