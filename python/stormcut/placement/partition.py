"""Graph partitioning with METIS.

References
----------
G. Karypis and V. Kumar, "A fast and high quality multilevel scheme for partitioning irregular
graphs", SIAM J. Sci. Comput. 20 (1998).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from stormcut.model.traffic import Traffic
from stormcut.placement.native import call

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Method = Literal["recursive", "kway"]

#: METIS adds weights in 32-bit integers.
LARGEST_SUM = 2**30

#: METIS takes a second for a million edges; a call that takes this long hangs.
METIS_SECONDS = 600.0


def traffic_graph(traffic: Traffic, executors: int) -> csr_array:
    """Return the undirected traffic between executors, both directions added, shape (n, n).

    What an executor sends to itself is left out.
    """
    source, target, rate = traffic.unfolded()
    keep = (source != target) & (rate > 0)
    source, target, rate = source[keep], target[keep], rate[keep]
    ends = (np.concatenate((source, target)), np.concatenate((target, source)))
    graph = coo_array((np.concatenate((rate, rate)), ends), shape=(executors, executors)).tocsr()
    graph.sort_indices()
    return graph


def partition(
    graph: csr_array, parts: int, weights: Floats, seed: int, method: Method = "recursive"
) -> Ints:
    """Divide vertices into parts of about equal weight with little traffic between them.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric traffic without a diagonal.
    parts : int
        Wanted number of parts, at least 1; no more than n come out, and none is empty.
    weights : array of shape (n,)
    seed : int
        From 0 to 2**31 - 1.
    method : {"recursive", "kway"}
        Recursive bisection, or METIS's direct k-way scheme.

    Returns
    -------
    array of shape (n,)
        Part of each vertex, numbered by first vertex.
    """
    vertices = graph.shape[0]
    if parts <= 1:
        return np.zeros(vertices, dtype=np.int64)
    if parts >= vertices:
        return np.arange(vertices, dtype=np.int64)
    if graph.nnz == 0:
        return numbered_by_first_vertex(_deal(weights, parts))
    result = call(
        metis,
        METIS_SECONDS,
        parts,
        graph.indptr,
        graph.indices,
        integer_weights(weights),
        np.maximum(1, integer_weights(graph.data)),
        seed,
        method == "recursive",
    )
    return numbered_by_first_vertex(result)


def metis(
    parts: int,
    starts: Ints,
    neighbours: Ints,
    vertex_weights: Ints,
    edge_weights: Ints,
    seed: int,
    recursive: bool,
) -> Ints:
    """Return METIS's part of each vertex of a graph in compressed rows.

    For the native server (see `native`): METIS ends the process on inputs that it dislikes.
    """
    import pymetis

    options = pymetis.Options()
    options.seed = seed
    result = pymetis.part_graph(
        parts,
        adjacency=pymetis.CSRAdjacency(adj_starts=starts, adjacent=neighbours),
        vweights=vertex_weights,
        eweights=edge_weights,
        recursive=recursive,
        options=options,
    )
    return np.asarray(result.vertex_part, dtype=np.int64)


def integer_weights(weights: Floats) -> Ints:
    """Return weights as integers in the same proportion, as exactly as 32-bit sums allow.

    Multiples of the smallest positive weight keep their ratio exactly, so that the result does not
    depend on the unit.
    """
    positive = weights[weights > 0]
    if not len(positive):
        return np.ones(len(weights), dtype=np.int64)
    ratios = weights / positive.min()
    exact: Floats = np.rint(ratios)
    if exact.sum() <= LARGEST_SUM and np.allclose(ratios, exact, rtol=1e-9, atol=0):
        return exact.astype(np.int64)
    scaled = np.rint(weights * (LARGEST_SUM / 2 / weights.sum()))
    return np.where(weights > 0, np.maximum(1, scaled), 0).astype(np.int64)


def numbered_by_first_vertex(parts: Ints) -> Ints:
    """Renumber parts from 0 by their first vertex, which drops empty ones."""
    _, first, inverse = np.unique(parts, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _deal(weights: Floats, parts: int) -> Ints:
    """Give each vertex, heaviest first, to the lightest part."""
    result = np.empty(len(weights), dtype=np.int64)
    totals, counts = np.zeros(parts), np.zeros(parts, dtype=np.int64)
    for vertex in np.argsort(-weights, kind="stable"):
        part = np.lexsort((counts, totals))[0]
        result[vertex] = part
        totals[part] += weights[vertex]
        counts[part] += 1
    return result
