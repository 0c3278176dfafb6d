"""Topologies whose spouts rest while they move, so that nothing that is on its way is replayed.

A spout's tuple that has not been acknowledged when its worker ends is sent again. Who deactivates
the topology first, waits for what is on its way, moves it and activates it again, as StroMAX does,
loses the time and sends nothing twice.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from stormcut.control.ports import Clock, Unavailable, Valve
from stormcut.model.cluster import ClusterState, Worker

log = logging.getLogger("stormcut.draining")

Workers = tuple[Worker, ...]

#: After Nimbus has told the new place supervisors end the old workers, who would emit again.
ADOPT_SECONDS = 15.0
#: No topology rests for longer, whatever happens; and who waits for so long after it was drained
#: is not moved any more.
MAX_SECONDS, UNUSED_SECONDS = 120.0, 45.0
#: After a failure it is moved without.
GIVEN_UP_SECONDS = 600.0


@dataclass
class _Rest:
    """A topology that rests, or shall; times by a clock that never runs back."""

    seconds: float
    home: Workers
    #: Where it shall run, as it was asked for last.
    target: Workers
    asked_s: float
    since_s: float | None = None
    #: A person had deactivated it before: it is not ours to activate.
    is_foreign: bool = False
    moved_s: float | None = None


class Draining:
    """Which topologies rest, and why; asked by the brain, worked by the leader.

    Parameters
    ----------
    valve : Valve
        Stops and starts spouts.
    """

    def __init__(self, valve: Valve, clock: Clock) -> None:
        self._valve, self._clock = valve, clock
        self._rests: dict[str, _Rest] = {}
        self._given_up: dict[str, float] = {}
        #: What others have left deactivated, None: not known yet.
        self._left: tuple[str, ...] | None = None
        self._lock = threading.Lock()
        self._logged = ""

    def ask(self, topology: str, home: Workers, target: Workers, seconds: float) -> None:
        """Have a topology drained before it moves; to be asked again until it has moved.

        Answers at once.
        """
        now = self._clock.elapsed()
        with self._lock:
            if now < self._given_up.get(topology, 0.0):
                return
            rest = self._rests.setdefault(topology, _Rest(seconds, home, target, now))
            rest.asked_s, rest.target = now, target

    def rested(self) -> frozenset[str]:
        """Return the topologies that may move: they have rested, or nothing can have them rest."""
        now = self._clock.elapsed()
        with self._lock:
            drained = {
                topology
                for topology, rest in self._rests.items()
                if rest.is_foreign
                or (rest.since_s is not None and now - rest.since_s >= rest.seconds)
            }
            return frozenset(drained | {n for n, until in self._given_up.items() if now < until})

    def resting(self) -> set[str]:
        """Return the topologies of which nothing is measured now: their spouts rest."""
        with self._lock:
            return {name for name, rest in self._rests.items() if rest.since_s is not None}

    def take_over(self) -> None:
        """Begin again: what another one, or this one before, has left deactivated is activated."""
        with self._lock:
            self._rests = {}
        self._left = None

    def _clean_up(self) -> None:
        if self._left is None:
            try:
                self._left = self._valve.marked()
            except Unavailable as error:
                self._warn(f"what was left deactivated is not known yet: {error}")
                return
        self._left = tuple(
            each for each in self._left if not self._activate(each, "was left deactivated")
        )

    def watch(self, state: ClusterState | None) -> None:
        """Stop and start what is due; called again and again while this one leads.

        Parameters
        ----------
        state : ClusterState, optional
            As Nimbus described it last.
        """
        now = self._clock.elapsed()
        if self._left != ():
            self._clean_up()
        homes = {t.id: tuple(sorted(t.assignment)) for t in state.topologies} if state else {}
        with self._lock:
            open_ = dict(self._rests)
        for topology, rest in open_.items():
            if rest.since_s is None and not rest.is_foreign:
                self._stop(topology, rest, now)
            elif (why := self._over(rest, homes.get(topology), now)) is not None:
                self._end(topology, rest, why)

    def _stop(self, topology: str, rest: _Rest, now: float) -> None:
        try:
            if not self._valve.is_active(topology):
                rest.is_foreign = True
                log.info("%s is deactivated already, and stays so when it has moved", topology)
                return
            # The mark first: whoever comes after a crash between the two finds it.
            self._valve.mark((*self._valve.marked(), topology))
            self._valve.deactivate(topology)
        except Unavailable as error:
            self._give_up(topology, now)
            log.warning("%s moves without being drained: %s", topology, error)
            return
        rest.since_s = now
        log.info("%s is deactivated: what is on its way has %.0f s", topology, rest.seconds)

    def _over(self, rest: _Rest, home: Workers | None, now: float) -> str | None:
        """Return why a rest ends now, None if it does not."""
        if home is None:
            return "it is gone"
        if home != rest.home and rest.moved_s is None and home == rest.target:
            rest.moved_s = now
        if rest.moved_s is not None and now - rest.moved_s >= ADOPT_SECONDS:
            return "it has moved"
        if rest.is_foreign:
            return "nothing moves it any more" if now - rest.asked_s > UNUSED_SECONDS else None
        if rest.since_s is not None and now - rest.since_s > MAX_SECONDS:
            return "it rested for as long as it may"
        if home == rest.home and now - rest.asked_s > UNUSED_SECONDS:
            return "nothing moves it any more"
        return None

    def _end(self, topology: str, rest: _Rest, why: str) -> None:
        if not rest.is_foreign and not self._activate(topology, why):
            return  # again with the next look
        with self._lock:
            del self._rests[topology]
        if rest.moved_s is None and why != "it is gone":
            self._give_up(topology, self._clock.elapsed())

    def _give_up(self, topology: str, now: float) -> None:
        with self._lock:
            self._rests.pop(topology, None)
            self._given_up[topology] = now + GIVEN_UP_SECONDS

    def _activate(self, topology: str, why: str) -> bool:
        try:
            # First: where ZooKeeper is away, its spouts wake all the same.
            self._valve.activate(topology)
            self._valve.mark(tuple(each for each in self._valve.marked() if each != topology))
        except Unavailable as error:
            self._warn(f"{topology} is not activated yet ({why}): {error}")
            return False
        log.info("%s is active again: %s", topology, why)
        return True

    def _warn(self, words: str) -> None:
        """Log what goes wrong at each look when it begins."""
        if words != self._logged:
            log.warning(words)
        self._logged = words

    def close(self) -> None:
        """Activate all that rests because of this one, whether or not it leads any more."""
        with self._lock:
            open_ = dict(self._rests)
        for topology, rest in open_.items():
            if rest.since_s is not None:
                self._activate(topology, "the controller ends")
