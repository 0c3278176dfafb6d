"""What happened over time: load and speed as lines, and the events between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What sort of event it was, in the word that is shown."""

    LOAD = "load"
    MOVE = "move"
    PLACED = "placed"
    DRIFT = "drift"
    CHANGE = "change"
    LOSS = "loss"
    WHOLE = "whole"
    ORDER = "order"
    VERDICT = "verdict"


@dataclass(frozen=True)
class Point:
    """What a topology did in a short time that ended at ``at_s``.

    Attributes
    ----------
    at_s : float
        Seconds since the timeline began.
    offered_per_s, acked_per_s : float
        Tuples that its sources should send, and those whose whole tree was acknowledged.
    mean_ms, p99_ms : float or None
        Of the acknowledged tuples' latencies; None where nothing was acknowledged.
    """

    at_s: float
    offered_per_s: float
    acked_per_s: float
    mean_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True)
class Event:
    """Something that happened ``at_s`` seconds after the timeline began."""

    at_s: float
    kind: Kind
    text: str


@dataclass(frozen=True)
class Series:
    """One run: its points in the order of time, and what happened in it."""

    name: str
    points: tuple[Point, ...]
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Timeline:
    """Runs on one clock, each with a name of its own: one, or several to compare."""

    series: tuple[Series, ...]

    @property
    def end_s(self) -> float:
        """When the last thing happened."""
        points = [point.at_s for run in self.series for point in run.points]
        events = [event.at_s for run in self.series for event in run.events]
        return max((*points, *events), default=0.0)
