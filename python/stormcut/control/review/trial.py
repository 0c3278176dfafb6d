"""Whether a topology does worse since it has moved, told apart from noise."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stormcut.control.review.outcome import Finding, Outcome, Places
from stormcut.profile.decay import Slice
from stormcut.profile.drift import MeanInterval, interval

#: Workers start, queues fill, code is compiled: what is measured then is of neither place.
SETTLE_SECONDS = 40.0
#: Slices that are compared, at most before and exactly after a move; and least before.
SLICES, MIN_SLICES = 6, 3
#: A loss of throughput, and a rise of latency, that count if the intervals part, too.
LESS_ACKED, MORE_LATENCY = 0.1, 0.25
#: If so much more, or less, is in flight, more or less is offered (Little's law).
IN_FLIGHT = 0.1
#: Of all tuples, more fail than before: then no fewer are offered.
MORE_FAIL = 0.01
#: A topology of whose tuples so many fail stalls; so does one that acks none.
STALLED_FAIL = 0.1
#: Slices of which work is kept: where tasks are missing for longer, no price is known.
MAX_WORK = 100


@dataclass(frozen=True)
class Pulse:
    """What a slice says of a whole topology.

    Tuples acked a second, their mean latency, tuples sent between nodes and tuples failed a second.
    """

    acked_per_s: float
    latency_ms: float | None
    between_nodes_per_s: float = 0.0
    failed_per_s: float = 0.0


@dataclass
class _Move:
    """A move that is not judged yet; ``home`` is where tasks ran before it."""

    before: tuple[Pulse, ...]
    home: Places
    #: When it was seen last that a task runs elsewhere.
    seen_s: float = 0.0


class MoveReview:
    """Watches one topology, and judges each move some slices after it.

    A topology does worse if fewer tuples are acked and each takes no less time, or if they take
    longer and no more are acked; better the other way round. With a load that merely rises or falls
    more or fewer tuples are on their way, their rate times their latency, and no more of them fail.

    Attributes
    ----------
    is_settling : bool
        The last slice is of workers that start: neither of before nor of after a move.
    """

    def __init__(self) -> None:
        self._places: dict[int, tuple[str, int]] = {}
        self._spouts: set[int] = set()
        self._pulses: deque[Pulse] = deque(maxlen=SLICES)
        self._move: _Move | None = None
        self.is_settling = False
        #: The end of the last slice before a move in which no task was missing, and what was acked
        #: in each slice from then until workers have settled, with its end.
        self._whole_s: float | None = None
        self._work: list[tuple[float, float]] = []

    def add(self, slice_: Slice) -> Finding | None:
        """Take note of a slice; return what a move turned out to be, once that is known."""
        pulse = None if self.settles(slice_) else self._pulse(slice_)
        self._note_work(slice_)
        if pulse is not None:
            self._pulses.append(pulse)
        if self._move is None or len(self._pulses) < SLICES:
            return None
        move, self._move = self._move, None
        if len(move.before) < MIN_SLICES:
            return None
        after = tuple(self._pulses)
        result = finding(move.before, after, self._restart_seconds(move, after))
        return replace(result, places=dict(self._places))

    def settles(self, slice_: Slice) -> bool:
        """Take note of where tasks run in a slice; return whether it is of workers that start."""
        self._note_places(slice_)
        move = self._move
        self.is_settling = move is not None and slice_.from_epoch_s < move.seen_s + SETTLE_SECONDS
        return self.is_settling

    @property
    def is_stalled(self) -> bool:
        """Whether tuples that were acked before are not acked any more, or many fail."""
        if not self._spouts or not self._pulses:
            return False
        last = self._pulses[-1]
        return last.failed_per_s >= STALLED_FAIL * (last.acked_per_s + last.failed_per_s)

    def begin_again(self) -> None:
        """Forget all but the last slices: before those the load was another."""
        last = list(self._pulses)[-MIN_SLICES:]
        self._pulses.clear()
        self._pulses.extend(last)

    def _note_places(self, slice_: Slice) -> None:
        places = {task.task: task.workers[-1] for task in slice_.tasks if task.workers}
        if any(self._places.get(task, place) != place for task, place in places.items()):
            if self._move is None:
                self._move = _Move(tuple(self._pulses), dict(self._places))
            self._move.seen_s = slice_.to_epoch_s
            self._pulses.clear()
        self._places.update(places)

    def _note_work(self, slice_: Slice) -> None:
        """Count what is acked from the last moment before a move until workers have settled."""
        if self._move is not None and not self.is_settling:
            return
        measured = {task.task for task in slice_.tasks if task.ms > 0}
        if self._move is None and measured >= self._places.keys():
            self._whole_s, self._work = slice_.to_epoch_s, []
        else:
            acked = sum(task.acked for task in slice_.tasks if task.ms > 0)
            self._work.append((slice_.to_epoch_s, acked))
        if len(self._work) > MAX_WORK:
            self._whole_s, self._work = None, []

    def _restart_seconds(self, move: _Move, after: Sequence[Pulse]) -> float | None:
        """Return the work that was not done, as if all workers had restarted.

        The most that was ever missing to the lower of the rates before and after: what is done
        later instead, or as the load rises, does not make up for it.
        """
        rates = [_mean([pulse.acked_per_s for pulse in side]) for side in (move.before, after)]
        rate, restarted = min(rates), self._restarted(move.home)
        if self._whole_s is None or rate <= 0 or restarted <= 0:
            return None
        done = missing = 0.0
        for until_s, acked in self._work:
            done += acked
            missing = max(missing, until_s - self._whole_s - done / rate)
        return missing / restarted

    def _restarted(self, home: Places) -> float:
        """Return which share of the workers runs other tasks than before: Storm restarts those."""
        before, now = _workers(home), _workers(self._places)
        return len(now - before) / len(now) if now else 0.0

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
            sum(task.per_second(task.between_nodes) for task in slice_.tasks),
            sum(task.per_second(task.failed) for task in measured),
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _workers(places: Places) -> set[tuple[tuple[str, int], frozenset[int]]]:
    tasks: dict[tuple[str, int], set[int]] = defaultdict(set)
    for task, worker in places.items():
        tasks[worker].add(task)
    return {(worker, frozenset(its)) for worker, its in tasks.items()}


def finding(
    before: Sequence[Pulse], after: Sequence[Pulse], restart_s: float | None = None
) -> Finding:
    """Return what a move turned out to be, from at least two slices on either side."""
    acked = [interval([pulse.acked_per_s for pulse in side]) for side in (before, after)]
    latencies = [_latency(before), _latency(after)]
    fewer = _falls(acked[0], acked[1], LESS_ACKED)
    more = _falls(acked[1], acked[0], LESS_ACKED)
    times_longer = _times_longer(before, after)
    slower, faster = times_longer * (1 - MORE_LATENCY) > 1, times_longer < 1 - MORE_LATENCY
    flight = _in_flight(before), _in_flight(after)
    floods = flight[1] > flight[0] * (1 + IN_FLIGHT)
    ebbs = flight[1] < flight[0] * (1 - IN_FLIGHT)
    ebbs = ebbs and _failing(after) <= _failing(before) + MORE_FAIL
    outcome = Outcome.SAME
    if (fewer and not faster and not ebbs) or (slower and not more):
        outcome = Outcome.WORSE
    elif (more and not slower and not floods) or (faster and not fewer):
        outcome = Outcome.BETTER
    travels = _mean([pulse.between_nodes_per_s for pulse in after])
    return Finding(outcome, acked[0], acked[1], latencies[0], latencies[1], travels, restart_s)


def _in_flight(pulses: Sequence[Pulse]) -> float:
    """Return how many tuples are on their way, not a number where their latency is not known."""
    known = [(each.acked_per_s, each.latency_ms) for each in pulses if each.latency_ms is not None]
    return _mean([rate * latency for rate, latency in known]) if known else math.nan


def _failing(pulses: Sequence[Pulse]) -> float:
    """Return the share of tuples that fail."""
    failed = _mean([pulse.failed_per_s for pulse in pulses])
    return failed / max(failed + _mean([pulse.acked_per_s for pulse in pulses]), 1e-9)


def _latency(pulses: Sequence[Pulse]) -> MeanInterval | None:
    values = [pulse.latency_ms for pulse in pulses if pulse.latency_ms is not None]
    return interval(values) if len(values) > 1 else None


def _times_longer(before: Sequence[Pulse], after: Sequence[Pulse]) -> float:
    """Return how many times longer a tuple takes; 1 where that is not sure, or not known.

    The mean is that of logarithms: while queues grow, slices differ by factors.
    """
    logs = [[math.log(p.latency_ms) for p in side if p.latency_ms] for side in (before, after)]
    if min(map(len, logs)) < 2:
        return 1.0
    then, now = map(interval, logs)
    return math.exp(now.mean - then.mean) if now.parts_from(then) else 1.0


def _falls(now: MeanInterval, then: MeanInterval, share: float) -> bool:
    """Return whether ``then`` is surely below ``now``, by more than a share of it."""
    return then.mean < now.mean * (1 - share) and now.parts_from(then)
