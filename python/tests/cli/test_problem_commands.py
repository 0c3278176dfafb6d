"""`stormcut place`, `check`, `score` and `algorithms` as outside checks call them."""

import json
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from stormcut.placement.registry import ALGORITHMS

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def problem(tmp_path):
    """A copy of the example of the format."""
    return Path(shutil.copy(GOLDEN / "measured-word-count" / "problem.json", tmp_path))


def test_place_check_and_score(stormcut, problem, tmp_path):
    output = tmp_path / "placement.json"
    code, _, err = stormcut(
        "place", problem, "--algorithm", "p-scheduler", "--seed", 3,
        "--option", "cpu_share=0.7", "--option", "max_tasks_per_worker=4", "--output", output,
    )  # fmt: skip
    assert code == 0
    assert "tuples/s between nodes" in err
    document = json.loads(output.read_text())
    assert document["format"] == "stormcut-placement/1"
    assert (document["algorithm"], document["options"]["seed"]) == ("p-scheduler", 3)
    code, out, _ = stormcut("score", problem, output, "--json")
    assert code == 0
    found = json.loads(out)
    headroom, throughput = found.pop("headroom"), found.pop("throughput")
    (times,) = found.pop("latency_ms").values()
    assert 0 < times["p50"] <= times["p95"] <= times["p99"]
    assert found == document["metrics"]
    # count[1], of 30 points, has a core.
    assert headroom["value"] == pytest.approx(100 / 30)
    assert headroom["bottleneck"] == {
        "kind": "executor",
        "executor": "count[1]",
        "topology": "wordcount-1",
    }
    # The file states no windows, and all is anchored.
    assert throughput["acked"] == pytest.approx(500 * headroom["value"])
    assert throughput["sustained"] == pytest.approx(throughput["acked"])
    assert throughput["bottleneck"] == headroom["bottleneck"]
    code, out, _ = stormcut("score", problem, output)
    assert code == 0
    assert "workers restarted" in out and "head-room" in out and "tuples/s acked" in out
    assert max(map(len, out.splitlines())) <= 100
    code, out, _ = stormcut("score", problem, output, "--streams", "--json")
    streams = json.loads(out)["streams"]
    crossing = sum(each["between_nodes"] for each in streams)
    assert code == 0
    assert crossing == pytest.approx(found["inter_node_tuples_per_second"])
    code, out, _ = stormcut("check", problem, output)
    assert (code, out) == (0, "feasible: 5 executors\n")


def test_check_prints_a_line_per_violation(stormcut, problem, tmp_path):
    placement = tmp_path / "placement.json"
    document = json.loads((GOLDEN / "measured-word-count" / "placement.json").read_text())
    document["assignments"]["wordcount-1"]["words"] = [None, "n00:1"]
    placement.write_text(json.dumps(document))
    code, out, _ = stormcut("check", problem, placement)
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == ["unassigned", "slots"]
    code, out, _ = stormcut("check", problem, placement, "--json")
    assert code == 1
    assert [violation["constraint"] for violation in json.loads(out)] == ["unassigned", "slots"]


def test_algorithms(stormcut):
    code, out, _ = stormcut("algorithms", "--json")
    assert code == 0
    listed = json.loads(out)
    assert [each["name"] for each in listed] == list(ALGORITHMS)
    keys = {"name", "summary", "source", "exact", "needs_traffic"}
    assert all(set(each) == keys for each in listed)
    code, out, _ = stormcut("algorithms")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        (["--algorithm", "best"], "no algorithm 'best'"),
        (["--algorithm", "even", "--option", "x=1"], "option x"),
        (["--algorithm", "even", "--option", "x"], "KEY=VALUE"),
        (["--algorithm", "p-scheduler", "--option", "cpu_share=2"], "cpu_share"),
        (["--algorithm", "even", "--seed", "-1"], "seed"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(stormcut, problem, tmp_path, extra, named):
    code, out, err = stormcut("place", problem, *extra, "--output", tmp_path / "x.json")
    assert (code, out) == (2, "")
    assert named in err
    assert err.count("\n") == 1
    assert not (tmp_path / "x.json").exists()


def test_unreadable_files_are_exit_code_2(stormcut, problem, tmp_path):
    for arguments in (
        ["check", tmp_path / "none.json", problem],
        ["score", problem, problem],
        ["place", tmp_path, "--algorithm", "even", "--output", tmp_path / "x"],
        ["place", problem, "--algorithm", "p-scheduler", "--output", tmp_path / "no" / "x"],
    ):
        code, _, err = stormcut(*arguments)
        assert code == 2
        assert err.count("\n") == 1


def test_no_feasible_placement_is_exit_code_3(stormcut, problem, tmp_path):
    document = json.loads(problem.read_text())
    for node in document["nodes"]:
        node["max_executors"] = 2
    problem.write_text(json.dumps(document))
    code, _, err = stormcut(
        "place", problem, "--algorithm", "p-scheduler", "--output", tmp_path / "x.json"
    )
    assert code == 3
    assert "no feasible placement exists" in err
    assert "binding constraint: max_executors" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["place", "check", "score", "algorithms"])
def test_help_has_an_example(stormcut, command):
    code, out, _ = stormcut(command, "--help")
    assert code == 0
    assert f"stormcut {command}" in out.split("Example:")[1]


@pytest.mark.slow
def test_the_installed_command_gives_the_same_answer_each_time(problem, tmp_path):
    outputs = []
    for name in ("one.json", "two.json"):
        command = [sys.executable, "-m", "stormcut.cli.main", "place", str(problem)]
        options = ["--algorithm", "p-scheduler", "--output", str(tmp_path / name)]
        subprocess.run([*command, *options], check=True, capture_output=True)
        outputs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1]


@pytest.mark.slow
def test_compare(stormcut, tmp_path):
    problem = GOLDEN / "diamond-10-optimal" / "problem.json"
    picture = tmp_path / "bars.svg"
    code, out, _ = stormcut(
        "compare", problem, "--algorithms", "even,p-scheduler", "--picture", picture
    )
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert "p-scheduler" in out
    first = picture.read_bytes()
    assert first.startswith(b"<?xml")
    stormcut("compare", problem, "--algorithms", "even,p-scheduler", "--picture", picture)
    assert picture.read_bytes() == first
    code, out, _ = stormcut("compare", problem, "--algorithms", "even,p-scheduler", "--json")
    even, p_scheduler = json.loads(out)
    assert p_scheduler["metrics"]["inter_node_tuples_per_second"] == 11.0
    assert even["metrics"]["nodes_used"] == 10


def test_compare_says_why_an_algorithm_has_none(stormcut, tmp_path):
    small = json.loads((GOLDEN / "diamond-10-optimal" / "problem.json").read_text())
    small["nodes"] = [{**small["nodes"][0], "max_executors": 10, "ports": []}]
    path = tmp_path / "small.json"
    path.write_text(json.dumps(small))
    code, out, _ = stormcut("compare", path, "--algorithms", "even", "--json")
    assert code == 0
    assert "binding constraint: slots" in json.loads(out)[0]["refusal"]


@pytest.mark.slow
def test_compare_shows_the_trade_off(stormcut, problem):
    code, out, _ = stormcut("compare", problem, "--algorithms", "even", "--trade-off", "--json")
    assert code == 0
    trials = {trial["algorithm"]: trial for trial in json.loads(out)}
    assert list(trials)[:3] == ["even", "cut", "cut balance=2"]
    assert list(trials)[-1] == "cut objective=headroom"
    rooms = [trial["headroom"]["value"] for trial in trials.values() if "metrics" in trial]
    assert trials["cut objective=headroom"]["headroom"]["value"] == max(rooms)
    cuts = [
        trial["metrics"]["inter_node_tuples_per_second"]
        for trial in trials.values()
        if "metrics" in trial
    ]
    assert trials["cut"]["metrics"]["inter_node_tuples_per_second"] == min(cuts)
    code, out, _ = stormcut("compare", problem, "--trade-off")
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--algorithms", "even,fastest"], "no algorithm 'fastest'"),
        (["--picture", "bars.gif"], "must end in .svg, .png or .pdf"),
    ],
)
def test_compare_refuses_in_one_line(stormcut, problem, arguments, complaint):
    code, out, err = stormcut("compare", problem, *arguments)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_explain(stormcut):
    golden = GOLDEN / "thesis-even"
    code, out, _ = stormcut("explain", golden / "problem.json", golden / "placement.json")
    assert code == 0
    assert "most traffic to other nodes" in out
    assert max(map(len, out.splitlines())) <= 100
    code, out, _ = stormcut(
        "explain", golden / "problem.json", golden / "placement.json", "C2[0]", "--json"
    )
    assert code == 0
    assert json.loads(out)[0]["slot"].startswith("n")
    code, out, _ = stormcut("explain", golden / "problem.json", golden / "placement.json", "C2[0]")
    assert "C2[0] is in n" in out
    code, _, err = stormcut("explain", golden / "problem.json", golden / "placement.json", "zzz")
    assert code == 2
    assert "no such executor" in err


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_option_of_an_algorithm_is_shown_and_explained(stormcut, name):
    code, out, _ = stormcut("algorithms", name)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    for field in fields(ALGORITHMS[name].options):
        assert field.name in out
        assert field.metadata["help"]
