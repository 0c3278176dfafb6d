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
