"""Which record of the replay is due when, at one source of several."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rig.pace import Pace

#: A source that is further behind goes on from now, as a live feed would.
PATIENCE_S = 1.0
#: Departures handed out at a time: Storm's spout thread must get a word in between.
BATCH = 10


@dataclass(frozen=True)
class Departure:
    """A record that is due.

    Attributes
    ----------
    ordinal : int
        Position in the whole replay, over all sources and replays, from 0.
    elapsed_s : float
        Its moment, in seconds since the topology was launched.
    """

    ordinal: int
    elapsed_s: float


class Schedule:
    """The departures of one source: ordinals `index`, `index + sources`, ...

    At a set pace, record `n` has its moment after the launch, whatever happened before: the
    moment depends on the ordinal alone, so a source that is restarted elsewhere, or cannot
    keep up, rejoins the others where they are and the clock of events never runs back. As fast
    as possible, a record is due whenever it is asked for.

    Parameters
    ----------
    pace : Pace
        Of all sources together.
    index, sources : int
        Which of how many sources.
    end : int or None
        Ordinal at which the replay ends, None for never.
    elapsed_s : float
        When this source joins the replay, in seconds since the topology was launched.

    Attributes
    ----------
    next_ordinal : int
        The record that is due next.
    skipped : int
        Records of this source left out since it joined, because it was too far behind.
    """

    def __init__(
        self, pace: Pace, index: int, sources: int, end: int | None, elapsed_s: float
    ) -> None:
        self.next_ordinal = index
        self._pace = pace
        self._sources = sources
        self._end = end
        self._catch_up(elapsed_s)
        self.skipped = 0

    def due(self, elapsed_s: float) -> list[Departure]:
        """Return what is due `elapsed_s` seconds after the launch, at most `BATCH` of it."""
        self.skipped += self._catch_up(elapsed_s)
        departures: list[Departure] = []
        while len(departures) < BATCH and not self.is_over():
            unlimited = self._pace.unlimited
            moment = elapsed_s if unlimited else self._pace.moment(self.next_ordinal)
            if moment > elapsed_s:
                break
            departures.append(Departure(self.next_ordinal, moment))
            self.next_ordinal += self._sources
        return departures

    def is_over(self) -> bool:
        """Return whether this source has nothing left to emit."""
        return self._end is not None and self.next_ordinal >= self._end

    def _catch_up(self, elapsed_s: float) -> int:
        """Pass over what is due for longer than `PATIENCE_S`; return how much that was."""
        oldest = self._pace.due(elapsed_s - PATIENCE_S)
        if self._end is not None:
            oldest = min(oldest, self._end)
        behind = max(0, math.ceil((oldest - self.next_ordinal) / self._sources))
        self.next_ordinal += behind * self._sources
        return behind
