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

from stormcut.application.control.ports import Clock, Unavailable
from stormcut.application.control.trial import Finding, Outcome, Trial
from stormcut.model.profile import Profile
from stormcut.profile.decay import FORGOTTEN, DecayedTotals, Slice
from stormcut.profile.drift import RECENT, Drift, DriftWatch
from stormcut.profile.measured import Measured

log = logging.getLogger("stormcut.observer")

#: A profile of less says little; each task's first interval does not count beside.
LEAST_SECONDS = 15.0
#: After so long what was published has been read, however many there are.
READ_SECONDS = 60.0
#: A move that is judged now was ordered by a plan no older than this, or by no plan.
BLAME_SECONDS = 600.0


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

    def take_back(self, topology: str, since_s: float) -> bool:
        """Order a topology back to where it ran before a plan moved it.

        Returns
        -------
        bool
            Whether a plan made since then had moved it.

        Raises
        ------
        Unavailable
            The order was not stored.
        """
        ...

    def let_go(self, topology: str) -> None:
        """End an order of `take_back`.

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


@dataclass(frozen=True)
class Watching:
    """When what is measured is told to the brain.

    ``period_s`` is the time from one profile to the next, whatever is measured; infinite: only
    when a topology is first measured whole, and when it drifts. ``is_on`` False: never.
    ``takes_back``: what does worse since a plan has moved it goes back, and is not told of for
    ``taken_back_s`` seconds, each time twice as long.
    """

    half_life_s: float = 60.0
    period_s: float = math.inf
    is_on: bool = True
    takes_back: bool = False
    taken_back_s: float = 1800.0


@dataclass
class _Topology:
    totals: DecayedTotals
    drifts: DriftWatch = field(default_factory=DriftWatch)
    began_s: float = 0.0
    heard_s: float = 0.0
    published_s: float | None = None
    #: Of which a profile is made after a change: what was before says nothing of it.
    recent: deque[Slice] = field(default_factory=lambda: deque(maxlen=RECENT[0]))
    trial: Trial = field(default_factory=Trial)
    #: So often in a row a plan was taken back; until then nothing is published, as plans follow.
    taken_back: int = 0
    held_until_s: float = 0.0
    #: A change that the brain was not told of yet.
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
    """

    def __init__(
        self,
        press: Press,
        clock: Clock,
        leads: Callable[[], bool],
        stored: Callable[[], Container[str]],
        watching: Watching,
    ) -> None:
        self._press = press
        self._clock = clock
        self._leads = leads
        self._stored = stored
        self._watching = watching
        self._topologies: dict[str, _Topology] = {}
        self._lock = threading.Lock()
        self._told: set[str] = set()

    def take(self, slices: Mapping[str, Slice], problems: Mapping[str, int]) -> None:
        """Take what is new in each topology; publish what the brain shall know."""
        self._warn(problems)
        with self._lock:
            findings = [(name, self._add(name, slice_)) for name, slice_ in slices.items()]
            self._forget()
            due = self._due(slices) if self._watching.is_on and self._leads() else []
        for name, finding in findings:
            if finding is not None:
                self._judge(name, finding)
        for name, reason in due:
            self._publish(name, reason)

    def _add(self, name: str, slice_: Slice) -> Finding | None:
        known = self._topologies.get(name)
        if known is None:
            known = _Topology(DecayedTotals(self._watching.half_life_s))
            known.began_s = slice_.from_epoch_s
            self._topologies[name] = known
            log.info("first intervals of %s: %d tasks", name, slice_.measured_tasks)
        known.heard_s = slice_.to_epoch_s
        known.recent.append(slice_)
        known.totals.add(slice_)
        known.drifts.add(slice_)
        self._look_for_drift(known)
        found = known.totals.summary()
        if found is not None:
            known.profile = replace(found[0], topology=name)
            known.seen = replace(found[1], topology=name)
        return known.trial.add(slice_)

    def _judge(self, name: str, finding: Finding) -> None:
        """Say what became of a move, and take back one that a plan made for the worse."""
        log.info("%s has moved, and does %s", name, finding)
        known = self._topologies[name]
        if finding.outcome is not Outcome.WORSE:
            known.taken_back = 0
            return
        if not (self._watching.takes_back and self._leads()):
            return
        now = self._clock.now()
        try:
            if not self._press.take_back(name, now - BLAME_SECONDS):
                return
        except Unavailable as error:
            log.warning("%s does worse since a plan, and cannot be taken back: %s", name, error)
            return
        pause = self._watching.taken_back_s * 2 ** min(known.taken_back, 6)
        known.taken_back += 1
        known.held_until_s = now + pause
        log.warning("%s goes back to where it ran before, for %.0f s at least", name, pause)

    def _look_for_drift(self, known: _Topology) -> None:
        found = known.drifts.drift()
        if found is not None:
            known.drift = found
            known.drifts.begin_anew()
            known.totals = DecayedTotals(self._watching.half_life_s)
            for slice_ in known.recent:
                known.totals.add(slice_)

    def _forget(self) -> None:
        """Forget what has been silent for long: it is gone, or its logs do not come any more."""
        oldest = self._clock.now() - max(FORGOTTEN * self._watching.half_life_s, 600.0)
        gone = [name for name, known in self._topologies.items() if known.heard_s < oldest]
        for name in gone:
            log.info("nothing heard of %s for long; forgotten", name)
            del self._topologies[name]

    def _due(self, heard: Iterable[str]) -> list[tuple[str, Occasion | Drift]]:
        stored = self._stored()
        found = ((name, self._reason(self._topologies[name], name in stored)) for name in heard)
        return [(name, reason) for name, reason in found if reason is not None]

    def _reason(self, known: _Topology, stored: bool) -> Occasion | Drift | None:
        if known.seen is None or known.seen.missing_executors:
            return None
        if self._clock.now() < known.held_until_s:
            return None
        if known.published_s is None:
            enough = known.heard_s - known.began_s >= LEAST_SECONDS
            return Occasion.FIRST if enough else None
        since = known.heard_s - known.published_s
        if since >= self._watching.period_s:
            return Occasion.PERIOD
        if not stored and since >= READ_SECONDS:
            return Occasion.LOST
        return known.drift if math.isinf(self._watching.period_s) else None

    def _publish(self, name: str, reason: Occasion | Drift) -> None:
        known = self._topologies[name]
        assert known.profile is not None
        try:
            if known.held_until_s:
                self._press.let_go(name)
                known.held_until_s = 0.0
            self._press.publish(known.profile)
        except Unavailable as error:
            # It is due again with the next intervals.
            log.warning("profile of %s not published: %s", name, error)
            return
        known.published_s, known.drift = known.heard_s, None
        log.info("profile of %s published: %s", name, _words(reason))

    def _warn(self, problems: Mapping[str, int]) -> None:
        for problem, count in problems.items():
            if problem not in self._told:
                log.warning("%d lines of metrics not used: %s", count, problem)
        self._told.update(problems)

    def seen(self) -> dict[str, Seen]:
        """Return what is known now, by topology id."""
        with self._lock:
            return {
                name: Seen(known.seen, known.heard_s)
                for name, known in self._topologies.items()
                if known.seen is not None
            }


def _words(reason: Occasion | Drift) -> str:
    if isinstance(reason, Occasion):
        return reason.value
    return (
        f"{reason.component}: {reason.quantity.value} {reason.now.mean:,.3g} "
        f"(± {reason.now.half_width:,.2g}), was {reason.before.mean:,.3g} "
        f"(± {reason.before.half_width:,.2g})"
    )
