"""`stormcut simulate`: what it prints, and what it refuses."""

from __future__ import annotations

import json

import pytest

PROBLEM = {
    "format": "stormcut-problem/1",
    "nodes": [{"id": "n", "ports": [6700, 6701]}],
    "topologies": [
        {
            "id": "t",
            "workers": None,
            "max_spout_pending": 10,
            "components": [
                {"name": "s", "kind": "spout", "executors": 1, "cpu_us_per_tuple": 0.0},
                {"name": "b", "kind": "bolt", "executors": 1, "cpu_us_per_tuple": 10_000.0},
            ],
            "streams": [
                {
                    "source": "s",
                    "target": "b",
                    "stream": "default",
                    "grouping": "shuffle",
                    "tuples_per_second": 80.0,
                }
            ],
        }
    ],
}
for each in PROBLEM["topologies"][0]["components"]:
    each |= {"service": "exponential", "arrivals": "poisson"} if each["kind"] == "spout" else {}
PROBLEM["topologies"][0]["components"][1]["service"] = "exponential"


@pytest.fixture
def files(tmp_path):
    def write(problem=PROBLEM, slots=("n:6700", "n:6700")):
        (tmp_path / "problem.json").write_text(json.dumps(problem))
        placement = {
            "format": "stormcut-placement/1",
            "algorithm": "even",
            "options": {},
            "assignments": {"t": {"s": [slots[0]], "b": [slots[1]]}},
        }
        (tmp_path / "placement.json").write_text(json.dumps(placement))
        return tmp_path / "problem.json", tmp_path / "placement.json"

    return write


def test_json_has_the_format_of_the_page(stormcut, files):
    code, out, _ = stormcut("simulate", *files(), "--seconds", 500, "--seed", 2, "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) == {
        "format",
        "engine",
        "seconds",
        "sources_per_second",
        "executed_per_second",
        "latency_ms",
        "utilisation",
        "bottleneck",
        "saturated",
    }
    assert (found["format"], found["engine"], found["seconds"]) == (
        "stormcut-simulation/1",
        "events",
        500.0,
    )
    assert found["sources_per_second"]["t"] == pytest.approx(80, rel=0.05)
    assert found["latency_ms"]["t"]["mean"] == pytest.approx(50, rel=0.25)
    assert found["bottleneck"] == {"kind": "executor", "executor": "b[0]", "topology": "t"}
    assert found["utilisation"][0] == {**found["bottleneck"], "value": pytest.approx(0.8, rel=0.05)}
    assert not found["saturated"]
    assert stormcut("simulate", *files(), "--seconds", 500, "--seed", 2, "--json")[1] == out


def test_the_fluid_engine_knows_rates_and_no_latency(stormcut, files):
    code, out, _ = stormcut("simulate", *files(), "--engine", "fluid", "--json")
    found = json.loads(out)
    assert code == 0 and found["latency_ms"] == {}
    assert found["executed_per_second"]["t"] == {"s": 80.0, "b": 80.0}
    code, out, _ = stormcut("simulate", *files(), "--engine", "fluid", "--closed", "--json")
    assert json.loads(out)["sources_per_second"]["t"] == pytest.approx(100, rel=0.03)


def test_people_get_tables_and_a_verdict(stormcut, files):
    code, out, _ = stormcut("simulate", *files(), "--seconds", 100, "--closed")
    assert code == 0
    assert "Saturated at the thread of executor b[0] of t" in out
    assert all(len(line) <= 100 for line in out.splitlines())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slots": ("n:6700", None)}, "executor b[0] of t is unassigned"),
        ({"slots": ("n:6700", "m:6700")}, "is offered by no node"),
    ],
)
def test_what_cannot_run_is_refused_in_one_line(stormcut, files, change, words):
    code, out, err = stormcut("simulate", *files(**change))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err and "placement.json" in err


def test_what_cannot_be_simulated_is_refused_in_one_line(stormcut, files):
    idle = json.loads(json.dumps(PROBLEM))
    idle["topologies"][0]["streams"] = []
    for problem, arguments, words in (
        (idle, (), "no source emits anything"),
        (
            {**PROBLEM, "topologies": [{**PROBLEM["topologies"][0], "max_spout_pending": None}]},
            ("--closed",),
            "topology t has no max_spout_pending",
        ),
        (PROBLEM, ("--seconds", "0"), "--seconds"),
    ):
        code, out, err = stormcut("simulate", *files(problem), *arguments)
        assert (code, out) == (2, ""), err
        assert words in err


EVENTS = {
    "format": "stormcut-events/1",
    "events": [
        {"at": 2, "load": 1.2},
        {"at": 4, "node": "n", "cpu": 0.5, "link": 0.5},
        {"at": 6, "node": "n", "lost": True},
        {"at": 7, "node": "n", "lost": False},
        {"at": 8, "placement": "other.json"},
        {"at": 15, "node": "n", "killed": True},
    ],
}


@pytest.mark.slow
def test_over_time(stormcut, files, tmp_path):
    problem, placement = files()
    other = json.loads(placement.read_text())
    other["assignments"]["t"] = {"s": ["n:6701"], "b": ["n:6701"]}
    (tmp_path / "other.json").write_text(json.dumps(other))
    (tmp_path / "events.json").write_text(json.dumps(EVENTS))
    (tmp_path / "day.csv").write_text("seconds,factor\n# a comment\n3,0.5\n9,1\n")
    command = ("simulate", problem, placement, "--events", tmp_path / "events.json")
    command += ("--load-trace", tmp_path / "day.csv", "--seconds", 20, "--every", 2)
    code, out, _ = stormcut(*command, "--restart-s", 1, "--plot", tmp_path / "plot.svg", "--json")
    found = json.loads(out)["timeline"]
    assert code == 0
    assert [each["begin"] for each in found] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert found[0]["sources_per_second"]["t"] == pytest.approx(80, rel=0.3)
    assert found[3]["sources_per_second"]["t"] == 0
    assert found[-1]["executed_per_second"]["t"] == pytest.approx(80, rel=0.3)
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    code, out, _ = stormcut(*command)
    assert code == 0 and "executors" in out and "n lost" in out
    assert all(len(line) <= 100 for line in out.splitlines())


@pytest.mark.parametrize(
    ("events", "trace", "words"),
    [
        ({**EVENTS, "events": [{"at": 2, "load": -1}]}, None, "events[0].load"),
        ({**EVENTS, "events": [{"at": 2, "node": "n"}]}, None, "events[0]: must be one of"),
        ({**EVENTS, "events": [{"at": 2, "node": "n", "cpu": 0}]}, None, "must be above 0"),
        ({**EVENTS, "events": [{"at": 2, "node": "n", "killed": False}]}, None, '"killed": true'),
        ({**EVENTS, "events": [{"at": 2, "node": "m", "lost": True}]}, None, "no node 'm'"),
        (None, "5,1\n4,1\n", "line 2: second 4 comes after second 5"),
        (None, "5\n", "line 1: must be seconds,factor"),
        (None, "5,inf\n", "line 1: must be two numbers"),
        (None, "", "no line says a load"),
    ],
)
def test_bad_changes_are_refused_in_one_line(stormcut, files, tmp_path, events, trace, words):
    more = []
    if events is not None:
        (tmp_path / "events.json").write_text(json.dumps(events))
        more += ["--events", tmp_path / "events.json"]
    if trace is not None:
        (tmp_path / "day.csv").write_text(trace)
        more += ["--load-trace", tmp_path / "day.csv"]
    code, out, err = stormcut("simulate", *files(), *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
