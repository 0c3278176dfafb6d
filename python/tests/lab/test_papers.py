"""The papers' figures: all listed, all of one piece, and verdicts that follow from figures."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.papers.cells import PaperCell, distinct, parameters_of
from stormcut.lab.papers.claims import (
    ALIKE,
    ClaimVerdict,
    Gain,
    GainRange,
    Judgement,
    Limit,
    MeanGain,
    Missing,
    Order,
    Printed,
    bears_out,
    judged,
    settled,
)
from stormcut.lab.papers.figures import checked
from stormcut.lab.papers.library import PAPER_NAMES, find_paper
from stormcut.lab.papers.measures import (
    DATAFLOW_MEASURES,
    measure,
    problem_of,
)
from stormcut.lab.papers.workloads import CAPACITIES, WORKLOADS, micro_cost
from stormcut.model.errors import InvalidInput
from stormcut.objective.cut import executor_nodes
from stormcut.placement.solve import solve

PAPERS = {name: find_paper(name) for name in PAPER_NAMES}
FIGURES = [(paper, figure) for paper in PAPERS.values() for figure in paper.figures]
RATIOS = st.floats(0.05, 20.0)


def names(values):
    return [f"{paper.name} {figure.number}" for paper, figure in values]


def valued(values):
    """Return a lookup of values by label, whatever the metric."""

    def value(label, metric):
        if label not in values:
            raise Missing(f"{label}: not run")
        return values[label]

    return value


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=names(FIGURES))
class TestFigures:
    def test_it_has_cases_and_claims_or_says_why_not(self, paper, figure):
        assert bool(figure.cases) == bool(figure.claims) == (not figure.left_out)

    def test_claims_and_pictures_name_its_cases(self, paper, figure):
        labels = [case.label for case in figure.cases]
        assert len(set(labels)) == len(labels)
        for claim in figure.claims:
            assert set(claim.labels) <= set(labels), claim.sentence
        assert set(figure.drawn) <= set(labels)

    def test_variants_change_parameters_that_it_has(self, paper, figure):
        for name, variant in figure.variants.items():
            assert variant.keys() <= figure.parameters().keys(), name

    def test_a_case_keeps_what_makes_it(self, paper, figure):
        for case in figure.cases:
            for cell in case.cells(dict.fromkeys(case.parameters, "another")):
                assert dict(case.parameters).items() <= dict(cell.parameters).items()


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_no_two_figures_of_a_paper_share_a_number(paper):
    numbers = [figure.number for figure in paper.figures]
    assert len(set(numbers)) == len(numbers)


def test_every_workload_is_a_problem_with_traffic():
    cells = distinct(cell for _, figure in FIGURES for cell in figure.cells({}))
    cells = [cell for cell in cells if cell.measure not in DATAFLOW_MEASURES]
    assert {cell.workload for cell in cells} == set(WORKLOADS)
    for workload, parameters in {(cell.workload, cell.parameters) for cell in cells}:
        problem = problem_of(PaperCell(workload, "even", "cost", 1, parameters))
        assert problem.traffic.total > 0


def test_cells_are_told_apart_and_travel():
    cells = distinct(cell for _, figure in FIGURES for cell in figure.cells({}))
    assert len({cell.key for cell in cells}) == len(cells)
    assert pickle.loads(pickle.dumps(cells)) == cells


def test_cells_of_two_figures_that_ask_the_same_are_run_once():
    throughput, latency = (PAPERS["thesis"].figure(each) for each in ("7.10", "7.11"))
    assert set(latency.cells({})) <= set(throughput.cells({}))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"nonsense": "1"}, "nonsense"),
        ({"transfer": "much"}, "must be a number"),
        ({"transfer": "-1"}, "at least 0"),
        ({"transfer": "nan"}, "at least 0"),
    ],
)
def test_a_parameter_that_is_none_is_refused(settings, words):
    with pytest.raises(InvalidInput, match=words):
        checked(PAPERS["thesis"].figures, settings)


def test_a_workload_names_what_it_knows():
    outcome = measure(
        PaperCell("taxi", "even", "cost", 1, parameters_of({"cluster": "no such"})),
        lambda name: None,
    )
    assert isinstance(outcome, str)
    assert "8 high" in outcome


class TestRules:
    @given(RATIOS)
    def test_what_is_printed_is_borne_out_by_itself(self, ratio):
        assert bears_out(ratio, ratio)

    @given(RATIOS, RATIOS)
    def test_a_gain_and_its_inverse_are_judged_alike(self, printed, ours):
        assert bears_out(printed, ours) == bears_out(1 / printed, 1 / ours)

    @given(st.floats(1.2, 20.0), st.floats(1.0, 20.0))
    def test_half_of_a_gain_is_enough_and_less_is_not(self, printed, ours):
        share = math.log(ours) / math.log(printed)
        if abs(share - 0.5) > 1e-9:
            assert bears_out(printed, ours) == (share >= 0.5)

    @given(RATIOS)
    def test_similar_is_within_a_tenth(self, ours):
        if abs(abs(math.log(ours)) - math.log1p(ALIKE)) > 1e-9:
            assert bears_out(1.0, ours) == (abs(math.log(ours)) < math.log1p(ALIKE))

    @pytest.mark.parametrize(
        ("claim", "holding", "failing"),
        [
            (Gain("", "a", "b", "m", 1.3), {"a": 1.2, "b": 1.0}, {"a": 1.1, "b": 1.0}),
            (Gain("", "a", "b", "m", 0.6), {"a": 0.7, "b": 1.0}, {"a": 1.1, "b": 1.0}),
            (Gain("", "a", "b", "m", 1.0), {"a": 1.05, "b": 1.0}, {"a": 1.2, "b": 1.0}),
            (
                GainRange("", [("a", "b"), ("c", "b")], "m", (1.1, 1.4)),
                {"a": 1.0, "c": 1.3, "b": 1.0},
                {"a": 0.8, "c": 1.5, "b": 1.0},
            ),
            (
                MeanGain("", [("a", "b"), ("c", "b")], "m", 0.8),
                {"a": 0.7, "c": 0.9, "b": 1.0},
                {"a": 0.95, "c": 0.95, "b": 1.0},
            ),
            (Printed("", {"a": 84, "b": 46}, "m"), {"a": 84, "b": 46}, {"a": 84, "b": 45}),
            (Order("", ("a", "b"), "m"), {"a": 2.0, "b": 2.01}, {"a": 2.0, "b": 2.1}),
            (Order("", ("a", "b"), "m", True), {"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}),
            (Limit("", ("a",), "m", 1.0, "s"), {"a": 0.9}, {"a": 1.1}),
            (Limit("", ("a",), "m", 1.0, "s", True), {"a": 1.1}, {"a": 0.9}),
        ],
        ids=lambda each: type(each).__name__,
    )
    def test_a_figure_that_changes_turns_the_verdict(self, claim, holding, failing):
        assert judged(claim, valued(holding)).verdict is ClaimVerdict.HOLDS
        assert judged(claim, valued(failing)).verdict is ClaimVerdict.FAILS
        assert claim.printed

    def test_what_could_not_be_placed_leaves_a_claim_open(self):
        found = judged(Gain("", "a", "b", "m", 1.3), valued({"a": 1.0}))
        assert (found.verdict, found.reason) == (ClaimVerdict.OPEN, "b: not run")

    def test_a_choice_that_turns_the_verdict_leaves_it_open(self):
        holds, fails = Judgement("+30 %", ClaimVerdict.HOLDS), Judgement("+1 %", ClaimVerdict.FAILS)
        assert settled(holds, {"windows of 10": holds}) == holds
        turned = settled(holds, {"windows of 10": fails})
        assert turned.verdict is ClaimVerdict.OPEN
        assert "windows of 10: +1 %" in turned.reason

    def test_what_a_choice_cannot_tell_turns_nothing(self):
        holds, open_ = Judgement("+30 %", ClaimVerdict.HOLDS), Judgement("-", ClaimVerdict.OPEN)
        assert settled(holds, {"windows of 10": open_}) == holds


class TestMeasures:
    def test_mbit_between_nodes_are_those_of_every_pair(self):
        parameters = {"topologies": "WC+TSSA", "parallelism": "5.3 DTR", "nodes": 6.0}
        cell = PaperCell("stromax", "t-storm", "traffic", 1, parameters_of(parameters))
        found = measure(cell, lambda name: None)
        problem = problem_of(cell)
        nodes = executor_nodes(problem, solve(problem, "t-storm", 1).placement)
        total = 0.0
        for block in problem.traffic.blocks:
            for source in block.sources:
                for target in block.targets:
                    if nodes[source] != nodes[target]:
                        total += block.rate * block.size * 8 / 1e6
        assert found["inb"] == pytest.approx(total)
        parts = [value for name, value in found.items() if name.startswith("inb ")]
        assert sum(parts) == pytest.approx(total)

    def test_local_streams_cross_only_where_no_target_is_local(self):
        parameters = {"topologies": "TT", "grouping": "local_or_shuffle", "nodes": 5.0}
        cell = PaperCell("stromax", "even", "traffic", 1, parameters_of(parameters))
        assert measure(cell, lambda name: None)["inb"] == 0.0

    def test_reassignment_lowers_what_the_paper_says(self):
        """StroMAX, figure 7: fewer Mbit/s from TSSA's spout once DTR has moved its tasks."""
        figure = PAPERS["stromax"].figure("7")
        cases = {case.label: case for case in figure.cases}
        found = {
            label: measure(next(cases[label].cells({})), lambda name: None)
            for label in ("GTGP", "DTR", "DTR, below the limit")
        }
        rates = {label: each["inb TSSA sp -> sensitize"] for label, each in found.items()}
        assert rates["DTR"] < rates["GTGP"] < rates["DTR, below the limit"]
        assert found["DTR"]["moves"] > 0

    def test_a_chain_moves_what_its_last_scheduler_moves(self):
        parameters = parameters_of({"topologies": "WC", "nodes": 6.0})
        alone = measure(PaperCell("stromax", "even", "cost", 1, parameters), lambda name: None)
        kept = measure(
            PaperCell("stromax", "even > even", "cost", 1, parameters), lambda name: None
        )
        assert "moves" not in alone
        assert kept["moves"] == 0
        assert kept["between_nodes"] == alone["between_nodes"]

    @pytest.mark.slow
    def test_sources_in_open_loop_fill_what_was_asked_for(self):
        found = [
            measure(
                PaperCell("pipeline", "even", "open", 1, parameters_of({"fill": fill})),
                lambda name: None,
            )
            for fill in (0.2, 0.4)
        ]
        assert found[1]["between_nodes"] == pytest.approx(2 * found[0]["between_nodes"])
        assert found[1]["latency_ms"] > found[0]["latency_ms"]

    def test_the_schedule_is_the_papers(self):
        """Errata E13 and section 7 of the reading: 8 of 14 slots, parts 11 11 11 13 19 24 5 8 8."""
        cell = PaperCell("pipeline", "pipeline-linear", "rounds", 1, (("application", "random"),))
        found = measure(cell, lambda name: None)
        assert found["ceiling"] == pytest.approx(8 / 14)
        loads = [found[f"load {at}"] for at in range(9)]
        assert loads == [11, 11, 11, 13, 19, 24, 5, 8, 8]
        assert found["divergence"] == pytest.approx(
            np.abs(np.array(loads) - np.mean(loads)).mean() / np.mean(loads)
        )

    @pytest.mark.parametrize("cluster", CAPACITIES)
    @pytest.mark.parametrize(("layout", "pairs"), [("linear", 56), ("diamond", 176), ("star", 104)])
    def test_cost_instances_have_the_pairs_that_the_thesis_has(self, layout, pairs, cluster):
        assert micro_cost(layout, 30, cluster).traffic.total == pairs
