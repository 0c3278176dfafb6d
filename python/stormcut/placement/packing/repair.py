"""Moves vertices until no part is above its limit, at the least cost in traffic.

METIS balances only approximately. The rule is section 2.3 of the project's reading of the thesis
(it has none): take the cheapest move out of an overfull part; if none fits, open one more part; if
none may be opened, take the cheapest swap.

Limits are vectors (CPU, executors, memory...): a part is overfull if it exceeds any of them. A part
of a single vertex is never overfull: a vertex above the limit gets a part of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Bools, Floats, Ints
from stormcut.objective.verify import exceeds

#: Matrices of vertices and parts are built in pieces of about so many entries.
MAX_ENTRIES = 2**22


def repair(
    graph: csr_array, parts: Ints, loads: Floats, limits: Floats, most_parts: int
) -> Ints | None:
    """Return parts that keep within the limits, None if this way finds none.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric traffic without a diagonal.
    parts : array of shape (n,)
        Part of each vertex, from 0 without gaps.
    loads : array of shape (n, resources)
    limits : array of shape (resources,)
        Infinite for a resource without a limit.
    most_parts : int
        Parts may be opened up to this number.
    """
    state = _State(graph, parts, loads, limits)
    while (overfull := state.overfull()).any():
        move = state.best_move(overfull)
        if move is not None:
            state.move(*move)
        elif len(state.totals) < most_parts:
            state.open_part()
        elif (swap := state.best_swap(overfull)) is not None:
            state.swap(*swap)
        else:
            return None
    return state.parts


class _State:
    """Parts with their loads, and the cheapest move of each vertex.

    ``target`` and ``cost`` hold that move where ``stale`` does not say otherwise: a move changes
    those of few vertices, so that it takes O(vertices + stale ones x parts).
    """

    def __init__(self, graph: csr_array, parts: Ints, loads: Floats, limits: Floats) -> None:
        self.graph, self.loads, self.limits = graph, loads, limits
        self.parts = parts.copy()
        self.sizes = np.bincount(parts)
        self.totals = np.zeros((len(self.sizes), loads.shape[1]))
        np.add.at(self.totals, parts, loads)
        self.cost = np.full(len(parts), np.inf)
        self.own = np.zeros(len(parts))
        self.target = np.zeros(len(parts), dtype=np.int64)
        self.stale = np.ones(len(parts), dtype=bool)

    def overfull(self) -> Bools:
        """Return which parts are overfull, shape (parts,)."""
        return exceeds(self.totals, self.limits).any(axis=1) & (self.sizes > 1)

    def best_move(self, overfull: Bools) -> tuple[int, int] | None:
        """Return the (vertex, part) that costs least; ties: lower vertex, then lower part."""
        vertices = np.flatnonzero(overfull[self.parts])
        own = self.parts[vertices]
        relieves = (self._excess(own) * self.loads[vertices]).any(axis=1)
        vertices = vertices[relieves]
        if not len(vertices):
            return None
        stale = vertices[self.stale[vertices]]
        for few in np.array_split(stale, 1 + len(stale) * len(self.totals) // MAX_ENTRIES):
            self._find_moves(few)
        best = int(np.argmin(self.cost[vertices]))
        vertex = int(vertices[best])
        return (vertex, int(self.target[vertex])) if np.isfinite(self.cost[vertex]) else None

    def _find_moves(self, vertices: Ints) -> None:
        """Find the cheapest move of these vertices."""
        rows, own = np.arange(len(vertices)), self.parts[vertices]
        allowed = self._fits(vertices)
        allowed[rows, own] = False
        traffic = self._traffic(vertices)
        cost = np.where(allowed, traffic[rows, own][:, None] - traffic, np.inf)
        self.own[vertices] = traffic[rows, own]
        self.target[vertices] = np.argmin(cost, axis=1)
        self.cost[vertices] = cost[rows, self.target[vertices]]
        self.stale[vertices] = False

    def _excess(self, parts: Ints) -> Bools:
        """Return which resources each of these parts exceeds, shape (len(parts), resources)."""
        return exceeds(self.totals[parts], self.limits)

    def _fits(self, vertices: Ints) -> Bools:
        """Return which part can take each vertex, shape (vertices, parts); an empty one always."""
        fits = np.ones((len(vertices), len(self.totals)), dtype=bool)
        for resource in np.flatnonzero(np.isfinite(self.limits)):
            after = self.loads[vertices, resource][:, None] + self.totals[:, resource]
            fits &= ~exceeds(after, self.limits[resource])
        fits |= self.sizes == 0
        return fits

    def _traffic(self, vertices: Ints) -> Floats:
        """Return the traffic of each vertex with each part, shape (vertices, parts)."""
        rows, columns, rates = _rows(self.graph, vertices)
        width = len(self.totals)
        flat = np.bincount(
            rows * width + self.parts[columns], weights=rates, minlength=len(vertices) * width
        )
        return flat.reshape(len(vertices), width).astype(np.float64)

    def best_swap(self, overfull: Bools) -> tuple[int, int] | None:
        """Return the pair of vertices whose exchange relieves an overfull part at least cost."""
        swaps = [swap for part in np.flatnonzero(overfull) for swap in self._swaps(int(part))]
        return min(swaps)[1:] if swaps else None

    def _swaps(self, part: int) -> Iterator[tuple[float, int, int]]:
        """Yield (cost, vertex, best partner) for every vertex of an overfull part."""
        excess = self._excess(np.array([part]))[0]
        others = np.flatnonzero(self.parts != part)
        everyone = self._traffic(others)
        homes = self.parts[others]
        for vertex in np.flatnonzero(self.parts == part).tolist():
            gain = self.loads[vertex] - self.loads[others]
            relieved = exceeds(gain, 0)[:, excess].any(axis=1)
            bearable = ~exceeds(
                self.totals[part] - gain, np.maximum(self.limits, self.totals[part])
            )
            fits = ~exceeds(self.totals[homes] + gain, self.limits)
            allowed = relieved & bearable.all(axis=1) & fits.all(axis=1)
            if not allowed.any():
                continue
            own = self._traffic(np.array([vertex]))[0]
            between = self.graph[[vertex], :].toarray()[0][others]
            cost = own[part] - own[homes] + 2 * between
            cost += everyone[np.arange(len(others)), homes] - everyone[:, part]
            best = int(np.argmin(np.where(allowed, cost, np.inf)))
            yield float(cost[best]), vertex, int(others[best])

    def move(self, vertex: int, part: int) -> None:
        """Move a vertex to another part."""
        old = self.parts[vertex]
        self.totals[old] -= self.loads[vertex]
        self.totals[part] += self.loads[vertex]
        self.sizes[old] -= 1
        self.sizes[part] += 1
        self.parts[vertex] = part
        begin, end = self.graph.indptr[vertex : vertex + 2]
        self.stale[self.graph.indices[begin:end]] = True
        self.stale[vertex] = True
        self.stale |= self.target == part  # it has less room
        self._offer(int(old))

    def _offer(self, part: int) -> None:
        """Let vertices go to a part that has more room than before, if that is cheaper."""
        fresh = np.flatnonzero(~self.stale & (self.parts != part))
        fits = ~exceeds(self.loads[fresh] + self.totals[part], self.limits).any(axis=1)
        fresh = fresh if not self.sizes[part] else fresh[fits]
        if not len(fresh):
            return
        members = np.flatnonzero(self.parts == part)
        _, columns, rates = _rows(self.graph, members)
        traffic = np.bincount(columns, weights=rates, minlength=len(self.parts))
        cost = self.own[fresh] - traffic[fresh]
        equal = (cost == self.cost[fresh]) & (part < self.target[fresh])
        better = fresh[(cost < self.cost[fresh]) | equal]
        self.cost[better] = self.own[better] - traffic[better]
        self.target[better] = part

    def swap(self, one: int, other: int) -> None:
        """Exchange two vertices."""
        here, there = int(self.parts[one]), int(self.parts[other])
        self.move(one, there)
        self.move(other, here)

    def open_part(self) -> None:
        """Add an empty part."""
        self.sizes = np.append(self.sizes, 0)
        self.totals = np.vstack((self.totals, np.zeros(self.totals.shape[1])))
        self.stale[:] = True


def _rows(graph: csr_array, vertices: Ints) -> tuple[Ints, Ints, Floats]:
    """Return (position in ``vertices``, neighbour, rate) of every edge of these vertices."""
    chosen = graph[vertices, :].tocoo()
    return chosen.row.astype(np.int64), chosen.col.astype(np.int64), chosen.data
