"""What a paper claims of its figures, and whether ours bear it out, by rules stated here.

A gain *holds* if ours has the printed direction and at least `SHARE` of its size, both as
logarithms; of one that is printed to be near linear, `NEARLY`. "Similar" holds if the two differ by
`ALIKE` at most. A printed value holds if ours differs by `EXACT` at most. An order holds if none is
better by more than `LEVEL` than the one that is printed to be better. What could not be placed or
simulated *cannot be told*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Protocol

#: Of a printed gain, the least share that bears it out.
SHARE = 0.5
#: Of what is printed to be near linear.
NEARLY = 0.9
#: How much two that are printed to be similar may differ.
ALIKE = 0.1
#: How much a value may differ from the printed one.
EXACT = 0.005
#: What is not worth an order.
LEVEL = 0.01


class ClaimVerdict(Enum):
    """Whether a claim is borne out."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be told"


class Missing(Exception):
    """A claim needs a value that there is not: which, and why."""


#: ``values(label, metric)`` of a figure; raises `Missing`.
Values = Callable[[str, str], float]


@dataclass(frozen=True)
class Judgement:
    """Ours in words, ours over the printed one where both are numbers, and the verdict."""

    ours: str
    verdict: ClaimVerdict
    ratio: float | None = None
    reason: str = ""


class PaperClaim(Protocol):
    """A sentence of a paper, what it prints, and which cases of its figure decide."""

    @property
    def sentence(self) -> str:
        """The claim as a sentence."""
        ...

    @property
    def printed(self) -> str:
        """What the paper prints, for people."""
        ...

    @property
    def metric(self) -> str:
        """What of its cases decides."""
        ...

    @property
    def labels(self) -> Sequence[str]:
        """The cases that decide."""
        ...

    def judge(self, values: Values) -> Judgement:
        """Return what ours say; raises `Missing`."""
        ...


def judged(claim: PaperClaim, values: Values) -> Judgement:
    """Return a claim's judgement; what is missing leaves it open."""
    try:
        return claim.judge(values)
    except Missing as missing:
        return Judgement("-", ClaimVerdict.OPEN, reason=str(missing))


def settled(base: Judgement, others: Mapping[str, Judgement]) -> Judgement:
    """Return the judgement of the chosen parameters, open where another choice turns it.

    Parameters
    ----------
    others : mapping of str to Judgement
        By what was chosen otherwise.
    """
    turned = [
        f"{choice}: {judgement.ours} {judgement.verdict.value}"
        for choice, judgement in others.items()
        if judgement.verdict is not base.verdict and judgement.verdict is not ClaimVerdict.OPEN
    ]
    if base.verdict is ClaimVerdict.OPEN or not turned:
        return base
    reason = f"depends on what the paper does not give; {'; '.join(turned)}"
    return Judgement(base.ours, ClaimVerdict.OPEN, base.ratio, reason)


def _verdict(holds: bool) -> ClaimVerdict:
    return ClaimVerdict.HOLDS if holds else ClaimVerdict.FAILS


def bears_out(printed: float, ours: float, share: float = SHARE) -> bool:
    """Return whether a ratio bears out a printed one, by the rule of the module."""
    if printed <= 0 or ours <= 0:
        return False
    wanted, reached = math.log(printed), math.log(ours)
    if abs(wanted) <= math.log1p(ALIKE / 2):
        return abs(reached) <= math.log1p(ALIKE)
    return reached / wanted >= share


def _change(ratio: float) -> str:
    percent = round(100 * (ratio - 1))
    return f"{percent:+d} %" if percent else "0 %"


@dataclass(frozen=True)
class Gain:
    """One case's metric over another's, as a ratio."""

    sentence: str
    case: str
    over: str
    metric: str
    ratio: float
    share: float = SHARE

    @property
    def printed(self) -> str:
        """The printed change."""
        return "similar" if self.ratio == 1.0 else _change(self.ratio)

    @property
    def labels(self) -> Sequence[str]:
        """Both cases."""
        return (self.case, self.over)

    def judge(self, values: Values) -> Judgement:
        """Return our change."""
        below = values(self.over, self.metric)
        if not below:
            raise Missing(f"{self.over}: {self.metric} is 0")
        ours = values(self.case, self.metric) / below
        holds = bears_out(self.ratio, ours, self.share)
        return Judgement(_change(ours), _verdict(holds), ours / self.ratio)


@dataclass(frozen=True)
class GainRange:
    """Ratios of several pairs of cases, of which the least and the greatest are printed.

    Holds if the greatest change is borne out, and none has the other direction by more than
    `ALIKE`.
    """

    sentence: str
    pairs: Sequence[tuple[str, str]]
    metric: str
    ratios: tuple[float, float]

    @property
    def printed(self) -> str:
        """The printed changes, smallest first."""
        return " to ".join(_change(each) for each in sorted(self.ratios, key=self._size))

    @property
    def labels(self) -> Sequence[str]:
        """All cases."""
        return tuple(dict.fromkeys(label for pair in self.pairs for label in pair))

    @staticmethod
    def _size(ratio: float) -> float:
        return abs(math.log(ratio))

    def judge(self, values: Values) -> Judgement:
        """Return the range of ours, over all pairs that can be told."""
        ours = []
        for case, over in self.pairs:
            below = values(over, self.metric)
            if not below:
                raise Missing(f"{over}: {self.metric} is 0")
            ours.append(values(case, self.metric) / below)
        most = max(self.ratios, key=self._size)
        rises = most > 1
        best, worst = (max(ours), min(ours)) if rises else (min(ours), max(ours))
        against = math.log(worst) * (1 if rises else -1) < -math.log1p(ALIKE)
        text = f"{_change(worst)} to {_change(best)}"
        return Judgement(text, _verdict(bears_out(most, best) and not against), best / most)


@dataclass(frozen=True)
class MeanGain:
    """The mean change over several pairs of cases."""

    sentence: str
    pairs: Sequence[tuple[str, str]]
    metric: str
    ratio: float

    @property
    def printed(self) -> str:
        """The printed change."""
        return f"{_change(self.ratio)} on average"

    @property
    def labels(self) -> Sequence[str]:
        """All cases."""
        return tuple(dict.fromkeys(label for pair in self.pairs for label in pair))

    def judge(self, values: Values) -> Judgement:
        """Return our mean change."""
        ratios = [
            values(case, self.metric) / values(over, self.metric) for case, over in self.pairs
        ]
        ours = sum(ratios) / len(ratios)
        text = f"{_change(ours)} on average"
        return Judgement(text, _verdict(bears_out(self.ratio, ours)), ours / self.ratio)


@dataclass(frozen=True)
class Printed:
    """Values of cases as printed."""

    sentence: str
    values: Mapping[str, float]
    metric: str
    tolerance: float = EXACT

    @property
    def printed(self) -> str:
        """The printed values."""
        return ", ".join(f"{each:g}" for each in self.values.values())

    @property
    def labels(self) -> Sequence[str]:
        """The cases that have a printed value."""
        return tuple(self.values)

    def judge(self, values: Values) -> Judgement:
        """Return our values."""
        ours = {label: values(label, self.metric) for label in self.values}
        same = all(
            abs(ours[label] - each) <= self.tolerance * max(abs(each), 1.0)
            for label, each in self.values.items()
        )
        (first, *others) = self.values.items()
        ratio = None if others or not first[1] else ours[first[0]] / first[1]
        return Judgement(", ".join(f"{each:g}" for each in ours.values()), _verdict(same), ratio)


@dataclass(frozen=True)
class Equal:
    """Cases whose metric is another's: how many of them, printed as all."""

    sentence: str
    pairs: Sequence[tuple[str, str]]
    metric: str

    @property
    def printed(self) -> str:
        """How many are equal."""
        return f"{len(self.pairs)} of {len(self.pairs)}"

    @property
    def labels(self) -> Sequence[str]:
        """All cases."""
        return tuple(dict.fromkeys(label for pair in self.pairs for label in pair))

    def judge(self, values: Values) -> Judgement:
        """Return how many of ours are equal."""
        same = [values(a, self.metric) == values(b, self.metric) for a, b in self.pairs]
        return Judgement(f"{sum(same)} of {len(same)}", _verdict(all(same)), sum(same) / len(same))


@dataclass(frozen=True)
class Order:
    """Cases from best to worst."""

    sentence: str
    cases: Sequence[str]
    metric: str
    lower_is_better: bool = False

    @property
    def printed(self) -> str:
        """The printed order."""
        return f" {'<=' if self.lower_is_better else '>='} ".join(self.cases)

    @property
    def labels(self) -> Sequence[str]:
        """The cases of the order."""
        return self.cases

    def judge(self, values: Values) -> Judgement:
        """Return our values in the printed order."""
        ours = [values(each, self.metric) for each in self.cases]
        sign = -1.0 if self.lower_is_better else 1.0
        holds = all(
            sign * (after - before) <= LEVEL * abs(before) for before, after in pairwise(ours)
        )
        return Judgement(", ".join(f"{each:,.4g}" for each in ours), _verdict(holds))


@dataclass(frozen=True)
class Limit:
    """A metric that no case exceeds, or that each reaches; ``of_mean``: that they do on average."""

    sentence: str
    cases: Sequence[str]
    metric: str
    limit: float
    unit: str
    at_least: bool = False
    said: str = ""
    of_mean: bool = False

    @property
    def printed(self) -> str:
        """The limit, or the words that it stands for."""
        bound = "at least" if self.at_least else "at most"
        return self.said or f"{bound} {self.limit:,g} {self.unit}".strip()

    @property
    def labels(self) -> Sequence[str]:
        """The cases."""
        return self.cases

    def judge(self, values: Values) -> Judgement:
        """Return the case that is nearest to breaking it, or the mean."""
        ours = [values(each, self.metric) for each in self.cases]
        if self.of_mean:
            ours = [sum(ours) / len(ours)]
        worst = min(ours) if self.at_least else max(ours)
        holds = worst >= self.limit if self.at_least else worst <= self.limit
        bound = "at least" if self.at_least else "at most"
        bound = "" if self.of_mean else f"{bound} "
        text = f"{bound}{worst:,.3g} {self.unit}".strip()
        return Judgement(text, _verdict(holds))
