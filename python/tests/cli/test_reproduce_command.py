"""`stormcut reproduce`: pages that say what holds, and runs that go on where they ended."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from stormcut.adapters.files.problem_file import read_problem
from stormcut.lab.adapters.files.paper_results import FILE
from stormcut.lab.papers.library import PAPER_NAMES, find_paper

EXAMPLES = Path(__file__).parents[3] / "examples" / "papers"
PAPERS = {name: find_paper(name) for name in PAPER_NAMES}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["thesis", "--figure", "77"], ["77", "7.10"]),
        (["all", "--figure", "7.10"], ["--figure", "one paper"]),
        (["stromax", "--set", "nonsense=1"], ["nonsense", "fill"]),
        (["stromax", "--set", "fill"], ["KEY=VALUE"]),
        (["stromax", "--set", "fill=much"], ["number"]),
        (["model-driven", "--problems"], ["dataflows"]),
    ],
)
def test_what_is_none_is_refused(stormcut, tmp_path, arguments, words):
    code, out, err = stormcut("reproduce", *arguments, "--folder", tmp_path / "new")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert all(word in err for word in words), err
    assert not (tmp_path / "new").exists()


def test_a_list_names_every_figure(stormcut):
    code, out, _ = stormcut("reproduce", "all", "--list", "--json")
    rows = json.loads(out)
    listed = {(row["paper"], row["figure"]) for row in rows}
    assert code == 0
    assert listed == {(p.name, f.number) for p in PAPERS.values() for f in p.figures}
    assert all(row["left_out"] or row["parameters"] is not None for row in rows)


def test_its_problems_are_problem_files(stormcut, tmp_path):
    arguments = ("thesis", "--figure", "7.10", "--problems", "--folder", tmp_path)
    code, out, _ = stormcut("reproduce", *arguments)
    files = list(tmp_path.glob("*.json"))
    assert code == 0
    assert f"{len(files)} problems" in out
    assert all(read_problem(file).executor_count == 40 for file in files)


def test_the_examples_are_the_problems_of_all_papers(stormcut, tmp_path):
    code, _, _ = stormcut("reproduce", "all", "--problems", "--folder", tmp_path)
    assert code == 0
    kept, made = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.json")}
        for folder in (EXAMPLES, tmp_path)
    )
    assert kept == made


@pytest.mark.spark
class TestRun:
    FIGURE = ("reproduce", "model-driven", "--figure", "7 a", "--figure", "10 a")
    STEM = "model-driven-7_a-10_a"

    #: What the run printed, and the folder that it wrote.
    first: tuple[str, Path] | None = None

    @pytest.fixture
    def pages(self, stormcut, tmp_path, tmp_path_factory, monkeypatch):
        """Run once; return what that printed, and copy what it wrote into the test's own folder."""
        # Workers run in this package's Python, whatever the PATH says.
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "bin" / "python3").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        if self.first is None:
            folder = tmp_path_factory.mktemp("reproduced")
            code, out, _ = stormcut(*self.FIGURE, "--folder", folder)
            assert code == 0
            type(self).first = out, folder
        out, folder = self.first
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        return out

    def test_it_prints_what_holds_and_writes_a_page(self, stormcut, tmp_path, pages):
        assert all(len(line) <= 100 for line in pages.splitlines())
        page = (tmp_path / f"{self.STEM}.md").read_text()
        assert "| 7 a | LSA with RSM at 200 | 28 | 28 | 1.00 | **holds** |" in page
        assert "| 7 a | LSA with RSM at 100 | 13 | 14 | 1.08 | **does not hold** |" in page
        assert (tmp_path / f"{self.STEM}.svg").read_bytes().startswith(b"<?xml")
        # The second run asks nothing of Spark: what is known is not measured again.
        kept = (tmp_path / FILE).read_bytes()
        code, again, err = stormcut(*self.FIGURE, "--folder", tmp_path)
        assert (code, again) == (0, pages)
        assert "running" not in err
        assert (tmp_path / FILE).read_bytes() == kept
        assert (tmp_path / f"{self.STEM}.md").read_text() == page

    def test_a_part_leaves_the_page_of_the_whole_alone(self, tmp_path, pages):
        assert {file.name for file in tmp_path.glob("*.md")} == {f"{self.STEM}.md"}

    def test_a_run_goes_on_where_it_ended(self, stormcut, tmp_path, pages):
        lines = (tmp_path / FILE).read_text().splitlines(keepends=True)
        # The last line was cut off, and the one before it is of other code.
        other = lines[-2].replace(json.loads(lines[-2])[0], "0.0.0", 1)
        (tmp_path / FILE).write_text("".join([*lines[:-2], other, lines[-1][:20]]))
        code, again, err = stormcut(*self.FIGURE, "--folder", tmp_path)
        assert (code, again) == (0, pages)
        assert "running 2 of" in err
        _, _, err = stormcut(*self.FIGURE, "--folder", tmp_path)
        assert "running" not in err

    def test_a_result_that_is_another_turns_the_verdict(self, stormcut, tmp_path, pages):
        lines = []
        for line in (tmp_path / FILE).read_text().splitlines():
            version, key, outcome = json.loads(line)
            lines.append(json.dumps([version, key, {**outcome, "slots": 28.0}]))
        (tmp_path / FILE).write_text("\n".join(lines) + "\n")
        _, out, _ = stormcut(*self.FIGURE, "--folder", tmp_path, "--json")
        verdicts = {row["claim"]: row["verdict"] for row in json.loads(out)}
        assert verdicts["LSA with RSM at 200"] == "holds"
        assert verdicts["LSA with RSM at 50"] == "does not hold"
