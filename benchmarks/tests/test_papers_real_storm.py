"""Which claims of the papers are judged on real Storm, and by which windows."""

import pytest
from benchmarks import CHECKOUT
from benchmarks.papers.real_storm import (
    ARCHIVE,
    EXPERIMENTS,
    SETTINGS,
    Bench,
    claim_rows,
    dataflow_rows,
    on_storm,
)
from benchmarks.raw_data import open_data

from stormcut.lab.adapters.bench.setting import read_setting
from stormcut.lab.papers.claims import ClaimVerdict, Gain, judged
from stormcut.lab.papers.library import PAPER_NAMES, find_paper

GAIN = Gain("a third more", "a", "b", "executed", 4 / 3)


def windows(*ratios):
    return [judged(GAIN, lambda label, _, r=r: r if label == "a" else 1.0) for r in ratios]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.figure)
def test_each_judges_a_claim_of_its_figure_on_topologies_of_its_setting(experiment):
    printed = {
        each.sentence for each in find_paper(experiment.paper).figure(experiment.figure).claims
    }
    assert experiment.asked()
    assert printed.issuperset(experiment.asked())
    setting = read_setting(str(SETTINGS / f"{experiment.setting}.yaml"))
    assert set(setting.topologies).issuperset(experiment.topologies)


def test_each_paper_has_two_figures_or_more():
    counts = {name: sum(each.paper == name for each in EXPERIMENTS) for name in PAPER_NAMES}
    counts["model-driven"] += len({row[0] for row in dataflow_rows(lambda _: {})})
    assert min(counts.values()) >= 2


def test_a_claim_holds_where_every_window_bears_it_out():
    assert on_storm(GAIN, windows(1.3, 1.4, 1.2)) == ("+30 % (+20 % to +40 %)", "**holds**")


def test_where_windows_disagree_it_cannot_be_told():
    assert on_storm(GAIN, windows(1.3, 1.0, 1.2))[1] == "**cannot be told**"


def test_what_was_not_steady_cannot_be_told():
    assert on_storm(GAIN, [])[1] == "not measured"
    open_only = [judged(GAIN, lambda label, _: 0.0)]
    assert open_only[0].verdict is ClaimVerdict.OPEN
    assert on_storm(GAIN, open_only)[1].startswith("**cannot be told**: b")


@pytest.mark.full
def test_what_was_kept_says_what_the_page_says():
    page = (CHECKOUT / "docs" / "results" / "papers" / "real-storm.md").read_text()
    with open_data(ARCHIVE) as data:
        rows = [
            row for each in EXPERIMENTS for row in claim_rows(each, Bench(data / each.setting), {})
        ]
    for figure, claim, printed, _, _, ours, verdict in (*rows, *dataflow_rows(lambda _: {})):
        begins = f"| {figure} | {claim} | {printed} |"
        (row,) = (line for line in page.splitlines() if line.startswith(begins))
        assert row.endswith(f"| {ours} | {verdict} |")
