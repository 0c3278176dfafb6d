"""Keeps the number of topologies on a node within its slots: a worker holds only one topology."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from stormcut.arrays import Floats, Ints
from stormcut.objective.verify import exceeds


def limit_topologies(
    graph: csr_array,
    parts: Ints,
    topology: Ints,
    loads: Floats,
    limits: Floats,
    most_topologies: int,
    most_parts: int,
) -> Ints | None:
    """Return parts with executors of at most ``most_topologies`` each, None if this way finds none.

    All executors that a topology has in a part move together to a part where they fit; the group
    that costs least traffic first.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
    parts : array of shape (n,)
        Part of each executor, from 0; parts up to ``most_parts`` may be opened.
    topology : array of shape (n,)
    loads : array of shape (n, resources)
    limits : array of shape (resources,)
    """
    parts = parts.copy()
    while True:
        tenants = np.zeros((most_parts, int(topology.max()) + 1), dtype=bool)
        tenants[parts, topology] = True
        if (tenants.sum(axis=1) <= most_topologies).all():
            return parts
        move = _cheapest_move(graph, parts, topology, loads, limits, tenants, most_topologies)
        if move is None:
            return None
        members, part = move
        parts[members] = part


def _cheapest_move(
    graph: csr_array,
    parts: Ints,
    topology: Ints,
    loads: Floats,
    limits: Floats,
    tenants: npt.NDArray[np.bool_],
    most_topologies: int,
) -> tuple[Ints, int] | None:
    """Return (executors, new part); ties: lower part, lower topology, lower new part."""
    totals = np.zeros((len(tenants), loads.shape[1]))
    np.add.at(totals, parts, loads)
    crowded = tenants.sum(axis=1) > most_topologies
    best, best_cost = None, np.inf
    for part, tenant in np.argwhere(tenants & crowded[:, None]).tolist():
        members = np.flatnonzero((parts == part) & (topology == tenant))
        fits = ~exceeds(totals + loads[members].sum(axis=0), limits).any(axis=1)
        welcome = tenants[:, tenant] | (tenants.sum(axis=1) < most_topologies)
        allowed = fits & welcome
        allowed[part] = False
        if not allowed.any():
            continue
        edges = graph[members, :].tocoo()
        outside = np.ones(len(parts), dtype=bool)
        outside[members] = False
        rates = np.where(outside[edges.col], edges.data, 0.0)
        traffic = np.bincount(parts[edges.col], weights=rates, minlength=len(tenants))
        cost = np.where(allowed, traffic[part] - traffic, np.inf)
        if cost.min() < best_cost:
            best, best_cost = (members, int(np.argmin(cost))), float(cost.min())
    return best
