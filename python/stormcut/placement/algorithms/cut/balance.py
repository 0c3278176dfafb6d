"""Balance: placements with least traffic, annealed until no node or link is needlessly full.

Placements with least traffic under several balances, and what runs now, are annealed; the best
wins. What runs now stays if that gains less than `LITTLE`. Annealing counts one worker on a node;
of those that are kept beside it (``workers=keep``), each then goes to another node if that is
better. The best is, by the objective:

- ``headroom``: that with most head-room; of those within a hundredth of it, less traffic between
  nodes counts, too.
- ``congestion``: that with the least congestion, times what traffic between nodes weighs; of those
  within a hundredth of it, that whose sources reach most by the cost model. Placements annealed
  for head-room are among them.

Annealing over moves and exchanges of executors. For head-room the energy is first the share of the
fullest resource - a node's CPU with what sending and receiving costs it, its link each way, a
rack's uplink each way - smoothed by a norm of high power so that the second fullest counts too.
Then it is the traffic between nodes, with a price on every resource that is fuller than the fullest
was. For congestion the energy is what counts itself. A move changes the loads of two nodes and of
two racks only. resource_annealing.cpp has the loops.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by Simulated Annealing", Science 1983.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice, product

import numpy as np

from stormcut.model.network import UNKNOWN
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.objective.anchoring import anchored_share
from stormcut.objective.congestion import IDLE, LOOSE, congestion
from stormcut.objective.headroom import fullest
from stormcut.objective.resources import (
    DEFAULT_BYTES,
    KIB,
    LINK_OUT,
    MBIT_BYTES,
    Use,
    costs_of,
    rack_ordinals,
    uses,
)
from stormcut.objective.throughput import foretold
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Floats, Ints
from stormcut.placement.algorithms.cut.prepare import Task, running
from stormcut.placement.algorithms.cut.realise import like_before, on_nodes, workers
from stormcut.placement.algorithms.cut.resource_annealing import (
    Capacities,
    Pairs,
    Resources,
    least_congestion,
    most_headroom,
    pairs,
    resources,
)
from stormcut.placement.packing.capacity import CPU

#: Fair shares of CPU a node from which the search begins, beside none.
BALANCES = (1.05, 1.2, 1.5, 2.0)

#: In haste, and of large problems, the first of these that has a placement. What annealing makes of
#: a large one depends on it: 1.2 alone is up to 9 % worse (docs/results/cut-constants.md).
HASTY, LARGE = (1.2,), (1.05, 1.2)

#: Annealing is worth so much in any haste: of 1,000 executors 0.03 s. Without it what is found is
#: 35 % more congested (docs/results/cut-constants.md).
LEAST_EFFORT = 0.03

#: What is gained by less is not worth a move: it is within what is known of loads.
LITTLE = 0.01

#: Of more executors, nobody asks what sources reach: 0.3 s for each placement of 200, 1 s of 400.
MOST_FORETOLD = 200

#: Tuples/s that count for a source that reaches nothing.
LEAST_RATE = 1e-9

#: What all traffic weighs if it travels, beside congestion: of placements as good as the same, that
#: with less traffic is the better one.
TRAVEL = 0.02

#: Pairs of executors that exchange traffic, written out; of more, placements are only compared.
MOST_PAIRS = 2_000_000

#: Workers and nodes that are tried before one worker goes to another node.
MOST_TRIED = 100


def instances(task: Task) -> list[Instance]:
    """Return the instances from which to begin: as asked, and under several balances.

    In haste the first that has a placement is enough: as asked where all nodes together are hardly
    used, else balanced.
    """
    if task.is_hasty:
        limits = task.instance.limits[:, CPU]
        is_quiet = task.problem.executor_cpu.sum() <= IDLE * limits.sum()
        shares = LARGE if task.is_large else HASTY
        even = [] if is_quiet else [task.instance.balanced(each) for each in shares]
        return [*even, task.instance]
    return [task.instance, *(task.instance.balanced(each) for each in BALANCES)]


def balance(task: Task, found: list[Ints], effort: float, rng: np.random.Generator) -> Ints:
    """Return executors' nodes, the best by the objective.

    Parameters
    ----------
    found : list of arrays of shape (groups, nodes)
        Placements to begin with, at least one.
    effort : float
        For each of them.
    """
    judge = (MostHeadroom if task.objective == "headroom" else LeastCongestion)(task)
    asked, now = task.instance, running(task.instance)
    counts = found if now is None else [*found, now]
    starts = [on_nodes(task.problem, asked, each) for each in counts]
    ends = [annealed(judge, asked, nodes, effort, rng) for nodes in starts]
    if task.objective == "congestion" and task.problem.executor_count <= MOST_FORETOLD:
        # Placements with most head-room may be as congested, and faster.
        relieved = MostHeadroom(task)
        ends += [annealed(relieved, asked, nodes, effort, rng) for nodes in starts]
    best = judge.best(ends)
    if task.keeps_workers:
        best = _apart(judge, asked, best)
    assert asked.is_whole(asked.counted(best))
    if now is not None and not _is_better(judge.worth(best), judge.worth(starts[-1])):
        return starts[-1]
    # Nodes that are alike but for their links must not always change names.
    alike = on_nodes(task.problem, asked, like_before(asked, asked.counted(best)))
    return alike if judge.worth(alike) >= judge.worth(best) else best


def _apart(judge: Judge, asked: Instance, nodes: Ints) -> Ints:
    """Return nodes where workers that shared one are on several, as long as that is worth more."""
    while True:
        found = list(islice(_one_apart(judge, asked, nodes), MOST_TRIED))
        best = max(found, key=judge.worth, default=nodes)
        if judge.worth(best) <= judge.worth(nodes):
            return nodes
        nodes = best


def _one_apart(judge: Judge, asked: Instance, nodes: Ints) -> Iterator[Ints]:
    """Yield nodes with one worker, whose topology has others beside it, where it has none."""
    slots = judge.placement(nodes).slots
    for at in range(len(judge.problem.topologies)):
        own = judge.problem.executor_topology == at
        used = np.unique(nodes[own])
        unused = np.setdiff1d(np.flatnonzero(asked.slots), used).tolist()
        several = [np.unique(slots[own & (nodes == node)])[1:].tolist() for node in used]
        for worker, node in product(chain.from_iterable(several), unused):
            moved = np.where(slots == worker, node, nodes)
            if asked.is_whole(asked.counted(moved)):
                yield moved


def _is_better(found: tuple[float, float], now: tuple[float, float]) -> bool:
    """Return whether a worth is better than another by what counts."""
    more, as_much = found[0] > now[0] * (1 + LITTLE), found[0] >= now[0]
    return more or (as_much and found[1] > now[1] * (1 - LITTLE))


class Judge(ABC):
    """What placements of one problem on nodes are worth."""

    def __init__(self, task: Task) -> None:
        self.task, self.problem = task, task.problem
        slots = [len(node.ports) for node in self.problem.nodes]
        self._first_slot = np.concatenate(([0], np.cumsum(slots)[:-1])).astype(np.int64)

    @abstractmethod
    def worth(self, nodes: Ints) -> tuple[float, float]:
        """Return what counts first, never negative, and then less the Mbit/s between nodes."""

    @abstractmethod
    def anneal(
        self, given: Resources, nodes: Ints, effort: float, rng: np.random.Generator
    ) -> Ints:
        """Return nodes of executors that are worth more, if any were found."""

    def best(self, ends: list[Ints]) -> Ints:
        """Return the nodes that are worth most."""
        return max(ends, key=self.worth)

    def placement(self, nodes: Ints) -> Placement:
        """Return executors on slots of their node, those of one worker on one.

        Which slots is all the same here: `seat` later chooses those that restart least.
        """
        group, topologies = workers(self.task, nodes), len(self.problem.topologies)
        most = int(group.max(initial=0)) + 1
        tenant = nodes * topologies + self.problem.executor_topology
        found, worker = np.unique(tenant * most + group, return_inverse=True)
        homes = found // (topologies * most)
        slots = self._first_slot[homes] + np.arange(len(homes)) - np.searchsorted(homes, homes)
        return Placement(slots[worker])

    def uses(self, nodes: Ints) -> tuple[tuple[Use, ...], float]:
        """Return the use of all resources, and the Mbit/s between nodes."""
        used = uses(self.problem, self.placement(nodes), self.anchored)
        sent = next(use for use in used if use.kind == LINK_OUT)
        return used, float(sent.load.sum())

    @cached_property
    def is_searched(self) -> bool:
        """Whether its pairs are few enough to be written out."""
        return self.problem.executor_count > 1 and self.problem.traffic.pair_count <= MOST_PAIRS

    @cached_property
    def anchored(self) -> Floats | None:
        """Which share of what each executor takes is anchored; None: all."""
        found = anchored_share(self.problem)
        return found if (found < 1).any() else None

    @cached_property
    def pairs(self) -> Pairs:
        """What pairs of executors load when they are apart."""
        return _pairs(self.problem, self.anchored)


class MostHeadroom(Judge):
    """Head-room counts, infinite where nothing limits it; then traffic."""

    def worth(self, nodes: Ints) -> tuple[float, float]:  # noqa: D102
        used, travels = self.uses(nodes)
        found = fullest(self.problem, used).value
        return float("inf") if found is None else found, -travels

    def anneal(  # noqa: D102
        self, given: Resources, nodes: Ints, effort: float, rng: np.random.Generator
    ) -> Ints:
        return most_headroom(given, len(self.problem.topologies), nodes, effort, rng)


class LeastCongestion(Judge):
    """Congestion counts, down to `IDLE`, with the share of traffic that travels."""

    @cached_property
    def _all(self) -> float:
        """What links would carry if no two executors shared a node, in Mbit/s."""
        return float(self.pairs.loads[:, :1].sum()) or 1.0

    def worth(self, nodes: Ints) -> tuple[float, float]:  # noqa: D102
        used, travels = self.uses(nodes)
        cost = max(congestion(used), IDLE) * (1 + TRAVEL * travels / self._all)
        return 1.0 / cost, -travels

    def best(self, ends: list[Ints]) -> Ints:
        """Return the nodes that are worth most; of those as congested, the fastest."""
        best = super().best(ends)
        if congestion(self.uses(best)[0]) <= IDLE:  # Least traffic decides.
            return best
        least = self.worth(best)[0] * (1 - LITTLE)
        tied = {each.tobytes(): each for each in (best, *ends) if self.worth(each)[0] >= least}
        return max(tied.values(), key=self._speed) if len(tied) > 1 else best

    def _speed(self, nodes: Ints) -> float:
        """Return the sum of the logarithms of what sources reach (fairness), 0 if unknown."""
        few = self.problem.executor_count <= MOST_FORETOLD
        found = foretold(self.problem, self.placement(nodes)) if few else None
        return 0.0 if found is None else float(np.log(np.maximum(found.rates, LEAST_RATE)).sum())

    def anneal(  # noqa: D102
        self, given: Resources, nodes: Ints, effort: float, rng: np.random.Generator
    ) -> Ints:
        topologies = len(self.problem.topologies)
        return least_congestion(given, topologies, nodes, IDLE, TRAVEL, LOOSE, effort, rng)


def annealed(
    judge: Judge, asked: Instance, nodes: Ints, effort: float, rng: np.random.Generator
) -> Ints:
    """Return nodes of executors that are worth more, or the same.

    Parameters
    ----------
    judge : Judge
    asked : Instance
        Its limits are kept.
    nodes : array of shape (executors,)
        A placement within them.
    effort : float
        Search this many times as long as by default, `LEAST_EFFORT` at least.

    Notes
    -----
    Takes O(pairs of an executor) for each of O(executors x effort) steps, O(pairs) memory. Of a
    local-or-shuffle stream no target counts as local, which never flatters a placement.
    """
    if not judge.is_searched:
        return nodes
    found = judge.anneal(_resources(judge, asked), nodes, max(effort, LEAST_EFFORT), rng)
    return found if judge.worth(found) > judge.worth(nodes) else nodes


def _resources(judge: Judge, asked: Instance) -> Resources:
    problem = judge.problem
    racks, names = rack_ordinals(problem)
    known = dict(problem.uplinks)
    uplinks = [known.get(name, UNKNOWN) for name in names]
    capacities = Capacities(
        _capacities([(n.cpu_percent, n.link.out, n.link.into) for n in problem.nodes]),
        _capacities([(link.out, link.into) for link in uplinks]),
        racks[: len(problem.nodes)],
    )
    threads = problem.executor_cpu / (CORE_PERCENT * problem.executor_threads)
    thread = float(threads.max(initial=0.0))
    costs = costs_of(problem)
    return resources(problem, asked, judge.pairs, problem.executor_cpu, capacities, thread, costs)


def _capacities(rows: list[tuple[float | None, ...]]) -> Floats:
    return np.array([[np.inf if value is None else value for value in row] for row in rows])


def _pairs(problem: Problem, anchored: Floats | None) -> Pairs:
    """Return what pairs of executors load when they are apart: Mbit/s, points of CPU."""
    traffic, costs = problem.traffic.sized(DEFAULT_BYTES), costs_of(problem)
    source, target, rate, size = traffic.unfolded_sizes()
    points = CORE_PERCENT / CORE_US * rate
    sending = points * (costs.send_us_per_kib / KIB * size)
    taking = points * (costs.receive_us_per_kib / KIB * size)
    carried = rate * (size + costs.link_bytes_per_tuple) / MBIT_BYTES
    held = rate if anchored is None else rate * anchored[target]
    return pairs(traffic.executors, source, target, carried, sending, taking, rate, held)
