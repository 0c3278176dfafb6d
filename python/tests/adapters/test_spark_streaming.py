"""The stream finds in pieces what the batch job finds in the whole."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from pathlib import Path

import pytest
from test_profiling import FAR, NEAR, START, WORDS, lines_of

from stormcut.adapters.files.pieces import Cutter
from stormcut.adapters.spark import streaming
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.adapters.spark.streaming import StreamSettings, metrics_stream
from stormcut.application.waiting import wait_until
from stormcut.profile.decay import DecayedTotals
from stormcut.profile.metric_lines import AHEAD, MAX_AHEAD_S

pytestmark = pytest.mark.spark

TOPOLOGY = "wc-1-1700000000"


class Stream:
    """A stream over a spool, with all slices that came."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.logs, self.spool = folder / "logs", folder / "spool"
        self.spool.mkdir()
        self.cutter = Cutter([self.logs], self.spool, 3600.0)
        self.slices, self.problems = defaultdict(list), {}
        self.batches = 0

    def take(self, slices, problems):
        for name, slice_ in slices.items():
            self.slices[name].append(slice_)
        self.problems.update(problems)
        self.batches += 1

    def open(self):
        return metrics_stream(self.spark, str(self.spool), StreamSettings(every_s=0.2), self.take)

    def feed(self, lines, topology=TOPOLOGY):
        before = self.batches
        log = self.logs / "workers-artifacts" / topology / "6700" / "worker.log.metrics"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.cutter.cut()
        wait_until(lambda: self.batches > before, 60, "the batch is done")

    def pieces(self):
        return list(self.spool.glob("topology=*/*.lines"))

    def profile(self):
        totals = DecayedTotals(float("inf"))
        for slice_ in self.slices[TOPOLOGY]:
            totals.add(slice_)
        return totals.summary()


@pytest.fixture
def stream(spark, tmp_path):
    return Stream(spark, tmp_path)


@pytest.mark.parametrize("seed", [1, pytest.param(0, marks=pytest.mark.full)])
def test_piece_by_piece_it_is_the_same_as_at_once(stream, tmp_path, seed):
    moved = [WORDS, NEAR, FAR.moved("node1", 6711)]
    lines = lines_of([WORDS, NEAR, FAR], range(START + 10, START + 70, 10))
    # Tasks stop, and one comes back elsewhere.
    lines += lines_of(moved, range(START + 130, START + 200, 10))
    lines.insert(7, lines[5])
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(1, len(lines)), 5))
    with stream.open() as ended:
        for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
            stream.feed(lines[begin:end])
        assert ended() is None
    at_once = profile_logs([stream.logs], tmp_path / "out", from_epoch=0)
    profile, measured = stream.profile()
    whole, expected = at_once.profiles[TOPOLOGY], at_once.measured[TOPOLOGY]
    assert profile.traffic == pytest.approx(whole.traffic)
    assert profile.executors == whole.executors
    assert (profile.from_epoch_s, profile.to_epoch_s) == (whole.from_epoch_s, whole.to_epoch_s)
    assert measured.emitted_per_s == pytest.approx(expected.emitted_per_s)
    # At once it is the mean of before and after the move; in a stream, what travels now.
    assert expected.between_nodes_per_s > measured.between_nodes_per_s == 0
    assert measured.between_workers_per_s == pytest.approx(expected.between_workers_per_s)
    assert measured.unplaced_per_s == expected.unplaced_per_s == 0
    assert measured.failed == expected.failed


def test_what_cannot_be_used_is_told_and_what_was_read_is_removed(stream):
    with stream.open():
        stream.feed([*lines_of([WORDS, NEAR, FAR], range(START + 10, START + 40, 10)), "garbage"])
        stream.feed(lines_of([WORDS, NEAR, FAR], range(START + 40, START + 50, 10)))
        stream.feed(lines_of([WORDS, NEAR, FAR], range(START + 50, START + 60, 10)))
        wait_until(lambda: len(stream.pieces()) <= 2, 30, "pieces are removed")
    assert stream.problems == {"not a line of Storm's metrics consumer": 1}
    scratch = stream.spark.conf.get("spark.local.dir")
    assert not list(Path(scratch).glob("stream*"))


def test_what_has_piled_up_is_taken_in_parts(spark, tmp_path, monkeypatch):
    """All of it comes into this process: hours of logs, after a pause, must not come at once."""
    epochs = range(START + 10, START + 130, 10)
    pieces = [lines_of([WORDS, NEAR, FAR], [epoch]) for epoch in epochs]
    size = len("\n".join(pieces[0]))
    monkeypatch.setattr(streaming, "MAX_BYTES", 3 * size)
    stream = Stream(spark, tmp_path)
    folder = stream.spool / f"topology={TOPOLOGY}"
    folder.mkdir()
    for number, lines in enumerate(pieces):
        piece = folder / f"{number:02}.lines"
        piece.write_text("".join(f"{line}\n" for line in lines))
        os.utime(piece, (number, number))  # the oldest are taken first
    with stream.open() as ended:
        whole = lambda: stream.slices and stream.profile()[0].to_epoch_s == epochs[-1]  # noqa: E731
        wait_until(whole, 60, "all of it is read")
        assert ended() is None
    assert stream.batches >= len(pieces) / 3
    assert stream.profile()[0].traffic[0].tuples_per_second == 60.0


@pytest.mark.parametrize("ahead_s", [7200, 10**9])
def test_a_line_from_the_future_blinds_no_other_topology(stream, ahead_s):
    """It made all that others had measured so old that it was forgotten, for hours."""
    other = "other-2-1700000000"
    with stream.open():
        for at in (START + 10, START + 20):
            stream.feed(lines_of([WORDS, NEAR, FAR], [at]))
        stream.feed(lines_of([WORDS], [START + ahead_s]), other)
        before = len(stream.slices[TOPOLOGY])
        for at in (START + 30, START + 40):
            stream.feed(lines_of([WORDS, NEAR, FAR], [at]))
    assert len(stream.slices[TOPOLOGY]) == before + 2
    is_refused = START + ahead_s > time.time() + MAX_AHEAD_S
    assert stream.problems == ({AHEAD: 1} if is_refused else {})


def test_damaged_pieces_do_not_end_it(stream):
    with stream.open() as ended:
        stream.feed(lines_of([WORDS, NEAR, FAR], range(START + 10, START + 40, 10)))
        before = stream.batches
        folder = stream.spool / f"topology={TOPOLOGY}"
        (folder / "noise.lines").write_bytes(random.Random(1).randbytes(100_000))
        (stream.spool / "topology=%zz").mkdir()
        (stream.spool / "topology=%zz" / "x.lines").write_text("x\n")
        wait_until(lambda: stream.batches > before, 60, "the batch is done")
        stream.feed(lines_of([WORDS, NEAR, FAR], range(START + 40, START + 60, 10)))
        assert ended() is None
    assert stream.profile()[0].to_epoch_s == START + 50


def test_a_file_beside_the_pieces_does_not_end_it(stream):
    """A disk that somebody had filled with one: nothing was measured until it was gone."""
    with stream.open() as ended:
        stream.feed(lines_of([WORDS, NEAR, FAR], range(START + 10, START + 40, 10)))
        (stream.spool / "ballast").write_bytes(bytes(4096))
        stream.feed(lines_of([WORDS, NEAR, FAR], range(START + 40, START + 60, 10)))
        assert ended() is None
    assert stream.profile()[0].to_epoch_s == START + 50


def test_why_it_has_ended_is_said_in_the_words_of_what_failed(stream, monkeypatch):
    """It was the first line of a trace, which says that a trace begins."""

    def take(slices, problems):
        raise OSError("no space left\non the disk")

    monkeypatch.setattr(stream, "take", take)
    with stream.open() as ended:
        folder = stream.spool / f"topology={TOPOLOGY}"
        folder.mkdir()
        (folder / "x.lines").write_text("garbage\n")
        wait_until(lambda: ended() is not None, 60, "it ends")
        assert ended() == "OSError: no space left"
