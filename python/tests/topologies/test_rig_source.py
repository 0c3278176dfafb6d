import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig import source
from rig.records import Generated
from rig.source import FileSource, ReplayingSpout, launch_time, share
from rig.store import StoreDown

LINES = 50


class Numbers(ReplayingSpout):
    outputs = ("number",)

    @classmethod
    def records(cls, conf: Any) -> Generated:
        return Generated(str, LINES)


class Flaky(Numbers):
    down = True

    def values(self, record: str, departure: Any) -> list[Any]:
        if self.down:
            raise StoreDown("Redis at a:1 does not answer")
        return [record]


def everything(spout: Any) -> list[str]:
    emitted = []
    while batch := spout.next():
        emitted += [values[0] for values in batch]
    return emitted


def test_tasks_share_the_records(bench: Callable[..., Any]) -> None:
    # task 2 of the tasks 2 and 3
    spout = bench(Numbers, replays=2)
    assert everything(spout) == [str(n % LINES) for n in range(0, 2 * LINES, 2)]
    assert spout.component.tally(0.0)["finished"]


def test_what_fails_is_emitted_again_until_it_is_acked(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "RETRY_S", 0.0)
    spout = bench(Numbers, replays=1)
    emitted = everything(spout)
    for _ in range(20):
        spout.component.fail("4")
        assert spout.next() == [["4"]]
    for ordinal in emitted:
        spout.component.ack(ordinal)
    counts = spout.component.tally(0.0)
    assert (counts["sent"], counts["acked"], counts["replayed"]) == (25, 25, 20)
    assert sum(counts["latency"].values()) == 25
    assert counts["share"] == [0, LINES, 2]


def test_nothing_due_is_lost_while_the_store_is_down(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "RETRY_S", 0.0)
    spout = bench(Flaky, replays=1)
    assert spout.next() == []
    assert spout.next() == []
    spout.component.down = False
    assert everything(spout) == [str(n) for n in range(0, LINES, 2)]


def test_sources_stop_after_their_seconds(bench: Callable[..., Any]) -> None:
    spout = bench(Numbers, seconds=1e-9)
    assert spout.next() == []
    assert spout.component.tally(2e9)["finished"]


def test_reports_go_to_a_file(bench: Callable[..., Any], tmp_path: Path) -> None:
    spout = bench(Numbers, replays=1, results=str(tmp_path / "reports"))
    everything(spout)
    spout.component._next_report = 0.0
    spout.next()
    report = json.loads((tmp_path / "reports" / f"own-2-{os.getpid()}.json").read_text())
    assert (report["component"], report["task"], report["sent"]) == ("own", 2, 25)


def test_a_file_source_replays_lines(bench: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(b"first\nsecond\nthi\xffrd\n")
    spout = bench(FileSource, data=str(file), replays=1)
    assert everything(spout) == ["first", "thi\ufffdrd"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no data file .*gone\.txt"):
        FileSource.records({"rig.data": str(tmp_path / "gone.txt")})


def test_launch_time_is_the_end_of_the_topology_id() -> None:
    assert launch_time("taxi-rides-3-1795252629") == 1795252629


def test_share_counts_only_tasks_of_the_own_component() -> None:
    components = {"2": "source", "10": "source", "9": "source", "3": "preprocess"}
    assert share(9, "source", components) == (1, 3)
    assert share(10, "source", components) == (2, 3)
