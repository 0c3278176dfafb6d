"""Set partitioning: which patterns to use so that every executor runs somewhere.

The linear relaxation is solved by column generation. Its prices bound what any placement can keep
local, whatever the search dropped, and tell which patterns a better placement could use at all:
those whose worth falls short of the price of their node by less than the gap. Over these, if they
are few enough, the integer problem is solved to the end.

References
----------
P. C. Gilmore and R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961).
R. Baldacci, N. Christofides and A. Mingozzi, "An exact algorithm for the vehicle routing problem
based on the set partitioning formulation with additional cuts", Math. Programming 115 (2008): the
enumeration of columns within the gap.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.exact.cp_sat import SolverLimits, cp_sat_solver
from stormcut.placement.algorithms.exact.folded import Folded
from stormcut.placement.algorithms.exact.patterns import SUM_ERROR, PatternSearch

#: Counts held at a time (partial patterns x groups) when the search for columns begins.
FIRST_COUNTS = 300_000

#: What a search for all patterns within the gap may hold.
LISTED_COUNTS = 6_000_000

#: Columns added per kind of node and round.
COLUMNS_PER_ROUND = 300

#: Partial patterns that may be looked at for each pattern in a list of them.
PARTIAL_PER_COLUMN = 10


@dataclass(frozen=True, eq=False)
class Columns:
    """Patterns with their kind of node and value: shapes (n,), (n, groups), (n,)."""

    kind: Ints
    counts: Ints
    value: Floats

    @classmethod
    def of(cls, folded: Folded, counts: Ints, kinds: Ints) -> Columns:
        """Return different patterns of nodes as columns."""
        rows = np.unique(np.column_stack((kinds, counts)), axis=0)
        return cls(rows[:, 0], rows[:, 1:], folded.local(rows[:, 1:]))

    @classmethod
    def none(cls, groups: int) -> Columns:
        """Return no columns."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, np.zeros((0, groups), dtype=np.int64), np.zeros(0))

    def joined(self, other: Columns) -> Columns:
        """Return both without repetition."""
        kind = np.concatenate((self.kind, other.kind))
        counts = np.concatenate((self.counts, other.counts))
        value = np.concatenate((self.value, other.value))
        first = np.unique(np.column_stack((kind, counts)), axis=0, return_index=True)[1]
        first.sort()
        return Columns(kind[first], counts[first], value[first])


@dataclass(frozen=True, eq=False)
class Relaxation:
    """An upper bound of the local traffic and the prices that prove it.

    Every placement keeps at most ``bound`` = ``prices`` x executors + ``node_prices`` x nodes
    tuples/s local, and its patterns that are worth less than the price of their node take off the
    difference.
    """

    bound: float
    prices: Floats
    node_prices: Floats
    columns: Columns


def relax(
    search: PatternSearch, columns: Columns, goal: float, most_counts: int, deadline: float
) -> Relaxation:
    """Solve the linear relaxation by column generation.

    Parameters
    ----------
    columns : Columns
        Contain a feasible placement.
    goal : float
        Stop when the bound is below.
    most_counts : int
        Counts held at a time (partial patterns x groups), once fewer miss too much.
    deadline : float
        `time.monotonic` at which to stop with the best bound so far.
    """
    folded = search.folded
    available = np.array([len(nodes) for nodes in folded.nodes], dtype=np.float64)
    best = Relaxation(folded.total, np.zeros(len(folded.size)), np.zeros(0), columns)
    rounding = SUM_ERROR * folded.total
    most = max(1, FIRST_COUNTS // search.groups)
    while time.monotonic() < deadline:
        value, prices, node_prices = _linear(folded, columns, available)
        fresh, reach = _price(search, prices, node_prices, most, deadline)
        bound = float(prices @ folded.size + reach @ available)
        known = len(columns.kind)
        columns = columns.joined(fresh)
        if bound < best.bound:
            best = Relaxation(bound, prices, reach, columns)
        if best.bound < goal - rounding or best.bound <= value + rounding:
            break
        if len(columns.kind) == known:
            if (reach <= node_prices + rounding).all() or most * search.groups >= most_counts:
                break
            most *= 4
    return replace(best, columns=columns)


def _price(
    search: PatternSearch, prices: Floats, node_prices: Floats, most: int, deadline: float
) -> tuple[Columns, Floats]:
    """Return patterns worth more than their node's price, and the most any is worth per kind."""
    reach = node_prices.copy()
    fresh = Columns.none(search.groups)
    for kind, price in enumerate(node_prices.tolist()):
        least = price + SUM_ERROR * search.folded.total
        best = search.best(kind, prices, least, most, deadline)
        reach[kind] = max(price, best.missed, best.worth.max(initial=price))
        top = np.argsort(-best.worth, kind="stable")[:COLUMNS_PER_ROUND]
        own = Columns(np.full(len(top), kind), best.counts[top], best.value[top])
        fresh = fresh.joined(own)
    return fresh, reach


def _linear(folded: Folded, columns: Columns, available: Floats) -> tuple[float, Floats, Floats]:
    """Return (value, prices of executors, prices of nodes) of the relaxation over columns."""
    scale = folded.total or 1.0
    one = np.ones(len(columns.kind))
    here = csr_array((one, (columns.kind, np.arange(len(one)))), shape=(len(available), len(one)))
    answer = linprog(
        -columns.value / scale,
        A_ub=here,
        b_ub=available,
        A_eq=csr_array(columns.counts.T.astype(np.float64)),
        b_eq=folded.size,
        method="highs",
    )
    prices = -answer.eqlin.marginals * scale
    node_prices = np.maximum(0.0, -answer.ineqlin.marginals * scale)
    return -answer.fun * scale, prices, node_prices


def candidates(
    search: PatternSearch, relaxation: Relaxation, goal: float, most: int, deadline: float
) -> Columns | None:
    """Return all patterns that a placement keeping at least ``goal`` local can use.

    None if there are more than ``most``, or too many to find out.
    """
    result = Columns.none(search.groups)
    gap = relaxation.bound - goal
    kept = min(LISTED_COUNTS // search.groups, PARTIAL_PER_COLUMN * most)
    for kind, price in enumerate(relaxation.node_prices.tolist()):
        best = search.best(kind, relaxation.prices, price - gap, kept, deadline)
        own = Columns(np.full(len(best.value), kind), best.counts, best.value)
        result = result.joined(own)
        if best.missed > -np.inf or len(result.kind) > most:
            return None
    return result


@dataclass(frozen=True, eq=False)
class Integral:
    """Counts per node and group (nodes in order of kind) or None, and whether none is better."""

    counts: Ints | None
    proven: bool


def choose(
    folded: Folded, columns: Columns, units: Ints, within: range, seed: int, limits: SolverLimits
) -> Integral:
    """Choose columns that use every executor once and keep most local.

    Parameters
    ----------
    units : array of shape (columns,)
        Value of each column as a whole number.
    within : range
        Look only for placements whose value is in it; none is above.
    """
    from ortools.sat.python import cp_model

    available = np.array([len(nodes) for nodes in folded.nodes])
    with np.errstate(divide="ignore"):
        fit = np.where(columns.counts > 0, folded.size // np.maximum(1, columns.counts), 2**30)
    most = np.minimum(fit.min(axis=1), available[columns.kind])
    model = cp_model.CpModel()
    used = [model.new_int_var(0, int(limit), "") for limit in most.tolist()]
    for kind, number in enumerate(available.tolist()):
        model.add(
            sum(used[column] for column in np.flatnonzero(columns.kind == kind).tolist()) <= number
        )
    for group, size in enumerate(folded.size.tolist()):
        own = np.flatnonzero(columns.counts[:, group])
        held = columns.counts[own, group].tolist()
        terms = [used[column] * count for column, count in zip(own.tolist(), held, strict=True)]
        model.add(sum(terms) == size)
    value = cp_model.LinearExpr.weighted_sum(used, units.tolist())
    model.add_linear_constraint(value, within.start, within.stop - 1)
    model.maximize(value)
    solver = cp_sat_solver(seed, limits)
    status = solver.solve(model)
    proven = status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Integral(None, proven)
    times = np.array([solver.value(each) for each in used])
    return Integral(_on_nodes(folded, columns, times), proven)


def _on_nodes(folded: Folded, columns: Columns, times: Ints) -> Ints:
    counts = np.zeros((sum(map(len, folded.nodes)), len(folded.size)), dtype=np.int64)
    first = 0
    for kind, nodes in enumerate(folded.nodes):
        own = columns.kind == kind
        rows = np.repeat(columns.counts[own], times[own], axis=0)
        counts[first : first + len(rows)] = rows
        first += len(nodes)
    return counts
