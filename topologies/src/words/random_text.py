"""Throughput test: random strings, passed on and counted."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rig.bolt import CountedBolt
from rig.records import Generated
from rig.schedule import Departure
from rig.source import ReplayingSpout

#: Strings are cut from a random text of this many letters; another offset is another string.
POOL = 1_000_000
#: Strings in one replay.
RECORDS = 5_000
SEED = 1


def strings(length: int) -> Generated:
    """Return the replay: strings of so many letters, each letter as likely as any other."""
    pool = "".join(random.Random(SEED).choices(string.ascii_letters, k=POOL + length))

    def record(number: int) -> str:
        offset = random.Random(number).randrange(POOL)
        return pool[offset : offset + length]

    return Generated(record, RECORDS)


class RandomText(ReplayingSpout):
    """Emits random strings."""

    outputs: ClassVar = ["text", "sent_ms"]

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the strings."""
        return strings(conf["rig.text.bytes"])

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return the string and when it left."""
        return [record, time.time() * 1000]


class Identity(CountedBolt):
    """Passes strings on without any change."""

    outputs: ClassVar = ["text", "sent_ms"]

    def handle(self, text: str, sent_ms: float) -> None:
        """Pass it on."""
        self.emit([text, sent_ms])


class Anchor(CountedBolt):
    """Counts strings and records how long they were under way."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start at 0."""
        self._count = 0
        self._characters = 0
        self._total_ms = 0.0

    def handle(self, text: str, sent_ms: float) -> None:
        """Count one string."""
        self._count += 1
        self._characters += len(text)
        self._total_ms += time.time() * 1000 - sent_ms

    def tick(self) -> None:
        """Log the mean time."""
        if self._count:
            self.logger.info("%.1f ms on the way on average", self._total_ms / self._count)

    def answer(self) -> list[int]:
        """Return strings and characters received."""
        return [self._count, self._characters]
