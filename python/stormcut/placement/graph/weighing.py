"""Traffic by bytes: links carry bytes, and an acknowledgement is no data tuple."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from stormcut.model.problem import MeasuredPair, Problem, Stream, Topology
from stormcut.model.traffic import Traffic, fold_streams

#: Topology, source and target component.
Edge = tuple[str, str, str]


def is_measured(problem: Problem) -> bool:
    """Return whether the size of a tuple was measured between any two executors."""
    pairs = (pair for topology in problem.topologies for pair in topology.measured)
    return any(pair.bytes_per_tuple is not None for pair in pairs)


def weighed(problem: Problem) -> tuple[Traffic, float]:
    """Return the traffic with every rate in tuples of mean size, and that size in bytes.

    These are weights and no rates: no load follows from them.

    A tuple's size is the mean of what is known between two components: few tuples are sampled, and
    a pair of executors that exchanges few has no sample of its own. Between components without any
    it is the mean of all. Where no size is known, the traffic as it is and 1. Takes
    O(streams + pairs).
    """
    sums: dict[Edge, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for edge, traffic in _all(problem):
        if traffic.bytes_per_tuple is not None:
            rate, size = traffic.tuples_per_second, traffic.bytes_per_tuple
            tuples, content = sums[edge]
            sums[edge] = tuples + rate, content + rate * size
    tuples = sum(rate for rate, _ in sums.values())
    content = sum(size for _, size in sums.values())
    if tuples <= 0 or content <= 0:
        return problem.traffic, 1.0
    mean = content / tuples
    sizes = {edge: size / rate / mean for edge, (rate, size) in sums.items() if rate > 0}
    parts = (
        fold_streams(_weighed(topology, sizes), int(offset))
        for topology, offset in zip(problem.topologies, problem.topology_offsets, strict=False)
    )
    return Traffic.join(parts, problem.executor_count), mean


def _all(problem: Problem) -> Iterator[tuple[Edge, Stream | MeasuredPair]]:
    for topology in problem.topologies:
        for stream in topology.streams:
            yield _edge(topology, stream), stream
        for pair in topology.measured:
            yield _edge(topology, pair), pair


def _edge(topology: Topology, traffic: Stream | MeasuredPair) -> Edge:
    if isinstance(traffic, Stream):
        return topology.id, traffic.source, traffic.target
    return topology.id, traffic.source[0], traffic.target[0]


def _weighed(topology: Topology, sizes: Mapping[Edge, float]) -> Topology:
    own = {edge[1:]: size for edge, size in sizes.items() if edge[0] == topology.id}
    streams = tuple(
        replace(
            each, tuples_per_second=each.tuples_per_second * own.get((each.source, each.target), 1)
        )
        for each in topology.streams
    )
    # Pairs are many, and `replace` takes most of the time.
    pairs = tuple(
        MeasuredPair(
            each.source,
            each.target,
            each.tuples_per_second * own.get((each.source[0], each.target[0]), 1),
            each.bytes_per_tuple,
        )
        for each in topology.measured
    )
    return replace(topology, streams=streams, measured=pairs)
