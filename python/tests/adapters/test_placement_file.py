import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from problem_strategies import problems

from stormcut.adapters.files.placement_file import read_placement, write_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.objective.metrics import measure
from stormcut.objective.verify import violations
from stormcut.placement.solve import solve

GOLDEN = sorted((Path(__file__).parents[1] / "golden").iterdir())
EXAMPLE = Path(__file__).parents[1] / "golden" / "measured-word-count"


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_golden_scores(folder):
    """The metrics in these files were worked out by hand."""
    document = read_placement(folder / "placement.json", read_problem(folder / "problem.json"))
    assert measure(document.problem, document.placement) == document.metrics
    assert violations(document.problem, document.placement) == []


@given(problem=problems())
def test_what_is_written_is_read_again(problem, tmp_path_factory):
    try:
        solution = solve(problem, "even")
    except Infeasible:
        assume(False)
    path = tmp_path_factory.mktemp("placement") / "placement.json"
    write_placement(path, problem, solution)
    document = read_placement(path, problem)
    assert document.placement == solution.placement
    assert document.metrics == solution.metrics
    assert document.algorithm == "even"


def edited(folder, **changes):
    document = json.loads((EXAMPLE / "placement.json").read_text()) | changes
    path = folder / "placement.json"
    path.write_text(json.dumps(document))
    return path


def assignments(words, count):
    return {"wordcount-1": {"words": words, "count": count}}


def test_slots_that_no_node_offers_are_for_the_judge(tmp_path):
    slots = assignments(["n00:6700", "gone:1"], [None, "n00:1", "gone:1"])
    document = read_placement(
        edited(tmp_path, assignments=slots), read_problem(EXAMPLE / "problem.json")
    )
    found = [violation.constraint for violation in violations(document.problem, document.placement)]
    assert found == ["unassigned", "slots", "slots"]
    assert measure(document.problem, document.placement).nodes_used == 2


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"format": "stormcut-problem/1"}, "format"),
        ({"colour": 1}, "colour"),
        ({"assignments": {}}, "wordcount-1"),
        ({"assignments": assignments([], [None] * 3)}, "0 slots for 2 executors"),
        ({"assignments": assignments([None] * 2, [None, None, 1])}, "count[2]"),
        ({"assignments": {"wordcount-1": {"words": [None] * 2}}}, "count"),
        ({"assignments": assignments([None] * 2, [None] * 3) | {"x": {}}}, "assignments.x"),
        ({"metrics": {}}, "metrics"),
        ({"certificate": {"lower_bound": -1, "gap": 0, "method": "x"}}, "lower_bound"),
        ({"options": []}, "options"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, changes, named):
    with pytest.raises(InvalidInput) as caught:
        read_placement(edited(tmp_path, **changes), read_problem(EXAMPLE / "problem.json"))
    assert named in str(caught.value)


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path):
    problem = read_problem(EXAMPLE / "problem.json")
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_placement(tmp_path / "none" / "p.json", problem, solve(problem, "p-scheduler"))
