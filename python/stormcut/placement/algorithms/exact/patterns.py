"""Patterns: how many executors of each group one node holds, and the search for valuable ones.

At given prices per executor a pattern is worth the traffic that it keeps on its node, less what
its executors cost. The search decides group by group, for all partial patterns at once, and drops
those that cannot reach a threshold. If they become too many it drops the least promising ones, and
says what the best of them could have been worth: every answer comes with a valid upper bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.exact.folded import Folded
from stormcut.placement.packing.groups import LocalFirst

#: Share of the total by which a sum of rates may be off for rounding.
SUM_ERROR = 2e-13


@dataclass(frozen=True, eq=False)
class PricedPatterns:
    """Patterns of a kind of node and their worth.

    Parameters
    ----------
    counts : array of shape (patterns, groups)
    value : array of shape (patterns,)
        Tuples/s kept on the node.
    worth : array of shape (patterns,)
        ``value`` less the prices of the executors.
    missed : float
        No pattern that is not here is worth more, unless it is below the threshold; -inf if
        nothing was dropped.
    """

    counts: Ints
    value: Floats
    worth: Floats
    missed: float


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Partial patterns: decided counts, loads, topologies, and an upper bound of the value."""

    counts: Ints
    load: Floats
    tenants: Ints
    worth: Floats

    def take(self, rows: Ints | npt.NDArray[np.bool_]) -> _Patterns:
        return _Patterns(self.counts[rows], self.load[rows], self.tenants[rows], self.worth[rows])


class PatternSearch:
    """Search for patterns of one problem."""

    def __init__(self, folded: Folded) -> None:
        self.folded = folded
        self.rate = folded.rate.toarray()
        self.groups = len(folded.size)
        self._ahead: dict[tuple[int, int], Floats] = {}

    def best(
        self, kind: int, prices: Floats, threshold: float, most: int, deadline: float
    ) -> PricedPatterns:
        """Return patterns worth at least ``threshold``.

        Parameters
        ----------
        kind : int
            Kind of node.
        prices : array of shape (groups,)
            Tuples/s per executor, of any sign.
        threshold : float
        most : int
            Most partial patterns kept at a time; takes O(most x groups^2 log groups) time.
        deadline : float
            `time.monotonic` after which nothing is found and anything may have been missed.
        """
        zeros = np.zeros(1, dtype=np.int64)
        rows = _Patterns(
            np.zeros((1, self.groups), dtype=np.int64), np.zeros((1, 3)), zeros, np.zeros(1)
        )
        missed = -np.inf
        for group in range(self.groups):
            if time.monotonic() > deadline:
                return PricedPatterns(rows.counts[:0], rows.worth[:0], rows.worth[:0], np.inf)
            rows = self._extended(rows, group, kind, float(prices[group]))
            bound = rows.worth + self._ahead_bound(rows, group + 1, kind, prices)
            kept = np.flatnonzero(bound >= threshold - SUM_ERROR * self.folded.total)
            if len(kept) > most:
                order = np.argpartition(-bound[kept], most)
                missed = max(missed, float(bound[kept[order[most:]]].max()))
                kept = np.sort(kept[order[:most]])
            rows = rows.take(kept)
        value = self.folded.local(rows.counts)
        return PricedPatterns(rows.counts, value, value - rows.counts @ prices, missed)

    def _extended(self, rows: _Patterns, group: int, kind: int, price: float) -> _Patterns:
        """Decide how many executors of a group each pattern holds: 0 to as many as fit."""
        folded = self.folded
        most = np.minimum(self._room(rows, np.array([group]), kind)[:, 0], folded.size[group])
        own = np.flatnonzero(folded.topology[:group] == folded.topology[group])
        newcomer = ~rows.counts[:, own].any(axis=1)
        most[newcomer & (rows.tenants >= folded.slots[kind])] = 0
        source = np.repeat(np.arange(len(most)), most + 1)
        count = np.arange(len(source)) - np.repeat(np.cumsum(most + 1) - most - 1, most + 1)
        result = rows.take(source)
        counts = result.counts
        counts[:, group] = count
        near = rows.counts[:, own] @ self.rate[own, group]
        gain = count * (near[source] - price) + count * (count - 1) / 2 * self.rate[group, group]
        worth = result.worth + gain
        for stream in folded.local_first:
            worth += _hoped(stream, counts, group)
        return _Patterns(
            counts,
            result.load + count[:, None] * folded.load[group],
            result.tenants + np.asarray(np.asarray(newcomer)[source] & (count > 0)),
            worth,
        )

    def _room(self, rows: _Patterns, groups: Ints, kind: int) -> Ints:
        """Return how many executors of each group fit, shape (rows, groups)."""
        load = self.folded.load[groups]
        free = self.folded.limit[kind] - rows.load
        with np.errstate(divide="ignore", invalid="ignore"):
            fit = np.where(load > 0, free[:, None, :] / load, np.inf).min(axis=2)
        return np.asarray(np.clip(np.floor(fit), 0, self.folded.size[groups]), dtype=np.int64)

    def _ahead_bound(self, rows: _Patterns, first: int, kind: int, prices: Floats) -> Floats:
        """Return an upper bound of what groups from ``first`` on can add, shape (rows,).

        Each further executor brings at most its traffic with those that the pattern holds, and
        half of its traffic with the best further ones; as many as fit by number are taken.
        """
        groups = np.arange(first, self.groups)
        if not len(groups):
            return np.zeros(len(rows.worth))
        folded = self.folded
        free = folded.limit[kind] - rows.load
        least = folded.load[groups].min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            fit = np.where(least > 0, free / least, np.inf).min(axis=1)
        number = np.clip(np.floor(fit), 0, folded.size[groups].sum()).astype(np.int64)
        profit = rows.counts[:, :first] @ self.rate[:first, groups] - prices[groups]
        profit += self._traffic_ahead(first, kind)[number]
        order = np.argsort(-profit, axis=1)
        size = self._room(rows, groups, kind)[np.arange(len(order))[:, None], order]
        before = np.cumsum(size, axis=1) - size
        taken = np.clip(number[:, None] - before, 0, size)
        best = np.take_along_axis(profit, order, axis=1)
        result: Floats = (taken * np.maximum(best, 0.0)).sum(axis=1)
        return result

    def _traffic_ahead(self, first: int, kind: int) -> Floats:
        """Return half of an executor's traffic with its best n - 1 partners, (n, groups).

        Partners are of groups from ``first`` on; local-or-shuffle traffic counts whole.
        """
        if (first, kind) not in self._ahead:
            groups = np.arange(first, self.groups)
            sizes = self.folded.size[groups]
            partners = np.repeat(self.rate[np.ix_(groups, groups)], sizes, axis=1)
            partners[np.arange(len(groups)), np.cumsum(sizes) - 1] = 0.0  # not with itself
            best = np.cumsum(-np.sort(-partners, axis=1), axis=1) / 2
            table = np.vstack((np.zeros((2, len(groups))), best.T))[: sizes.sum() + 1]
            for stream in self.folded.local_first:
                table = table + stream.rate * np.isin(groups, stream.sources)
            self._ahead[first, kind] = table
        return self._ahead[first, kind]


def _hoped(stream: LocalFirst, counts: Ints, group: int) -> Floats:
    """Return the change of a stream's hoped-for local traffic by the decision on a group.

    Sources count as served until all groups of targets are decided and the pattern has none.
    """
    change = np.zeros(len(counts))
    last = int(stream.targets.max())
    served = counts[:, stream.targets].any(axis=1) if group >= last else np.ones(len(counts), bool)
    if group in stream.sources:
        change += stream.rate * counts[:, group] * served
    if group == last:
        earlier = stream.sources[stream.sources < group]
        change -= stream.rate * counts[:, earlier].sum(axis=1) * ~served
    return change
