"""Whether a topology does worse since it has moved, told apart from noise."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from stormcut.profile.decay import Slice
from stormcut.profile.drift import Interval, interval

#: Workers start, queues fill, code is compiled: what is measured then is of neither place.
SETTLE_SECONDS = 40.0
#: Slices that are compared, at most before and exactly after a move; and least before.
SLICES, LEAST_SLICES = 6, 3
#: A loss of throughput, and a rise of latency, that count if the intervals part, too.
LESS_ACKED, MORE_LATENCY = 0.1, 0.25

#: Task -> host and port.
Places = Mapping[int, tuple[str, int]]


@dataclass(frozen=True)
class Pulse:
    """What a slice says of a whole topology: tuples acked a second, and their mean latency."""

    acked_per_s: float
    latency_ms: float | None


class Outcome(Enum):
    """What a move turned out to be."""

    BETTER = "better"
    SAME = "as before"
    WORSE = "worse"


@dataclass(frozen=True)
class Finding:
    """An outcome with its figures; latencies are None where none were sampled."""

    outcome: Outcome
    acked_before: Interval
    acked_after: Interval
    latency_before: Interval | None
    latency_after: Interval | None

    def __str__(self) -> str:
        text = (
            f"{self.outcome.value}: {self.acked_after.mean:,.0f} tuples acked a second, "
            f"were {self.acked_before.mean:,.0f}"
        )
        if self.latency_before is None or self.latency_after is None:
            return text
        return f"{text}; {self.latency_after.mean:,.1f} ms, were {self.latency_before.mean:,.1f}"


class Trial:
    """Watches one topology, and judges each move some slices after it.

    A topology does worse if fewer tuples are acked and each takes no less time, or if they take
    longer and no more are acked: a load that merely falls makes tuples faster.
    """

    def __init__(self) -> None:
        self._places: dict[int, tuple[str, int]] = {}
        self._spouts: set[int] = set()
        self._pulses: deque[Pulse] = deque(maxlen=SLICES)
        self._before: tuple[Pulse, ...] = ()
        self._moved_s: float | None = None

    def add(self, slice_: Slice) -> Finding | None:
        """Take note of a slice; return what a move turned out to be, once that is known."""
        if self._has_moved(slice_):
            if self._moved_s is None:
                self._before = tuple(self._pulses)
            self._moved_s = slice_.to_epoch_s
            self._pulses.clear()
        elif self._moved_s is None or slice_.from_epoch_s >= self._moved_s + SETTLE_SECONDS:
            pulse = self._pulse(slice_)
            if pulse is not None:
                self._pulses.append(pulse)
        if self._moved_s is None or len(self._pulses) < SLICES:
            return None
        self._moved_s = None
        if len(self._before) < LEAST_SLICES:
            return None
        return finding(self._before, tuple(self._pulses))

    def _has_moved(self, slice_: Slice) -> bool:
        places = {task.task: task.workers[-1] for task in slice_.tasks if task.workers}
        moved = any(self._places.get(task, place) != place for task, place in places.items())
        self._places.update(places)
        return moved

    def _pulse(self, slice_: Slice) -> Pulse | None:
        """Return what a slice says, None if it knows less than half of the spouts."""
        self._spouts.update(task.task for task in slice_.tasks if task.acked)
        measured = [t for t in slice_.tasks if t.ms > 0 and t.task in self._spouts]
        if 2 * len(measured) < len(self._spouts):
            return None
        acked = sum(task.per_second(task.acked) for task in measured)
        completed = sum(task.completed for task in measured)
        latency = sum(task.complete_ms for task in measured)
        return Pulse(
            # A spout that is late did not stop.
            acked * len(self._spouts) / max(len(measured), 1),
            latency / completed if completed else None,
        )


def finding(before: Sequence[Pulse], after: Sequence[Pulse]) -> Finding:
    """Return what a move turned out to be, from at least two slices on either side."""
    acked = [interval([pulse.acked_per_s for pulse in side]) for side in (before, after)]
    latencies = [_latency(before), _latency(after)]
    fewer = _falls(acked[0], acked[1], LESS_ACKED)
    more = _falls(acked[1], acked[0], LESS_ACKED)
    slower = faster = False
    if latencies[0] is not None and latencies[1] is not None:
        slower = _falls(latencies[1], latencies[0], MORE_LATENCY)
        faster = _falls(latencies[0], latencies[1], MORE_LATENCY)
    outcome = Outcome.SAME
    if (fewer and not faster) or (slower and not more):
        outcome = Outcome.WORSE
    elif (more and not slower) or (faster and not fewer):
        outcome = Outcome.BETTER
    return Finding(outcome, acked[0], acked[1], latencies[0], latencies[1])


def _latency(pulses: Sequence[Pulse]) -> Interval | None:
    values = [pulse.latency_ms for pulse in pulses if pulse.latency_ms is not None]
    return interval(values) if len(values) > 1 else None


def _falls(now: Interval, then: Interval, share: float) -> bool:
    """Return whether ``then`` is surely below ``now``, by more than a share of it."""
    return then.mean < now.mean * (1 - share) and now.parts_from(then)
