"""What a brain decided can be decided again from its files."""

import json
import logging
from dataclasses import fields

import pytest
from brain_clusters import clusters, supervisors, topology
from hypothesis import given

from stormcut.adapters.files.decision_files import DecisionFiles
from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.model.cluster import ClusterState
from stormcut.model.errors import InvalidInput
from stormcut.placement.registry import algorithm
from stormcut.placement.solve import solve


def as_text(value):
    if value is None:
        return "none"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).lower()


@pytest.mark.slow
@given(clusters())
def test_every_answer_is_found_again(tmp_path_factory, cluster):
    state, profiles = cluster
    folder = tmp_path_factory.mktemp("decisions") / "new"
    options = {"effort": "0.1", "objective": "headroom"}
    decide(
        Question(state, profiles, None, Settings(options=options), recorder=DecisionFiles(folder))
    )
    answers = sorted(folder.glob("*.placement.json"))
    assert len(list(folder.iterdir())) == 2 * len(answers)
    for answer in answers:
        problem = read_problem(answer.with_name(answer.name.replace(".placement", "")))
        given_options = json.loads(answer.read_text())["options"]
        seed = given_options.pop("seed")
        assert given_options.keys() == {f.name for f in fields(algorithm("cut").options)}
        texts = {key: as_text(value) for key, value in given_options.items()}
        again = solve(problem, "cut", seed, texts)
        assert again.placement == read_placement(answer, problem).placement


def test_what_cannot_be_written_is_logged_and_the_plan_is_made(tmp_path, caplog):
    folder = tmp_path / "decisions"
    recorder = DecisionFiles(folder)
    folder.rmdir()
    with caplog.at_level(logging.WARNING):
        decisions = decide(
            Question(
                ClusterState(supervisors(2), (topology("t"),)),
                {},
                None,
                Settings(packs_unmeasured=True),
                recorder=recorder,
            )
        )
    assert len(decisions.decided) == 1
    assert "a decision is not recorded" in caplog.text


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be made"):
        DecisionFiles(tmp_path / "file" / "decisions")
