"""The components of the taxi topology; one of them as Storm runs it, over its pipes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from frequent_routes.final_rank import FinalRank
from frequent_routes.intermediate_rank import IntermediateRank
from frequent_routes.preprocess import Preprocess
from frequent_routes.ranking import from_text, to_text
from frequent_routes.rolling_count import RollingCount
from frequent_routes.source import Source
from frequent_routes.trips import TRIPS_FILE, load_trips, route
from rig.options import declare

RUN = Path(sys.executable).with_name("streamparse_run")


def test_storm_can_run_a_component(project: Path, tmp_path: Path) -> None:
    conf = declare().config() | {"topology.name": "taxi"}
    context = {"taskid": 3, "componentid": "preprocess", "task->component": {"3": "preprocess"}}
    trip = load_trips()[1]
    tup = {"id": "7", "comp": "source", "stream": "default", "task": 1, "tuple": [123, trip, ""]}
    messages = [{"pidDir": str(tmp_path), "conf": conf, "context": context}, tup]
    process = subprocess.run(
        [RUN, "-s json frequent_routes.preprocess.Preprocess"],
        cwd=project / "src",
        env=os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"},
        input="".join(json.dumps(message) + "\nend\n" for message in messages),
        capture_output=True,
        text=True,
    )
    replies = [json.loads(text) for text in process.stdout.split("\nend\n") if text]
    emits = [reply for reply in replies if reply.get("command") == "emit"]
    assert [(emit["tuple"], emit["anchors"]) for emit in emits] == [([123, route(trip), ""], ["7"])]
    assert {"command": "ack", "id": "7"} in replies


def test_source_emits_trips_with_their_event_time(bench: Callable[..., Any]) -> None:
    source = bench(Source, data=TRIPS_FILE, replays=1, speedup=600.0)
    first = source.next()
    assert [line for _, line in first] == load_trips()[0:20:2]
    assert all(event_ms > 0 for event_ms, _ in first)


def test_preprocess_emits_routes_and_counts_what_it_drops(bench: Callable[..., Any]) -> None:
    trips = load_trips()
    preprocess = bench(Preprocess)
    assert preprocess.give(123, trips[1]) == [[123, route(trips[1])]]
    assert preprocess.give(124, trips[0]) == []
    assert preprocess.give(125, "not a trip") == []
    assert preprocess.dropped == {"missing coordinate": 1, "malformed": 1}
    assert len(preprocess.acked) == 3


def test_rolling_count_emits_what_changed_and_counts_late_trips(bench: Callable[..., Any]) -> None:
    count = bench(RollingCount, window_minutes=2)
    assert count.give(0, "a") == [[0, "a", 1]]
    assert count.give(59_999, "a") == [[0, "a", 2]]
    assert count.give(60_000, "b") == [[1, "b", 1]]
    assert count.give(120_000, "b") == [[2, "a", 0], [2, "b", 2]]
    assert count.give(0, "a") == []
    assert count.dropped == {"late": 1}


def test_intermediate_rank_emits_after_ten_updates_or_a_tick(bench: Callable[..., Any]) -> None:
    rank = bench(IntermediateRank, window_minutes=30)
    for count in range(1, 10):
        assert rank.give(5, "a", count) == []
    [[minute, text]] = rank.give(5, "b", 3)
    assert (minute, from_text(text)) == (5, [("a", 9), ("b", 3)])
    assert rank.tick() == []
    assert rank.give(6, "a", 9) == []
    assert rank.tick() == []
    assert rank.give(6, "b", 10) == []
    [[minute, text]] = rank.tick()
    assert (minute, from_text(text)) == (6, [("b", 10), ("a", 9)])


def test_final_rank_merges_the_rankings_of_all_tasks(bench: Callable[..., Any]) -> None:
    rank = bench(FinalRank, window_minutes=30)
    rank.give(5, to_text([("a", 9), ("b", 3)]), task=2)
    rank.give(6, to_text([("c", 5)]), task=3)
    rank.tick()
    assert rank.component.answer() == [("a", 9), ("c", 5), ("b", 3)]
