"""Components that only pass tuples on; the load is set by options."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rig.bolt import CountedBolt
from rig.records import Generated
from rig.schedule import Departure
from rig.source import ReplayingSpout, launch_time

#: Tuples in one replay.
RECORDS = 10_000


class Keys:
    """Decides by which key a tuple travels on, when streams are grouped by key.

    A key that stays leads to the task of the same position in the next component, so the share
    that stays can be kept on one node by a good placement, and the rest can not. After
    `rig.shift.seconds` it leads to the next odd position: others talk to each other than before,
    and half of the tasks are nearly idle. After another `rig.shift.period` it leads to the next
    even position, then to the next odd one again, and so on.
    """

    def __init__(self, conf: Mapping[str, Any], seed: int) -> None:
        self._stays = conf["rig.local.share"]
        self._keys = conf["rig.keys"]
        self._random = random.Random(seed)
        self._shift_s = conf["rig.shift.seconds"]
        self._period_s = conf["rig.shift.period"]
        self._launched = launch_time(conf["storm.id"])

    def next(self, key: int) -> int:
        """Return the key after `key`."""
        if self._random.random() >= self._stays:
            return self._random.randrange(self._keys)
        shifts = self._shifts()
        if not shifts:
            return key
        return (key + 1 | 1 if shifts % 2 else key + 2 & ~1) % self._keys

    def _shifts(self) -> int:
        since_s = time.time() - self._launched - self._shift_s
        if not self._shift_s or since_s < 0:
            return 0
        return 1 + int(since_s // self._period_s) if self._period_s else 1


class Source(ReplayingSpout):
    """Emits numbered tuples."""

    outputs: ClassVar = ["key", "number"]

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return records without content: the padding is the load."""
        return Generated(lambda number: "", RECORDS)

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Start the sequence of keys."""
        super().initialize(storm_conf, context)
        self._keys = Keys(storm_conf, self.task_id)

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return the next key of this task, and the tuple's number."""
        return [self._keys.next(self.index), departure.ordinal]


class Relay(CountedBolt):
    """Passes each tuple on."""

    outputs: ClassVar = ["key", "number"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start the sequence of keys."""
        self._keys = Keys(conf, self.task_id)

    def handle(self, key: int, number: int) -> None:
        """Pass it on."""
        self.emit([self._keys.next(key), number])


class Sink(CountedBolt):
    """Takes tuples in."""

    def handle(self, key: int, number: int) -> None:
        """Nothing is left to do: the base counts."""
