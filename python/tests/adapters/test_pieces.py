from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storm_metrics import metric_line

from stormcut.adapters.files import pieces
from stormcut.adapters.files.pieces import Cutter, hooked_logs
from stormcut.model.errors import InvalidInput


class Logs:
    """Two workers' logs and a spool, with what a reader of the spool has seen."""

    def __init__(self, folder: Path):
        self.logs, self.spool = folder / "logs", folder / "spool"
        self.cutter = Cutter([self.logs], self.spool, 3600.0)
        self.written = 0

    def log(self, topology="t-1-1", port=6700):
        path = self.logs / "workers-artifacts" / topology / str(port) / "worker.log.metrics"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, count=1, **which):
        with self.log(**which).open("a") as file:
            for _ in range(count):
                self.written += 1
                file.write(f"line {self.written}\n")

    def cut(self):
        self.cutter.cut()
        return self.taken()

    def taken(self):
        found = []
        for piece in sorted(self.spool.glob("topology=*/*.lines")):
            found += [int(line.split()[1]) for line in piece.read_text().splitlines()]
        return sorted(found)


@pytest.fixture
def logs(tmp_path):
    return Logs(tmp_path)


def test_whether_the_hook_writes_to_a_topology_s_logs_is_known(logs):
    assert hooked_logs([logs.logs], "t-1-1") == (0, 0)
    logs.write(3)
    logs.write(3, port=6701)
    assert hooked_logs([logs.logs], "t-1-1") == (2, 0)
    line = metric_line(1_700_000_000, "h", 6701, 3, "c", "stormcut", "{}")
    logs.log(port=6701).write_text(f"{line}\n")
    assert hooked_logs([logs.logs], "t-1-1") == (2, 1)
    assert hooked_logs([logs.logs / "workers-artifacts"], "t-1-1") == (2, 1)
    assert hooked_logs([logs.logs], "t-[1]-1") == (0, 0)


def roll(path, packed):
    rolled = path.with_name(f"{path.name}.1{'.gz' if packed else ''}")
    rolled.write_bytes(gzip.compress(path.read_bytes()) if packed else path.read_bytes())
    path.unlink()


def test_every_line_is_taken_once_and_only_when_it_is_whole(logs):
    logs.write(3)
    assert logs.cut() == [1, 2, 3]
    with logs.log().open("a") as file:
        file.write("line 4")
    assert logs.cut() == [1, 2, 3]
    with logs.log().open("a") as file:
        file.write("4\nline 45\n")
    assert logs.cut() == [1, 2, 3, 44, 45]


@pytest.mark.parametrize("packed", [False, True])
def test_what_was_rolled_away_before_it_was_read_is_taken(logs, packed):
    logs.write(3)
    logs.cut()
    logs.write(2)
    roll(logs.log(), packed)
    logs.write(4)
    assert logs.cut() == list(range(1, 10))


def test_a_copy_that_is_renewed_is_the_same_log(logs):
    logs.write(3)
    logs.cut()
    content = logs.log().read_bytes()
    logs.log().unlink()
    logs.log().write_bytes(content)
    logs.write(2)
    assert logs.cut() == [1, 2, 3, 4, 5]


def test_a_log_that_was_cut_short_is_read_on(logs):
    logs.write(100)
    logs.cut()
    os.truncate(logs.log(), logs.log().stat().st_size // 2)
    assert logs.cut() == list(range(1, 101))
    logs.write(2)
    assert logs.cut() == list(range(1, 103))
    logs.write(1)
    assert logs.cut() == list(range(1, 104))


def test_a_log_that_was_cut_short_waits_for_its_spool(logs):
    logs.write(100)
    logs.cut()
    os.truncate(logs.log(), logs.log().stat().st_size // 2)
    logs.cut()
    logs.write(2)
    aside = logs.spool.rename(logs.spool.with_name("aside"))
    logs.spool.touch()
    with pytest.raises(InvalidInput):
        logs.cut()
    logs.spool.unlink()
    aside.rename(logs.spool)
    assert logs.cut() == list(range(1, 103))


def test_a_copy_that_is_being_renewed_is_not_read_twice(logs):
    logs.write(100)
    logs.cut()
    whole = logs.log().read_bytes()
    logs.log().write_bytes(whole[:500])
    logs.cut()
    logs.log().write_bytes(whole)
    assert logs.cut() == list(range(1, 101))
    logs.write(1)
    assert logs.cut() == list(range(1, 102))


def test_of_a_long_log_that_is_met_first_only_the_end_is_read(logs, monkeypatch):
    monkeypatch.setattr(pieces, "FIRST_BYTES", 50)
    logs.write(1000)
    taken = logs.cut()
    assert 2 <= len(taken) <= 6
    assert taken[-1] == 1000
    logs.write(1)
    assert logs.cut() == [*taken, 1001]


def test_topologies_are_told_apart_whatever_their_names(logs):
    logs.write(1, topology="a b=%/../c".replace("/", "_") + "-1-1")
    logs.write(1, topology="t-2-1")
    logs.cut()
    assert len(list(logs.spool.iterdir())) == 2


def test_a_spool_that_cannot_be_written_loses_nothing(logs):
    logs.write(3)
    logs.spool.write_text("in the way")
    with pytest.raises(InvalidInput, match="cannot be written"):
        logs.cutter.cut()
    logs.spool.unlink()
    assert logs.cut() == [1, 2, 3]


def test_pieces_that_nobody_reads_go_after_a_while(logs):
    logs.write(3)
    logs.cut()
    (piece,) = logs.spool.glob("topology=*/*.lines")
    os.utime(piece, (0, 0))
    assert logs.cut() == []
    assert not list(logs.spool.iterdir())


@given(steps=st.lists(st.sampled_from(["write", "cut", "roll", "partial"]), max_size=30))
def test_whatever_happens_to_a_log_each_line_is_taken_once(tmp_path_factory, steps):
    logs = Logs(tmp_path_factory.mktemp("logs"))
    for step in steps:
        if step == "write":
            logs.write(2)
        elif step == "cut":
            logs.cut()
        elif step == "roll" and logs.log().exists():
            # log4j keeps more than one; here one roll between two cuts
            logs.cut()
            logs.write(1)
            roll(logs.log(), packed=False)
            logs.write(1)
            logs.cut()
    assert logs.cut() == list(range(1, logs.written + 1))


def test_what_is_no_regular_file_is_neither_followed_nor_waited_for(logs, tmp_path, caplog):
    secret = tmp_path / "auth"
    secret.write_text("line 7\n")
    logs.log(topology="leads-away-1-1").symlink_to(secret)
    os.mkfifo(logs.log(topology="blocks-1-1"))
    logs.write(2)
    for _ in range(2):
        assert logs.cut() == [1, 2]
    assert sum("cannot be read" in line for line in caplog.messages) == 2


def test_nobody_else_reads_the_spool(logs):
    logs.write(1)
    logs.cut()
    assert logs.spool.stat().st_mode & 0o777 == 0o700


def test_memory_does_not_grow_with_the_number_of_logs(logs, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 100)
    for port in range(40):
        logs.write(5, port=6700 + port)
    assert logs.cut() == list(range(1, 201))
    written = [*logs.spool.glob("topology=*/*.lines")]
    assert max(piece.stat().st_size for piece in written) < 200


def test_what_was_written_long_ago_is_not_read(logs):
    logs.write(3)
    os.utime(logs.log(), (1e9, 1e9))
    assert logs.cut() == []
    logs.write(2)
    assert logs.cut()[-2:] == [4, 5]
