"""The walks in CONTRIBUTING.md lead through functions that there are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALKS = re.findall(
    r"^From .*:\n\n((?:\d+[.] .*\n)+)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.M
)
STEPS = re.findall(r"^\d+[.] `(\S+[.]py)`: `([\w.]+)`", "".join(WALKS), re.M)


def names_in(path: Path) -> set[str]:
    """Return the functions of a file, those of classes behind the class's name."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {f"{node.name}.{each.name}" for each in methods}
    return found


def test_there_are_three_walks_of_at_most_ten_steps():
    assert [len(walk.splitlines()) <= 10 for walk in WALKS] == [True] * 3
    assert len(STEPS) == sum(len(walk.splitlines()) for walk in WALKS)


@pytest.mark.parametrize(("path", "name"), sorted(set(STEPS)))
def test_a_step_of_a_walk_exists(path, name):
    assert name in names_in(ROOT / "python/stormcut" / path)
