"""The search: placements made level by level, improved a few nodes at a time, combined in pairs.

1. A placement is made on a coarse model, where clusters of executors move as one, and improved by
   tabu search at every level on the way back. What fits nowhere ejects something else.
2. A few nodes that exchange much are taken out and searched as a problem of their own, with 1 and
   3, again and again; this costs the same however many nodes there are.
3. A small population of such placements is combined in pairs: what two of them keep together stays
   together, the rest is searched again from the better one, and improved by 2.

All effort is counted in steps, none in time.

References
----------
U. Benlic and J.-K. Hao, "An effective multilevel tabu search approach for balanced graph
partitioning", Computers & Operations Research 38 (2011).
P. Sanders and C. Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012.
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing
problems", CP 1998 (large neighbourhoods).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Ints
from stormcut.placement.algorithms.cut.coarsening import (
    Coarse,
    coarsen,
    expand,
    of_nodes,
    overlap,
    part,
)
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.loops import (
    ANYWHERE,
    EMPTIEST,
    FULLEST,
    ejected,
    inserted,
    tabu_search,
)
from stormcut.placement.algorithms.cut.model import (
    Model,
    Prices,
    cost_at,
    interchangeable,
    model_of,
    noise,
    seed_from,
    shared,
    traffic_with,
    weights,
)
from stormcut.placement.packing.alignment import aligned

#: A coarser model is worth a level if it has at most this share of the executors.
SHRINKAGE = 0.95

#: Placements made again at effort 1, and combinations tried for each of them. One, or none of
#: these, costs 0.5 to 1.5 % of the traffic, twice as many save less than 0.05 %
#: (docs/results/cut-constants.md).
POPULATION, CHILDREN = 4, 2

#: Times that each node of a placement is searched again at effort 1, about, and how often in all.
VISITS, MIN_ROUNDS, MAX_ROUNDS = 7.5, 10, 100

#: Candidates that one tabu search looks at, in the whole problem and in a few nodes of it.
OPERATIONS, FEW_OPERATIONS = 1e5, 1e4

#: How likely, at least, a node is chosen that exchanges nothing, as part of one that exchanges
#: most; each time again from here to 1, so that both kinds of neighbourhoods are tried.
ANY_NODE = 0.01


@dataclass(frozen=True)
class Effort:
    """How long to search.

    Parameters
    ----------
    operations : float
        Candidates looked at by one tabu search.
    population : int
        Placements made again.
    children : int
        Combinations tried.
    rounds : int
        Times that a few nodes of a placement are searched again.
    inner : Effort, optional
        How to search those.
    first : Effort, optional
        How to search for each placement of the population; by default it is made once.
    """

    operations: float
    population: int
    children: int
    rounds: int = 0
    inner: Effort | None = None
    first: Effort | None = None


def search(
    instance: Instance,
    prices: Prices,
    effort: float,
    rng: np.random.Generator,
    starts: list[Ints],
    *,
    insists: bool = True,
) -> Ints | None:
    """Return the counts of the best placement found, None if none was found.

    Parameters
    ----------
    effort : float
        Search this many times as long as by default.
    starts : list of arrays of shape (groups, nodes)
        Feasible placements to begin with.
    insists : bool
        Whether to go on making placements after one that could not be completed.
    """
    model = model_of(instance, prices)
    kinds, slack = interchangeable(model), noise(instance.groups.total)
    return Search(model, kinds, slack, effort_for(model, effort), rng, insists).run(starts)


def effort_for(model: Model, effort: float) -> Effort:
    """Return how long to search a model at that many times the default effort."""
    more = effort**0.5
    population = max(1, round(POPULATION * more))
    visits = VISITS / 3 * int((model.slots > 0).sum())
    rounds = more * min(max(visits, MIN_ROUNDS), MAX_ROUNDS)
    return Effort(
        OPERATIONS,
        population,
        round(CHILDREN * POPULATION * more),
        round(rounds),
        Effort(FEW_OPERATIONS, 3, 3),
        Effort(OPERATIONS, 8, 20) if effort > 0 else None,
    )


class Search:
    """The search on one model; everything random comes from one generator.

    Parameters
    ----------
    model : Model
    kinds : array of shape (nodes,)
        Label per node; nodes of one label can change places without effect.
    slack : float
        Gains up to this are rounding.
    insists : bool
        Whether to go on making placements after one that could not be completed.
    """

    def __init__(
        self,
        model: Model,
        kinds: Ints,
        slack: float,
        effort: Effort,
        rng: np.random.Generator,
        insists: bool = True,
    ) -> None:
        self.model, self.kinds, self.slack, self.effort, self.rng = model, kinds, slack, effort, rng
        self.insists = insists
        self.seed = seed_from(rng)

    def run(self, starts: list[Ints]) -> Ints | None:
        """Return the best placement found, None without any that holds all executors."""
        pool: list[tuple[float, Ints]] = []
        most = self.effort.population + len(starts)
        for start in starts:
            self.admit(pool, self.rework(start), most)
        for _ in range(self.effort.population):
            made = self.alike(self.effort.first).run([]) if self.effort.first else self.create()
            if made is not None:
                self.admit(pool, self.rework(made), most)
            elif not self.insists:
                break
        for _ in range(self.effort.children):
            if self.converged(pool):
                break
            first, second = self.rng.choice(len(pool), 2, replace=False)
            if pool[second][0] < pool[first][0]:
                first, second = second, first
            self.admit(pool, self.rework(self.combine(pool[first][1], pool[second][1])))
        return min(pool, key=lambda each: each[0])[1] if pool else None

    def alike(self, effort: Effort) -> Search:
        """Return a search on the same model with another effort."""
        return Search(self.model, self.kinds, self.slack, effort, self.rng, self.insists)

    def converged(self, pool: list[tuple[float, Ints]]) -> bool:
        """Return whether all placements cost the same, so that combining them promises little."""
        values = [value for value, _ in pool]
        return not pool or max(values) - min(values) <= self.slack

    def cost(self, counts: Ints) -> float:
        """Return a placement's cost, up to a constant."""
        return cost_at(self.model, counts)

    def tabu(self, model: Model, counts: Ints) -> Ints:
        """Return the best placement that a tabu search from this one meets."""
        return tabu_search(model, counts, self.effort.operations, self.slack, self.seed)

    def create(self) -> Ints | None:
        """Return a new placement, None if executors were left over."""
        levels = self.levels(self.model.size[:, None])
        otherwise = (EMPTIEST, FULLEST, ANYWHERE)[int(self.rng.integers(3))]
        models = [self.model, *(level.model for level in levels)]
        counts = np.zeros((len(models[-1].size), len(self.model.slots)), dtype=np.int64)
        for level in reversed(levels):
            counts = self.tabu(level.model, self.insert(level.model, counts, otherwise))
            models.pop()
            counts = expand(level.members, counts, len(models[-1].size))
        counts = self.insert(self.model, counts, otherwise)
        if counts.sum() < self.model.size.sum():
            counts = ejected(self.model, counts, self.seed)
            if counts.sum() < self.model.size.sum():
                return None
        return self.tabu(self.model, counts)

    def levels(self, cells: Ints) -> list[Coarse]:
        """Return ever coarser models that respect a division into cells."""
        result: list[Coarse] = []
        model, largest = self.model, float(self.rng.uniform(0.1, 0.4))
        enough = max(20, 3 * int((model.slots > 0).sum()))
        while (before := model.size.sum()) > enough:
            level = coarsen(model, cells, largest, self.seed)
            if level.model.size.sum() > SHRINKAGE * before:
                break
            result.append(level)
            model, cells = level.model, level.cells
        return result

    def insert(self, model: Model, counts: Ints, otherwise: int) -> Ints:
        """Return counts with what is missing added where it fits, large clusters first, roughly."""
        large = weights(model) * self.rng.uniform(0.7, 1.0, len(model.size))
        order = np.argsort(-large, kind="stable")
        return inserted(model, counts, order, otherwise, self.seed)

    def combine(self, one: Ints, other: Ints) -> Ints:
        """Return a placement found near two, starting from the first."""
        cells, nodes = overlap(one, self.align(one, other))
        levels = self.levels(cells)
        counts = of_nodes(levels[-1].cells if levels else cells, nodes, one.shape[1])
        models = [self.model, *(level.model for level in levels)]
        for level in reversed(levels):
            counts = self.tabu(models.pop(), counts)
            counts = expand(level.members, counts, len(models[-1].size))
        return self.tabu(self.model, counts)

    def align(self, one: Ints, other: Ints) -> Ints:
        """Return ``other`` with like nodes renamed so that it agrees most with ``one``."""
        equal = self.kinds[:, None] == self.kinds
        return np.ascontiguousarray(other[:, aligned(shared(one, other), equal)])

    def admit(self, pool: list[tuple[float, Ints]], child: Ints, most: int = 0) -> None:
        """Add a placement unless it is there.

        If there are ``most`` already, it replaces the most similar of those that are no better.
        """
        value = self.cost(child)
        apart = []
        for other_value, other in pool:
            distance = np.abs(child - self.align(child, other)).sum() // 2
            if distance == 0 and abs(value - other_value) <= self.slack:
                return
            apart.append(distance if other_value >= value - self.slack else np.inf)
        if len(pool) < most:
            pool.append((value, child))
        elif np.isfinite(min(apart)):
            pool[int(np.argmin(apart))] = (value, child)

    def rework(self, counts: Ints) -> Ints:
        """Return a placement no worse, in which a few nodes at a time were searched."""
        used = np.flatnonzero(self.model.slots > 0)
        if self.effort.inner is None or len(used) < 2:
            return counts
        value = self.cost(counts)
        for _ in range(self.effort.rounds):
            nodes = self.neighbourhood(counts, used)
            model, groups, inside = part(self.model, counts, nodes)
            kinds, inner = self.kinds[nodes], self.effort.inner
            reworked = Search(model, kinds, self.slack, inner, self.rng).run([inside])
            assert reworked is not None  # what is there already, at least
            changed = counts.copy()
            changed[np.ix_(groups, nodes)] = reworked
            new = self.cost(changed)
            if new <= value + self.slack:
                counts, value = changed, new
        return counts

    def neighbourhood(self, counts: Ints, used: Ints) -> Ints:
        """Return two to four nodes, likely such as exchange much."""
        first = self.rng.choice(used)
        near = traffic_with(self.model, counts, int(first))[used]
        near[used == first] = 0.0
        any_node = ANY_NODE ** self.rng.random()
        likely = near + (near.max(initial=0.0) or 1.0) * any_node
        likely[used == first] = 0.0
        count = min(len(used), int(self.rng.integers(2, 5)))
        others = self.rng.choice(used, count - 1, replace=False, p=likely / likely.sum())
        return np.concatenate(([first], others))
