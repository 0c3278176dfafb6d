"""The components as Storm runs them: `streamparse_run` in src/, spoken to over its pipes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from frequent_routes.ranking import from_text, to_text
from frequent_routes.trips import load_trips, route

RUN = Path(sys.executable).with_name("streamparse_run")
TASKS = {
    "1": "final_rank",
    "2": "intermediate_rank",
    "3": "preprocess",
    "4": "rolling_count",
    "5": "source",
    "6": "source",
}
TICK = {"comp": "__system", "stream": "__tick", "task": -1, "tuple": [1]}


class Component:
    """A running component and the multilang protocol."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.logged: list[str] = []

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\nend\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next message that is not a log line; log lines are kept."""
        assert self._process.stdout is not None
        while True:
            message = json.loads(self._process.stdout.readline())
            assert self._process.stdout.readline() == "end\n"
            if message.get("command") != "log":
                return dict(message)
            self.logged.append(message["msg"])

    def until(self, command: str) -> list[dict[str, Any]]:
        """Return all messages before one of this command."""
        messages: list[dict[str, Any]] = []
        while (message := self.receive()).get("command") != command:
            messages.append(message)
        return messages

    def process(self, *values: Any, task: int = 1, number: int = 7) -> list[list[Any]]:
        """Give a bolt one tuple; return the tuples emitted, each anchored to it, and the ack."""
        self.send(
            {
                "id": str(number),
                "comp": "before",
                "stream": "default",
                "task": task,
                "tuple": list(values),
            }
        )
        emitted = self.until("ack")
        assert all(message["anchors"] == [str(number)] for message in emitted)
        return [message["tuple"] for message in emitted]

    def tick(self) -> list[list[Any]]:
        """Give a bolt a tick; return the tuples emitted."""
        self.send({"id": "tick", **TICK})
        return [message["tuple"] for message in self.until("ack")]


@contextmanager
def running(project: Path, pids: Path, target: str, task: int, **conf: Any) -> Iterator[Component]:
    process = subprocess.Popen(
        [RUN, f"-s json frequent_routes.{target}"],
        cwd=project / "src",
        env=os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            component = Component(process)
            context = {"taskid": task, "componentid": TASKS[str(task)], "task->component": TASKS}
            conf = {"topology.name": "taxi", "storm.id": f"taxi-1-{int(time.time())}", **conf}
            component.send({"pidDir": str(pids), "conf": conf, "context": context})
            assert component.receive() == {"pid": process.pid}
            yield component
        finally:
            process.kill()


def test_source_emits_its_share_replays_a_failure_and_gives_up_in_the_end(
    project: Path, tmp_path: Path
) -> None:
    conf = {"taxi.rate": 0, "taxi.replays": 1}
    with running(project, tmp_path, "source.Source", 6, **conf) as source:

        def ask(command: str, **more: Any) -> list[dict[str, Any]]:
            source.send({"command": command, **more})
            return source.until("sync")

        first = ask("next")
        assert [message["id"] for message in first] == [str(n) for n in range(1, 20, 2)]
        assert [message["tuple"][1] for message in first] == load_trips()[1:20:2]
        assert ask("ack", id="3") == []
        for _ in range(3):
            replay = ask("fail", id="1")
            assert [message["tuple"] for message in replay] == [first[0]["tuple"]]
        assert ask("fail", id="1") == []
        assert any("exceeded retry limit" in line for line in source.logged)
        emitted = len(first)
        while batch := ask("next"):
            emitted += len(batch)
        assert emitted == len(load_trips()) // 2


def test_preprocess_emits_routes_and_counts_what_it_drops(project: Path, tmp_path: Path) -> None:
    trips = load_trips()
    with running(project, tmp_path, "preprocess.Preprocess", 3) as preprocess:
        assert preprocess.process(123, trips[1]) == [[123, route(trips[1])]]
        assert preprocess.process(124, trips[0]) == []
        assert preprocess.process(125, "not a trip") == []
        assert preprocess.tick() == []
    assert any(
        "first malformed line" in line and "not a trip" in line for line in preprocess.logged
    )
    assert any(
        "read 3 trips, dropped: missing coordinate 1, malformed 1" in line
        for line in preprocess.logged
    )


def test_rolling_count_emits_what_changed_and_reports_late_trips(
    project: Path, tmp_path: Path
) -> None:
    conf = {"taxi.window.minutes": 2}
    with running(project, tmp_path, "rolling_count.RollingCount", 4, **conf) as count:
        assert count.process(0, "a") == [[0, "a", 1]]
        assert count.process(59_999, "a") == [[0, "a", 2]]
        assert count.process(60_000, "b") == [[1, "b", 1]]
        assert count.process(120_000, "b") == [[2, "a", 0], [2, "b", 2]]
        assert count.process(0, "a") == []
        assert count.tick() == []
    assert any("1 trips so far came after their window" in line for line in count.logged)


def test_intermediate_rank_emits_after_ten_updates_or_a_tick(project: Path, tmp_path: Path) -> None:
    with running(project, tmp_path, "intermediate_rank.IntermediateRank", 2) as rank:
        for count in range(1, 10):
            assert rank.process(5, "a", count) == []
        [[minute, text]] = rank.process(5, "b", 3)
        assert (minute, from_text(text)) == (5, [("a", 9), ("b", 3)])
        assert rank.tick() == []
        assert rank.process(6, "a", 9) == []
        assert rank.tick() == []
        assert rank.process(6, "b", 10) == []
        [[minute, text]] = rank.tick()
        assert (minute, from_text(text)) == (6, [("b", 10), ("a", 9)])


def test_final_rank_logs_the_merged_ranking_when_it_has_changed(
    project: Path, tmp_path: Path
) -> None:
    with running(project, tmp_path, "final_rank.FinalRank", 1) as rank:
        assert rank.process(5, to_text([("a", 9), ("b", 3)]), task=2) == []
        assert rank.process(6, to_text([("c", 5)]), task=3) == []
        rank.tick()
        rank.tick()
    [line] = [line for line in rank.logged if "top routes" in line]
    ranking = json.loads(line.partition("top routes ")[2])
    assert ranking == {"minute": 6, "routes": [["a", 9], ["c", 5], ["b", 3]]}
