"""Large problems whose pairs exchange tuples by keys, as streams with a fields grouping do."""

from __future__ import annotations

import numpy as np

from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology

#: Components of a topology, clusters of their executors, what a pair of different clusters
#: exchanges as a share of what one of the same does, and nodes' load.
COMPONENTS, CLUSTERS, STRAY, LOAD = 4, 16, 0.02, 0.6


def by_keys(executors: int, topologies: int, count: int) -> Problem:
    """Return measured topologies of four components, on nodes loaded to 60 %."""
    random = np.random.default_rng(1)
    each = executors // topologies // COMPONENTS
    near = np.arange(each) // max(1, each // CLUSTERS)
    shares = np.where(near[:, None] == near, 1.0, STRAY)
    placed = []
    for number in range(topologies):
        loads = 10.0 * random.lognormal(0.0, 0.5, (COMPONENTS, each))
        parts = tuple(
            Component(f"c{at}", "bolt" if at else "spout", each, own, np.full(each, 128.0))
            for at, own in enumerate(loads)
        )
        pairs = []
        for at in range(COMPONENTS - 1):
            rates = shares * random.lognormal(0.0, 0.1, (each, each))
            rates *= 200.0 / rates.sum(axis=1, keepdims=True)
            pairs += [
                MeasuredPair((f"c{at}", one), (f"c{at + 1}", other), float(rate), 200.0)
                for (one, other), rate in np.ndenumerate(rates)
            ]
        placed.append(Topology(f"t{number}", parts, (), tuple(pairs)))
    total = sum(part.cpu_percent.sum() for topology in placed for part in topology.components)
    room = total / LOAD / count
    nodes = tuple(Node(f"n{n:03}", tuple(range(10)), cpu_percent=room) for n in range(count))
    return Problem(nodes, tuple(placed))
