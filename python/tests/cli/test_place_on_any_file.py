"""`stormcut place` with every algorithm on files of every kind: a placement, or why not, in a line.

The files are small ones of the kinds that users have at hand: problems, what Storm stores, traffic
graphs, logs, tables, with gzip and without.
"""

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest

from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.cli.main import main
from stormcut.objective.verify import violations
from stormcut.placement.registry import ALGORITHMS

TESTS = Path(__file__).parents[1]
STORM = TESTS / "data" / "storm-topology" / "TopologyName00023-storm"
GRAPH = {"nodes": [{"name": "1"}, {"name": "2"}], "links": [{"source": 1, "target": 2, "value": 9}]}
SUPERVISORS = {
    "supervisors": [
        {"rack": "a", "count": 3, "cpu_pcore_percent": 400, "memory_mb": 8192, "slots": 4}
    ]
}
TABLE = "time,id,watts\n2012-07-03T11:00:00,4,17.5\n"
LOG = "Jun 14 15:16:01 combo sshd[19939]: authentication failure; uid=0\n"

#: Content by name, and what the one line must say.
OTHERS = {
    "graph.json": (json.dumps(GRAPH), 'write its links as "traffic"'),
    "code.ser": (Path(f"{STORM}code.ser").read_bytes(), "stormcut import storm`"),
    "conf.ser": (Path(f"{STORM}conf.ser").read_bytes(), "a topology's configuration"),
    "code": (gzip.decompress(Path(f"{STORM}code.ser").read_bytes()), "stormcut import storm`"),
    "supervisors.json": (json.dumps(SUPERVISORS), "--supervisors"),
    "auth.log": (LOG, "is not JSON"),
    "auth.log.gz": (gzip.compress(LOG.encode()), "gzip: unpack it"),
    "damaged.gz": (gzip.compress(LOG.encode())[:-9], "is not UTF-8"),
    "tweets.jsonl": ('{"text": "what a night"}\n{"text": "indeed"}\n', "is not JSON: Extra data"),
    "plugs.csv": (TABLE, "is not JSON"),
    "README.md": ("# Data\n", "is not JSON"),
    "empty": ("", "is not JSON"),
    "zeros": (bytes(100), "is not JSON"),
    "list.json": ("[]", "must be an object"),
    "deep.json": ("[" * 100_000, "is nested too deeply"),
    "unknown.json": ('{"format": "other/1"}', 'must be "stormcut-problem/1"'),
}


def said(err):
    """Return the lines of standard error that are no progress."""
    return [line for line in err.splitlines() if not line.endswith("...")]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_file_that_is_no_problem_is_refused_in_one_line(stormcut, tmp_path, name):
    for file, (content, complaint) in OTHERS.items():
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        output = tmp_path / "placement.json"
        code, _, err = stormcut("place", path, "--algorithm", name, "--output", output)
        (line,) = said(err)
        assert code == 2, file
        assert str(path) in line
        assert complaint in line
        assert not output.exists()


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A problem of a real topology."""
    folder = tmp_path_factory.mktemp("imported")
    table, output = folder / "supervisors.json", folder / "problem.json"
    table.write_text(json.dumps(SUPERVISORS))
    files = [f"{STORM}code.ser", f"{STORM}conf.ser", "--supervisors", str(table)]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as caught:
        patch.setattr(sys, "argv", ["stormcut", "import", "storm", *files, "--output", str(output)])
        main()
    assert not caught.value.code
    return output


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_problem_is_placed_or_refused_in_one_line(stormcut, imported, tmp_path, name):
    problems = [shutil.copy(imported, tmp_path), *sorted((TESTS / "golden").glob("*/problem.json"))]
    for path in problems:
        output = tmp_path / "placement.json"
        output.unlink(missing_ok=True)
        code, _, err = stormcut("place", path, "--algorithm", name, "--output", output)
        if code == 0:
            problem = read_problem(Path(path))
            found = read_placement(output, problem)
            assert violations(found.problem, found.placement) == []
            continue
        (line,) = said(err)
        assert code == 3
        assert name in line
        assert "binding constraint: " in line
        assert not output.exists()
