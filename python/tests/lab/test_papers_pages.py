"""Pages of the papers' figures: every claim once, every figure named, whatever was found."""

from __future__ import annotations

import random
import re

import pytest

from stormcut.lab.papers.library import PAPER_NAMES, find_paper
from stormcut.lab.report.papers import (
    draw_figures,
    draw_summary,
    has_picture,
    judged,
    paper_page,
    summary_page,
)

PAPERS = {name: find_paper(name) for name in PAPER_NAMES}


def outcomes_of(figures, refused=0.0):
    """Return made-up outcomes with whatever any claim asks for, some of them refusals."""
    chance = random.Random(1)
    found = {}
    for figure in figures:
        metrics = {figure.metric, *(claim.metric for claim in figure.claims), "nodes"}
        for cell in figure.cells({}):
            values = {metric: chance.uniform(1.0, 2.0) for metric in sorted(metrics)}
            known = found.setdefault(cell.key, {})
            if isinstance(known, dict):
                known |= values
            if chance.random() < refused:
                found[cell.key] = "found none: no room"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("refused", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_a_page_has_every_claim_and_every_figure(paper, refused):
    outcomes = outcomes_of(paper.figures, refused)
    page = paper_page(paper, paper.figures, outcomes, {}, "Made by hand.", "part")
    assert "](part.svg)" in page
    for figure in paper.figures:
        if figure.cases:
            assert f"## {figure.number}: {figure.title}" in page
        else:
            assert f"| {figure.number} | {figure.title} | {figure.left_out} |" in page
        for claim in figure.claims:
            assert page.count(f"| {figure.number} | {claim.sentence} | {claim.printed} |") == 1
    # Every table is one: as many cells in each row as in its head.
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("refused", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_picture_has_a_panel_for_each_figure_that_prints_numbers(refused, count):
    figures = [each for each in PAPERS["thesis"].figures if has_picture(each)][:count]
    picture = draw_figures(figures, outcomes_of(figures, refused), {})
    assert picture.count(b'id="axes_') == count


@pytest.mark.slow
def test_a_summary_counts_each_claim_once():
    figures = [figure for paper in PAPERS.values() for figure in paper.figures]
    outcomes = outcomes_of(figures)
    told = {name: (paper, judged(paper.figures, outcomes, {})) for name, paper in PAPERS.items()}
    page = summary_page(told, outcomes, {}, "Made by hand.")
    for name, (paper, own) in told.items():
        row = rf"\[{name}\]\({name}\.md\).*" + r"\| (\d+) " * 4
        (counts,) = re.findall(row, page)
        *verdicts, left_out = map(int, counts)
        assert sum(verdicts) == len(own)
        assert left_out == sum(not figure.cases for figure in paper.figures)
    assert draw_summary(told).startswith(b"<?xml")
