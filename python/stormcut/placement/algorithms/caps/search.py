"""The tree search of `caps`: operator after operator, node after node; search.cpp has the loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stormcut.arrays import Bools, Floats, Ints
from stormcut.native.library import (
    BOOL,
    BOOL_ROWS,
    BOOLS,
    FLOAT_CUBE,
    FLOAT_ROWS,
    FLOATS,
    INT,
    INT_ROWS,
    INTS,
    NativeRecord,
    function,
)


class Tree(NamedTuple):
    """Operators in the order in which they are placed, and nodes, those that are alike adjacent.

    ``size``, ``topology`` (operators,) and ``load`` (operators, 3); rows of tuples/s from one
    executor to one of another operator, and columns likewise; ``limits`` (nodes, 3), ``slots``,
    ``alike`` (whether a node is like the one before), ``capacity`` (nodes,). Of local-or-shuffle
    streams, none of them in the rows: ``stream_rate`` (streams,), tuples/s of one source;
    ``stream_last``, the last operator among the targets; which operators are sources and which
    targets, ``sends`` and ``takes`` (streams, operators).
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
    stream_rate: Floats
    stream_last: Ints
    sends: Bools
    takes: Bools


class Levels(NamedTuple):
    """What is known at each depth of the outer search.

    Before an operator, (operators + 1, nodes): what nodes use (and resources), their network load,
    and which are like the one before. While it is spread, (operators, nodes): tuples/s to other
    nodes of one executor, and to all executors elsewhere of each node; what local-or-shuffle
    streams send from a node that gets none of the operator; how many a node may take, how many are
    left for it and those after it, and how many of its kind begin with it; and
    (operators, nodes + 1) the most and least that the nodes from here on can take together.
    ``inside`` (operators,): tuples/s between two executors of the operator. ``held`` (nodes,
    topologies) counts executors, ``tenants`` (nodes,) topologies.
    """

    used: Floats
    network: Floats
    alike: Bools
    outward: Floats
    inward: Floats
    stranded: Floats
    highest: Ints
    left: Ints
    kind_left: Ints
    most: Ints
    least: Ints
    inside: Floats
    held: Ints
    tenants: Ints


TREE = NativeRecord(
    *(INTS, INTS, FLOAT_ROWS, INTS, INTS, FLOATS, INTS, INTS, FLOATS),
    *(FLOAT_ROWS, INTS, BOOLS, FLOATS, FLOATS, INTS, BOOL_ROWS, BOOL_ROWS),
)
LEVELS = NativeRecord(
    *(FLOAT_CUBE, FLOAT_ROWS, BOOL_ROWS, FLOAT_ROWS, FLOAT_ROWS, FLOAT_ROWS),
    *(INT_ROWS, INT_ROWS, INT_ROWS, INT_ROWS, INT_ROWS, FLOATS, INT_ROWS, INTS),
)

_search = function("search", TREE, LEVELS, FLOATS, FLOATS, FLOATS, INT, BOOL, INT_ROWS, result=BOOL)


def _levels(tree: Tree) -> Levels:
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
        np.zeros(shape),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros((depth, nodes + 1), dtype=np.int64),
        np.zeros((depth, nodes + 1), dtype=np.int64),
        np.zeros(depth),
        np.zeros((nodes, int(tree.topology.max()) + 1), dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
    )


def search(
    tree: Tree,
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
    best = np.zeros((len(tree.size), len(tree.slots)), dtype=np.int64)
    is_found = _search(tree, _levels(tree), thresholds, least, way, max_steps, first, best)
    return bool(is_found), best
