"""`--command NAME=COMMAND`: a scheduler of the user's own beside stormcut's."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from stormcut.adapters.files.problem_file import read_problem
from stormcut.adapters.processes import scheduler_command
from stormcut.adapters.processes.scheduler_command import SchedulerCommand
from stormcut.model.errors import Infeasible

GOLDEN = Path(__file__).parents[1] / "golden" / "measured-word-count"
OURS = (
    f"{shlex.quote(str(Path(sys.executable).with_name('stormcut')))} place --algorithm p-scheduler"
)


@pytest.fixture
def problem():
    return read_problem(GOLDEN / "problem.json")


def command(tmp_path, source):
    """Return a scheduler that is a Python script."""
    script = tmp_path / "scheduler.py"
    script.write_text(
        f"import sys, json, time\nproblem, output = sys.argv[1], sys.argv[5]\n{source}"
    )
    return SchedulerCommand.parse(f"mine={shlex.quote(sys.executable)} {shlex.quote(str(script))}")


@pytest.mark.slow
def test_stormcut_s_own_place_answers_like_the_algorithm(stormcut):
    code, out, err = stormcut(
        "compare", GOLDEN / "problem.json", "--algorithms", "p-scheduler,mine", "--command",
        f"mine={OURS}", "--json",
    )  # fmt: skip
    assert code == 0, err
    theirs, mine = json.loads(out)
    assert (theirs["algorithm"], mine["algorithm"]) == ("p-scheduler", "mine")
    assert mine["metrics"] == theirs["metrics"]


@pytest.mark.slow
def test_without_being_named_among_the_algorithms_it_runs_as_well(stormcut):
    code, out, _ = stormcut(
        "compare", GOLDEN / "problem.json", "--algorithms", "even", "--command",
        f"mine={OURS}", "--json",
    )  # fmt: skip
    assert code == 0
    assert [each["algorithm"] for each in json.loads(out)] == ["even", "mine"]


def test_it_gets_the_seed(problem, tmp_path):
    seen = tmp_path / "seen"
    copied = GOLDEN / "placement.json"
    scheduler = command(
        tmp_path,
        f"open({str(seen)!r}, 'w').write(' '.join(sys.argv[2:4]))\n"
        f"open(output, 'w').write(open({str(copied)!r}).read())",
    )
    assert scheduler.solve(problem, 7).algorithm == "mine"
    assert seen.read_text() == "--seed 7"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("sys.exit('no room')", "mine ended with exit code 1 and said: no room"),
        ("pass", "mine wrote no placement"),
        ("open(output, 'w').write('{}')", "mine wrote no placement"),
        ("time.sleep(60)", "mine took over 0.5 s"),
    ],
)
def test_it_fails_in_one_line(problem, tmp_path, monkeypatch, source, complaint):
    if "sleep" in source:
        monkeypatch.setattr(scheduler_command, "PATIENCE_S", 0.5)
    with pytest.raises(Infeasible) as refusal:
        command(tmp_path, source).solve(problem, 1)
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_it_may_not_do_is_refused(problem, tmp_path):
    document = json.loads((GOLDEN / "placement.json").read_text())
    document["assignments"]["wordcount-1"]["words"] = ["n00:6700", "n00:1"]
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    with pytest.raises(Infeasible, match="mine found none"):
        command(tmp_path, f"import shutil; shutil.copy({str(bad)!r}, output)").solve(problem, 1)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("mine", "must be NAME=COMMAND"),
        ("=true", "must be NAME=COMMAND"),
        ("a+b=true", "must be NAME=COMMAND"),
        ("cut=true", "is an algorithm of stormcut's"),
        ("mine=no-such-program-here", "no program 'no-such-program-here' can be run"),
        ("mine='open", "is not valid"),
    ],
)
def test_bad_input_gets_one_line(stormcut, given, complaint):
    code, _, err = stormcut("compare", GOLDEN / "problem.json", "--command", given)
    assert code == 2
    assert complaint in err
    assert len(err.strip().splitlines()) == 1


def test_a_name_is_given_once(stormcut):
    true = shutil.which("true")
    code, _, err = stormcut(
        "compare", GOLDEN / "problem.json", "--command", f"a={true}", "--command", f"a={true}"
    )
    assert (code, err.strip()) == (2, "stormcut: --command: a is given twice")
