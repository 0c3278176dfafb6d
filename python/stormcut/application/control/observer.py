"""What is measured while topologies run, and when it is told to the brain."""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from stormcut.application.control.ports import Clock, Unavailable
from stormcut.model.profile import Profile
from stormcut.profile.decay import FORGOTTEN, DecayedTotals, Slice
from stormcut.profile.drift import RECENT, Drift, DriftWatch
from stormcut.profile.measured import Measured

log = logging.getLogger("stormcut.observer")

#: A profile of less says little; each task's first interval does not count beside.
LEAST_SECONDS = 15.0


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


class Occasion(Enum):
    """Why a profile is published, beside a drift."""

    FIRST = "first whole measurement"
    PERIOD = "its time has come"


@dataclass(frozen=True)
class Watching:
    """When what is measured is told to the brain.

    ``period_s`` is the time from one profile to the next, whatever is measured; infinite: only
    when a topology is first measured whole, and when it drifts. ``is_on`` False: never.
    """

    half_life_s: float = 60.0
    period_s: float = math.inf
    is_on: bool = True


@dataclass
class _Topology:
    totals: DecayedTotals
    drifts: DriftWatch = field(default_factory=DriftWatch)
    began_s: float = 0.0
    heard_s: float = 0.0
    published_s: float | None = None
    #: Of which a profile is made after a change: what was before says nothing of it.
    recent: deque[Slice] = field(default_factory=lambda: deque(maxlen=RECENT[0]))
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
    """

    def __init__(
        self, press: Press, clock: Clock, leads: Callable[[], bool], watching: Watching
    ) -> None:
        self._press = press
        self._clock = clock
        self._leads = leads
        self._watching = watching
        self._topologies: dict[str, _Topology] = {}
        self._lock = threading.Lock()
        self._told: set[str] = set()

    def take(self, slices: Mapping[str, Slice], problems: Mapping[str, int]) -> None:
        """Take what is new in each topology; publish what the brain shall know."""
        self._warn(problems)
        with self._lock:
            for name, slice_ in slices.items():
                self._add(name, slice_)
            self._forget()
            due = self._due(slices) if self._watching.is_on and self._leads() else []
        for name, reason in due:
            self._publish(name, reason)

    def _add(self, name: str, slice_: Slice) -> None:
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
        found = ((name, self._reason(self._topologies[name])) for name in heard)
        return [(name, reason) for name, reason in found if reason is not None]

    def _reason(self, known: _Topology) -> Occasion | Drift | None:
        if known.seen is None or known.seen.missing_executors:
            return None
        if known.published_s is None:
            enough = known.heard_s - known.began_s >= LEAST_SECONDS
            return Occasion.FIRST if enough else None
        if known.heard_s - known.published_s >= self._watching.period_s:
            return Occasion.PERIOD
        return known.drift if math.isinf(self._watching.period_s) else None

    def _publish(self, name: str, reason: Occasion | Drift) -> None:
        known = self._topologies[name]
        assert known.profile is not None
        try:
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
