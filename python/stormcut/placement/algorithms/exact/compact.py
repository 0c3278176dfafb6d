"""The whole problem for CP-SAT: executors of each group on each node, and what stays local.

For problems whose patterns are too many to search: large nodes, executors that all differ. Its
bound is weaker, but it proves infeasibility, and small problems to the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.exact.cp_sat import SolverLimits, cp_sat_solver
from stormcut.placement.algorithms.exact.folded import Folded

#: Sums of loads are compared in units of this share of a limit, if loads are no round numbers.
FINEST = 2.0**-40


@dataclass(frozen=True, eq=False)
class SolverAnswer:
    """What CP-SAT knows when it ends.

    ``counts`` (nodes, groups) is the best placement found or None; ``bound`` in units, what none
    exceeds; ``proven`` whether that placement is best, or, without one, none exists.
    """

    counts: Ints | None
    bound: float
    proven: bool


@dataclass(frozen=True, eq=False)
class Target:
    """What to maximise: local traffic in units of so many tuples/s.

    ``start`` (nodes, groups) is a feasible placement to improve, ``bound`` what none exceeds.
    """

    unit: float
    start: Ints
    bound: int


def solve_whole(
    folded: Folded, target: Target | None, seed: int, limits: SolverLimits
) -> SolverAnswer:
    """Solve with CP-SAT; without a target any feasible placement will do."""
    from ortools.sat.python import cp_model

    model = _CompactModel(folded)
    if target is not None:
        model.maximise_local(target.unit, target.bound)
        model.hint(target.start)
    solver = cp_sat_solver(seed, limits)
    status = solver.solve(model.cp)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return SolverAnswer(None, np.inf, status == cp_model.INFEASIBLE)
    counts = np.array([solver.value(each) for each in model.held.flat], dtype=np.int64)
    bound = solver.best_objective_bound if target is not None else np.inf
    return SolverAnswer(counts.reshape(model.held.shape), bound, status == cp_model.OPTIMAL)


class _CompactModel:
    """Variables ``held[node, group]`` and the constraints of the judge."""

    def __init__(self, folded: Folded) -> None:
        from ortools.sat.python import cp_model

        self.cp = cp_model.CpModel()
        self.folded = folded
        self.kinds = folded.node_kinds
        self.most = _most_alone(folded)
        shape = (len(self.kinds), len(folded.size))
        self.held: Any = np.empty(shape, dtype=object)
        for node, group in np.ndindex(shape):
            most = int(self.most[self.kinds[node], group])
            self.held[node, group] = self.cp.new_int_var(0, most, "")
        for group, size in enumerate(folded.size.tolist()):
            self.cp.add(sum(self.held[:, group]) == size)
        for node in range(shape[0]):
            self._limit_loads(node)
            self._limit_topologies(node)
        self._order_equal_nodes()

    def _limit_loads(self, node: int) -> None:
        for resource, limit in enumerate(self.folded.limit[self.kinds[node]].tolist()):
            if np.isfinite(limit):
                loads, most = _whole_numbers(self.folded.load[:, resource], limit)
                terms = zip(self.held[node], loads.tolist(), strict=True)
                self.cp.add(sum(held * load for held, load in terms if load) <= most)

    def _limit_topologies(self, node: int) -> None:
        topologies = np.unique(self.folded.topology)
        slots = int(self.folded.slots[self.kinds[node]])
        if slots >= len(topologies):
            return
        guests = []
        for topology in topologies.tolist():
            guest = self.cp.new_bool_var("")
            for group in np.flatnonzero(self.folded.topology == topology).tolist():
                most = int(self.most[self.kinds[node], group])
                self.cp.add(self.held[node, group] <= most * guest)
            guests.append(guest)
        self.cp.add(sum(guests) <= slots)

    def _order_equal_nodes(self) -> None:
        """Equal nodes may be ordered by what they hold of the most numerous group."""
        group = int(np.argmax(self.folded.size))
        for node in np.flatnonzero(self.kinds[1:] == self.kinds[:-1]).tolist():
            self.cp.add(self.held[node, group] >= self.held[node + 1, group])

    def hint(self, counts: Ints) -> None:
        """Tell the solver a placement, its equal nodes put in order."""
        group = int(np.argmax(self.folded.size))
        ordered = counts[np.lexsort((-counts[:, group], self.kinds))]
        for variable, value in zip(self.held.flat, ordered.flat, strict=True):
            self.cp.add_hint(variable, int(value))

    def maximise_local(self, unit: float, bound: int) -> None:
        """Maximise the traffic that stays on nodes, counted in units."""
        rates = self.folded.rate.tocoo()
        upper = rates.row <= rates.col
        terms = []
        for one, other, rate in zip(
            rates.row[upper].tolist(), rates.col[upper].tolist(), rates.data[upper], strict=True
        ):
            weight = round(rate / unit)
            for node in range(len(self.kinds)):
                pairs = self._pairs(node, one, other)
                if pairs is not None and weight:
                    terms.append(weight * pairs)
        for stream in self.folded.local_first:
            weight = round(stream.rate / unit)
            terms += [weight * self._served(node, stream) for node in range(len(self.kinds))]
        self.cp.add(sum(terms) <= bound)
        self.cp.maximize(sum(terms))

    def _pairs(self, node: int, one: int, other: int) -> Any:
        """Return a variable for the pairs of two groups on a node, None if there can be none."""
        most = self.most[self.kinds[node]]
        first, second = self.held[node, one], self.held[node, other]
        if one == other:
            table = [n * (n - 1) // 2 for n in range(int(most[one]) + 1)]
            if table[-1] == 0:
                return None
            pairs = self.cp.new_int_var(0, table[-1], "")
            self.cp.add_element(first, table, pairs)
            return pairs
        if not most[one] or not most[other]:
            return None
        pairs = self.cp.new_int_var(0, int(most[one] * most[other]), "")
        self.cp.add(pairs <= int(most[other]) * first)
        self.cp.add(pairs <= int(most[one]) * second)
        if most[one] > 1 and most[other] > 1:
            self.cp.add_multiplication_equality(pairs, [first, second])
        return pairs

    def _served(self, node: int, stream: Any) -> Any:
        """Return a variable for the sources of a stream that have a target on their node."""
        sources = self.held[node, stream.sources]
        most = int(self.folded.size[stream.sources].sum())
        target, served = self.cp.new_bool_var(""), self.cp.new_int_var(0, most, "")
        self.cp.add(target <= sum(self.held[node, stream.targets]))
        self.cp.add(served <= most * target)
        self.cp.add(served <= sum(sources))
        return served


def _most_alone(folded: Folded) -> Ints:
    """Return how many executors of a group fit an empty node, shape (kinds, groups)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = folded.limit[:, None, :] / folded.load
    fit = np.where(folded.load > 0, fit, np.inf).min(axis=2)
    return np.asarray(np.minimum(np.floor(fit), folded.size), dtype=np.int64)


def _whole_numbers(loads: Floats, limit: float) -> tuple[Ints, int]:
    """Return loads and limit as whole numbers: exact for decimals, else within `FINEST`."""
    for scale in (1.0, 10.0, 100.0, 1000.0):
        scaled = loads * scale
        if np.allclose(scaled, np.rint(scaled), rtol=1e-12, atol=0):
            return np.rint(scaled).astype(np.int64), int(np.floor(limit * scale))
    scale = 1 / (FINEST * max(limit, 1.0))
    return np.rint(loads * scale).astype(np.int64), int(np.floor(limit * scale))
