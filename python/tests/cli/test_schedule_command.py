"""`stormcut schedule`: each pair of tasks that exchange tuples meets once in a round."""

import json
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[3] / "examples" / "papers" / "pipeline-linear"
#: Of the paper: tasks of each component, edges, nodes (figures 2 and 6).
RANDOM = ((6, 5, 4, 4, 5), ((0, 1), (1, 2), (1, 3), (2, 4), (3, 4)), 9)
LINEAR = ((3, 4, 3, 4), ((0, 1), (1, 2), (2, 3)), 8)


@pytest.mark.parametrize(("name", "application"), [("random", RANDOM), ("linear", LINEAR)])
def test_every_pair_meets_once_in_a_round(stormcut, name, application):
    tasks, edges, nodes = application
    code, out, _ = stormcut("schedule", PAPERS / f"pipeline-application-{name}.json", "--json")
    (found,) = json.loads(out)
    assert code == 0
    assert (found["topology"], len(found["slots"])) == (name, nodes)
    pairs = [(each["source"], each["target"]) for each in found["transfers"]]
    wanted = {
        (f"c{a}[{i}]", f"c{b}[{j}]")
        for a, b in edges
        for i in range(tasks[a])
        for j in range(tasks[b])
    }
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == wanted
    # No task sends to two nodes in one slot of a stage.
    sends = {(each["slot"], each["stage"], each["from"]): each["to"] for each in found["transfers"]}
    for each in found["transfers"]:
        assert sends[each["slot"], each["stage"], each["from"]] == each["to"]
    assert sum(found["slots"]) >= found["shortest_round"]


def test_people_see_the_first_transfers_and_how_long_a_round_lasts(stormcut):
    code, out, _ = stormcut("schedule", PAPERS / "pipeline-application-diamond.json")
    assert code == 0
    assert "more transfers: --json prints all" in out
    assert "A round has 8 slots" in out


def test_steps_that_carry_nothing_can_be_left_out(stormcut):
    problem = PAPERS / "pipeline-application-linear.json"
    every, fewer = (
        json.loads(stormcut("schedule", problem, "--json", *more)[1])[0]["slots"]
        for more in ((), ("--skip-empty",))
    )
    assert len(fewer) <= len(every)


def test_nothing_to_place_on_is_no_schedule(stormcut, tmp_path):
    document = json.loads((PAPERS / "pipeline-application-linear.json").read_text())
    document["nodes"] = []
    (tmp_path / "p.json").write_text(json.dumps(document))
    code, out, err = stormcut("schedule", tmp_path / "p.json")
    assert (code, out) == (3, "")
    assert "no node has a slot" in err
