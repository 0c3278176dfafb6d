"""Operators of a query in partitions: heavy output, light output, output unknown (phase 1).

RECONSTRUCTED: the paper says that operators are sorted and cut by outBfsize, and that those without
a schema come third; its threshold is lost. The mean is taken for it.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stormcut.arrays import Floats, Ints

#: Partitions: keep together; spread and balance; no estimate beforehand.
HEAVY, LIGHT, UNKNOWN = 1, 2, 3

Threshold = Literal["mean", "gap"]


@dataclass(frozen=True, eq=False)
class Partition:
    """Partition of each operator, shape (operators,), and how far the first two are apart.

    ``ratio`` (R) is the mean output of the first over that of the second partition, None if one of
    them is empty or the second emits nothing; ``count`` is the number of partitions not empty.
    """

    labels: Ints
    ratio: float | None
    count: int


def partition(
    volumes: Sequence[float | None],
    theta: float = 1.0,
    ratio_min: float = 1.5,
    threshold: Threshold = "mean",
) -> Partition:
    """Divide operators by what they emit; O(operators log operators).

    Parameters
    ----------
    volumes : sequence of float or None
        Bytes/s (or any one unit) that each operator emits, None if unknown.
    theta : float
        An operator is heavy from ``theta`` times the mean on.
    ratio_min : float
        If the largest is less than so many times the smallest, all are heavy.
    threshold : {"mean", "gap"}
        "gap" instead cuts where one is most times larger than the next; theta plays no part.
    """
    labels = np.full(len(volumes), UNKNOWN, dtype=np.int64)
    known = np.array([k for k, v in enumerate(volumes) if v is not None], dtype=np.int64)
    values = np.array([v for v in volumes if v is not None], dtype=np.float64)
    if len(known):
        limit = 0.0
        if not _alike(values, ratio_min):
            limit = theta * values.mean() if threshold == "mean" else _above_gap(values)
        labels[known] = np.where(values >= limit, HEAVY, LIGHT)
    return Partition(labels, _ratio(values, labels[known]), len(np.unique(labels)))


def _alike(values: Floats, ratio_min: float) -> bool:
    return bool(values.min() > 0 and values.max() < ratio_min * values.min())


def _above_gap(values: Floats) -> float:
    """Return the smallest value above the largest gap."""
    falling = np.sort(values)[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.nan_to_num(falling[:-1] / falling[1:], nan=1.0, posinf=np.inf)
    return float(falling[int(np.argmax(steps))]) if len(steps) else 0.0


def _ratio(values: Floats, labels: Ints) -> float | None:
    heavy, light = values[labels == HEAVY], values[labels == LIGHT]
    if not len(heavy) or not light.sum():
        return None
    return float(heavy.mean()) / float(light.mean())


def pull_boundary(
    labels: Ints, edges: Sequence[tuple[int, int, float]], heaviest_light: float
) -> Ints:
    """Return labels with light receivers of heavy edges from heavy operators made heavy too.

    Parameters
    ----------
    edges : sequence of (source, target, volume)
    heaviest_light : float
        Edges from this volume on count as heavy.
    """
    result = labels.copy()
    for source, target, volume in edges:
        if labels[source] == HEAVY and labels[target] == LIGHT and volume >= heaviest_light:
            result[target] = HEAVY
    return result


def steady(
    before: Ints, volumes: Sequence[float | None], after: Partition, theta: float, hysteresis: float
) -> Ints:
    """Return labels after a new measurement, changed only where it leaves no doubt.

    An operator leaves the first partition below ``(1 - hysteresis)`` of the threshold and enters
    it above ``(1 + hysteresis)``; operators that were unknown, or that are no longer measured, are
    left to the caller as they were.

    Parameters
    ----------
    before : array of shape (operators,)
    volumes : sequence of float or None
        As measured.
    after : Partition
        Of these volumes.
    """
    values = [v for v in volumes if v is not None]
    limit = theta * sum(values) / len(values) if values else 0.0
    result = before.copy()
    for index, volume in enumerate(volumes):
        if volume is None or before[index] == UNKNOWN or before[index] == after.labels[index]:
            continue
        leaves = before[index] == HEAVY and volume < limit * (1 - hysteresis)
        enters = before[index] == LIGHT and volume > limit * (1 + hysteresis)
        if leaves or enters:
            result[index] = after.labels[index]
    return result
