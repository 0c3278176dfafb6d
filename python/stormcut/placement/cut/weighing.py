"""Traffic by bytes: links carry bytes, and an acknowledgement is no data tuple."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from stormcut.model.problem import MeasuredPair, Problem, Stream

T = TypeVar("T", Stream, MeasuredPair)


def weighed(problem: Problem) -> tuple[Problem, float]:
    """Return the problem with every rate in tuples of mean size, and that size in bytes.

    Where no size is known, the problem itself and 1.

    A stream or pair of unknown size counts as of mean size. Takes O(streams + pairs).
    """
    sized = [
        (each.tuples_per_second, each.bytes_per_tuple)
        for each in _all(problem)
        if each.bytes_per_tuple is not None
    ]
    total = sum(rate for rate, _ in sized)
    if total <= 0:
        return problem, 1.0
    mean = sum(rate * size for rate, size in sized) / total
    if mean <= 0:
        return problem, 1.0
    topologies = tuple(
        replace(
            topology,
            streams=tuple(_weighed(each, mean) for each in topology.streams),
            measured=tuple(_weighed(each, mean) for each in topology.measured),
        )
        for topology in problem.topologies
    )
    return replace(problem, topologies=topologies), mean


def _all(problem: Problem) -> Iterator[Stream | MeasuredPair]:
    for topology in problem.topologies:
        yield from topology.streams
        yield from topology.measured


def _weighed(traffic: T, mean: float) -> T:
    size = mean if traffic.bytes_per_tuple is None else traffic.bytes_per_tuple
    return replace(traffic, tuples_per_second=traffic.tuples_per_second * size / mean)
