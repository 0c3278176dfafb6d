"""What `stormcut reproduce` runs: published figures, cell by cell, and pages of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stormcut import __version__
from stormcut.adapters.files.json_document import write_bytes, write_text
from stormcut.adapters.machine.home import commit, shipped
from stormcut.cli.interruption import interruptible
from stormcut.cli.key_values import parse_pairs
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.files.paper_results import PaperResults
from stormcut.lab.papers.cells import Outcome, PaperCell, Value, distinct
from stormcut.lab.papers.figures import Figure, Paper, checked
from stormcut.lab.papers.library import PAPER_NAMES, find_paper
from stormcut.model.errors import InvalidInput
from stormcut.report.terminal import Grid, terminal

if TYPE_CHECKING:
    from stormcut.lab.report.papers import Judged

#: All papers in the place of one.
EVERY = "all"
#: What says which code has made a page.
_MADE = "Made by stormcut {code}: `{command}`."


def reproduce(
    paper: str,
    numbers: tuple[str, ...],
    settings: tuple[str, ...],
    folder: Path,
    problems: bool,
    lists: bool,
    as_json: bool,
    master: str,
) -> None:
    """Run the figures that were asked for, write their pages and print what was judged."""
    papers = [find_paper(name) for name in (PAPER_NAMES if paper == EVERY else (paper,))]
    if numbers and len(papers) > 1:
        raise InvalidInput("needs one paper: their numbers differ", "--figure")
    chosen_figures = {
        each.name: [each.figure(number) for number in numbers] or list(each.figures)
        for each in papers
    }
    every = [figure for figures in chosen_figures.values() for figure in figures]
    chosen = checked(every, parse_pairs(settings, "--set"))
    if lists:
        _list(papers, chosen_figures, as_json)
        return
    if problems:
        count = sum(
            _write_problems(figures, chosen, folder / name if len(papers) > 1 else folder)
            for name, figures in chosen_figures.items()
        )
        if not count:
            raise InvalidInput("these figures have dataflows, no problems: see examples/capacity")
        click.echo(f"{count} problems in {folder}")
        return
    cells = distinct(cell for figure in every for cell in figure.cells(chosen))
    steps = Steps("stormcut reproduce")
    outcomes = _outcomes(cells, folder, master, steps)
    command = " ".join(
        [
            "stormcut reproduce",
            paper,
            *(f"--figure '{number}'" for number in numbers),
            *(f"--set {each}" for each in settings),
        ]
    )
    with steps.step(f"writing pages to {folder}"):
        suffix = _suffix(numbers, settings)
        verdicts = _write(papers, chosen_figures, outcomes, chosen, folder, command, suffix)
    _print(verdicts, as_json)


def _suffix(numbers: Sequence[str], settings: Sequence[str]) -> str:
    """Return what ends the names of a run's pages: a part leaves the page of the whole alone."""
    return _safe("".join(f"-{each}" for each in (*numbers, *settings)))


def _safe(name: str) -> str:
    """Return a name as that of a file."""
    return "".join(each if each.isalnum() or each in "-.+" else "_" for each in name)


def _code() -> str:
    """Return the version, and the commit where this is a checkout: what others found is old."""
    revision = commit()
    return __version__ if revision is None else f"{__version__}, commit {revision}"


def _outcomes(
    cells: Sequence[PaperCell], folder: Path, master: str, steps: Steps
) -> dict[str, Outcome]:
    """Return what every cell yields, from the folder where it is known."""
    results = PaperResults(folder, _code())
    known = results.read()
    left = [cell for cell in cells if cell.key not in known]
    if not left:
        return known
    # Spark takes half a second to import: only where something is to be run.
    from stormcut.lab.adapters.spark.paper_grid import run_cells

    title = f"running {len(left):,} of {len(cells):,} cells"
    with interruptible(), steps.step(title) as update:
        run_cells(left, shipped("examples/capacity"), master, _kept(results, known, left, update))
    return known


def _kept(
    results: PaperResults,
    known: dict[str, Outcome],
    left: Sequence[PaperCell],
    update: Callable[[str], None],
) -> Callable[[PaperCell, Outcome], None]:
    done = 0

    def note(cell: PaperCell, outcome: Outcome) -> None:
        nonlocal done
        done += 1
        results.append(cell, outcome)
        known[cell.key] = outcome
        update(f"{done:,} of {len(left):,}: {cell.scheduler}, {cell.workload}")

    return note


def _write(
    papers: Sequence[Paper],
    figures: dict[str, list[Figure]],
    outcomes: dict[str, Outcome],
    chosen: dict[str, Value],
    folder: Path,
    command: str,
    suffix: str,
) -> dict[str, tuple[Paper, list[Judged]]]:
    # Matplotlib takes half a second to import.
    from stormcut.lab.report import papers as report

    made = _MADE.format(code=_code(), command=command)
    verdicts: dict[str, tuple[Paper, list[Judged]]] = {}
    for paper in papers:
        own = figures[paper.name]
        verdicts[paper.name] = (paper, report.judged(own, outcomes, chosen))
        stem = f"{paper.name}{suffix}"
        if any(map(report.has_picture, own)):
            write_bytes(folder / f"{stem}.svg", report.draw_figures(own, outcomes, chosen))
        page = report.paper_page(paper, own, outcomes, chosen, made, stem)
        write_text(folder / f"{stem}.md", page)
    if len(papers) > 1:
        summary = report.summary_page(verdicts, outcomes, chosen, made, suffix)
        write_text(folder / f"summary{suffix}.md", summary)
        write_bytes(folder / f"summary{suffix}.svg", report.draw_summary(verdicts))
    return verdicts


def _print(verdicts: dict[str, tuple[Paper, list[Judged]]], as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "paper": name,
                "figure": each.figure.number,
                "claim": each.claim.sentence,
                "printed": each.claim.printed,
                "ours": each.judgement.ours,
                "ratio": each.judgement.ratio,
                "verdict": each.judgement.verdict.value,
                "reason": each.judgement.reason,
            }
            for name, (_, own) in verdicts.items()
            for each in own
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    table = Grid().name("figure").words("claim").words("printed").words("ours").labels("verdict")
    for name, (_, own) in verdicts.items():
        for each in own:
            figure = each.figure.number if len(verdicts) == 1 else f"{name} {each.figure.number}"
            judgement = each.judgement
            table.row(
                figure, each.claim.sentence, each.claim.printed, judgement.ours,
                judgement.verdict.value,
            )  # fmt: skip
    table.print(terminal())


def _list(papers: Sequence[Paper], figures: dict[str, list[Figure]], as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {
            "paper": paper.name,
            "figure": figure.number,
            "title": figure.title,
            "parameters": figure.parameters(),
            "left_out": figure.left_out,
        }
        for paper in papers
        for figure in figures[paper.name]
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Grid().labels("paper").labels("figure").words("what it shows").words("parameters")
    for row in rows:
        given = ", ".join(f"{key}={value}" for key, value in row["parameters"].items())
        why = f"not run: {row['left_out']}" if row["left_out"] else given
        table.row(row["paper"], row["figure"], row["title"], why)
    table.print(terminal())


def _write_problems(figures: Sequence[Figure], chosen: dict[str, Value], folder: Path) -> int:
    """Write each workload once, named by what tells it from the others; return how many."""
    from stormcut.adapters.files.problem_file import write_problem
    from stormcut.lab.papers.measures import DATAFLOW_MEASURES, problem_of
    from stormcut.lab.papers.workloads import WORKLOADS, defaults_of

    named: dict[str, PaperCell] = {}
    for case in (case for figure in figures for case in figure.cases):
        if case.measure in DATAFLOW_MEASURES:
            continue
        cell = next(case.cells(chosen))
        known = defaults_of(WORKLOADS[cell.workload])
        own = [f"{key}-{value}" for key, value in cell.parameters if key in known]
        named.setdefault(f"{_safe('-'.join([cell.workload, *own]))}.json", cell)
    for name, cell in named.items():
        folder.mkdir(parents=True, exist_ok=True)
        write_problem(folder / name, problem_of(cell))
    return len(named)
