"""How much traffic must travel between nodes, whatever the placement: a proof at any size.

The bound is all traffic less an upper bound on what can stay on nodes. It holds for every placement
that the judge (`stormcut.objective.verify`) accepts: limits are its limits with its tolerance, and
of a local-or-shuffle stream everything may stay local.

Let a[g, n] be the number of executors of group g on node n, and W[g, h] the sum of a[g, n] a[h, n]
over nodes, the number of pairs that are together. For every placement

1. 0 <= W[g, h] <= (most executors of g that fit on a node) x size[h], and W[g, g] >= size[g],
2. sum over g of load[g] W[g, h] <= (capacities of the nodes that h's executors are on): each of
   them shares its node with no more than the node holds,
3. W is positive semi-definite, as a sum of squares; indeed u'Wu >= |u'size| for integer u.

Local traffic is linear in W, so that a linear program bounds it from above; condition 3 comes as
cutting planes, most from eigenvectors. Pieces of the traffic graph are bounded one by one, as if
each had the cluster to itself. Of the solver only its dual values are used: by weak duality any
prices prove a bound, so that, rounding apart, nothing needs to be trusted.

References
----------
K. M. Anstreicher, "On convex relaxations for quadratically constrained quadratic programming",
Math. Program. 136 (2012): products of linear constraints, semi-definite cuts.
A. Neumaier and O. Shcherbina, "Safe bounds in linear and mixed-integer linear programming", Math.
Program. 99 (2004).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats
from stormcut.model.placement import LowerBound
from stormcut.model.problem import Problem
from stormcut.native.process import NativeFailure, call
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.bounds.colocation import Piece, by_cutting_planes, by_neighbours
from stormcut.placement.packing.capacity import hosts
from stormcut.placement.packing.groups import Groups, fold

#: Rounds of cutting planes at effort 1.
ROUNDS = 15

#: The linear programs of a cluster take a second or two; a call that takes this long hangs.
SECONDS = 120.0

#: Pieces with more pairs of groups that exchange traffic are bounded neighbour by neighbour only.
MAX_PAIRS = 5000

#: Capacities that are told apart; of more different ones, similar ones count as the largest.
MAX_KINDS = 8

BY_PIECES = "pieces of the traffic graph that fit on no node, neighbours that fit together"
BY_PLANES = "co-location relaxation of each piece of the traffic graph, semi-definite cuts"


def lower_bound(problem: Problem, effort: float = 1.0) -> LowerBound:
    """Return a proven lower bound on the tuples/s between nodes of every feasible placement.

    Parameters
    ----------
    problem : Problem
    effort : float
        Multiplies the rounds of cutting planes; 0 solves no linear program.

    Returns
    -------
    LowerBound
        Never negative; 0 says that nothing was proven. Costs O(executors + pairs of groups), and
        one linear program a round for each piece that fits on no node.
    """
    groups = fold(problem, weights=problem.traffic.without_local_first())
    kinds, nodes = _kinds(problem)
    if not len(nodes):
        return LowerBound(0.0, BY_PIECES)
    large = [piece for piece in _pieces(groups, kinds, nodes) if not piece.fits()]
    apart = [piece.total - min(piece.total, by_neighbours(piece)) for piece in large]
    bound = LowerBound(sum(apart), BY_PIECES)
    rounds = round(effort * ROUNDS)
    hard = [index for index, piece in enumerate(large) if piece.rates.nnz <= 2 * MAX_PAIRS]
    if rounds < 1 or not hard:
        return bound
    try:
        local = call(
            by_cutting_planes, SECONDS * max(1.0, effort), [large[index] for index in hard], rounds
        )
    except NativeFailure:
        return bound
    for index, most in zip(hard, local, strict=True):
        apart[index] = max(apart[index], large[index].total - most)
    return LowerBound(sum(apart), BY_PLANES)


def _kinds(problem: Problem) -> tuple[Floats, Floats]:
    """Return the capacities of the kinds of nodes that can hold anything, and their numbers.

    Capacities are a little larger than the judge's tolerance allows.
    """
    limits, counts = np.unique(hosts(problem).limits, axis=0, return_counts=True)
    finite = np.where(np.isfinite(limits), limits, 0.0)
    limits = limits + 2 * TOLERANCE * np.maximum(1.0, finite)
    if len(limits) > MAX_KINDS:
        parts = np.array_split(np.arange(len(limits)), MAX_KINDS)
        counts = np.array([counts[part].sum() for part in parts])
        limits = np.array([limits[part].max(axis=0) for part in parts])
    return limits, counts.astype(np.float64)


def _pieces(groups: Groups, kinds: Floats, nodes: Floats) -> Iterator[Piece]:
    """Yield the connected parts of the traffic graph that have traffic."""
    # A tenth of a second to import, which other bounds do not need.
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(groups.pair_rate, directed=False)
    order = np.argsort(label, kind="stable")
    for members in np.split(order, np.searchsorted(label[order], np.arange(1, count))):
        rates = groups.pair_rate[members][:, members]
        if rates.nnz:
            size, load = groups.size[members].astype(np.float64), groups.load[members]
            use = _enough(size, load, kinds, nodes)
            yield Piece(size, load, rates.tocsr(), kinds[use], nodes[use])


def _enough(
    size: Floats, load: Floats, kinds: Floats, nodes: Floats
) -> slice | npt.NDArray[np.bool_]:
    """Return the largest kind alone if its nodes hold everything and no other has more of it."""
    largest = (kinds >= kinds.max(axis=0)).all(axis=1)
    if not largest.any():
        return slice(None)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(load > 0, np.floor(kinds[largest][0] / load), np.inf).min(axis=1)
    whole = (size <= nodes[largest].sum() * most).all()
    liquid = (size @ load <= nodes[largest] @ kinds[largest]).all()
    return largest if whole and liquid else slice(None)
