"""What is measured while topologies run, and when it is told to the brain."""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from stormcut.control.gate.account import Account
from stormcut.control.gate.change import Initiator
from stormcut.control.observe.hearing import Hearing
from stormcut.control.orders import Undo
from stormcut.control.ports import Clock, Unavailable
from stormcut.control.review.outcome import Finding, Outcome
from stormcut.control.review.reviews import (
    REVIEWS_KEPT,
    Review,
    review,
    taken_back,
)
from stormcut.control.review.trail import Step
from stormcut.control.review.trial import MoveReview
from stormcut.model.cluster import Worker
from stormcut.model.profile import Profile
from stormcut.profile.decay import FORGOTTEN, DecayedTotals, Slice
from stormcut.profile.drift import RECENT, WHOLE, Drift, DriftWatch, Quantity
from stormcut.profile.forecast import Forecast
from stormcut.profile.measured import Measured

log = logging.getLogger("stormcut.observer")

#: A profile of less says little; each task's first interval does not count beside.
MIN_SECONDS = 15.0
#: After so long what was published has been read, however many there are.
READ_SECONDS = 60.0
#: A move that is judged now was ordered by a plan no older than this, or by no plan.
BLAME_SECONDS = 600.0
#: Whose moves are judged: those that were to gain something. A person's are not taken back.
REVIEWED = frozenset({Initiator.GAIN, Initiator.APPROVE})
#: What was measured so many times as long as what was told is told again: half the chance in it.
SURER_FACTOR = 4
#: After so many slices that seem to be another load, and no drift, what is measured is told all
#: the same.
MAX_DOUBTS = RECENT[1]
#: A forecast is no more than so many times what is measured, and no less than one of so many.
MAX_FACTOR = 4.0


class Press(Protocol):
    """Where profiles are published."""

    def publish(self, profile: Profile) -> None:
        """Make a profile what is known of its topology.

        Raises
        ------
        Unavailable
            It was not stored.
        """
        ...

    def trail(self, topology: str) -> tuple[Step, ...]:
        """Return where plans have moved a topology, oldest first.

        Raises
        ------
        Unavailable
            That cannot be told now.
        """
        ...

    def take_back(self, topology: str, workers: tuple[Worker, ...], until_s: float) -> None:
        """Order a topology back to where it ran, and to stay there so long.

        Raises
        ------
        Unavailable
            The order was not stored.
        """
        ...

    def reviews(self) -> tuple[Review, ...]:
        """Return what became of moves, the last ones, oldest first.

        Raises
        ------
        Unavailable
            That cannot be told now.
        """
        ...

    def keep(self, reviews: tuple[Review, ...]) -> None:
        """Store reviews in the place of all.

        Raises
        ------
        Unavailable
            They were not stored.
        """
        ...

    def release(self, topology: str) -> None:
        """End an order of `take_back`, none of a person.

        Raises
        ------
        Unavailable
            It may be in force yet.
        """
        ...


class Occasion(Enum):
    """Why a profile is published, beside a drift."""

    FIRST = "first whole measurement"
    LOST = "what was published is gone, or damaged"
    PERIOD = "its time has come"
    EXPECTED = "another load is to be expected"
    SURER = "measured for longer"


@dataclass(frozen=True)
class Watching:
    """When what is measured is published.

    ``period_s`` is the time from one profile to the next, whatever is measured; infinite: only
    when a topology is first measured whole, and when it drifts. ``is_on`` False: never.
    ``takes_back``: what does worse since a plan has moved it goes back, and is not published for
    ``taken_back_s`` seconds, each time twice as long.
    """

    half_life_s: float = 60.0
    period_s: float = math.inf
    is_on: bool = True
    takes_back: bool = False
    taken_back_s: float = 1800.0


@dataclass
class _ObservedTopology:
    totals: DecayedTotals
    drifts: DriftWatch = field(default_factory=DriftWatch)
    began_s: float = 0.0
    heard_s: float = 0.0
    #: When that came, by a clock that never runs back.
    came_s: float = 0.0
    published_s: float | None = None
    #: Of the last slice; None: there was none.
    measured_tasks: int | None = None
    #: Of which a profile is made after a change: what was before says nothing of it.
    recent: deque[Slice] = field(default_factory=lambda: deque(maxlen=WHOLE))
    trial: MoveReview = field(default_factory=MoveReview)
    forecast: Forecast = field(default_factory=Forecast)
    #: Tuples/s sent, by the profile that was published, and for how long it was measured.
    reported_per_s: float | None = None
    reported_s: float = math.inf
    reported_factor: float = 1.0
    #: How many slices in a row were unlike those before.
    doubts: int = 0
    #: A drift that is thought to pass, as it was said.
    passing: Drift | None = None
    #: A change that is not published yet.
    drift: Drift | None = None
    seen: Measured | None = None
    profile: Profile | None = None


@dataclass(frozen=True)
class Seen:
    """What is known of a topology now: its means, and the moment of its last interval."""

    measured: Measured
    heard_s: float


class Observer:
    """Adds up what topologies do, and publishes a profile when there is reason to.

    What is partly measured is not published: an executor that is missing would be taken for idle.

    Parameters
    ----------
    press : Press
    leads : callable
        Whether this process may publish; several may observe.
    stored : callable
        Returns the topologies of which a usable profile was found when it was read last.
    undos : callable
        Returns the orders to go back, by topology id, as they were read last.
    resting : callable, optional
        Returns the topologies whose spouts rest before a move: what they do says nothing.
    """

    def __init__(
        self,
        press: Press,
        clock: Clock,
        leads: Callable[[], bool],
        stored: Callable[[], Container[str]],
        undos: Callable[[], Mapping[str, Undo]],
        watching: Watching,
        resting: Callable[[], Container[str]] = frozenset,
    ) -> None:
        self._resting = resting
        self._press = press
        self._clock = clock
        self._leads = leads
        self._stored = stored
        self._undos = undos
        self._watching = watching
        self._topologies: dict[str, _ObservedTopology] = {}
        self._lock = threading.Lock()
        self._hearing = Hearing()
        self._logged: set[str] = set()
        #: What became of moves; None: not read since this one leads.
        self._reviews: tuple[Review, ...] | None = None

    def take(self, slices: Mapping[str, Slice], problems: Mapping[str, int]) -> None:
        """Take what is new in each topology; publish what the brain shall know."""
        self._warn(problems)
        leads, resting = self._remembers(), self._resting()
        slices = {name: slice_ for name, slice_ in slices.items() if name not in resting}
        with self._lock:
            self._hearing.take(slices, self._clock.elapsed())
            silent = {name for (name, _), is_heard in self._hearing.heard().items() if not is_heard}
            findings = [(name, self._add(name, slice_)) for name, slice_ in slices.items()]
            self._forget()
            # Silence is no drift, and what others do meanwhile says nothing.
            heard = slices.keys() - silent
            due = self._due(heard) if self._watching.is_on and leads else []
        for name, finding in findings:
            if finding is not None:
                log.info("%s has moved, and turned out %s", name, finding)
                if leads:
                    self._review(name, finding)
        for name, reason in due:
            self._publish(name, reason)

    def _add(self, name: str, slice_: Slice) -> Finding | None:
        known = self._topologies.get(name)
        if known is None:
            known = _ObservedTopology(DecayedTotals(self._watching.half_life_s))
            known.began_s = slice_.from_epoch_s
            self._topologies[name] = known
            log.info("first intervals of %s: %d tasks", name, slice_.measured_tasks)
        known.heard_s, known.came_s = slice_.to_epoch_s, self._clock.elapsed()
        known.measured_tasks = slice_.measured_tasks
        # While workers start, a tuple costs what it never does later, and few flow; what was before
        # is of another place.
        if known.trial.settles(slice_):
            known.recent.clear()
        else:
            known.recent.append(slice_)
            known.totals.add(slice_)
            known.drifts.add(slice_)
            known.doubts = known.doubts + 1 if known.drifts.is_in_doubt() else 0
            self._look_for_drift(known)
        summary = known.totals.summary()
        if summary is not None:
            known.profile = replace(summary[0], topology=name)
            known.seen = replace(summary[1], topology=name)
        finding = known.trial.add(slice_)
        if not known.trial.is_settling and (sent := _sent_per_s(slice_)) is not None:
            known.forecast.add(slice_.to_epoch_s, sent)
        return finding

    def _remembers(self) -> bool:
        """Return whether this one leads and knows what became of moves while another led."""
        if not self._leads():
            self._reviews = None
            return False
        if self._reviews is None:
            try:
                self._reviews = self._press.reviews()
            except Unavailable as error:
                log.warning("what became of earlier moves is not known yet: %s", error)
                return False
        return True

    def _review(self, name: str, finding: Finding) -> None:
        """Keep what became of a move for gain; take it back if that is for the worse.

        What a drain, a broken limit or a person has moved is not judged, nor what Storm has.
        """
        assert self._reviews is not None
        now = self._clock.now()
        try:
            step = next(iter(self._press.trail(name)[-1:]), None)
            if step is None or step.at_s < now - BLAME_SECONDS or step.initiator not in REVIEWED:
                return
            if not step.matches(finding.places):
                log.info("%s runs elsewhere than plan %s says: not its doing", name, step.plan)
                return
            held_s = 0.0
            worse = finding.outcome is Outcome.WORSE
            if worse and self._watching.takes_back and step.initiator is Initiator.GAIN:
                held_s = self._watching.taken_back_s * 2 ** min(taken_back(self._reviews, name), 6)
                self._press.take_back(name, step.before, now + held_s)
            reviewed = review(name, step, finding, now, held_s)
            self._reviews = (*self._reviews, reviewed)[-REVIEWS_KEPT:]
            self._press.keep(self._reviews)
        except Unavailable as error:
            log.warning("what became of the move of %s is not kept: %s", name, error)
            return
        write = log.warning if held_s else log.info
        write("move of %s: %s", name, reviewed, extra={"plan": step.plan})

    def _look_for_drift(self, known: _ObservedTopology) -> None:
        drift = known.drifts.drift()
        if drift is not None:
            known.drift = drift
            known.drifts.begin_again()
            known.trial.begin_again()
            known.totals = DecayedTotals(self._watching.half_life_s)
            for slice_ in known.recent:
                known.totals.add(slice_)

    def _forget(self) -> None:
        """Forget what has been silent for long: it is gone, or its logs do not come any more."""
        oldest = self._clock.elapsed() - max(FORGOTTEN * self._watching.half_life_s, 600.0)
        gone = [name for name, known in self._topologies.items() if known.came_s < oldest]
        for name in gone:
            log.info("nothing heard of %s for long; forgotten", name)
            del self._topologies[name]

    def _due(self, heard: Iterable[str]) -> list[tuple[str, Occasion | Drift]]:
        stored = self._stored()
        reasons = (
            (name, self._reason(self._topologies[name], name in stored))
            for name in heard
            if self._clock.now() >= self._held_until(name)
        )
        return [(name, reason) for name, reason in reasons if reason is not None]

    def _held_until(self, name: str) -> float:
        """Return until when what was taken back stays there; 0.0: nothing was, or it is over."""
        undo = self._undos().get(name)
        return 0.0 if undo is None or undo.until_s is None else undo.until_s

    def _reason(self, known: _ObservedTopology, stored: bool) -> Occasion | Drift | None:
        if known.seen is None or known.seen.missing_executors:
            return None
        if known.published_s is None:
            enough = known.heard_s - known.began_s >= MIN_SECONDS
            return Occasion.FIRST if enough else None
        since = known.heard_s - known.published_s
        if since >= self._watching.period_s:
            return Occasion.PERIOD
        # What seems to change is published once it has: a mixture of both says nothing.
        if known.drift is None and 0 < known.doubts <= MAX_DOUBTS:
            return None
        # After a move only what came since counts, and one slice says little.
        if known.drift is not None and len(known.recent) < WHOLE:
            return None
        if not stored and since >= READ_SECONDS:
            return Occasion.LOST
        return self._news(known) if math.isinf(self._watching.period_s) else None

    @staticmethod
    def _is_surer(known: _ObservedTopology) -> bool:
        """Return whether what was told is known much better now, and has not changed."""
        assert known.profile is not None
        return known.drift is None and known.profile.seconds >= SURER_FACTOR * known.reported_s

    def _news(self, known: _ObservedTopology) -> Occasion | Drift | None:
        """Return what has changed for longer than a peak lasts, None if nothing has."""
        drift = known.drift
        if drift is not None and drift.quantity is not Quantity.RATE:
            return drift
        if drift is None and known.reported_factor == 1.0:
            return Occasion.SURER if self._is_surer(known) else None
        expected = known.forecast.expected()
        if expected is None or known.reported_per_s is None:
            return drift
        if not expected.is_about(known.reported_per_s):
            return drift or Occasion.EXPECTED
        if drift is not None and known.passing is not drift:
            log.info("%s; such changes usually pass: not published", _words(drift))
            known.passing = drift
        return None

    def _publish(self, name: str, reason: Occasion | Drift) -> None:
        known = self._topologies[name]
        assert known.profile is not None and known.seen is not None
        factor = self._factor(known)
        try:
            if self._held_until(name):
                self._press.release(name)
            self._press.publish(known.profile.scaled(factor))
        except Unavailable as error:
            # It is due again with the next intervals.
            log.warning("profile of %s not published: %s", name, error)
            return
        known.published_s, known.drift = known.heard_s, None
        known.reported_s = known.profile.seconds
        known.reported_per_s, known.reported_factor = factor * known.seen.emitted_per_s, factor
        forecast = f" (forecast: {factor:.2f} times what is measured)" if factor != 1.0 else ""
        log.info("profile of %s published: %s%s", name, _words(reason), forecast)

    @staticmethod
    def _factor(known: _ObservedTopology) -> float:
        """Return how many times what is measured is to be expected."""
        expected, sent = known.forecast.expected(), known.seen.emitted_per_s if known.seen else 0.0
        if expected is None or sent <= 0:
            return 1.0
        return min(max(expected.mean / sent, 1 / MAX_FACTOR), MAX_FACTOR)

    def _warn(self, problems: Mapping[str, int]) -> None:
        for problem, count in problems.items():
            if problem not in self._logged:
                log.warning("%d lines of metrics not used: %s", count, problem)
        self._logged.update(problems)

    def accounts(self) -> dict[str, Account]:
        """Return how topologies fare, by id."""
        with self._lock:
            return {
                name: Account(known.trial.is_stalled, known.reported_factor, _share(known))
                for name, known in self._topologies.items()
            }

    def heard(self) -> dict[tuple[str, str], bool]:
        """Return whose workers are heard of, by topology and host."""
        with self._lock:
            return self._hearing.heard()

    def measured_tasks(self, topology: str) -> int | None:
        """Return how many tasks were measured last, None if none ever was."""
        with self._lock:
            known = self._topologies.get(topology)
            return known.measured_tasks if known else None

    def seen(self) -> dict[str, Seen]:
        """Return what is known now, by topology id."""
        with self._lock:
            return {
                name: Seen(known.seen, known.heard_s)
                for name, known in self._topologies.items()
                if known.seen is not None
            }


def _sent_per_s(slice_: Slice) -> float | None:
    """Return the tuples/s that all tasks send, None if less than half of them were measured."""
    measured = [task for task in slice_.tasks if task.ms > 0]
    if not measured or 2 * len(measured) < len(slice_.tasks):
        return None
    return sum(t.per_second(t.sent) for t in measured) * len(slice_.tasks) / len(measured)


def _share(known: _ObservedTopology) -> float:
    """Return which part of the rate that was measured for the brain is measured now."""
    if known.seen is None or not known.reported_per_s:
        return 1.0
    return known.seen.emitted_per_s * known.reported_factor / known.reported_per_s


def _words(reason: Occasion | Drift) -> str:
    if isinstance(reason, Occasion):
        return reason.value
    return f"{reason.component}: {reason.quantity.value} {reason.now}, was {reason.before}"
