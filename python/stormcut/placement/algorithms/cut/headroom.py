"""Most head-room: placements with least traffic, annealed until the fullest resource is least full.

Placements with least traffic under several balances, and what runs now, are annealed; that with
most head-room wins, of like ones that with least traffic between nodes. What runs now stays if that
gains less than `LITTLE` in both.

Annealing over moves and exchanges of executors, in two halves. First the energy is the share of the
fullest resource - a node's CPU with what sending and receiving costs it, its link each way, a
rack's uplink each way - smoothed by a norm of high power so that the second fullest counts too.
Then it is the traffic between nodes, with a price on every resource that is fuller than the fullest
was. A move changes the loads of two nodes and of two racks only. balancing.cpp has the loop.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by Simulated Annealing", Science 1983.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stormcut.model.network import UNKNOWN
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.objective.headroom import fullest
from stormcut.objective.resources import (
    DEFAULT_BYTES,
    KIB,
    LINK_OUT,
    MBIT_BYTES,
    costs_of,
    rack_ordinals,
    uses,
)
from stormcut.placement.algorithms.cut.alignment import like_before, on_nodes
from stormcut.placement.algorithms.cut.balancing import (
    Capacities,
    Pairs,
    Resources,
    most_headroom,
    pairs,
    resources,
)
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Floats, Ints
from stormcut.placement.algorithms.cut.prepare import Task, running

#: Fair shares of CPU a node from which the search begins, beside none; of large problems.
BALANCES, FEW_BALANCES = (1.05, 1.2, 1.5, 2.0), (1.2,)

#: What is gained by less is not worth a move: it is within what is known of loads.
LITTLE = 0.01

#: Pairs of executors that exchange traffic, written out; of more, placements are only compared.
MOST_PAIRS = 2_000_000


def instances(task: Task) -> list[Instance]:
    """Return the instances from which to begin: as asked, and under several balances."""
    balances = FEW_BALANCES if task.is_large else BALANCES
    return [task.instance, *(task.instance.balanced(each) for each in balances)]


def balance(task: Task, found: list[Ints], effort: float, rng: np.random.Generator) -> Ints:
    """Return executors' nodes with most head-room.

    Parameters
    ----------
    found : list of arrays of shape (groups, nodes)
        Placements to begin with, at least one.
    effort : float
        For each of them.
    """
    judge, asked, now = Judge(task.problem), task.instance, running(task.instance)
    counts = found if now is None else [*found, now]
    starts = [on_nodes(task.problem, asked, each) for each in counts]
    ends = [raised(judge, asked, nodes, effort, rng) for nodes in starts]
    best = max(ends, key=judge.worth)
    assert asked.is_whole(asked.counted(best))
    if now is not None and not _is_better(judge.worth(best), judge.worth(starts[-1])):
        return starts[-1]
    # Nodes that are alike but for their links must not always change names.
    alike = on_nodes(task.problem, asked, like_before(asked, asked.counted(best)))
    return alike if judge.worth(alike) >= judge.worth(best) else best


def _is_better(found: tuple[float, float], now: tuple[float, float]) -> bool:
    """Return whether a (head-room, less traffic) is better than another by what counts."""
    more, as_much = found[0] > now[0] * (1 + LITTLE), found[0] >= now[0]
    return more or (as_much and found[1] > now[1] * (1 - LITTLE))


class Judge:
    """What placements of one problem on nodes are worth; a topology has one worker on a node."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        slots = [len(node.ports) for node in problem.nodes]
        self._slot = np.concatenate(([0], np.cumsum(slots)[:-1])).astype(np.int64)

    def worth(self, nodes: Ints) -> tuple[float, float]:
        """Return (head-room, less the Mbit/s between nodes): the larger the better.

        The head-room is infinite where nothing limits it.
        """
        used = uses(self.problem, Placement(self._slot[nodes]))
        found = fullest(self.problem, used).value
        sent = next(use for use in used if use.kind == LINK_OUT)
        return float("inf") if found is None else found, -float(sent.load.sum())

    @cached_property
    def is_searched(self) -> bool:
        """Whether its pairs are few enough to be written out."""
        traffic = self.problem.traffic
        folded = sum(len(block.sources) * len(block.targets) for block in traffic.blocks)
        return self.problem.executor_count > 1 and len(traffic.rate) + folded <= MOST_PAIRS


def raised(
    judge: Judge, asked: Instance, nodes: Ints, effort: float, rng: np.random.Generator
) -> Ints:
    """Return nodes of executors with more head-room, or as much and less traffic; or the same.

    Parameters
    ----------
    judge : Judge
    asked : Instance
        Its limits are kept.
    nodes : array of shape (executors,)
        A placement within them.
    effort : float
        Search this many times as long as by default.

    Notes
    -----
    Takes O(pairs of an executor) for each of O(executors x effort) steps, O(pairs) memory. Of a
    local-or-shuffle stream no target counts as local, which never flatters a placement.
    """
    if not judge.is_searched or effort <= 0:
        return nodes
    given = _resources(judge.problem, asked)
    found = most_headroom(given, len(judge.problem.topologies), nodes, effort, rng)
    return found if judge.worth(found) > judge.worth(nodes) else nodes


def _resources(problem: Problem, asked: Instance) -> Resources:
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
    return resources(problem, asked, _pairs(problem), problem.executor_cpu, capacities, thread)


def _capacities(rows: list[tuple[float | None, ...]]) -> Floats:
    return np.array([[np.inf if value is None else value for value in row] for row in rows])


def _pairs(problem: Problem) -> Pairs:
    """Return what pairs of executors load when they are apart: Mbit/s, points of CPU."""
    traffic, costs = problem.traffic.sized(DEFAULT_BYTES), costs_of(problem)
    source, target, rate, size = traffic.unfolded_sizes()
    points = CORE_PERCENT / CORE_US * rate
    sending = points * (costs.send_us_per_tuple + costs.send_us_per_kib / KIB * size)
    taking = points * (costs.receive_us_per_tuple + costs.receive_us_per_kib / KIB * size)
    carried = rate * (size + costs.link_bytes_per_tuple) / MBIT_BYTES
    return pairs(traffic.executors, source, target, carried, sending, taking)
