"""Which placements a sweep measures."""

import itertools
import zipfile

import pytest
from benchmarks.cluster import placement_sweep
from random_clusters import problem_of

from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import write_problem
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.adapters.bench.kept_benches import BENCHES
from stormcut.objective.verify import violations


def test_random_placements_are_feasible_and_all_different():
    problem = problem_of("tiny", 1)
    found = list(itertools.islice(placement_sweep.feasible(problem, 0), 20))
    assert len(found) == len(set(found)) > 1
    assert not any(violations(problem, each) for each in found)


@pytest.mark.slow
def test_the_best_by_the_model_come_first_and_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(placement_sweep, "LOOKED_AT", 60)
    monkeypatch.setattr(placement_sweep.tempfile, "gettempdir", lambda: str(tmp_path))
    question, answer = tmp_path / "problem.json", tmp_path / "placement.json"
    problem = problem_of("tiny", 1)
    write_problem(question, problem)
    best = placement_sweep.by_model(problem, question)
    values = [placement_sweep.predicted(problem, each) for each in best]
    assert values == sorted(values, reverse=True)
    others = itertools.islice(placement_sweep.feasible(problem, 0), 60)
    assert values[0] == max(placement_sweep.predicted(problem, each) for each in others)
    placement_sweep.place("model", 2, question, answer)
    assert read_placement(answer, problem).placement == best[1]


def test_only_a_group_with_all_its_windows_is_measured(tmp_path, monkeypatch):
    assert not placement_sweep.is_measured([], tmp_path / "none")
    with zipfile.ZipFile(BENCHES / "bench-tick-1.zip") as packed:
        packed.extractall(tmp_path)
    cells = {each.cell for each in FileJournal(tmp_path).measurements()}
    monkeypatch.setattr(placement_sweep, "WINDOWS", 1)
    group = ["other"] * (len(cells) - len(placement_sweep.BOTH))
    assert placement_sweep.is_measured(group, tmp_path)
    assert not placement_sweep.is_measured([*group, "one more"], tmp_path)


def test_names_of_one_placement_are_pooled(tmp_path):
    archive = BENCHES / "bench-tick-1.zip"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    nodes = placement_sweep.chosen_nodes(tmp_path)
    tried = placement_sweep.collected([tmp_path])
    assert {name for each in tried for name in each.names} <= nodes.keys()
    assert len(tried) == len({nodes[each.names[0]] for each in tried})
    (even,) = (each for each in tried if "even" in each.names)
    assert even.typical == 1.0
    assert [each.typical for each in tried] == sorted((e.typical for e in tried), reverse=True)
    twice = placement_sweep.collected([tmp_path, tmp_path])
    assert [len(each.measured) for each in twice] == [2 * len(each.measured) for each in tried]
