"""Compiled loops over executors' moves, and what each does; the `.cpp` of each name has the loop.

- `tabu_search`: the best move or exchange that does not undo a recent one, be it for the worse.
- `anneal`: the executors of one topology on the nodes that it has.
- `inserted`, `deal_evenly`, `grow_clusters`, `take_out` (greedy.cpp): executors nowhere yet.
- `ejected`, `make_whole` (ejection.cpp): room for executors that fit nowhere. Executors leave nodes
  that may not hold them or hold too much, those with least traffic there for the room that they
  free first. Executors that are nowhere are placed, hard ones first, each where it saves most. One
  that fits nowhere takes the place of others, on the node where those who give way were easiest to
  place so far; these then are nowhere.
- `descend` (replan.cpp): executors move or change places as long as that saves more than the
  workers that restart cost.

References
----------
Annealing: S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing",
Science 220 (1983). Ejection: Y. Nagata and O. Bräysy, "A powerful route minimization heuristic for
the vehicle routing problem with time windows", Operations Research Letters 37 (2009): an ejection
pool, where what was hard to insert before is dear to eject.
"""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.native.library import (
    BOOL,
    FLOAT,
    FLOATS,
    INT,
    INT_ROWS,
    INTS,
    SEED,
    function,
)
from stormcut.placement.algorithms.cut.model import (
    MODEL,
    STATE,
    Model,
    SearchState,
    Seed,
    blank,
    state_at,
    weights,
)

_tabu_search = function("tabu_search", MODEL, STATE, FLOAT, FLOAT, SEED, INT_ROWS)


def tabu_search(model: Model, counts: Ints, operations: float, slack: float, seed: Seed) -> Ints:
    """Return the best placement that a tabu search from this one meets.

    Parameters
    ----------
    operations : float
        Candidates looked at, about; there are 10 steps at least.
    slack : float
        Gains up to this are rounding.
    """
    best = np.empty_like(counts, order="C")
    _tabu_search(model, blank(model, counts), operations, slack, seed, best)
    return best


_anneal = function("anneal", MODEL, STATE, INTS, INTS, INT, FLOAT, SEED)


def anneal(
    model: Model,
    state: SearchState,
    group: Ints,
    node: Ints,
    steps: int,
    hot: float,
    seed: Seed,
) -> None:
    """Move and exchange the executors of one topology, ever more choosy.

    Every step tries one random move or exchange, O(neighbours of the group) if it is made. The
    temperature falls from ``hot`` to 0 with the cube of the steps left, so that the end is a plain
    descent.

    Parameters
    ----------
    model : Model
        Of one topology; only traffic between nodes counts.
    group, node : arrays of shape (executors,)
        All executors and where they are; ``node`` is kept up to date.
    hot : float
        First temperature: a loss of so many tuples/s is accepted with probability 1/e.
    """
    _anneal(model, state, group, node, steps, hot, seed)


#: Where an executor goes that has no traffic with any node that could take it.
EMPTIEST, FULLEST, ANYWHERE = range(3)

_inserted = function("inserted", MODEL, STATE, INTS, INT, SEED)
_deal_evenly = function("deal_evenly", MODEL, STATE, INTS, INTS, INTS, FLOATS, result=BOOL)
_grow_clusters = function("grow_clusters", MODEL, STATE, INTS, INTS, INTS, FLOATS)
_take_out = function("take_out", MODEL, STATE, INTS, INTS)


def inserted(model: Model, counts: Ints, order: Ints, otherwise: int, seed: Seed) -> Ints:
    """Return counts with missing executors added where they fit, group by group in that order.

    Parameters
    ----------
    otherwise : int
        `EMPTIEST`, `FULLEST` or `ANYWHERE`: which node among those of equal traffic.
    """
    state = blank(model, counts)
    missing = model.size - counts.sum(axis=1)
    _inserted(model, state, np.repeat(order, missing[order]), otherwise, seed)
    return state.counts


def deal_evenly(
    model: Model, state: SearchState, members: Ints, missing: Ints, nodes: Ints, shares: Floats
) -> bool:
    """Deal each group to nodes in proportion to their shares; O(executors x nodes).

    Parameters
    ----------
    members : array of groups, in the order in which they are dealt
    missing : array of shape (groups,)
        Executors still to be dealt of every group; counted down.
    nodes : array of node ordinals
    shares : array of shape (all nodes,)

    Returns
    -------
    bool
        Whether all fitted; if not, some are missing still.
    """
    return bool(_deal_evenly(model, state, members, missing, nodes, shares))


def grow_clusters(
    model: Model, state: SearchState, members: Ints, missing: Ints, nodes: Ints, weight: Floats
) -> None:
    """Fill node after node with executors that exchange most for the room that they take.

    Each begins with the pair of groups that is densest, and goes on with the executor that adds
    most traffic for its weight. Executors without such traffic stay missing.

    Parameters
    ----------
    weight : array of shape (groups,)
        Room that one executor takes; above 0.
    """
    _grow_clusters(model, state, members, missing, nodes, weight)


def take_out(model: Model, state: SearchState, members: Ints, nodes: Ints) -> None:
    """Remove all executors of some groups from some nodes."""
    _take_out(model, state, members, nodes)


#: Groups on nodes that are looked at, at most, by all ejections together: tenths of a second.
LOOKS = 2e8

#: Random moves after each ejection of a search.
SHUFFLES = 3

_evict = function("evict", MODEL, STATE)
_descend = function("descend", MODEL, STATE, FLOAT, FLOAT)
_insert = function("insert", MODEL, STATE, FLOATS, INT, INT, FLOAT, SEED)


def ejected(model: Model, counts: Ints, seed: Seed) -> Ints:
    """Return counts with missing executors added and others moved to make room for them.

    Returns
    -------
    array of shape (groups, nodes)
        Some executors are still missing if no way was found.
    """
    state = state_at(model, counts)
    _insert(model, state, weights(model), ANYWHERE, SHUFFLES, LOOKS, seed)
    return state.counts


def make_whole(model: Model, state: SearchState, looks: float, seed: Seed) -> bool:
    """Bring a state within all limits and place what is missing; move nothing without need.

    Parameters
    ----------
    looks : float
        Groups on nodes to look at.

    Returns
    -------
    bool
        Whether all executors were placed.
    """
    _evict(model, state)
    _insert(model, state, weights(model), EMPTIEST, 0, looks, seed)
    return bool(state.counts.sum() == model.size.sum())


def descend(model: Model, state: SearchState, slack: float, candidates: float) -> None:
    """Make moves and exchanges that save more than the restarts that they cost.

    Parameters
    ----------
    slack : float
        Gains up to this are rounding.
    candidates : float
        Moves and exchanges to look at, at most. Each sweep takes O(nodes) for every group on every
        node that it is on.
    """
    _descend(model, state, slack, candidates)
