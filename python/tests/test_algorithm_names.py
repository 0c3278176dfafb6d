"""What an algorithm is like stands in its record: no other code asks for its name."""

import ast
from pathlib import Path

import pytest

import stormcut
from stormcut.placement.registry import ALGORITHMS

PACKAGE = Path(stormcut.__file__).parent
#: Words of their own: Storm's default stream, an exact proof.
WORDS = {"default", "exact"}
#: Defaults and looks, by module; nothing is decided there.
ALLOWED = {
    "lab/cli/bench.py": {"even", "r-storm", "ols", "p-scheduler", "t3-scheduler", "i-scheduler"}
    | {"stromax", "cut"},
    # Mappings, which take an allocation instead of a problem.
    "capacity/mapping.py": {"dsm", "rsm", "sam", "cut"},
    "capacity/options.py": {"dsm", "rsm", "sam", "cut"},
}
#: What the papers' figures compare.
PAPERS = "lab/papers/"
#: A colour for each; others have one in common.
LOOKS = "lab/report/bench_pictures.py"


def names_in(path):
    """Return the algorithms whose names stand in a module as texts, docstrings apart."""
    texts = {
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return (texts & ALGORITHMS.keys()) - WORDS


@pytest.mark.slow
def test_algorithms_are_named_outside_of_placement_as_defaults_only():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        if (
            not module.startswith(("placement/", PAPERS))
            and module != LOOKS
            and (names := names_in(path))
        ):
            found[module] = names
    assert found == ALLOWED
