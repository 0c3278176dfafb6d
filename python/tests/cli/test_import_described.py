"""`stormcut import flux`, `loadgen` and `ui`: what others describe, as a problem."""

import json
import sys

import pytest
import yaml

from stormcut.adapters.files.problem_file import read_problem
from stormcut.cli.main import main

SUMMARY = {
    "supervisors": [
        {
            "id": "a",
            "host": "h0",
            "slotsTotal": 4,
            "slotsUsed": 2,
            "totalMem": 4096.0,
            "totalCpu": 400.0,
        },
        {
            "id": "b",
            "host": "h0",
            "slotsTotal": 2,
            "slotsUsed": 0,
            "totalMem": 0.0,
            "totalCpu": 0.0,
        },
    ]
}
FLUX = {
    "name": "wc",
    "config": {"topology.workers": 3, "topology.max.spout.pending": 100},
    "spouts": [{"id": "words", "className": "x.Words", "parallelism": 2}],
    "bolts": [{"id": "count", "className": "x.Count"}],
    "streams": [
        {"name": "a", "from": "words", "to": "count", "grouping": {"type": "LOCAL_OR_SHUFFLE"}},
        {"from": "words", "to": "count", "grouping": {"type": "FIELDS", "streamId": "late"}},
    ],
}
LOADGEN = {
    "topologies": [
        {
            "name": "wc",
            "config": {"topology.workers": 2},
            "spouts": [
                {"id": "s", "parallelism": 2, "streams": [{"id": "x", "rate": {"mean": 500.0}}]}
            ],
            "bolts": [
                {"id": "b", "parallelism": 3, "executeLatency": {"mean": 0.2}, "memoryLoad": 256.0},
                {"id": "c", "cpuLoad": 150.0},
            ],
            "streams": [
                {"from": "s", "to": "b", "id": "x", "grouping": "SHUFFLE"},
                {"from": "b", "to": "c", "id": "default", "grouping": "GLOBAL"},
            ],
        }
    ]
}
UI = {
    "id": "wc-1-17",
    "name": "wc",
    "workersTotal": 2,
    "spouts": [{"spoutId": "words", "executors": 2}],
    "bolts": [{"boltId": "count", "executors": 3, "capacity": "0.25"}],
}


@pytest.fixture
def imported(tmp_path, monkeypatch, capsys):
    supervisors, output = tmp_path / "summary.json", tmp_path / "problem.json"
    supervisors.write_text(json.dumps(SUMMARY))

    def run(kind, document, *options):
        path = tmp_path / "described.yaml"
        path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
        if kind == "ui" and not isinstance(document, str):
            path.write_text(json.dumps(document))
        arguments = [
            "import",
            kind,
            path,
            "--supervisors",
            supervisors,
            "--output",
            output,
            *options,
        ]
        monkeypatch.setattr(sys, "argv", ["stormcut", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        return caught.value.code or 0, capsys.readouterr().err, output

    return run


def streams(topology):
    return [
        (s.source, s.target, s.stream, s.grouping, s.tuples_per_second) for s in topology.streams
    ]


def test_flux(imported):
    code, err, output = imported("flux", FLUX, "--rate", 50)
    assert code == 0, err
    problem = read_problem(output)
    (topology,) = problem.topologies
    assert (topology.id, topology.workers, topology.max_spout_pending) == ("wc", 3, 100)
    assert [(c.name, c.kind, c.executors) for c in topology.components] == [
        ("words", "spout", 2),
        ("count", "bolt", 1),
    ]
    assert streams(topology) == [
        ("words", "count", "default", "local_or_shuffle", 100.0),
        ("words", "count", "late", "fields", 100.0),
    ]
    # Two supervisors of one host; a capacity of 0 is none.
    nodes = [(n.id, len(n.ports), n.cpu_percent, n.memory_mb) for n in problem.nodes]
    assert nodes == [("h0", 4, 400.0, 4096.0), ("b", 2, None, None)]


def test_the_load_generator_s_rates_are_those_of_each_executor(imported):
    code, err, output = imported("loadgen", LOADGEN)
    assert code == 0, err
    (topology,) = read_problem(output).topologies
    assert streams(topology) == [
        ("s", "b", "x", "shuffle", 1000.0),
        ("b", "c", "default", "global", 0.0),
    ]
    loads = {c.name: (c.cpu_us_per_tuple, c.memory_mb[0], c.threads) for c in topology.components}
    assert loads["b"] == (200.0, 256.0, 1.0)
    assert topology.components[2].cpu_percent[0] == 150.0 and loads["c"][2] == 2.0


def test_the_ui_tells_executors_and_how_busy_bolts_are(imported):
    code, err, output = imported("ui", UI)
    assert code == 0 and "no stream of wc is known" in err
    (topology,) = read_problem(output).topologies
    assert {c.name: (c.executors, c.cpu_percent[0]) for c in topology.components} == {
        "words": (2, 10.0),
        "count": (3, 25.0),
    }


@pytest.mark.parametrize(
    ("kind", "document", "complaint"),
    [
        ("flux", {}, "has neither spouts nor bolts"),
        ("flux", {**FLUX, "spouts": [{"id": "words", "parallelism": "${n}"}]}, "a whole number"),
        ("flux", {**FLUX, "bolts": []}, "'count' is no component"),
        ("flux", {**FLUX, "streams": [{"from": "words"}]}, 'missing key "grouping"'),
        ("flux", {**FLUX, "spouts": [*FLUX["spouts"], dict(FLUX["spouts"][0])]}, "occurs twice"),
        ("flux", "- a", "mapping"),
        ("loadgen", {"topologies": [{"spouts": [{"parallelism": 1}]}]}, 'missing key "id"'),
        ("loadgen", {**LOADGEN["topologies"][0], "spouts": 7}, "must be a list"),
        ("ui", SUMMARY, "/api/v1/topology/ID"),
        ("ui", {**UI, "bolts": [{"boltId": "b", "executors": 1, "capacity": "much"}]}, "a number"),
        ("ui", "nonsense", "JSON"),
    ],
)
def test_what_is_no_such_file_is_one_line(imported, kind, document, complaint):
    code, err, output = imported(kind, document)
    assert code == 2
    assert complaint in err and err.count("\n") == 1
    assert not output.exists()
