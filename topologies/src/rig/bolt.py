"""The base of every bolt: counts, spends the load, fails what must come again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from streamparse import Bolt

from rig.load import Load
from rig.padding import PADDING, Padded
from rig.report import Report
from rig.store import StoreDown


class CountedBolt(Padded, Bolt):
    """Hands the values of each tuple to `handle`, and reports its counts every other second.

    Tuples are acknowledged when `handle` returns, and failed, to be replayed by their source,
    when the store does not answer. Any other exception is a mistake and ends the task.
    """

    auto_ack = False
    outputs: ClassVar[list[str]] = []
    config: ClassVar = {"topology.tick.tuple.freq.secs": 2}

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start the state of this bolt."""

    def handle(self, *values: Any) -> None:
        """Process the values of one tuple."""
        raise NotImplementedError

    def tick(self) -> None:
        """Do what is done every other second."""

    def answer(self) -> Any:
        """Return this task's part of the topology's answer, None if it has none."""

    def drop(self, reason: str, record: Any) -> None:
        """Count a tuple that cannot be used; log the first of each kind."""
        if not self._dropped[reason]:
            self.logger.warning("first record dropped as %s: %.200r", reason, record)
        self._dropped[reason] += 1

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Start all counts at 0."""
        self.padding = PADDING * storm_conf["rig.payload"]
        self._load = Load(storm_conf)
        self._received: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._emitted: Counter[str] = Counter()
        self._failed = 0
        self._store_waits = False
        self._report = Report(
            self.component_name, self.task_id, storm_conf["rig.results"], self.logger
        )
        self.prepare(storm_conf)

    def process(self, tup: Any) -> None:
        """Handle one tuple and answer for it."""
        self._received[tup.component] += 1
        #: The task that sent the tuple in hand.
        self.sender = tup.task
        self._load.spend()
        try:
            self.handle(*tup.values[:-1])
        except StoreDown as down:
            self._refuse(tup, down)
        else:
            self.ack(tup)

    def process_tick(self, tup: Any) -> None:
        """Report."""
        try:
            self.tick()
            self._store_waits = False
        except StoreDown as down:
            self._store_waits = True
            self.logger.error("%s; trying again", down)
        self._report.publish(self.tally(), self.answer)
        self.ack(tup)

    def emit(self, values: list[Any], stream: str = "default", **more: Any) -> Any:
        """Emit values, anchored to the tuple in hand."""
        self._emitted[stream] += 1
        return super().emit(values, stream=stream, **more)

    def _refuse(self, tup: Any, down: StoreDown) -> None:
        if not self._failed:
            self.logger.error("%s; tuples are failed and replayed until it does", down)
        self._failed += 1
        self.fail(tup)

    def tally(self) -> dict[str, Any]:
        """Return what this task counted."""
        return {
            "received": dict(self._received),
            "emitted": dict(self._emitted),
            "failed": self._failed,
            "dropped": dict(self._dropped),
            # For the store, which has not taken all that it was given.
            "waiting": self._store_waits,
        }
