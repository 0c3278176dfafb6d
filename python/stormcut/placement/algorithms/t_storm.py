"""T-Storm: the executors with most traffic first, each to the node where most of it stays.

Executors go in descending order of all that they send and receive. Each goes to the node where the
least of its traffic with those placed before it leaves the node. No node is filled beyond its
capacity, and none holds more than ``gamma`` times its even share of the executors: with 1 all nodes
are used alike, with 2 about half of them.

Published: the order, the choice, both bounds, one slot for a topology on a node. Decided here:

- Capacity is ``cpu_share`` of a node's CPU. The even share counts executors of all topologies on
  all nodes that can hold something, those that run already and are not in the problem included.
- All topologies are placed as one list. Storm's own executors are executors as any other.
- Of nodes that are equally good, the one with fewer executors, then the first.
- An executor that finds no node within both bounds goes where the nodes' limits allow, to the one
  with the fewest executors; what still breaks a limit is moved at the least cost in traffic (see
  `fit`), and the placement says so.
- Nodes that are alike change places so that most executors stay where they run. ``workers`` is
  ignored: the paper has one for a topology on a node, too.

Takes O(executors x nodes x groups that exchange traffic with one).

References
----------
J. Xu, Z. Chen, J. Tang and S. Su, "T-Storm: traffic-aware online scheduling in Storm", ICDCS 2014.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stormcut.arrays import ROUNDING, Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.options import POSITIVE, POSITIVE_FRACTION, Bounded
from stormcut.placement.packing.alignment import among_equals
from stormcut.placement.packing.capacity import CPU, EXECUTORS, Hosts, hosts
from stormcut.placement.packing.groups import Groups, fold
from stormcut.placement.packing.room import Room
from stormcut.placement.slots.on_nodes import place_on_nodes


@dataclass(frozen=True)
class Options(Bounded):
    """What can be set."""

    gamma: float = field(
        default=1.5,
        metadata={
            "help": "consolidation factor: times its even share that a node may hold",
            "bounds": POSITIVE,
        },
    )
    cpu_share: float = field(
        default=0.8,
        metadata={
            "help": "share of a node's CPU that is its capacity",
            "bounds": POSITIVE_FRACTION,
        },
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return T-Storm's placement; nothing in it is random.

    Raises
    ------
    Infeasible
        No node can hold anything, or no way was found to keep within limits.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    able = hosts(problem)
    if not len(able.ordinals):
        raise Infeasible("t-storm found none: no node has a slot and capacity left", "slots")
    homes = among_equals(problem, able, _positions(problem, able, options))
    return place_on_nodes("t-storm", problem, able, homes)


def _positions(problem: Problem, able: Hosts, options: Options) -> Ints:
    """Return the position in ``able`` of each executor."""
    groups = fold(problem)
    room = Room(able, groups.load[groups.of], problem.executor_topology)
    capacity = options.cpu_share * able.limits[:, CPU]
    count = len(able.ordinals)
    share = (problem.executor_count + int(able.others.sum())) / count
    most = np.ceil(options.gamma * share) - able.others
    held = np.zeros((len(groups.size), count))
    hosts = np.empty(problem.executor_count, dtype=np.int64)
    for executor in _busiest_first(groups).tolist():
        group = int(groups.of[executor])
        fits = room.fits(executor)
        within = room.totals[:, EXECUTORS] + 1 <= most
        within &= room.totals[:, CPU] + groups.load[group, CPU] <= capacity * (1 + ROUNDING)
        stays = groups.pair_rate[[group]] @ held
        host = _best(np.asarray(stays).reshape(-1), room.totals[:, EXECUTORS], fits, within)
        hosts[executor] = host
        held[group, host] += 1
        room.put(executor, host)
    return hosts


def _busiest_first(groups: Groups) -> Ints:
    """Return executors by what they send and receive, most first."""
    traffic = groups.pair_rate @ groups.size - groups.pair_rate.diagonal()
    order: Ints = np.argsort(-traffic[groups.of], kind="stable")
    return order


def _best(
    stays: Floats, executors: Floats, fits: npt.NDArray[np.bool_], within: npt.NDArray[np.bool_]
) -> int:
    """Return where most traffic stays within all bounds, else the emptiest that fits, or of all."""
    if (fits & within).any():
        left = np.flatnonzero(fits & within)
        most = stays[left].max()
        left = left[stays[left] >= most - ROUNDING * abs(most)]
    else:
        left = np.flatnonzero(fits if fits.any() else ~fits)
    return int(left[np.argmin(executors[left])])
