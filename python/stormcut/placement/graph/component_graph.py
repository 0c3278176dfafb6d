"""Components of all topologies, the edges between them, and an order that follows the streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Bools, Ints
from stormcut.model.problem import Problem, Topology

#: Names of Storm's own components, such as ``__acker``, start with this.
SYSTEM_PREFIX = "__"


@dataclass(frozen=True, eq=False)
class ComponentGraph:
    """Components numbered through topologies as declared, and who sends to whom.

    Parameters
    ----------
    first : array of shape (components,)
        First executor of each component.
    size : array of shape (components,)
        Number of executors.
    topology : array of shape (components,)
    spout : array of shape (components,)
    system : array of shape (components,)
        Whether it is Storm's own.
    edges : tuple of (source, target)
        Different pairs of different components, declared or measured, in order of appearance.
    """

    first: Ints
    size: Ints
    topology: Ints
    spout: Bools
    system: Bools
    edges: tuple[tuple[int, int], ...]

    def executors(self, component: int) -> Ints:
        """Return the executors of a component in ascending order."""
        return np.arange(self.first[component], self.first[component] + self.size[component])


def component_graph(problem: Problem) -> ComponentGraph:
    """Return the components of a problem; takes O(components + streams + measured pairs)."""
    components = [(k, c) for k, t in enumerate(problem.topologies) for c in t.components]
    size = np.array([c.executors for _, c in components], dtype=np.int64)
    edges: dict[tuple[int, int], None] = {}
    base = 0
    for topology in problem.topologies:
        vertex_of = {c.name: base + i for i, c in enumerate(topology.components)}
        edges.update(
            {(vertex_of[a], vertex_of[b]): None for a, b in _subscriptions(topology) if a != b}
        )
        base += len(topology.components)
    return ComponentGraph(
        np.cumsum(size) - size,
        size,
        np.array([k for k, _ in components], dtype=np.int64),
        np.array([c.kind == "spout" for _, c in components], dtype=bool),
        np.array([c.name.startswith(SYSTEM_PREFIX) for _, c in components], dtype=bool),
        tuple(edges),
    )


def _subscriptions(topology: Topology) -> Iterable[tuple[str, str]]:
    yield from ((stream.source, stream.target) for stream in topology.streams)
    yield from ((pair.source[0], pair.target[0]) for pair in topology.measured)


def linear_order(count: int, edges: Iterable[tuple[int, int]], sources: Iterable[int]) -> list[int]:
    """Return vertices so that each comes after all that feed it (Kahn, first in first out).

    Parameters
    ----------
    count : int
        Vertices are 0 to ``count - 1``.
    edges : iterable of (source, target)
        Different pairs.
    sources : iterable of int
        Vertices in the order in which those without predecessors are taken; on a cycle the first
        of them that is left goes next.

    Notes
    -----
    Takes O(vertices + edges).
    """
    sources = list(sources)
    successors: list[list[int]] = [[] for _ in range(count)]
    waits_for = [0] * count
    for source, target in edges:
        successors[source].append(target)
        waits_for[target] += 1
    queue = deque(v for v in sources if not waits_for[v])
    taken = [not waits for waits in waits_for]
    order: list[int] = []
    rest = iter(sources)
    while len(order) < count:
        if not queue:
            vertex = next(v for v in rest if not taken[v])
            taken[vertex] = True
            queue.append(vertex)
        order.append(queue.popleft())
        for target in successors[order[-1]]:
            waits_for[target] -= 1
            if not waits_for[target] and not taken[target]:
                taken[target] = True
                queue.append(target)
    return order
