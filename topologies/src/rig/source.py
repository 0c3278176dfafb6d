"""The spout of every topology: replays records, each until it is acknowledged."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from streamparse import Spout

from rig.latency import Latencies
from rig.noise import UnevenClock
from rig.pace import Pace, rates
from rig.padding import PADDING, Padded
from rig.records import lines
from rig.report import Report
from rig.schedule import Departure, Schedule
from rig.store import StoreDown

#: Seconds between two reports.
REPORT_S = 2.0
#: A failed tuple is emitted again after this many seconds: what failed it may last a while.
RETRY_S = 1.0


class Malformed(Exception):
    """A record that cannot be used; its text says why."""


class ReplayingSpout(Padded, Spout):
    """Emits records in order, again and again; what fails is emitted again until it is acked.

    A subclass names its `outputs` and says what it replays. All tasks of the component share
    the replay: with n tasks, each takes every n-th record.
    """

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return what is replayed: the lines of the topology's input file."""
        return lines(conf["rig.data"])

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return the tuple of a record; one that raises Malformed is dropped and counted."""
        return [record]

    def open(self, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the records as this task reads them: by default, `records` itself."""
        return self.records(conf)

    def tick(self) -> None:
        """Do what is done every other second."""

    def answer(self) -> Any:
        """Return this task's part of the topology's answer, None if it has none."""

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Find this task's share of the replay."""
        self.conf = storm_conf
        self.padding = PADDING * storm_conf["rig.payload"]
        self.index, self.tasks = share(
            self.task_id, self.component_name, context["task->component"]
        )
        self._records = self.open(storm_conf)
        self._joined = time.time()
        self._launched = launch_time(storm_conf["storm.id"])
        pace = Pace(rates(storm_conf["rig.rate"]), storm_conf["rig.step.seconds"])
        end = storm_conf["rig.replays"] * len(self._records) or None
        self._clock = UnevenClock(storm_conf["rig.noise"])
        elapsed_s = self._clock.read(self._joined - self._launched)
        self._schedule = Schedule(pace, self.index, self.tasks, end, elapsed_s)
        self._first = self._schedule.next_ordinal
        self._held: deque[Departure] = deque()
        self._failed: deque[tuple[float, str]] = deque()
        self._pending: dict[str, tuple[list[Any], float]] = {}
        self._latencies = Latencies()
        self._dropped: Counter[str] = Counter()
        self._sent = self._acked = self._replayed = 0
        self._next_report = 0.0
        self._report = Report(
            self.component_name, self.task_id, storm_conf["rig.results"], self.logger
        )

    def next_tuple(self) -> None:
        """Emit what failed and what is due."""
        now = time.time()
        self._retry(now)
        if not self._held and not self._is_over(now):
            self._held.extend(self._schedule.due(self._clock.read(now - self._launched)))
        try:
            if now >= self._next_report:
                self._next_report = now + REPORT_S
                self._report.publish(self.tally(now), self.answer)
                self.tick()
            self._depart(now)
        except StoreDown as down:
            self.logger.error("%s; waiting", down)
            time.sleep(RETRY_S)

    def ack(self, tup_id: str) -> None:
        """Take note that a tuple's whole tree is done."""
        _, emitted = self._pending.pop(tup_id)
        self._latencies.add((time.time() - emitted) * 1000)
        self._acked += 1

    def fail(self, tup_id: str) -> None:
        """Have a tuple emitted again."""
        self._failed.append((time.time() + RETRY_S, tup_id))

    def _retry(self, now: float) -> None:
        while self._failed and self._failed[0][0] <= now:
            _, tup_id = self._failed.popleft()
            self._replayed += 1
            self.emit(self._pending[tup_id][0], tup_id=tup_id)

    def _depart(self, now: float) -> None:
        while self._held:
            departure = self._held[0]
            record = self._records[departure.ordinal % len(self._records)]
            try:
                values = self.values(record, departure)
            except Malformed as malformed:
                self._dropped[str(malformed)] += 1
            else:
                self._sent += 1
                self._pending[str(departure.ordinal)] = (values, now)
                self.emit(values, tup_id=str(departure.ordinal))
            self._held.popleft()

    def _is_over(self, now: float) -> bool:
        seconds = self.conf["rig.seconds"]
        return self._schedule.is_over() or bool(seconds and now - self._joined >= seconds)

    def tally(self, now: float) -> dict[str, Any]:
        """Return what this task counted."""
        return {
            "sent": self._sent,
            "acked": self._acked,
            "replayed": self._replayed,
            "dropped": dict(self._dropped),
            "skipped": self._schedule.skipped,
            "finished": self._is_over(now) and not self._held,
            "share": [self._first, self._schedule.next_ordinal, self.tasks],
            "latency": dict(self._latencies.buckets),
        }


class FileSource(ReplayingSpout):
    """Replays the lines of the topology's input file."""

    outputs: ClassVar = ["line"]


def launch_time(storm_id: str) -> int:
    """Return when Nimbus accepted a topology, in epoch seconds: the end of its id.

    All tasks of a topology agree on it, wherever and whenever they are started.
    """
    return int(storm_id.rsplit("-", 1)[1])


def share(task: int, component: str, components: Mapping[str, str]) -> tuple[int, int]:
    """Return a task's index among the tasks of its component, and their number."""
    tasks = sorted(int(other) for other, name in components.items() if name == component)
    return tasks.index(task), len(tasks)
