"""`stormcut capacity`: what a dataflow needs, and where its threads go."""

import json

import numpy as np
import pytest
from model_driven_dataflows import AZURE_TASKS, EXAMPLES, MICRO

from stormcut.placement.algorithms.model_driven.prediction import predict

MODELS = ("--models", EXAMPLES / "azure.json")


def answer(stormcut, *arguments):
    code, out, err = stormcut("capacity", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_allocate(stormcut):
    dag = EXAMPLES / "linear.json"
    found = answer(stormcut, "allocate", dag, *MODELS, "--rate", 100, "--allocation", "lsa")
    assert found["format"] == "stormcut-allocation/1"
    assert found["slots"] == 13
    assert found["tasks"]["blob"] == {
        "threads": 50,
        "cpu_percent": pytest.approx(336.5),
        "memory_percent": pytest.approx(1196.0),
    }
    assert sum(each["cpu_percent"] for each in found["tasks"].values()) == found["cpu_percent"]
    code, out, _ = stormcut("capacity", "allocate", dag, *MODELS, "--rate", 100)
    assert code == 0
    assert "369" not in out and "333 threads on 7 slots" in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("name", MICRO)
@pytest.mark.parametrize(
    ("allocation", "mapping"),
    [("lsa", "dsm"), ("lsa", "rsm"), ("lsa", "cut")]
    + [("mba", mapping) for mapping in ("dsm", "rsm", "sam", "cut")],
)
def test_every_thread_is_mapped_once_and_the_rate_follows(stormcut, name, allocation, mapping):
    asked = (EXAMPLES / f"{name}.json", *MODELS, "--rate", 50, "--allocation", allocation)
    wanted = answer(stormcut, "allocate", *asked)
    found = answer(stormcut, "map", *asked, "--mapping", mapping, "--acquire", "4,2,1")
    assert found["format"] == "stormcut-mapping/1"
    assert len(found["threads"]) == sum(found["machines"])
    assert found["slots_planned"] == wanted["slots"] <= len(found["threads"])
    assert found["slots_used"] == sum(1 for slot in found["threads"] if slot)
    dag = MICRO[name]
    counts = np.array([[slot.get(task, 0) for slot in found["threads"]] for task in dag.order])
    assert dict(zip(dag.order, counts.sum(axis=1).tolist(), strict=True)) == {
        task: each["threads"] for task, each in wanted["tasks"].items()
    }
    assert found["predicted_rate"] == pytest.approx(predict(AZURE_TASKS, dag, counts).rate)
    assert found["threads"][found["binds"]["slot"]][found["binds"]["task"]] > 0
    # Where bundles stay whole, so does what the models promise.
    if allocation == "mba" and mapping in ("sam", "cut"):
        assert found["predicted_rate"] >= 50 * (1 - 1e-9)


def test_given_machines_are_used_as_they_are_or_refused(stormcut):
    asked = ("map", EXAMPLES / "linear.json", *MODELS, "--rate", 50, "--mapping", "sam")
    assert answer(stormcut, *asked, "--machines", "4,2")["machines"] == [4, 2]
    code, _, err = stormcut("capacity", *asked, "--machines", "2")
    assert code == 3
    assert "insufficient resources for task" in err


def test_counts_between_measured_ones_are_interpolated_or_not(stormcut):
    """The paper's Linear at 280 tuples/s under MBA and DSM: 200, and 270 by interpolation."""
    asked = ("map", EXAMPLES / "linear.json", *MODELS, "--rate", 280, "--mapping", "dsm")
    machines = ("--machines", "4,4,4,4,4")
    assert answer(stormcut, *asked, *machines)["predicted_rate"] == pytest.approx(270)
    assert answer(stormcut, *asked, *machines, "--next-lower")["predicted_rate"] == 200
    code, out, _ = stormcut("capacity", *asked, *machines)
    assert code == 0 and "predicted 270 tuples/s" in out
    assert max(map(len, out.splitlines())) <= 100


def test_more_threads_on_a_slot_than_a_model_knows_are_told(stormcut):
    """RSM puts three threads of pi on one slot, and the paper's model of pi knows two."""
    asked = ("map", EXAMPLES / "diamond.json", *MODELS, "--rate", 100, "--acquire", "4,2,1")
    told = "slot 0 holds 3 threads of pi, but its model ends at 2"
    for mapping, is_beyond in (("rsm", True), ("dsm", False)):
        code, out, _ = stormcut("capacity", *asked, "--allocation", "lsa", "--mapping", mapping)
        assert code == 0
        assert (told in out) is is_beyond


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"edges": [["pi", "parse"], ["parse", "pi"]]}, "edges: has a cycle: pi -> parse -> pi"),
        ({"edges": [["pi", "nobody"]]}, "edges[0][1]: no task is named 'nobody'"),
        ({"edges": [["pi", "parse", -1]]}, "edges[0][2]: must be a number of at least 0, not -1"),
        ({"tasks": {}}, "tasks: names no task"),
        ({"tasks": {"pi": "tau", "parse": "parse"}}, "has the model 'tau'"),
        ({"format": "stormcut-problem/1"}, "format"),
    ],
)  # fmt: skip
def test_a_dataflow_that_cannot_be_is_refused_in_one_line(stormcut, tmp_path, change, complaint):
    dag = {
        "format": "stormcut-dag/1",
        "tasks": {"pi": "pi", "parse": "parse"},
        "edges": [["pi", "parse", 1.0]],
    }
    path = tmp_path / "dag.json"
    path.write_text(json.dumps({**dag, **change}))
    code, out, err = stormcut("capacity", "allocate", path, *MODELS, "--rate", 1)
    assert (code, out) == (2, "")
    assert complaint in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ({"threads": [2]}, "models.pi: thread counts must ascend from 1"),
        ({"rate": [0.0]}, "models.pi: rates must be above 0"),
        ({"cpu_percent": []}, "models.pi: needs one value for each thread count"),
        ({"memory_percent": [101]}, "models.pi: CPU and memory must be 0 to 100 % of a slot"),
    ],
)
def test_models_that_cannot_be_are_refused_in_one_line(stormcut, tmp_path, model, complaint):
    whole = {"threads": [1], "rate": [100.0], "cpu_percent": [90.0], "memory_percent": [2.0]}
    path = tmp_path / "models.json"
    path.write_text(
        json.dumps({"format": "stormcut-models/1", "models": {"pi": {**whole, **model}}})
    )
    dag = EXAMPLES / "linear.json"
    code, _, err = stormcut("capacity", "allocate", dag, "--models", path, "--rate", 1)
    assert code == 2
    assert complaint in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "--machines, --acquire: give one of them"),
        (("--machines", "4", "--acquire", "4"), "give one of them"),
        (("--machines", "4,x"), "--machines: must be numbers of slots such as 4,4,2"),
        (("--acquire", "0"), "--acquire: must be numbers of slots"),
    ],
)
def test_machines_are_numbers_of_slots(stormcut, options, complaint):
    asked = ("map", EXAMPLES / "linear.json", *MODELS, "--rate", 1, "--mapping", "dsm")
    code, _, err = stormcut("capacity", *asked, *options)
    assert code == 2
    assert complaint in err


SHAPES = [
    {"name": "small", "cpu_percent": 100.0, "memory_mb": 4096.0, "ports": 2, "price_per_hour": 0.1},
    {
        "name": "large",
        "cpu_percent": 400.0,
        "memory_mb": 16384.0,
        "ports": 4,
        "link_mbit": 100.0,
        "price_per_hour": 0.5,
        "at_most": 9,
    },
]


@pytest.fixture
def shapes(tmp_path):
    path = tmp_path / "shapes.json"
    path.write_text(json.dumps(SHAPES))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("placed_by", ["stormcut", "storm"])
def test_a_plan_is_what_check_and_score_say_of_it(stormcut, shapes, tmp_path, placed_by):
    problem = EXAMPLES.parent / "star.json"
    topology = json.loads(problem.read_text())["topologies"][0]["id"]
    asked = ("plan", problem, "--rate", f"{topology}=2x", "--nodes", shapes)
    asked = (*asked, "--placed-by", placed_by)
    full = answer(stormcut, *asked, "--utilisation", "1")
    found = answer(stormcut, *asked, "--output", tmp_path / "plan")
    assert found["format"] == "stormcut-capacity/1"
    assert 1 <= found["proven_least_nodes"] <= found["nodes"]
    assert found["headroom"] >= 1.25 - 1e-6 and full["headroom"] >= 1 - 1e-6
    assert found["nodes"] >= full["nodes"]
    written = tmp_path / "plan" / "problem.json", tmp_path / "plan" / "placement.json"
    assert found["placement"] == json.loads(written[1].read_text())
    code, _, err = stormcut("check", *written)
    assert code == 0, err
    code, out, _ = stormcut("score", *written, "--json")
    assert json.loads(out)["headroom"]["value"] == pytest.approx(found["headroom"])
    code, out, _ = stormcut("capacity", *asked)
    assert code == 0
    assert topology in out
    assert " of small" in out or " of large" in out
    assert "an hour" in out and "head-room" in out
    assert "one node more: head-room" in out
    assert "instead: " in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.slow
def test_rates_are_in_tuples_or_factors(stormcut, shapes):
    problem = EXAMPLES.parent / "star.json"
    topology = json.loads(problem.read_text())["topologies"][0]["id"]
    by_factor, same = (
        answer(stormcut, "plan", problem, "--rate", f"{topology}={rate}", "--nodes", shapes)
        for rate in ("1x", "1.0x")
    )
    assert by_factor["topologies"] == same["topologies"]
    for rate, complaint in (
        (f"{topology}=fast", "must be tuples/s or a factor"),
        (f"{topology}=0", "must be tuples/s or a factor"),
        ("nobody=1", f"nobody: no such topology (known: {topology})"),
        ("nobody", "must be KEY=VALUE"),
    ):
        code, _, err = stormcut("capacity", "plan", problem, "--rate", rate, "--nodes", shapes)
        assert code == 2
        assert complaint in err and len(err.strip().splitlines()) == 1


def test_a_topology_may_be_named_without_the_numbers_of_its_id(stormcut, shapes, tmp_path):
    document = json.loads((EXAMPLES.parent / "star.json").read_text())
    topology = "mine-1-1795466923"
    document["topologies"][0]["id"] = topology
    problem = tmp_path / "now.json"
    problem.write_text(json.dumps(document))
    for rates, complaint in (
        (["mine=none"], "must be tuples/s or a factor"),
        (["mine=2x", f"{topology}=3x"], f"two rates for {topology}"),
    ):
        options = [option for rate in rates for option in ("--rate", rate)]
        code, _, err = stormcut("capacity", "plan", problem, *options, "--nodes", shapes)
        assert code == 2 and complaint in err


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"cpu_percent": 0}, "[0].cpu_percent: must be above 0"),
        ({"ports": 0}, "[0].ports: must be a whole number from 1"),
        ({"at_most": 0}, "[0].at_most: must be a whole number from 1"),
        ({"name": "large"}, 'shape "large" occurs twice'),
        ({"colour": "red"}, "[0].colour: unknown key"),
    ],
)
def test_shapes_that_cannot_be_are_refused_in_one_line(stormcut, shapes, change, complaint):
    shapes.write_text(json.dumps([{**SHAPES[0], **change}, SHAPES[1]]))
    problem = EXAMPLES.parent / "star.json"
    code, _, err = stormcut("capacity", "plan", problem, "--rate", "x=1x", "--nodes", shapes)
    assert code == 2
    assert complaint in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "rate", "slots"),
    [
        ("linear", 50, 7),
        ("linear", 200, 28),
        ("diamond", 200, 30),
        ("star", 200, 28),
        ("grid", 100, 65),
    ],
)
def test_the_papers_slots_for_lsa_and_rsm_come_out(stormcut, name, rate, slots):
    """Sections 8.4.1 and 8.4.2: R-Storm's mapping places source and sink, too."""
    asked = ("map", EXAMPLES / f"{name}.json", *MODELS, "--rate", rate, "--allocation", "lsa")
    asked += ("--mapping", "rsm", "--acquire", "4,2,1", "--exact", "--ends")
    assert sum(answer(stormcut, *asked)["machines"]) == slots
    code, out, _ = stormcut("capacity", *asked)
    assert code == 0
    assert f"{slots} slots, " in out


@pytest.mark.parametrize(
    ("given", "option"),
    [
        (["--mapping", "sam", "--acquire", "4", "--ends"], "--ends"),
        (["--mapping", "dsm", "--machines", "4", "--exact"], "--exact"),
    ],
)
def test_what_does_not_go_together_is_refused(stormcut, given, option):
    asked = ("map", EXAMPLES / "linear.json", *MODELS, "--rate", 50)
    code, _, err = stormcut("capacity", *asked, *given)
    assert (code, err.count("\n")) == (2, 1)
    assert option in err
