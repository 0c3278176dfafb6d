"""Makes a timeline of what the sources of a running topology report."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

from stormcut.lab.experiment.bench.windows import REPORTED_S, Sample, SourceWindow, measure
from stormcut.lab.experiment.timeline import Event, Kind, Point, Series

#: Of a timeline's points: longer than the time between two reports of a source.
STEP_S = 3.0


class Sampler:
    """Collects samples each time it is asked to look, and what it is told of events.

    Parameters
    ----------
    samples : callable
        Returns the newest sample of each process of a source task: a worker that starts again
        counts from 0, as another process.
    offered : callable
        Returns the tuples/s that all sources should send at an epoch second.
    began : float
        The epoch second at which the timeline begins.
    """

    def __init__(
        self,
        samples: Callable[[], Mapping[str, Sample]],
        offered: Callable[[float], float],
        began: float,
    ) -> None:
        self._newest = samples
        self._offered = offered
        self._series: dict[str, list[Sample]] = defaultdict(list)
        self._events: list[Event] = []
        self.began = began

    def look(self) -> None:
        """Take note of what has been reported since the last look."""
        for process, sample in self._newest().items():
            seen = self._series[process]
            if not seen or sample.taken_at > seen[-1].taken_at:
                seen.append(sample)

    def acking(self) -> int:
        """Return how many processes of sources have got an acknowledgement."""
        return sum(bool(seen[-1].acked) for seen in self._series.values())

    def acking_tasks(self, since: float) -> set[int]:
        """Return the source tasks whose process first reported since then, and has got an ack."""
        return {
            int(process.rsplit("-", 2)[1])
            for process, seen in self._series.items()
            if seen[0].taken_at >= since and seen[-1].acked
        }

    def tell(self, moment: float, kind: Kind, text: str) -> None:
        """Add an event of an epoch second, unless it is known."""
        event = Event(moment - self.began, kind, text)
        if event not in self._events:
            self._events.append(event)

    def reported(self) -> float:
        """Return the epoch second up to which all is known."""
        return time.time() - REPORTED_S

    def window(self, begin: float, end: float) -> SourceWindow:
        """Return what the sources did between two epoch seconds."""
        return measure(self._series, begin, end)

    def lately(self, seconds: float) -> SourceWindow:
        """Return what the sources did in the last seconds of which all is known."""
        end = self.reported()
        return self.window(end - seconds, end)

    def series(self, name: str) -> Series:
        """Return the run so far."""
        steps = math.floor((self.reported() - self.began) / STEP_S)
        points = (self._point(self.began + step * STEP_S) for step in range(steps))
        events = sorted(self._events, key=lambda event: event.at_s)
        return Series(name, tuple(points), tuple(events))

    def _point(self, begin: float) -> Point:
        end = begin + STEP_S
        window = self.window(begin, end)
        return Point(
            end - self.began,
            self._offered((begin + end) / 2),
            window.tuples_per_10s / 10,
            window.mean_ms,
            window.p99_ms,
        )
