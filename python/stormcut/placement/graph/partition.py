"""Graph partitioning: METIS, and others to compare with, each in a process of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.sparse import coo_array, csr_array

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import InvalidInput
from stormcut.model.traffic import Traffic
from stormcut.native.process import call
from stormcut.placement.graph.partitioners import kahip, metis, mt_kahypar
from stormcut.placement.graph.partitioners.task import PartitionTask

#: METIS's schemes.
Method = Literal["recursive", "kway"]

Partitioner = Literal["metis", "kahip", "mt-kahypar"]

#: Presets of each partitioner, its default first.
PRESETS: dict[Partitioner, tuple[str, ...]] = {
    "metis": metis.PRESETS,
    "kahip": kahip.PRESETS,
    "mt-kahypar": mt_kahypar.PRESETS,
}

_DIVIDE: dict[Partitioner, Callable[[PartitionTask], Ints]] = {
    "metis": metis.divide,
    "kahip": kahip.divide,
    "mt-kahypar": mt_kahypar.divide,
}

#: Modules of those that are not installed with stormcut.
_OPTIONAL: dict[Partitioner, str] = {"kahip": "kahip", "mt-kahypar": "mtkahypar"}

#: Partitioners add weights in 32-bit integers.
LARGEST_SUM = 2**30

#: METIS takes a second for a million edges; a call that takes this long hangs.
SECONDS = 600.0


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
        return numbered_by_first_vertex(_deal(weights, np.ones(parts)))
    shares = np.full(parts, 1 / parts)
    return numbered_by_first_vertex(_call(graph, shares, weights, seed, "metis", method, None))


def divide(
    graph: csr_array,
    shares: Floats,
    weights: Floats,
    seed: int,
    partitioner: Partitioner = "metis",
    preset: str | None = None,
    imbalance: float | None = None,
) -> Ints:
    """Divide vertices into parts of given shares of the weight with little traffic between them.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric traffic without a diagonal.
    shares : array of shape (parts,)
        Wanted share of each part, above 0, in any unit.
    weights : array of shape (n,)
    seed : int
        From 0 to 2**31 - 1.
    preset : str, optional
        One of ``PRESETS[partitioner]``, None for the first.
    imbalance : float, optional
        Part of its share by which a part may exceed it, None for the partitioner's own default.
        Partitioners do not always keep to it.

    Returns
    -------
    array of shape (n,)
        Part of each vertex as a position in ``shares``; parts may be empty.

    Raises
    ------
    InvalidInput
        The partitioner is not installed.
    NativeFailure
        It crashed or hangs.
    """
    vertices, parts = graph.shape[0], len(shares)
    require_installed(partitioner)
    if parts <= 1:
        return np.zeros(vertices, dtype=np.int64)
    if parts >= vertices:
        # One vertex a part at most: the heaviest to the largest.
        result = np.empty(vertices, dtype=np.int64)
        largest = np.argsort(-shares, kind="stable")[:vertices]
        result[np.argsort(-weights, kind="stable")] = largest
        return result
    if graph.nnz == 0:
        return _deal(weights, shares)
    preset = PRESETS[partitioner][0] if preset is None else preset
    return _call(graph, shares / shares.sum(), weights, seed, partitioner, preset, imbalance)


def require_installed(partitioner: Partitioner) -> None:
    """Return if a partitioner is installed.

    Raises
    ------
    InvalidInput
        It is not; says how to get it.
    """
    module = _OPTIONAL.get(partitioner)
    if module is not None and importlib.util.find_spec(module) is None:
        raise InvalidInput(
            f"{partitioner} is not installed; pip install 'stormcut[partitioners]'",
            "option partitioner",
        )


def _call(
    graph: csr_array,
    shares: Floats,
    weights: Floats,
    seed: int,
    partitioner: Partitioner,
    preset: str,
    imbalance: float | None,
) -> Ints:
    task = PartitionTask(
        graph.indptr,
        graph.indices,
        np.maximum(1, integer_weights(graph.data)),
        integer_weights(weights),
        shares,
        imbalance,
        preset,
        seed,
    )
    return call(_DIVIDE[partitioner], SECONDS, task)


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


def _deal(weights: Floats, shares: Floats) -> Ints:
    """Give each vertex, heaviest first, to the part that is emptiest for its share."""
    result = np.empty(len(weights), dtype=np.int64)
    totals, counts = np.zeros(len(shares)), np.zeros(len(shares), dtype=np.int64)
    for vertex in np.argsort(-weights, kind="stable"):
        part = np.lexsort((counts / shares, (totals + weights[vertex]) / shares))[0]
        result[vertex] = part
        totals[part] += weights[vertex]
        counts[part] += 1
    return result
