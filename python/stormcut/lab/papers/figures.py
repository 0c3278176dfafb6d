"""A published figure or table: its cases, its claims, and what the paper does not give."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stormcut.lab.papers.cells import Outcome, PaperCell, Value, parameters_of
from stormcut.lab.papers.claims import (
    Judgement,
    Missing,
    PaperClaim,
    Values,
    judged,
    settled,
)
from stormcut.lab.papers.measures import parameters_known
from stormcut.model.errors import InvalidInput

Parameters = Mapping[str, Value]

#: Why a worked example is not run.
WORKED_EXAMPLE = "a worked example without a measurement: a test of the algorithm has its values"


@dataclass(frozen=True)
class Case:
    """A row of a figure: a scheduler on a workload, over seeds.

    ``parameters`` are the case's own: what tells it from others is not changed by a reader.
    """

    label: str
    workload: str
    scheduler: str
    measure: str
    parameters: Parameters = field(default_factory=dict)
    seeds: Sequence[int] = (1,)

    def cells(self, chosen: Parameters) -> Iterator[PaperCell]:
        """Yield its cells under these parameters, those of the case first."""
        known = parameters_known(self.workload, self.measure)
        given = {**chosen, **self.parameters}
        own = {name: given[name] for name in known if name in given}
        for seed in self.seeds:
            yield PaperCell(self.workload, self.scheduler, self.measure, seed, parameters_of(own))


@dataclass(frozen=True)
class Figure:
    """A published figure or table.

    Parameters
    ----------
    number : str
        As the paper numbers it, such as ``7.10`` or ``table 9``.
    title : str
        What it shows.
    where : str
        The section whose prose has its values.
    cases : sequence of Case
    claims : sequence of PaperClaim
    metric, unit : str
        What its picture shows of each case.
    variants : mapping of str to parameters
        Other choices of what the paper does not give; a claim that one of them turns is open.
    drawn : sequence of str
        Labels in the picture; all of them if empty.
    takes_least : bool
        Whether the best of a case's seeds counts, not their median.
    left_out : str
        Why it is not run; then it has no cases.
    """

    number: str
    title: str
    where: str
    cases: Sequence[Case] = ()
    claims: Sequence[PaperClaim] = ()
    metric: str = ""
    unit: str = ""
    variants: Mapping[str, Parameters] = field(default_factory=dict)
    drawn: Sequence[str] = ()
    takes_least: bool = False
    left_out: str = ""

    def parameters(self) -> dict[str, Value]:
        """Return what a reader may change, with its defaults."""
        values: dict[str, Value] = {}
        for case in self.cases:
            known = parameters_known(case.workload, case.measure)
            values |= {key: value for key, value in known.items() if key not in case.parameters}
        return values

    def cells(self, chosen: Parameters) -> Iterator[PaperCell]:
        """Yield all cells: every case as chosen, and those that decide under each variant."""
        for case in self.cases:
            yield from case.cells(chosen)
        deciding = {label for claim in self.claims for label in claim.labels}
        for variant in self.variants_of(chosen).values():
            for case in self.cases:
                if case.label in deciding:
                    yield from case.cells({**chosen, **variant})

    def variants_of(self, chosen: Parameters) -> Mapping[str, Parameters]:
        """Return the variants that change nothing that was chosen."""
        return {
            name: variant
            for name, variant in self.variants.items()
            if not variant.keys() & chosen.keys()
        }

    def values(self, outcomes: Mapping[str, Outcome], chosen: Parameters) -> Values:
        """Return ``values(label, metric)`` over the seeds of each case; raises `Missing`."""
        cases = {case.label: case for case in self.cases}

        def value(label: str, metric: str) -> float:
            results = [outcomes.get(each.key, "not run") for each in cases[label].cells(chosen)]
            numbers = [
                each[metric] for each in results if not isinstance(each, str) and metric in each
            ]
            if not numbers:
                refusals = [each for each in results if isinstance(each, str)]
                raise Missing(f"{label}: {refusals[0] if refusals else f'has no {metric}'}")
            return min(numbers) if self.takes_least else statistics.median(numbers)

        return value

    def judgements(
        self, outcomes: Mapping[str, Outcome], chosen: Parameters
    ) -> Iterator[tuple[PaperClaim, Judgement, Mapping[str, Judgement]]]:
        """Yield each claim, its judgement, and those under each variant."""
        variants = self.variants_of(chosen)
        for claim in self.claims:
            base = judged(claim, self.values(outcomes, chosen))
            others = {
                name: judged(claim, self.values(outcomes, {**chosen, **variant}))
                for name, variant in variants.items()
            }
            yield claim, settled(base, others), others


@dataclass(frozen=True)
class Paper:
    """One of the five papers, and its figures in its own order."""

    name: str
    title: str
    claim: str
    choices: str
    figures: Sequence[Figure]

    def figure(self, number: str) -> Figure:
        """Return a figure by its number.

        Raises
        ------
        InvalidInput
            There is none.
        """
        for figure in self.figures:
            if figure.number == number:
                return figure
        known = ", ".join(each.number for each in self.figures)
        raise InvalidInput(f"{self.name} has no figure {number!r}; it has {known}", "--figure")


def checked(figures: Sequence[Figure], chosen: Mapping[str, str]) -> dict[str, Value]:
    """Return a reader's parameters with the types of their defaults.

    Raises
    ------
    InvalidInput
        No figure has one of them, or it is no number where one is wanted.
    """
    known: dict[str, Value] = {}
    for figure in figures:
        known |= figure.parameters()
    values: dict[str, Value] = {}
    for key, text in chosen.items():
        if key not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise InvalidInput(f"no figure has a parameter {key!r}; there are {listed}", "--set")
        values[key] = text if isinstance(known[key], str) else _number(key, text)
    return values


def _number(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidInput(f"must be a number, not {text!r}", f"--set {key}") from None
    if not 0 <= value < float("inf"):
        raise InvalidInput(f"must be at least 0, not {text}", f"--set {key}")
    return value
