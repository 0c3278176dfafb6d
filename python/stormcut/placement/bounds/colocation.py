"""Upper bounds on the traffic that can stay on nodes, for one piece of the traffic graph.

See `lower_bound` for the conditions that the linear program states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack

from stormcut.arrays import Floats, Ints

#: Pieces of so many groups get a variable for every pair, so that eigenvectors give cuts.
DENSE = 80

#: Cuts added in one round, from the most negative eigenvalues.
CUTS = 10

#: Eigenvalues closer to 0 than this share of the largest count as 0.
ZERO = 1e-6


@dataclass(frozen=True, eq=False)
class Piece:
    """A connected part of the traffic graph that no node can hold whole.

    Parameters
    ----------
    size : array of shape (groups,)
        Executors of each group.
    load : array of shape (groups, resources)
        What one of them needs.
    rates : csr_array of shape (groups, groups)
        Symmetric tuples/s between two executors, on the diagonal between two of one group.
    kinds : array of shape (kinds, resources)
        Capacities of the kinds of nodes; infinite where there is no limit.
    nodes : array of shape (kinds,)
        How many nodes there are of each.
    """

    size: Floats
    load: Floats
    rates: csr_array
    kinds: Floats
    nodes: Floats

    @cached_property
    def total(self) -> float:
        """Tuples/s between different executors."""
        within = self.rates.diagonal() @ self.size
        return float(self.size @ (self.rates @ self.size) - within) / 2

    @cached_property
    def most(self) -> Floats:
        """Most executors of each group that one node of each kind holds, (kinds, groups)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            fit = self.kinds[:, None, :] / self.load
        fit = np.where(self.load > 0, fit, np.inf).min(axis=2, initial=np.inf)
        result: Floats = np.minimum(np.floor(fit), self.size)
        return result

    def beside(self, first: Ints, second: Ints) -> Floats:
        """Return how many executors of a group fit on a node with one of another, (pairs,).

        Parameters
        ----------
        first, second : arrays of shape (pairs,)
            The group counted and the other; of the same group, the other one is not counted.
        """
        best = np.zeros(len(first))
        for capacity in self.kinds:
            room = capacity - self.load[second]
            with np.errstate(divide="ignore", invalid="ignore"):
                fit = np.where(self.load[first] > 0, room / self.load[first], np.inf)
            count = np.floor(fit.min(axis=1, initial=np.inf))
            best = np.maximum(best, np.where((room >= 0).all(axis=1), count, 0.0))
        result: Floats = np.minimum(best, self.size[first] - (first == second))
        return result

    def fits(self) -> bool:
        """Return whether some node holds the whole piece."""
        return bool((self.size @ self.load <= self.kinds).all(axis=1).any())


def by_neighbours(piece: Piece) -> float:
    """Return a bound from each executor alone: the neighbours that fit beside it on a node.

    O(pairs of groups x resources); each limit is taken by itself, its fractional knapsack filled
    with what exchanges most for its load.
    """
    edges = piece.rates.tocoo()
    row, col = edges.row, edges.col
    count = piece.beside(col, row)
    best = np.bincount(row, weights=edges.data * count, minlength=len(piece.size))
    for resource in np.flatnonzero(np.isfinite(piece.kinds).all(axis=0)):
        load = piece.load[:, resource]
        room = piece.kinds[:, resource].max() - load[row]
        with np.errstate(divide="ignore"):
            order = np.lexsort((-edges.data / load[col], row))
        needed = (load[col] * count)[order]
        before = np.cumsum(needed) - needed
        starts = np.searchsorted(row[order], row[order])
        left = room[order] - (before - before[starts])
        share = np.clip(left / np.where(needed > 0, needed, 1.0), 0.0, 1.0)
        share[needed == 0] = 1.0
        value = share * (edges.data * count)[order]
        best = np.minimum(best, np.bincount(row[order], weights=value, minlength=len(best)))
    return float(piece.size @ best) / 2


def by_cutting_planes(pieces: list[Piece], rounds: int) -> list[float]:
    """Return a bound for each piece from that many rounds of linear programs.

    For the native server (see `native`): HiGHS may hang.
    """
    return [_SemidefiniteRelaxation(piece).bound(rounds) for piece in pieces]


class _SemidefiniteRelaxation:
    """Variables W of pairs of groups, then executors of each group on each kind of node."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        count = len(piece.size)
        self.dense = count <= DENSE
        edges = piece.rates.tocoo()
        upper = edges.row < edges.col
        if self.dense:
            self.first, self.second = np.triu_indices(count)
        else:
            every = np.arange(count)
            self.first = np.concatenate((every, edges.row[upper]))
            self.second = np.concatenate((every, edges.col[upper]))
        self.pairs = len(self.first)
        self.same = self.first == self.second
        self.width = self.pairs + count * len(piece.nodes)
        self.edges = np.stack((edges.row[upper], edges.col[upper]), axis=1)
        #: Rows of the program and their right-hand sides; the first never go.
        self.rows: list[csr_array] = []
        self.right: list[Floats] = []
        self._bound_variables()
        self._limit_company()
        self._divide_over_kinds()
        self.lasting = len(self.right[0])
        for g, h in self.edges.tolist():
            self._cut(np.array([g, h]), np.array([1.0, -1.0]))

    def _bound_variables(self) -> None:
        piece, first, second = self.piece, self.first, self.second
        high = np.minimum(
            (piece.beside(first, second) + self.same) * piece.size[second],
            (piece.beside(second, first) + self.same) * piece.size[first],
        )
        low = np.where(self.same, piece.size[first], 0.0)
        held = np.minimum(piece.size, piece.nodes[:, None] * piece.most).T.reshape(-1)
        self.low = np.concatenate((low, np.zeros(len(held))))
        self.high = np.concatenate((np.maximum(low, high), held))
        rates = np.asarray(piece.rates[first, second]).reshape(-1)
        self.value = np.concatenate((np.where(self.same, rates / 2, rates), np.zeros(len(held))))
        self.constant = -float(piece.rates.diagonal() @ piece.size) / 2

    def _limit_company(self) -> None:
        """Condition 2, and no kind of node holds more than all of its nodes do."""
        piece, count, kinds = self.piece, len(self.piece.size), len(self.piece.nodes)
        held = self.pairs + np.arange(count * kinds).reshape(count, kinds)
        rows: list[Ints] = []
        cols: list[Ints] = []
        values: list[Floats] = []
        right: list[float] = []
        for resource in np.flatnonzero(np.isfinite(piece.kinds).all(axis=0)):
            load, capacity = piece.load[:, resource], piece.kinds[:, resource]
            scale = capacity.max() if capacity.max() > 0 else 1.0
            variable = np.arange(self.pairs)
            twice = ~self.same
            rows += [self.first + len(right), self.second[twice] + len(right)]
            cols += [variable, variable[twice]]
            values += [load[self.second] / scale, load[self.first[twice]] / scale]
            rows.append(np.repeat(np.arange(count), kinds) + len(right))
            cols.append(held.reshape(-1))
            values.append(np.tile(-capacity / scale, count))
            right += [0.0] * count
            rows.append(np.tile(np.arange(kinds), count) + len(right))
            cols.append(held.reshape(-1))
            values.append(np.repeat(load / scale, kinds))
            right += (piece.nodes * capacity / scale).tolist()
        shape = (len(right), self.width)
        entries = [np.concatenate(part) if rows else np.zeros(0) for part in (values, rows, cols)]
        cells = (entries[1].astype(np.int64), entries[2].astype(np.int64))
        self.rows.append(coo_array((entries[0], cells), shape=shape).tocsr())
        self.right.append(np.array(right))

    def _divide_over_kinds(self) -> None:
        """Every executor is on a node of some kind."""
        count, kinds = len(self.piece.size), len(self.piece.nodes)
        held = self.pairs + np.arange(count * kinds)
        cells = (np.repeat(np.arange(count), kinds), held)
        shape = (count, self.width)
        self.equal = coo_array((np.ones(len(held)), cells), shape=shape).tocsr()

    def _cut(self, groups: Ints, weights: Floats) -> None:
        """Condition 3 for a vector with these weights on these groups and 0 on others."""
        vector = np.zeros(len(self.piece.size))
        vector[groups] = weights
        products = vector[self.first] * vector[self.second] * np.where(self.same, 1.0, 2.0)
        columns = np.flatnonzero(products)
        scale = np.abs(products[columns]).max()
        whole = bool((weights == np.rint(weights)).all())
        least = abs(float(vector @ self.piece.size)) if whole else 0.0
        row = (-products[columns] / scale, (np.zeros(len(columns), dtype=np.int64), columns))
        self.rows.append(coo_array(row, shape=(1, self.width)).tocsr())
        self.right.append(np.array([-least / scale]))

    def bound(self, rounds: int) -> float:
        """Return the least bound of all rounds, at most all traffic of the piece."""
        best = self.piece.total
        for _ in range(rounds):
            solved = self._solve()
            if solved is None:
                break
            value, together = solved
            best = min(best, value)
            cuts = list(self._violated(together))
            if not cuts:
                break
            for groups, weights in cuts:
                self._cut(groups, weights)
        return best

    def _solve(self) -> tuple[float, Floats] | None:
        """Return a proven bound and the pairs together in the relaxed optimum."""
        from scipy.optimize import linprog

        self.rows, self.right = [vstack(self.rows, format="csr")], [np.concatenate(self.right)]
        answer = linprog(
            -self.value,
            A_ub=self.rows[0],
            b_ub=self.right[0],
            A_eq=self.equal,
            b_eq=self.piece.size,
            bounds=np.stack((self.low, self.high), axis=1),
            method="highs",
        )
        if answer.status != 0:
            return None
        prices = np.maximum(-answer.ineqlin.marginals, 0.0)
        free = -answer.eqlin.marginals
        reduced = self.value - self.rows[0].T @ prices - self.equal.T @ free
        # Weak duality for whatever prices, exact or not.
        value = self.right[0] @ prices + self.piece.size @ free
        value += np.maximum(reduced * self.low, reduced * self.high).sum()
        # Cuts that do not bind have done their work; if they are needed again, they come again.
        keep = (prices > 0) | (np.arange(len(prices)) < self.lasting)
        self.rows, self.right = [self.rows[0][keep]], [self.right[0][keep]]
        return float(value) + self.constant, answer.x[: self.pairs]

    def _violated(self, together: Floats) -> Iterator[tuple[Ints, Floats]]:
        """Yield vectors of groups and weights whose condition 3 does not hold."""
        size = self.piece.size
        if not self.dense:
            own = together[: len(size)]
            g, h = self.edges[:, 0], self.edges[:, 1]
            apart = together[len(size) :] ** 2 > own[g] * own[h] * (1 + ZERO)
            for edge in np.flatnonzero(apart).tolist():
                ends = self.edges[edge]
                yield ends, np.array([1.0, -1.0]) / np.sqrt(own[ends])
            return
        full = np.zeros((len(size), len(size)))
        full[self.first, self.second] = full[self.second, self.first] = together
        scale = 1.0 / np.sqrt(size)
        values, vectors = np.linalg.eigh(full * scale[:, None] * scale)
        for vector in np.flatnonzero(values < -ZERO * max(1.0, values[-1]))[:CUTS]:
            yield np.arange(len(size)), vectors[:, vector] * scale
