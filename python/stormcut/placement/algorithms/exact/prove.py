"""The way to the proof: patterns while they can be searched, else the whole problem for CP-SAT."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Ints
from stormcut.placement.algorithms.exact.compact import Target, solve_whole
from stormcut.placement.algorithms.exact.cp_sat import SolverLimits
from stormcut.placement.algorithms.exact.folded import Folded
from stormcut.placement.algorithms.exact.master import Columns, candidates, choose, relax
from stormcut.placement.algorithms.exact.patterns import SUM_ERROR, PatternSearch
from stormcut.placement.algorithms.exact.start import improved

#: Rates that are multiples of the smallest one divided by up to this number are counted exactly.
MAX_DIVISOR = 64

#: Otherwise in these shares of the total, and only a gain of `MIN_GAIN` of it counts as one.
#: CP-SAT adds 64-bit integers: one weight per pattern allows fewer bits than one per rate.
PATTERN_UNIT, RATE_UNIT, MIN_GAIN = 2.0**-44, 2.0**-53, 2.0**-40

#: Share of the remaining time for column generation, and for the list of patterns.
RELAXATION_SHARE = 0.5

#: Counts held at a time by a search for patterns (partial patterns x groups), and patterns within
#: the gap that are chosen from: at first, and when all else failed.
FEW_COUNTS, MAX_COUNTS = 300_000, 6_000_000
FEW_COLUMNS, MAX_COLUMNS = 3_000, 60_000

#: CP-SAT's deterministic seconds for an attempt that may well fail.
LITTLE_EFFORT = 1.0

#: Executors x groups^2 for which patterns are searched, and pairs of groups x nodes up to which
#: the whole problem is given to CP-SAT: both take some hundred MB there.
MAX_SEARCHED = 2e7
MAX_PAIRS = 200_000


@dataclass(frozen=True, eq=False)
class Proof:
    """The best counts per node and group, or None, and what is known about better ones.

    No placement keeps more than ``bound`` tuples/s local. ``proven``: none is better than
    ``counts``, or, without counts, none exists.
    """

    counts: Ints | None
    bound: float
    proven: bool
    method: str


def unit_of_traffic(folded: Folded) -> float | None:
    """Return the tuples/s of which all rates are multiples, None if none is found."""
    rates = np.concatenate((folded.rate.data, [stream.rate for stream in folded.local_first]))
    rates = np.unique(rates[rates > 0])
    if not len(rates):
        return 1.0
    for divisor in range(1, MAX_DIVISOR + 1):
        multiples = rates * (divisor / rates[0])
        whole = np.allclose(multiples, np.rint(multiples), rtol=1e-13, atol=0)
        if whole and folded.total * PATTERN_UNIT * divisor <= rates[0]:
            return float(rates[0] / divisor)
    return None


def least_gain(folded: Folded) -> float:
    """Return the tuples/s by which one placement is better than another at least, to count so."""
    nodes = sum(len(nodes) for nodes in folded.nodes)
    share = max(MIN_GAIN, nodes * PATTERN_UNIT)
    return unit_of_traffic(folded) or share * folded.total


def prove(folded: Folded, start: Ints | None, seed: int, seconds: float) -> Proof:
    """Return the best placement in counts, proven if time allows.

    Parameters
    ----------
    start : array of shape (nodes, groups) or None
        A feasible placement; kept if none is better.
    """
    deadline = time.monotonic() + seconds
    if start is None:
        answer = solve_whole(folded, None, seed, SolverLimits(seconds))
        if answer.counts is None:
            return Proof(None, 0.0, answer.proven, "CP-SAT")
        start = improved(folded, answer.counts, deadline)
    hunt = _Hunt(folded, start, seed, deadline)
    # Small searches first, both ways: each is quick where the other takes long.
    for counts, columns, effort in (
        (FEW_COUNTS, FEW_COLUMNS, LITTLE_EFFORT),
        (MAX_COUNTS, MAX_COLUMNS, np.inf),
    ):
        hunt.by_patterns(counts, columns)
        hunt.as_a_whole(effort)
    return Proof(hunt.counts, hunt.bound, hunt.closed, hunt.method)


class _Hunt:
    """The best placement and bound so far."""

    def __init__(self, folded: Folded, start: Ints, seed: int, deadline: float) -> None:
        self.folded, self.seed, self.deadline = folded, seed, deadline
        self.unit = unit_of_traffic(folded)
        self.least_gain = least_gain(folded)
        self.counts = start
        self.columns = Columns.none(len(folded.size))
        self.bound = folded.total
        self.method = "all traffic local"

    @property
    def goal(self) -> float:
        """What a better placement keeps local at least."""
        return self._value(self.counts) + self.least_gain - SUM_ERROR * self.folded.total

    @property
    def closed(self) -> bool:
        """Whether no better placement can exist."""
        return self.bound < self.goal

    @property
    def left(self) -> float:
        """Seconds that remain."""
        return max(0.0, self.deadline - time.monotonic())

    def by_patterns(self, most_counts: int, most_columns: int) -> None:
        """Column generation, then the choice among all patterns within the gap."""
        groups = len(self.folded.size)
        if self.closed or groups**2 * self.folded.size.sum() > MAX_SEARCHED:
            return
        search = PatternSearch(self.folded)
        known = Columns.of(self.folded, self.counts, self.folded.node_kinds)
        until = time.monotonic() + RELAXATION_SHARE * self.left
        relaxation = relax(search, self.columns.joined(known), self.goal, most_counts, until)
        self.columns = relaxation.columns
        self._lower(relaxation.bound, "column generation over node patterns")
        while not self.closed and self.left and len(relaxation.node_prices):
            until = time.monotonic() + RELAXATION_SHARE * self.left
            listed = candidates(search, relaxation, self.goal, most_columns, until)
            if listed is not None:
                self._choose(listed, complete=True)
                return
            if not self._choose(relaxation.columns, complete=False):
                return

    def _choose(self, columns: Columns, complete: bool) -> bool:
        """Look for a better placement among columns; return whether there was one."""
        effort = np.inf if complete else LITTLE_EFFORT
        unit = self.unit or PATTERN_UNIT * self.folded.total
        units = np.rint(columns.value / unit).astype(np.int64)
        slack = 0 if self.unit else len(self.counts)
        within = range(round(self.goal / unit), math.floor(self.bound / unit + 1e-6) + slack + 1)
        answer = choose(
            self.folded, columns, units, within, self.seed, SolverLimits(self.left, effort)
        )
        if answer.counts is not None:
            self.counts = improved(self.folded, answer.counts, self.deadline)
        if complete and answer.proven:
            value = self._value(self.counts)
            self._lower(value, "set partitioning over all node patterns within the gap")
        return answer.counts is not None

    def as_a_whole(self, effort: float) -> None:
        """CP-SAT on counts per node."""
        if self.closed or self.folded.rate.nnz * len(self.counts) > MAX_PAIRS:
            return
        unit = self.unit or RATE_UNIT * self.folded.total
        slack = 0.0 if self.unit else self.least_gain / 4
        target = Target(unit, self.counts, math.ceil((self.bound + slack) / unit))
        answer = solve_whole(self.folded, target, self.seed, SolverLimits(self.left, effort))
        if answer.counts is not None and self._value(answer.counts) >= self.goal:
            self.counts = answer.counts
        self._lower(answer.bound * unit + slack, "CP-SAT on executors per group and node")

    def _value(self, counts: Ints) -> float:
        return float(self.folded.local(counts).sum())

    def _lower(self, bound: float, method: str) -> None:
        if bound < self.bound:
            self.bound, self.method = bound, method
