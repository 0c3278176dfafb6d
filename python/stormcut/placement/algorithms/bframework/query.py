"""A topology as Bframework's query: operators, layers, and the volume that each operator emits.

Component = operator, executor = operator instance; layer l is the l-th executor of every component.
Where components declare their operators, volumes are the `profiler`'s. Else a problem file's
streams stand for the schema:

- B-1: an operator's volume is tuples/s times bytes per tuple, added up over its streams; several
  subscribers of one stream count once. If a topology declares no sizes at all, or its streams are
  measured ones, nothing is declared and all its operators are unknown.
- B-2: an end operator (without streams of its own) writes as much as it reads.
- B-3: an operator is unknown if a stream that its volume depends on has no size, or it has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.problem import Problem, Topology
from stormcut.placement.algorithms.bframework.profiler import estimate_volumes
from stormcut.placement.graph.component_graph import linear_order

_Edge = tuple[int, int, float | None]


@dataclass(frozen=True, eq=False)
class Query:
    """One topology.

    Parameters
    ----------
    topology : int
        Ordinal in the problem.
    first, size : array of shape (operators,)
        First executor of each operator, number of executors.
    order : tuple of int
        Operators in topological order, spouts first on cycles.
    edges : tuple of (source, target, volume)
        Declared; volume None if unknown.
    declared, measured : tuple of float or None
        Volume of each operator as declared (None: unknown), and as measured (None: not measured).
    """

    topology: int
    first: Ints
    size: Ints
    order: tuple[int, ...]
    edges: tuple[_Edge, ...]
    declared: tuple[float | None, ...]
    measured: tuple[float | None, ...]

    def operator_of(self, executors: Ints) -> Ints:
        """Return the operator of each executor."""
        return np.searchsorted(self.first, executors, side="right").astype(np.int64) - 1


@dataclass(frozen=True)
class _Output:
    """A stream from one operator to one other."""

    source: int
    target: int
    name: str
    rate: float
    size: float | None


def queries(problem: Problem) -> list[Query]:
    """Return the queries of a problem; O(components + streams + measured pairs)."""
    offsets = problem.topology_offsets.tolist()
    return [_query(t, k, offsets[k]) for k, t in enumerate(problem.topologies)]


def _query(topology: Topology, ordinal: int, offset: int) -> Query:
    positions = {component.name: k for k, component in enumerate(topology.components)}
    outputs = _streams(topology, positions)
    size = np.array([c.executors for c in topology.components], dtype=np.int64)
    pairs = dict.fromkeys((o.source, o.target) for o in outputs if o.source != o.target)
    spouts = [k for k, c in enumerate(topology.components) if c.kind == "spout"]
    bolts = [k for k, c in enumerate(topology.components) if c.kind != "spout"]
    order = tuple(linear_order(len(size), pairs, spouts + bolts))
    edges, declared = _declared(topology, outputs, order)
    return Query(
        ordinal,
        offset + np.cumsum(size) - size,
        size,
        order,
        edges,
        declared,
        _volumes(len(size), _measured(topology, positions, outputs)),
    )


def _streams(topology: Topology, positions: Mapping[str, int]) -> list[_Output]:
    return [
        _Output(
            positions[s.source],
            positions[s.target],
            s.stream,
            s.tuples_per_second,
            s.bytes_per_tuple,
        )
        for s in topology.streams
    ]


def _declared(
    topology: Topology, outputs: Sequence[_Output], order: Sequence[int]
) -> tuple[tuple[_Edge, ...], tuple[float | None, ...]]:
    """Return the volume of each edge, and what each operator emits, None where it is unknown."""
    if any(component.operator for component in topology.components):
        volumes = estimate_volumes(topology, order)
        return tuple((o.source, o.target, volumes[o.source]) for o in outputs), volumes
    if topology.streams_measured or all(o.size is None for o in outputs):
        unknown = (None,) * len(topology.components)
        return tuple((o.source, o.target, None) for o in outputs), unknown
    edges = tuple((o.source, o.target, _times(o.rate, o.size)) for o in outputs)
    return edges, _volumes(len(topology.components), outputs)


def _measured(
    topology: Topology, positions: Mapping[str, int], streams: Sequence[_Output]
) -> list[_Output]:
    """Return the streams with the rates that were measured, for pairs of operators that were.

    Several streams between the same two share the rate as they are declared; a stream of unknown
    size counts with the mean of the others. Measured streams stand for pairs that do not.
    """
    rates: dict[tuple[int, int], float] = {}
    for pair in topology.measured:
        ends = positions[pair.source[0]], positions[pair.target[0]]
        rates[ends] = rates.get(ends, 0.0) + pair.tuples_per_second
    known = [o.size for o in streams if o.size is not None]
    mean = sum(known) / len(known) if known else 1.0
    result = []
    for (source, target), rate in rates.items():
        between = [o for o in streams if (o.source, o.target) == (source, target)]
        total = sum(o.rate for o in between)
        for o in between or [_Output(source, target, "", rate, None)]:
            share = o.rate / total if total > 0 else 1 / max(1, len(between))
            size = mean if o.size is None else o.size
            result.append(_Output(source, target, o.name, rate * share, size))
    if topology.streams_measured:
        result += [
            replace(o, size=mean if o.size is None else o.size)
            for o in streams
            if (o.source, o.target) not in rates
        ]
    return result


def _volumes(operators: int, outputs: Sequence[_Output]) -> tuple[float | None, ...]:
    """Return what each operator emits (B-1 to B-3)."""
    sending: list[list[_Output]] = [[] for _ in range(operators)]
    reading: list[list[_Output]] = [[] for _ in range(operators)]
    for output in outputs:
        sending[output.source].append(output)
        reading[output.target].append(output)
    return tuple(
        _emitted(sent) if sent else _sum([_times(o.rate, o.size) for o in read])
        for sent, read in zip(sending, reading, strict=True)
    )


def _emitted(sent: list[_Output]) -> float | None:
    streams: dict[str, list[_Output]] = {}
    for output in sent:
        streams.setdefault(output.name, []).append(output)
    volumes = []
    for subscribers in streams.values():
        sizes = [o.size for o in subscribers if o.size is not None]
        volumes.append(_times(max(o.rate for o in subscribers), max(sizes) if sizes else None))
    return _sum(volumes)


def _times(rate: float, size: float | None) -> float | None:
    return None if size is None else rate * size


def _sum(volumes: list[float | None]) -> float | None:
    known = [volume for volume in volumes if volume is not None]
    return sum(known) if volumes and len(known) == len(volumes) else None
