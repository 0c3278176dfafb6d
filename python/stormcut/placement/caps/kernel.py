"""The compiled tree search of `caps`: operator after operator, node after node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stormcut.placement.cut.kernels import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Costs that differ by less of the way between the bounds are equal.
ROUNDING = 1e-9


class Tree(NamedTuple):
    """Operators in the order in which they are placed, and nodes, those that are alike adjacent.

    ``size``, ``topology`` (operators,) and ``load`` (operators, 3); rows of tuples/s from one
    executor to one of another operator, and columns likewise; ``limits`` (nodes, 3), ``slots``,
    ``alike`` (whether a node is like the one before), ``capacity`` (nodes,); ``topologies``: their
    number.
    """

    size: Ints
    topology: Ints
    load: Floats
    sent_starts: Ints
    targets: Ints
    sent: Floats
    received_starts: Ints
    sources: Ints
    received: Floats
    limits: Floats
    slots: Ints
    alike: Bools
    capacity: Floats
    topologies: int


class Levels(NamedTuple):
    """What is known at each depth of the outer search.

    Before an operator, (operators + 1, nodes): what nodes use (and resources), their network load,
    and which are like the one before. While it is spread, (operators, nodes): tuples/s to other
    nodes of one executor, and to all executors elsewhere of each node; how many a node may take,
    how many are left for it and those after it, and how many of its kind begin with it; and
    (operators, nodes + 1) the most and least that the nodes from here on can take together.
    ``inside`` (operators,): tuples/s between two executors of the operator. ``held`` (nodes,
    topologies) counts executors, ``tenants`` (nodes,) topologies.
    """

    used: Floats
    network: Floats
    alike: Bools
    outward: Floats
    inward: Floats
    highest: Ints
    left: Ints
    kind_left: Ints
    most: Ints
    least: Ints
    inside: Floats
    held: Ints
    tenants: Ints


def levels(tree: Tree) -> Levels:
    """Return empty levels for a tree."""
    depth, nodes = len(tree.size), len(tree.slots)
    shape = (depth, nodes)
    alike = np.zeros((depth + 1, nodes), dtype=np.bool_)
    alike[0] = tree.alike
    return Levels(
        np.zeros((depth + 1, nodes, tree.limits.shape[1])),
        np.zeros((depth + 1, nodes)),
        alike,
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros((depth, nodes + 1), dtype=np.int64),
        np.zeros((depth, nodes + 1), dtype=np.int64),
        np.zeros(depth),
        np.zeros((nodes, tree.topologies), dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
    )


@compiled
def search(
    tree: Tree,
    levels: Levels,
    thresholds: Floats,
    least: Floats,
    way: Floats,
    max_steps: int,
    first: bool,
) -> tuple[bool, Ints]:
    """Return whether there is a plan within thresholds, and the best, shape (operators, nodes).

    Parameters
    ----------
    thresholds, least, way : array of shape (2,)
        Most CPU and network load of a node; the plan whose larger (cost - least) / way is least,
        then the one whose sum is, is the best.
    max_steps : int
        Numbers of executors tried on a node before the search ends.
    first : bool
        Whether to end with the first plan.
    """
    depths, nodes = len(tree.size), len(tree.slots)
    plan = np.zeros((depths, nodes), dtype=np.int64)
    best, best_most, best_sum = plan.copy(), np.inf, np.inf
    depth, node, steps = 0, -1, 0
    if _enter(tree, levels, plan, thresholds, 0):
        node = 0
        _begin(tree, levels, plan, 0, 0)
    while node >= 0:
        if not _advance(tree, levels, plan, thresholds[1], depth, node):
            node -= 1
            if node < 0 and depth > 0:
                depth -= 1
                _leave(tree, levels, plan, depth)
                node = nodes - 1
            continue
        steps += 1
        if steps > max_steps:
            break
        if node < nodes - 1:
            node += 1
            _begin(tree, levels, plan, depth, node)
            continue
        _finish(tree, levels, plan, depth)
        if depth < depths - 1 and _enter(tree, levels, plan, thresholds, depth + 1):
            depth += 1
            node = 0
            _begin(tree, levels, plan, depth, 0)
            continue
        if depth == depths - 1:
            compute = (levels.used[depths, :, 0] / tree.capacity).max()
            one = (compute - least[0]) / way[0]
            other = (levels.network[depths].max() - least[1]) / way[1]
            most = max(one, other)
            tie = most < best_most + ROUNDING and one + other < best_sum - ROUNDING
            if most < best_most - ROUNDING or tie:
                best[:], best_most, best_sum = plan, most, one + other
                if first:
                    break
        _leave(tree, levels, plan, depth)
    return best_most < np.inf, best


@compiled
def _enter(tree: Tree, levels: Levels, plan: Ints, thresholds: Floats, depth: int) -> bool:
    """Prepare to spread an operator; return whether nodes can take as many as it has."""
    nodes = len(tree.slots)
    plan[depth] = 0
    _rates(tree, levels, plan, depth)
    levels.most[depth, nodes] = levels.least[depth, nodes] = 0
    for node in range(nodes - 1, -1, -1):
        room = _room(tree, levels, thresholds[0], depth, node)
        lowest = -1
        for number in range(room + 1):
            if _network(tree, levels, depth, node, number) <= thresholds[1]:
                levels.highest[depth, node] = number
                if lowest < 0:
                    lowest = number
        if lowest < 0:
            return False
        levels.most[depth, node] = levels.most[depth, node + 1] + levels.highest[depth, node]
        levels.least[depth, node] = levels.least[depth, node + 1] + lowest
        following = node < nodes - 1 and levels.alike[depth, node + 1]
        levels.kind_left[depth, node] = 1
        if following:
            levels.kind_left[depth, node] += levels.kind_left[depth, node + 1]
    size = int(tree.size[depth])
    return bool(levels.least[depth, 0] <= size <= levels.most[depth, 0])


@compiled
def _rates(tree: Tree, levels: Levels, plan: Ints, depth: int) -> None:
    """Work out the tuples/s of an operator with those placed before it."""
    levels.outward[depth] = 0.0
    levels.inward[depth] = 0.0
    levels.inside[depth] = 0.0
    for at in range(tree.sent_starts[depth], tree.sent_starts[depth + 1]):
        other, rate = tree.targets[at], tree.sent[at]
        if other == depth:
            levels.inside[depth] += rate
        elif other < depth:
            for node in range(plan.shape[1]):
                levels.outward[depth, node] += rate * (tree.size[other] - plan[other, node])
    for at in range(tree.received_starts[depth], tree.received_starts[depth + 1]):
        other, rate = tree.sources[at], tree.received[at]
        if other < depth:
            for node in range(plan.shape[1]):
                levels.inward[depth, node] += rate * plan[other, node]


@compiled
def _room(tree: Tree, levels: Levels, threshold: float, depth: int, node: int) -> int:
    """Return how many executors of an operator a node can take."""
    if not levels.held[node, tree.topology[depth]] and levels.tenants[node] >= tree.slots[node]:
        return 0
    room = float(tree.size[depth])
    for resource in range(tree.load.shape[1]):
        load = tree.load[depth, resource]
        if load > 0:
            limit = tree.limits[node, resource]
            if resource == 0:
                limit = min(limit, threshold * tree.capacity[node])
            room = min(room, np.floor((limit - levels.used[depth, node, resource]) / load))
    return int(max(room, 0.0))


@compiled
def _network(tree: Tree, levels: Levels, depth: int, node: int, number: int) -> float:
    """Return the network load of a node that takes so many executors of an operator."""
    elsewhere = tree.size[depth] - number
    sent = number * (levels.outward[depth, node] + levels.inside[depth] * elsewhere)
    return float(levels.network[depth, node] + sent + levels.inward[depth, node] * elsewhere)


@compiled
def _begin(tree: Tree, levels: Levels, plan: Ints, depth: int, node: int) -> None:
    """Set a node to one below the least number that it may take of what is left."""
    left = tree.size[depth]
    if node > 0:
        left = levels.left[depth, node - 1] - plan[depth, node - 1]
    levels.left[depth, node] = left
    lowest = max(0, left - levels.most[depth, node + 1])
    if node > 0 and levels.alike[depth, node]:
        lowest = max(lowest, plan[depth, node - 1])
    plan[depth, node] = lowest - 1


@compiled
def _advance(
    tree: Tree, levels: Levels, plan: Ints, threshold: float, depth: int, node: int
) -> bool:
    """Set a node to the next number that it may take; return whether there is one."""
    left = levels.left[depth, node]
    highest = min(levels.highest[depth, node], left - levels.least[depth, node + 1])
    # Those alike that follow take no less.
    highest = min(highest, left // levels.kind_left[depth, node])
    for number in range(plan[depth, node] + 1, highest + 1):
        if _network(tree, levels, depth, node, number) <= threshold:
            plan[depth, node] = number
            return True
    plan[depth, node] = 0
    return False


@compiled
def _finish(tree: Tree, levels: Levels, plan: Ints, depth: int) -> None:
    """Count an operator that is spread over all nodes."""
    topology = tree.topology[depth]
    for node in range(plan.shape[1]):
        number = plan[depth, node]
        levels.network[depth + 1, node] = _network(tree, levels, depth, node, number)
        for resource in range(tree.load.shape[1]):
            load = number * tree.load[depth, resource]
            levels.used[depth + 1, node, resource] = levels.used[depth, node, resource] + load
        alike = levels.alike[depth, node]
        levels.alike[depth + 1, node] = alike and plan[depth, node - 1] == number
        if number and not levels.held[node, topology]:
            levels.tenants[node] += 1
        levels.held[node, topology] += number


@compiled
def _leave(tree: Tree, levels: Levels, plan: Ints, depth: int) -> None:
    """Undo `_finish`."""
    topology = tree.topology[depth]
    for node in range(plan.shape[1]):
        levels.held[node, topology] -= plan[depth, node]
        if plan[depth, node] and not levels.held[node, topology]:
            levels.tenants[node] -= 1
