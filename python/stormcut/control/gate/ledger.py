"""Which workers a plan has restarted within the last hour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stormcut.control.gate.change import Change, Workers
from stormcut.model.cluster import ClusterState

HOUR_SECONDS = 3600.0


@dataclass(frozen=True)
class Restarts:
    """So many workers of a topology restarted, at a moment of a clock that never runs back."""

    at_s: float
    topology: str
    count: int


class Ledger:
    """Counts each restart once, however often Nimbus asks for the same plan.

    A change that Nimbus was told is open as long as the topology runs as it did then. Told again
    meanwhile, it restarts nothing more, and all of it later: it counts from when it was told last.
    From when the topology runs otherwise, the same change counts anew: it may have been made, and
    workers lost since.
    """

    def __init__(self, spent: Iterable[Restarts] = ()) -> None:
        self._spent = list(spent)
        #: Where each ran when it was told, and where it shall run.
        self._open: dict[str, tuple[Workers, Workers]] = {}

    def copy(self) -> Ledger:
        """Return the same for somebody who only thinks what would be."""
        other = Ledger(self._spent)
        other._open = dict(self._open)
        return other

    def observe(self, state: ClusterState, now: float) -> None:
        """Take note of what runs where at a moment; forget what is older than an hour."""
        homes = {t.id: tuple(sorted(t.assignment)) for t in state.topologies}
        self._open = {
            name: (home, target)
            for name, (home, target) in self._open.items()
            if homes.get(name) == home
        }
        self._spent = [each for each in self._spent if each.at_s > now - HOUR_SECONDS]

    def count(self, change: Change) -> int:
        """Return how many workers a change restarts beyond those that are counted already."""
        return 0 if self._is_open(change) else change.restart_count

    def _is_open(self, change: Change) -> bool:
        return self._open.get(change.topology) == (change.home, change.target)

    def spend(self, change: Change, now: float) -> None:
        """Count a change that Nimbus is told now."""
        topology, count = change.topology, change.restart_count
        is_open = self._is_open(change)
        self._open[topology] = change.home, change.target
        if not count:
            return
        own = [each for each in self._spent if each.topology == topology] if is_open else []
        for earlier in own[-1:]:
            self._spent.remove(earlier)
            count = earlier.count
        self._spent.append(Restarts(now, topology, count))

    @property
    def spent(self) -> tuple[Restarts, ...]:
        """What restarted within the last hour, oldest first."""
        return tuple(self._spent)

    def frees_in(self, count: int, most: int, now: float) -> float:
        """Return in how many seconds so many more restarts keep below the most in an hour."""
        total, left = sum(each.count for each in self._spent) + count, 0.0
        for each in self._spent:
            if total <= most:
                return left
            total, left = total - each.count, each.at_s + HOUR_SECONDS - now
        return left if total <= most else HOUR_SECONDS
