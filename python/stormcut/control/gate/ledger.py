"""Which workers a plan has restarted within the last hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stormcut.control.gate.change import Change, Workers
from stormcut.model.cluster import ClusterState

HOUR_SECONDS = 3600.0


@dataclass(frozen=True)
class Restarts:
    """So many workers of a topology restarted, at a moment of a clock that never runs back."""

    at_s: float
    topology: str
    count: int


@dataclass(frozen=True)
class Ledger:
    """Counts each restart once, however often Nimbus asks for the same plan.

    A change that Nimbus was told is open as long as the topology runs as it did then. Told again
    meanwhile, it restarts nothing more, and all of it later: it counts from when it was told last.
    From when the topology runs otherwise, the same change counts again: it may have been made, and
    workers lost since.

    Parameters
    ----------
    spent : tuple of Restarts
        What restarted within the last hour, oldest first.
    open : mapping of str to (tuple of Worker, tuple of Worker)
        Where each topology ran when it was told a change, and where it shall run.
    """

    spent: tuple[Restarts, ...] = ()
    open: Mapping[str, tuple[Workers, Workers]] = field(default_factory=dict)

    def observe(self, state: ClusterState, now: float) -> Ledger:
        """Return what counts once a state was seen; what is older than an hour does not."""
        homes = {t.id: tuple(sorted(t.assignment)) for t in state.topologies}
        still = {
            name: (home, target)
            for name, (home, target) in self.open.items()
            if homes.get(name) == home
        }
        return Ledger(tuple(each for each in self.spent if each.at_s > now - HOUR_SECONDS), still)

    def count(self, change: Change) -> int:
        """Return how many workers a change restarts beyond those that are counted already."""
        return 0 if self._is_open(change) else change.restart_count

    def _is_open(self, change: Change) -> bool:
        return self.open.get(change.topology) == (change.home, change.target)

    def spend(self, changes: Iterable[Change], now: float) -> Ledger:
        """Return what counts once Nimbus is told changes."""
        spent, open_changes = list(self.spent), dict(self.open)
        for change in changes:
            topology, count = change.topology, change.restart_count
            open_changes[topology] = change.home, change.target
            if not count:
                continue
            if self._is_open(change):
                earlier = next((e for e in reversed(spent) if e.topology == topology), None)
                if earlier is not None:
                    spent.remove(earlier)
                    count = earlier.count
            spent.append(Restarts(now, topology, count))
        return Ledger(tuple(spent), open_changes)

    def frees_in(self, count: int, most: int, now: float) -> float:
        """Return in how many seconds so many more restarts keep below the most in an hour."""
        total, left = sum(each.count for each in self.spent) + count, 0.0
        for each in self.spent:
            if total <= most:
                return left
            total, left = total - each.count, each.at_s + HOUR_SECONDS - now
        return left if total <= most else HOUR_SECONDS
