"""What Nimbus describes of the cluster: the last state, what becomes of a plan, what is gone."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from stormcut.control.ports import Clock
from stormcut.model.cluster import Described
from stormcut.model.errors import InvalidInput

#: Nimbus describes the cluster every 10 s (``nimbus.monitor.freq.secs``).
SETTLE_SECONDS = 15.0

#: After so long a topology that Nimbus does not describe any more is gone, if it describes others:
#: it was heard within the other.
GONE_SECONDS = 600.0
SILENT_SECONDS = 60.0


class Descriptions:
    """The states that Nimbus describes, from one thread; any thread may read or wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked = threading.Condition()
        self._last: Described | None = None
        self._last_s = 0.0
        #: Whether Nimbus was told to move something when it described that.
        self._moves = False
        self._missing: dict[str, float] = {}

    @property
    def last(self) -> Described | None:
        """The state described last, None before there is one."""
        return self._last

    def note(self, described: Described, moves: bool) -> None:
        """Take note of a state, and whether the answer to it moves something."""
        with self._asked:
            self._last, self._last_s = described, self._clock.elapsed()
            self._moves = moves
            self._asked.notify_all()

    def forget(self) -> None:
        """Forget the last state: it is of a time when another brain led."""
        with self._asked:
            self._last, self._moves = None, False

    def settled(self) -> Described:
        """Return the last state, or the one after it if the answer to it moved something.

        Raises
        ------
        InvalidInput
            Nimbus has described none.
        """
        with self._asked:
            last = self._last
            # Waited for once, not by each who asks: Nimbus may be away.
            left_s = self._last_s + SETTLE_SECONDS - self._clock.elapsed()
            if last is not None and self._moves and left_s > 0:
                self._clock.wait(self._asked, lambda: self._last is not last, left_s)
            if self._last is None:
                raise InvalidInput(
                    "Nimbus has not asked this brain yet; it asks every 10 s as soon as a topology "
                    "runs, if it has the plugin and reaches the brain (its log says why not)"
                )
            return self._last

    def gone(self, known: Iterable[str]) -> set[str]:
        """Return which of these topologies Nimbus has not described for `GONE_SECONDS`.

        Nothing is gone while Nimbus describes nothing: it may be starting.
        """
        described, now = self._last, self._clock.elapsed()
        if described is None or now - self._last_s > SILENT_SECONDS:
            self._missing = {}
            return set()
        living = {topology.id for topology in described.state.topologies}
        began = self._missing
        self._missing = {name: began.get(name, now) for name in known if name not in living}
        return {name for name, since in self._missing.items() if now - since >= GONE_SECONDS}
