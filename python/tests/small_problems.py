"""The thesis's micro-benchmarks (section 6.2.1) as problems, and small hand-made ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stormcut.lab.papers.workloads import cost_instance
from stormcut.model.problem import Component, Node, Problem, Stream, Topology

SIZES = (10, 18, 22, 26, 28, 30, 32)
LAYOUTS = ("linear", "diamond", "star")


def microbenchmark(layout: str, tasks: int, capacities: Sequence[int] = (4,) * 10) -> Problem:
    """Return a micro-benchmark on nodes of these capacities, each pair carrying 1 tuple/s."""
    return cost_instance(layout, tasks, capacities)


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
