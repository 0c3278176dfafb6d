"""Simulated annealing of one topology on the nodes that it has; annealing.cpp has the loop.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

from __future__ import annotations

from stormcut.placement.algorithms.cut.model import MODEL, STATE, Ints, Model, SearchState, Seed
from stormcut.placement.native.library import FLOAT, INT, INTS, SEED, function

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
