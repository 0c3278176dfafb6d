"""What a run of a topology is given, and when it has ended."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from stormcut.adapters.files.json_document import write_text
from stormcut.application.waiting import Watch
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.spark.answers import ANSWERS
from stormcut.lab.adapters.storm import topology_project
from stormcut.lab.adapters.storm.topology_project import load
from stormcut.lab.adapters.storm.topology_site import FolderReports
from stormcut.lab.experiment import topology_run
from stormcut.lab.experiment.ports import Catalogue
from stormcut.lab.experiment.servers import with_servers
from stormcut.lab.experiment.topology_run import RunSettings
from stormcut.model.errors import InvalidInput

CATALOGUE = Catalogue(topology_project, ANSWERS)
WAITER = {"component": "count", "task": 1, "process": 1}


def options(name: str, minutes: float | None = None, **given: str) -> dict[str, object]:
    return topology_run.options_of(RunSettings(name, given, minutes), CATALOGUE)


def test_an_unknown_topology_or_option_says_what_there_is() -> None:
    with pytest.raises(InvalidInput, match=r"taxis: no such topology; there are .*taxi"):
        load("taxis")
    with pytest.raises(InvalidInput, match=r"--option speed: no such option; .*rate"):
        options("linear", speed="3")


def test_a_run_without_minutes_is_one_replay_of_a_size_for_two_cores() -> None:
    found = options("word_count")
    assert (found["replays"], found["rate"]) == (1, 0)
    assert found["scale"] == pytest.approx(12 / 23)
    assert options("taxi")["window.minutes"] == 525_600


def test_options_given_win() -> None:
    found = options("linear", 1.5, scale="0.5", setting="cpu", **{"topology.workers": "3"})
    assert found["seconds"] == 90
    assert (found["scale"], found["setting"], found["topology.workers"]) == (0.5, "cpu", 3)
    assert "replays" not in found


@pytest.mark.slow
def test_a_run_ends_when_reports_stay_the_same_and_no_task_waits_for_its_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(topology_run, "SETTLED_S", 2.0)
    file = tmp_path / "count.json"
    written: list[float] = []

    def report(waiting: bool, answer: int) -> None:
        written.append(time.monotonic())
        write_text(file, json.dumps({**WAITER, "waiting": waiting, "answer": answer}))

    report(waiting=True, answer=1)
    timers = [Timer(0.5, report, (False, 2)), Timer(1.0, report, (False, 3))]
    for timer in timers:
        timer.start()
    [settled] = topology_run.settled(FolderReports((tmp_path,)), Watch())
    for timer in timers:
        timer.join()
    assert settled["answer"] == 3
    assert time.monotonic() - written[-1] >= 2.0


def test_replays_without_end_may_last_some_time() -> None:
    assert options("linear", replays="0", seconds="20")["replays"] == 0
    assert options("linear", 1, replays="0")["seconds"] == 60


def test_a_topology_that_needs_a_server_gets_one_unless_it_has_one() -> None:
    asked = []

    @contextmanager
    def server() -> Iterator[str]:
        asked.append("up")
        yield "word@host:1"
        asked.append("gone")

    def given(name: str, **options: object) -> dict[str, object]:
        with with_servers(load(name), options, {"redis": server}, Steps("test")) as found:
            return found

    assert given("linear", rate=0) == {"rate": 0}
    assert given("yahoo", redis="mine") == {"redis": "mine"}
    assert asked == []
    assert given("yahoo", rate=0) == {"rate": 0, "redis": "word@host:1"}
    assert asked == ["up", "gone"]
