"""The thesis's micro-benchmarks (section 6.2.1) as problems, and small hand-made ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stormcut.model.problem import Component, Node, Problem, Stream, Topology

SIZES = (10, 18, 22, 26, 28, 30, 32)
LAYOUTS = ("linear", "diamond", "star")


def _components(layout: str, tasks: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Return tasks per component and the edges between components."""
    if layout == "linear":
        return [2] * (tasks // 2), [(i, i + 1) for i in range(tasks // 2 - 1)]
    if layout == "diamond":
        middle = range(1, (tasks - 8) // 2 + 1)
        sizes = [4] + [2] * len(middle) + [4]
        last = len(sizes) - 1
        return sizes, [(0, i) for i in middle] + [(i, last) for i in middle]
    outer = (tasks - 4) // 2
    sources = (outer + 1) // 2
    sizes = [2] * sources + [4] + [2] * (outer - sources)
    inward = [(i, sources) for i in range(sources)]
    return sizes, inward + [(sources, i) for i in range(sources + 1, outer + 1)]


def microbenchmark(layout: str, tasks: int, capacities: Sequence[int] = (4,) * 10) -> Problem:
    """Return a micro-benchmark on nodes of these capacities, each pair carrying 1 tuple/s."""
    sizes, edges = _components(layout, tasks)
    parts = tuple(
        Component.uniform(f"c{i:02d}", size, "bolt" if i else "spout")
        for i, size in enumerate(sizes)
    )
    streams = tuple(Stream(f"c{a:02d}", f"c{b:02d}", float(sizes[a] * sizes[b])) for a, b in edges)
    nodes = tuple(
        Node(f"n{i:02d}", (6700, 6701, 6702, 6703), max_executors=capacity)
        for i, capacity in enumerate(capacities)
    )
    return Problem(nodes, (Topology(f"{layout}-{tasks}", parts, streams),))


def chain(
    sizes: Sequence[int], rate: float = 100.0, name: str = "chain", workers: int | None = None
) -> Topology:
    """Return a topology of components in a line."""
    parts = tuple(Component.uniform(f"c{i}", size) for i, size in enumerate(sizes))
    streams = tuple(Stream(f"c{i}", f"c{i + 1}", rate) for i in range(len(sizes) - 1))
    return Topology(name, parts, streams, workers=workers)


def nodes(count: int, slots: int = 4, **limits: Any) -> tuple[Node, ...]:
    """Return equal nodes."""
    ports = tuple(range(6700, 6700 + slots))
    return tuple(Node(f"n{i:02d}", ports, **limits) for i in range(count))
