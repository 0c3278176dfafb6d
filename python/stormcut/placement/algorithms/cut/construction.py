"""Places large instances whole: topology by topology onto as few, as close nodes as carry it.

1. Topologies come in the order of what they gain a node: those that can keep most traffic local
   choose first, those that gain little wherever they are fill what is left.
2. A topology that fits on one node goes to the fullest that takes it. Another gets the largest
   nodes of one rack if that carries it, the last of them the fullest that takes the rest.
3. This is done twice: with every topology dealt to its nodes in proportion, and with every one
   improved, which leaves its nodes dense, before the next comes.
4. In both placements, every topology is then offered nodes of its racks that have room left, and
   whatever others hold on a larger node that does not need it. The better placement is returned.

Improvement is annealing (see `anneal`) from two starts: what is there, and dense clusters.

If a topology finds no room in 2, it moves forward in the order, and everything begins again: large
executors need nodes that nothing else has broken into. If no order helps, topologies get nodes that
just hold them: where all nodes are full, room left on one is room that is missing elsewhere.

Cost is O(topologies x nodes + executors x nodes of their topology) and the annealing's steps, a
fixed number an executor.
"""

from __future__ import annotations

import math

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.loops import anneal, deal_evenly, grow_clusters, take_out
from stormcut.placement.algorithms.cut.model import (
    Model,
    SearchState,
    Seed,
    model_of,
    seed_from,
    state_at,
)
from stormcut.placement.algorithms.cut.node_choice import (
    SLACK,
    TopologyGroups,
    choices,
    room_shares,
    topologies_of,
)
from stormcut.placement.packing.groups import Groups

#: Annealing steps for each executor, half of them where executors are, half where traffic is.
STEPS = 1500

#: Annealing steps of any topology at least.
MIN_STEPS = 100_000

#: Smaller problems get as many steps as one of so many executors.
MIN_EXECUTORS = 10_000

#: First temperatures, as shares of the largest traffic between two executors of the topology.
HEATS = (0.05, 0.8)

#: Nodes that a topology is offered besides each of its own, of those that are left. Half of it or
#: twice changes traffic by 0.02 % at most, as other `ATTEMPTS` do (docs/results/cut-constants.md).
SPARE = 0.5

#: Orders of topologies that are tried.
ATTEMPTS = 40

#: Topologies with more executors are annealed from the first only, the others from each.
LARGE = 1500


def constructed(instance: Instance, rng: np.random.Generator, effort: float = 1.0) -> Ints | None:
    """Return a feasible placement with much of the traffic local, None if this way finds none.

    Parameters
    ----------
    instance : Instance
        Its ``start`` is not looked at.
    effort : float
        Multiplies the annealing's steps.

    Returns
    -------
    array of shape (groups, nodes), optional
        Executors of each group on each node.
    """
    model = model_of(instance, (1.0, 0.0, 0.0))
    state = state_at(model, np.zeros(instance.shape, dtype=np.int64))
    allocated = _allocate(instance, model, state, topologies_of(instance, model))
    if allocated is None:
        return None
    order, slack = allocated
    steps = (effort / 3 * _steps(instance, order)).astype(np.int64)
    seed = seed_from(rng)
    dense = _densely(instance, model, order, slack, steps, seed)
    ends = []
    for each in (state, dense) if dense is not None else (state,):
        for topology, share in zip(order, steps.tolist(), strict=True):
            home = np.flatnonzero(each.held[:, topology.ordinal])
            _exchange_for_larger(instance, each, home)
            _improve(instance, each, topology, share, seed, SPARE)
        ends.append(each.counts)
    return max(ends, key=instance.groups.local)


def _densely(
    instance: Instance,
    model: Model,
    order: list[TopologyGroups],
    slack: float,
    steps: Ints,
    seed: Seed,
) -> SearchState | None:
    """Place all, each improved before the next comes; return None if some find no room so."""
    state = state_at(model, np.zeros(instance.shape, dtype=np.int64))
    for topology, share in zip(order, steps.tolist(), strict=True):
        if _place(instance, model, state, topology, slack) is None:
            return None
        _improve(instance, state, topology, share, seed, 0.0)
    return state


def _exchange_for_larger(instance: Instance, state: SearchState, home: Ints) -> None:
    """Exchange all that nodes hold with larger nodes of their racks that hold no more than fits."""
    if instance.allowed is not None:
        return
    bounds = np.concatenate((instance.bounds, instance.slots[:, None]), axis=1)
    for n in home.tolist():
        used = np.concatenate((state.used, state.tenants[:, None]), axis=1)
        larger = (bounds >= bounds[n]).all(axis=1) & (bounds > bounds[n]).any(axis=1)
        larger &= (used <= bounds[n]).all(axis=1) & (instance.rack == instance.rack[n])
        larger[home] = False
        if larger.any():
            m = int(np.argmax(larger))
            for rows in (state.counts.T, state.traffic.T, state.used, state.held, state.tenants):
                rows[[n, m]] = rows[[m, n]]


def _with_spare(
    instance: Instance, state: SearchState, topology: TopologyGroups, home: Ints, spare: int
) -> Ints:
    """Return a topology's nodes and some of their racks that have room, most room first."""
    room = np.maximum(instance.bounds - state.used, 0.0)
    own = np.ix_(topology.members, home)
    room[home] += state.counts[own].T @ instance.load[topology.members]
    shares = room_shares(room, topology.total)
    open_to = np.isin(instance.rack, instance.rack[home]) & (state.tenants < instance.slots)
    open_to[home] = False
    others = np.flatnonzero(open_to & (shares > 0))
    others = others[np.argsort(-shares[others], kind="stable")]
    nodes = np.concatenate((home, others[:spare]))
    return nodes[np.argsort(-shares[nodes], kind="stable")]


def _improve(
    instance: Instance,
    state: SearchState,
    topology: TopologyGroups,
    steps: int,
    seed: Seed,
    spare: float,
) -> None:
    """Deal one topology again to its nodes and spare ones if that keeps more traffic local."""
    counts, used, members = state.counts, state.used, topology.members
    home = np.flatnonzero(state.held[:, topology.ordinal])
    if len(home) < 2 or topology.traffic <= 0.0:
        return
    nodes = _with_spare(instance, state, topology, home, math.ceil(spare * len(home)))
    held, load = np.ix_(members, nodes), instance.load[members]
    before = counts[held]
    used[nodes] -= before.T @ load
    alone = _alone(instance, topology, nodes, instance.limits[nodes] - used[nodes])
    after = _improved(alone, topology, before, steps, seed)
    counts[held] = after
    used[nodes] += after.T @ load
    state.held[nodes, topology.ordinal] = after.sum(axis=0)
    state.tenants[nodes] += after.any(axis=0).astype(np.int64) - before.any(axis=0)


def _steps(instance: Instance, topologies: list[TopologyGroups]) -> Floats:
    """Return how many annealing steps each topology is worth."""
    executors = np.array([instance.groups.size[t.members].sum() for t in topologies], np.float64)
    gains = np.array([t.traffic for t in topologies]) / _needs(instance, topologies)
    both = executors / max(executors.sum(), 1.0) + gains / max(gains.sum(), 1e-300)
    return np.asarray(np.maximum(MIN_STEPS, STEPS / 2 * max(executors.sum(), MIN_EXECUTORS) * both))


def _needs(instance: Instance, topologies: list[TopologyGroups]) -> Floats:
    """Return how many of the largest nodes each topology would fill."""
    limits = instance.limits[instance.slots > 0]
    largest = [room_shares(limits, t.total).max(initial=0.0) for t in topologies]
    return np.asarray(1.0 / np.clip(largest, 1e-9, 1e9))


def _allocate(
    instance: Instance, model: Model, state: SearchState, topologies: list[TopologyGroups]
) -> tuple[list[TopologyGroups], float] | None:
    """Deal all executors; return the order of topologies that worked and their slack, if any."""
    for slack in (SLACK, 0.0):
        waiting = _in_order(instance, topologies)
        for _ in range(ATTEMPTS):
            for array in state:
                array[...] = 0
            stuck = _first_without_room(instance, model, state, waiting, slack)
            if stuck is None:
                return waiting, slack
            if stuck == 0:
                break
            # Halfway to the front: what gains most a node keeps the best nodes where it can.
            waiting.insert(stuck // 2, waiting.pop(stuck))
    return None


def _first_without_room(
    instance: Instance,
    model: Model,
    state: SearchState,
    waiting: list[TopologyGroups],
    slack: float,
) -> int | None:
    """Place topologies in order; return the position of the first that finds no room."""
    for index, topology in enumerate(waiting):
        if _place(instance, model, state, topology, slack) is None:
            return index
    return None


def _in_order(instance: Instance, topologies: list[TopologyGroups]) -> list[TopologyGroups]:
    """Return the topologies that have most traffic to keep local for the room they take first.

    On k nodes about 1/k of the traffic can be local, so that a node gains traffic / k^2.
    """
    gains = np.array([t.traffic for t in topologies]) / _needs(instance, topologies) ** 2
    return [topologies[index] for index in np.argsort(-gains, kind="stable")]


def _place(
    instance: Instance, model: Model, state: SearchState, topology: TopologyGroups, slack: float
) -> Ints | None:
    """Deal one topology's executors to nodes and return these, None if they do not fit."""
    missing = instance.groups.size.copy()
    for nodes, share in choices(instance, state, topology, slack):
        if deal_evenly(model, state, topology.members, missing, nodes, share):
            return nodes
        take_out(model, state, topology.members, nodes)
        missing[:] = instance.groups.size
    return None


def _improved(
    instance: Instance,
    topology: TopologyGroups,
    counts: Ints,
    steps: int,
    seed: Seed,
) -> Ints:
    """Return better counts for one topology.

    Parameters
    ----------
    instance : Instance
        The topology alone on its nodes.
    counts : array of shape (its groups, its nodes)
    """
    model = model_of(instance, (1.0, 0.0, 0.0))
    scale = max(model.rates.max(initial=0.0), model.own.max(initial=0.0))
    dense = _clustered(instance, model, topology.weight)
    starts = sorted((counts, dense), key=instance.groups.local, reverse=True)
    best = starts[0]
    runs = [(start, heat) for start in starts if start.any() for heat in HEATS]
    if counts.sum() > LARGE:
        runs = runs[:1]
    for start, heat in runs:
        groups, where = np.nonzero(start)
        times = start[groups, where]
        state = state_at(model, start)
        group, node = np.repeat(groups, times), np.repeat(where, times)
        anneal(model, state, group, node, steps // len(runs), heat * scale, seed)
        best = max(best, state.counts, key=instance.groups.local)
    return best


def _clustered(instance: Instance, model: Model, weight: Floats) -> Ints:
    """Return counts in dense clusters, none if these do not fit."""
    members = np.arange(len(weight))
    missing = instance.groups.size.copy()
    shares = np.ones(len(instance.slots))
    state = state_at(model, np.zeros(instance.shape, dtype=np.int64))
    nodes = np.arange(len(instance.slots))
    grow_clusters(model, state, members, missing, nodes, weight)
    if not deal_evenly(model, state, members, missing, nodes, shares):
        return np.zeros(instance.shape, dtype=np.int64)
    return state.counts


def _alone(instance: Instance, topology: TopologyGroups, nodes: Ints, room: Floats) -> Instance:
    """Return the instance of one topology on some nodes, of which it may use ``room``."""
    members, groups = topology.members, instance.groups
    own = Groups(
        np.zeros(0, dtype=np.int64),
        groups.size[members],
        groups.load[members],
        np.zeros(len(members), dtype=np.int64),
        groups.pair_rate[members][:, members],
    )
    allowed = None if instance.allowed is None else instance.allowed[np.ix_(members, nodes)]
    ones = np.ones(len(nodes), dtype=np.int64)
    return Instance(own, instance.load[members], room, ones, instance.rack[nodes], allowed, None)
