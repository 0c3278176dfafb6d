"""What placements of one problem are worth by each objective, and what annealing makes of them.

Annealing over moves and exchanges of executors. For head-room the energy is first the share of the
fullest resource - a thread, a node's CPU with what sending and receiving costs it, its link each
way, a rack's uplink each way - smoothed by a norm of high power so that the second fullest counts
too. Then it is the traffic between nodes, with a price on every resource that is fuller than the
fullest was. For congestion the energy is what counts itself. resource_annealing.cpp has the loops.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by Simulated Annealing", Science 1983.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.placement import Placement
from stormcut.objective.anchoring import anchored_share
from stormcut.objective.congestion import IDLE, LOOSE, congestion
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.headroom import fullest
from stormcut.objective.order import ENOUGH_ROOM, TOLERANCE, PlacementValue, is_predicted
from stormcut.objective.order import best as best_by_order
from stormcut.objective.order import is_ahead as is_ahead_by_order
from stormcut.objective.resources import (
    DEFAULT_BYTES,
    LINK_OUT,
    MBIT_BYTES,
    Use,
    costs_of,
    uses,
)
from stormcut.objective.throughput import predict_throughput
from stormcut.placement.algorithms.cut.prepare import Task
from stormcut.placement.algorithms.cut.realise import (
    Candidate,
    candidate,
    seat,
)
from stormcut.placement.algorithms.cut.resource_annealing import (
    LIGHT,
    Resources,
    least_congestion,
    most_headroom,
    resources,
)

#: Annealing is worth so much in any haste: of 1,000 executors 0.03 s. Without it what is found is
#: 35 % more congested (docs/results/cut-constants.md).
MIN_EFFORT = 0.03

#: Tuples/s that count for a source that reaches nothing.
MIN_RATE = 1e-9

#: Shares of all resources that may be in use at the rates that are sustained. Where tuples queue in
#: windows, the less full the sooner they come back.
USED = (1.0, 0.7)

#: Share of a resource in use above which none is, for annealing that asks for traffic alone.
FULL = 1e9

#: What all traffic weighs if it travels, beside congestion: of placements as good as the same, that
#: with less traffic is the better one.
TRAVEL = 0.02

#: What all traffic weighs where none is given for more room.
HEAVY = 100.0

#: Pairs of groups that exchange traffic; of more, placements are only compared.
MAX_PAIRS = 4_000_000

#: All placements are annealed with the first share of the effort, and the best of them with the
#: second.
FIRST_ROUND, LAST_ROUND, FINALISTS = 0.25, 2.0, 3

#: As many of those with least traffic that sustain what the best does are annealed to the end.
SUSTAINING = 2

#: Executors times nodes up to which time is spent to restart fewer workers.
MAX_JOINED = 1000

#: Workers and nodes that are tried before one worker goes to another node.
MAX_TRIED = 100

#: Moves of one executor that are tried for what sources reach; none, if there are more. Each takes
#: milliseconds.
MAX_MOVES = 20

#: What a step has to gain for a search that takes many.
FINE = TOLERANCE / 10


class Judge(ABC):
    """What placements of one problem are worth."""

    def __init__(self, task: Task) -> None:
        self.task, self.problem = task, task.problem
        slots = [len(node.ports) for node in self.problem.nodes]
        self._first_slot = np.concatenate(([0], np.cumsum(slots)[:-1])).astype(np.int64)

    @abstractmethod
    def is_ahead(self, one: Candidate, other: Candidate, tolerance: float = TOLERANCE) -> bool:
        """Return whether the first is worth more, by more than a tolerance."""

    @abstractmethod
    def best(self, ends: list[Candidate]) -> Candidate:
        """Return that which is worth most."""

    def polish(self, best: Candidate, ends: list[Candidate], rng: np.random.Generator) -> Candidate:
        """Return the best of several, or one that is worth more by what annealing does not ask."""
        return best

    def with_fewer_restarts(self, best: Candidate) -> Candidate:
        """Return the same, or one as good that restarts fewer workers, where these count."""
        return best

    @abstractmethod
    def annealed(self, starts: list[Ints], effort: float, rng: np.random.Generator) -> list[Ints]:
        """Return what annealing makes of placements on nodes.

        Parameters
        ----------
        effort : float
            Search each this many times as long as by default, `MIN_EFFORT` at least.
        """

    def halved(
        self,
        starts: list[Ints],
        anneal: Callable[[Ints, float], Ints],
        promise: Callable[[Candidate], tuple[float, float]],
    ) -> list[Ints]:
        """Anneal all placements briefly, and return the most promising ones annealed in full.

        Parameters
        ----------
        anneal : callable
            Given nodes, and the share of the effort.
        promise : callable
            What a placement promises, the larger the better.
        """
        if not self.is_searched:
            return []
        if len(starts) <= FINALISTS:
            return [anneal(nodes, LAST_ROUND) for nodes in starts]
        first = [self.candidate(anneal(nodes, FIRST_ROUND)) for nodes in starts]
        first.sort(key=promise, reverse=True)
        return [anneal(each.nodes, LAST_ROUND) for each in first[:FINALISTS]]

    def candidate(self, nodes: Ints) -> Candidate:
        """Return executors on nodes, with one worker on each or as many as are kept."""
        return candidate(self.task, nodes)

    def placement(self, candidate: Candidate) -> Placement:
        """Return executors on slots of their node, those of one worker on one.

        Which slots is all the same here: `seat` later chooses those that restart least.
        """
        topologies, most = len(self.problem.topologies), int(candidate.workers.max(initial=0)) + 1
        tenant = candidate.nodes * topologies + self.problem.executor_topology
        unique, worker = np.unique(tenant * most + candidate.workers, return_inverse=True)
        homes = unique // (topologies * most)
        slots = self._first_slot[homes] + np.arange(len(homes)) - np.searchsorted(homes, homes)
        return Placement(slots[worker])

    def uses(self, candidate: Candidate) -> tuple[tuple[Use, ...], float]:
        """Return the use of all resources, and the Mbit/s between nodes."""
        used = uses(self.problem, self.placement(candidate), self.anchored)
        sent = next(use for use in used if use.kind == LINK_OUT)
        return used, float(sent.load.sum())

    @cached_property
    def anchored(self) -> Floats | None:
        """Which share of what each executor takes is anchored; None: all."""
        share = anchored_share(self.problem)
        return share if (share < 1).any() else None

    @cached_property
    def resources(self) -> Resources:
        """What annealing knows."""
        _, node, rack = self.task.options.distances
        breadth = self.task.breadth
        return resources(self.problem, self.task.instance, breadth, self.anchored, rack / node - 1)

    @property
    def is_searched(self) -> bool:
        """Whether there is anything to anneal, and its pairs are few enough."""
        pairs = self.task.instance.groups.pair_rate.nnz
        return self.problem.executor_count > 1 and pairs <= MAX_PAIRS

    def relieved(
        self,
        nodes: Ints,
        idle: float,
        effort: float,
        rng: np.random.Generator,
        weight: float = LIGHT,
    ) -> Ints:
        """Return nodes annealed for head-room, down to a share of the fullest resource."""
        topologies, effort = len(self.problem.topologies), max(effort, MIN_EFFORT)
        return most_headroom(self.resources, topologies, nodes, idle, effort, rng, weight)

    def relaxed(self, nodes: Ints, effort: float, rng: np.random.Generator) -> Ints:
        """Return nodes annealed for congestion."""
        topologies, effort = len(self.problem.topologies), max(effort, MIN_EFFORT)
        return least_congestion(self.resources, topologies, nodes, IDLE, TRAVEL, LOOSE, effort, rng)


class ByOrder(Judge):
    """The one order of placements (`stormcut.objective.order`)."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._values: dict[bytes, PlacementValue] = {}

    def value(self, candidate: Candidate) -> PlacementValue:
        """Return the value of a placement, worked out once."""
        key = candidate.nodes.tobytes() + candidate.workers.tobytes()
        if key not in self._values:
            self._values[key] = PlacementValue(
                self.problem,
                self.placement(candidate),
                lambda: Placement(seat(self.task, candidate)),
            )
        return self._values[key]

    @property
    def _is_small(self) -> bool:
        """Whether fewer restarts are worth the time."""
        return self.problem.executor_count * len(self.problem.nodes) <= MAX_JOINED

    def is_ahead(  # noqa: D102
        self, one: Candidate, other: Candidate, tolerance: float = TOLERANCE
    ) -> bool:
        return is_ahead_by_order(self.value(one), self.value(other), tolerance)

    def best(self, ends: list[Candidate]) -> Candidate:  # noqa: D102
        return ends[best_by_order([self.value(each) for each in ends])]

    def polish(  # noqa: D102
        self, best: Candidate, ends: list[Candidate], rng: np.random.Generator
    ) -> Candidate:
        # Annealing minimises congestion, which only approximates what windows let sources reach.
        occupied, nodes = len(np.unique(self._homes(best.nodes))), len(self.problem.nodes)
        if occupied * nodes > MAX_MOVES or not (
            self.value(best).is_windowed and self.value(best).reached
        ):
            return best
        distinct = {each.nodes.tobytes(): each for each in ends}.values()
        fastest = sorted(distinct, key=lambda each: -self.value(each).reached)[:FINALISTS]
        polished = [self._climb(each, rng) for each in (best, *fastest)]
        return self.best([best, *polished])

    def _climb(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        """Return what moves of one executor after the other make better."""
        left, moves = MAX_MOVES, self._moves_of_one(candidate.nodes, rng)
        while left and (better := next(moves, None)):
            left -= 1
            if self.is_ahead(better, candidate, FINE) and not self.is_ahead(candidate, better):
                candidate, moves = better, self._moves_of_one(better.nodes, rng)
        return candidate

    def _moves_of_one(self, nodes: Ints, rng: np.random.Generator) -> Iterator[Candidate]:
        """Yield, in any order, all placements with one executor on another node."""
        instance = self.task.instance
        first = np.unique(self._homes(nodes), return_index=True)[1]
        choice = [(executor, to) for executor in first for to in np.flatnonzero(instance.slots)]
        for executor, to in rng.permutation(choice):
            moved = np.where(np.arange(len(nodes)) == executor, to, nodes)
            if to != nodes[executor] and instance.is_whole(instance.counted(moved)):
                yield self.candidate(moved)

    def _homes(self, nodes: Ints) -> Ints:
        """Return a number for each executor, the same for those of a group on one node."""
        return self.task.instance.groups.of * len(self.problem.nodes) + nodes

    def with_fewer_restarts(self, best: Candidate) -> Candidate:  # noqa: D102
        first = best
        if not self._is_small:
            return best
        while self.value(best).restarts > 1:
            joined = islice(self._joined(best), MAX_TRIED)
            better = next((each for each in joined if self.is_ahead(each, first)), None)
            if better is None:
                return best
            best = better
        return best

    def _joined(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield placements with a worker's executors where others of their topology run.

        Only those with fewer restarts and no more traffic.
        """
        now, topologies = self.value(candidate), self.problem.executor_topology
        before = self.problem.current_nodes()
        for topology in np.unique(topologies).tolist():
            own = topologies == topology
            used = np.unique(candidate.nodes[own])
            homes = np.union1d(used, before[own & (before >= 0)])
            for node in used:
                moving = np.flatnonzero(own & (candidate.nodes == node))
                others = homes[homes != node]
                whole = ((moving, np.array([to])) for to in others)
                # All on one node, or each on any.
                for many, choice in (*whole, (moving[:, None], others)):
                    moved = self._moved(candidate.nodes, many, choice)
                    if moved is None:
                        continue
                    value, most = self.value(moved), now.traffic * (1 + TOLERANCE)
                    if value.traffic <= most and value.restarts < now.restarts:
                        yield moved

    def _moved(self, nodes: Ints, moving: Ints, choice: Ints) -> Candidate | None:
        """Return executors on other nodes, one row after the other where traffic is least.

        Parameters
        ----------
        moving : array of shape (rows,) or (rows, 1)
            Executors; those of one row move together.
        choice : array of shape (nodes,)
        """
        instance = self.task.instance
        for row in moving if moving.ndim > 1 else moving[None]:
            tried = [np.where(np.isin(np.arange(len(nodes)), row), to, nodes) for to in choice]
            able = [self.candidate(n) for n in tried if instance.is_whole(instance.counted(n))]
            if not able:
                return None
            nodes = min(able, key=lambda each: self.value(each).traffic).nodes
        return self.candidate(nodes)

    def _room(self, candidate: Candidate) -> tuple[float, float]:
        value = self.value(candidate)
        return min(value.room, ENOUGH_ROOM), -value.traffic

    def _relief(self, candidate: Candidate) -> tuple[float, float]:
        used, travels = self.uses(candidate)
        return -congestion(used), -travels

    def annealed(  # noqa: D102
        self, starts: list[Ints], effort: float, rng: np.random.Generator
    ) -> list[Ints]:
        ends = self.halved(
            starts,
            lambda nodes, part: self.relieved(nodes, 1 / ENOUGH_ROOM, part * effort, rng),
            self._room,
        )
        # With room enough nobody waits.
        if not any(self.value(self.candidate(each)).has_room for each in ends):
            ends += self.halved(
                starts,
                lambda nodes, part: self.relaxed(nodes, part * effort, rng),
                self._relief,
            )
            ends += self._sustaining(starts, ends, effort, rng)
        ends += self._roomier(starts, ends, effort, rng)
        return ends + self._annealed_on_fewer_nodes(starts, ends, effort, rng)

    def _annealed_on_fewer_nodes(
        self, starts: list[Ints], ends: list[Ints], effort: float, rng: np.random.Generator
    ) -> list[Ints]:
        """Return the start that restarts fewest annealed on its nodes alone.

        None if the best restarts as few: annealing knows nothing of restarts, and spreads.
        """
        if self.problem.current is None or not self._is_small:
            return []
        best = self.best([self.candidate(each) for each in (*starts, *ends)])
        few = min(starts, key=lambda nodes: self.value(self.candidate(nodes)).restarts)
        used = np.unique(few)
        all_used = np.isin(np.flatnonzero(self.task.instance.slots), used).all()
        if all_used or self.value(self.candidate(few)).restarts >= self.value(best).restarts:
            return []
        there = ByOrder(replace(self.task, instance=self.task.instance.on(used)))
        return there.annealed([few], effort, rng)

    def _roomier(
        self, starts: list[Ints], ends: list[Ints], effort: float, rng: np.random.Generator
    ) -> list[Ints]:
        """Return a placement with more room than the best, and as little traffic."""
        best = self.best([self.candidate(each) for each in (*starts, *ends)])
        if not self.is_searched or not self.value(best).has_room:
            return []
        return [self.relieved(best.nodes, 0.0, effort, rng, HEAVY)]

    def _sustaining(
        self, starts: list[Ints], ends: list[Ints], effort: float, rng: np.random.Generator
    ) -> list[Ints]:
        """Return placements with less traffic that sustain what the best of all does.

        What is full may be so wherever executors run. So rates are held to what is sustained, and
        no resource has to be less full than those allow.
        """
        best = self.best([self.candidate(each) for each in (*starts, *ends)])
        if not self.is_searched or self.value(best).carries:
            return []
        held = self.resources.throttled(self._sustained_parts(best))
        topologies, least = len(self.problem.topologies), self.value(best).sustained
        least *= 1 - TOLERANCE / 2

        def lighten(nodes: Ints, part: float, used: float) -> Ints:
            most = max(part * effort, MIN_EFFORT)
            return most_headroom(held, topologies, nodes, used, most, rng)

        first = [self.candidate(lighten(each, FIRST_ROUND, 1.0)) for each in (best.nodes, *starts)]
        first.sort(key=lambda each: self.value(each).traffic)
        finalists = (each for each in first if self.value(each).sustained >= least)
        return [
            lighten(each.nodes, LAST_ROUND, used)
            for each in islice(finalists, SUSTAINING)
            for used in (USED if self.value(best).has_windows else USED[:1])
        ]

    def _sustained_parts(self, candidate: Candidate) -> Floats:
        """Return which part of the rates asked for each topology sustains, (topologies,)."""
        value, problem = self.value(candidate), self.problem
        parts = np.full(len(problem.topologies), value.room)
        if (offered := value.offered) is not None:
            count, of = len(parts), problem.executor_topology[offered.sources]
            reached = np.bincount(of, offered.rates * offered.carried, count)
            wanted = np.bincount(of, problem.executor_rate[offered.sources], count)
            np.divide(reached, wanted, out=parts, where=wanted > 0)
        result: Floats = np.maximum(parts, MIN_RATE)
        return result


class _ByWorth(Judge):
    """What is worth a number first, never negative, and then less Mbit/s between nodes."""

    @abstractmethod
    def worth(self, at: Candidate) -> tuple[float, float]:
        """Return both."""

    def is_ahead(self, one: Candidate, other: Candidate, tolerance: float = TOLERANCE) -> bool:
        worth, now = self.worth(one), self.worth(other)
        more, as_much = worth[0] > now[0] * (1 + tolerance), worth[0] >= now[0]
        return more or (as_much and worth[1] > now[1] * (1 - tolerance))

    def best(self, ends: list[Candidate]) -> Candidate:
        return max(ends, key=self.worth)

    def improved(self, starts: list[Ints], anneal: Callable[[Ints, float], Ints]) -> list[Ints]:
        """Return what annealing makes of placements."""
        return self.halved(starts, anneal, self.worth)


class MostHeadroom(_ByWorth):
    """Head-room counts, infinite where nothing limits it; then traffic."""

    def worth(self, candidate: Candidate) -> tuple[float, float]:  # noqa: D102
        used, travels = self.uses(candidate)
        room = fullest(self.problem, used).value
        return float("inf") if room is None else room, -travels

    def annealed(  # noqa: D102
        self, starts: list[Ints], effort: float, rng: np.random.Generator
    ) -> list[Ints]:
        return self.improved(
            starts, lambda nodes, part: self.relieved(nodes, 0.0, part * effort, rng)
        )


class LeastTraffic(_ByWorth):
    """Traffic between nodes counts alone."""

    def worth(self, candidate: Candidate) -> tuple[float, float]:  # noqa: D102
        placement = self.placement(candidate)
        if self.task.by_size:
            traffic = self.uses(candidate)[1]
        else:
            traffic = inter_node_tuples_per_second(self.problem, placement)
        return 1 / (traffic + MIN_RATE), 0.0

    def annealed(  # noqa: D102
        self, starts: list[Ints], effort: float, rng: np.random.Generator
    ) -> list[Ints]:
        return self.improved(
            starts, lambda nodes, part: self.relieved(nodes, FULL, part * effort, rng)
        )


class LeastCongestion(_ByWorth):
    """Congestion counts, down to `IDLE`, with the share of traffic that travels."""

    @cached_property
    def _all(self) -> float:
        """What links would carry if no two executors shared a node, in Mbit/s."""
        traffic, more = self.problem.traffic, costs_of(self.problem).link_bytes_per_tuple
        traffic = traffic.sized(DEFAULT_BYTES)
        apart = traffic.source != traffic.target
        content = float(traffic.rate[apart] @ (traffic.size[apart] + more))
        content += sum(
            block.rate * block.pairs_apart * (block.size + more) for block in traffic.blocks
        )
        return content / MBIT_BYTES or 1.0

    def worth(self, candidate: Candidate) -> tuple[float, float]:  # noqa: D102
        used, travels = self.uses(candidate)
        cost = max(congestion(used), IDLE) * (1 + TRAVEL * travels / self._all)
        return 1.0 / cost, -travels

    def best(self, ends: list[Candidate]) -> Candidate:
        """Return that which is worth most; of those as congested, the fastest."""
        best = super().best(ends)
        if congestion(self.uses(best)[0]) <= IDLE:  # Least traffic decides.
            return best
        least = self.worth(best)[0] * (1 - TOLERANCE)
        tied = {
            each.nodes.tobytes(): each for each in (best, *ends) if self.worth(each)[0] >= least
        }
        return max(tied.values(), key=self._speed) if len(tied) > 1 else best

    def _speed(self, candidate: Candidate) -> float:
        """Return the sum of the logarithms of what sources reach (fairness), 0 if unknown."""
        few = is_predicted(self.problem)
        predicted = predict_throughput(self.problem, self.placement(candidate)) if few else None
        return (
            0.0 if predicted is None else float(np.log(np.maximum(predicted.rates, MIN_RATE)).sum())
        )

    def annealed(  # noqa: D102
        self, starts: list[Ints], effort: float, rng: np.random.Generator
    ) -> list[Ints]:
        ends = self.improved(starts, lambda nodes, part: self.relaxed(nodes, part * effort, rng))
        if is_predicted(self.problem):
            # Placements with most head-room may be as congested, and faster.
            ends += self.improved(
                starts, lambda nodes, part: self.relieved(nodes, 0.0, part * effort, rng)
            )
        return ends


#: By the objective that they judge by.
JUDGES: dict[str, type[Judge]] = {
    "auto": ByOrder,
    "cut": LeastTraffic,
    "headroom": MostHeadroom,
    "congestion": LeastCongestion,
}
