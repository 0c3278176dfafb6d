"""Source: replays its share of the trips."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from streamparse import ReliableSpout

from frequent_routes.schedule import Schedule, event_ms
from frequent_routes.settings import Settings
from frequent_routes.trips import load_trips

#: Seconds between two lines in the log about trips that were skipped.
REPORT_S = 60.0


class Source(ReliableSpout):
    """Emits the lines of the trips in order, again and again, each with its event time.

    Every tuple is acked or replayed: at once when a bolt fails it, after
    `topology.message.timeout.secs` when it is lost, at most `max_fails` times; then pystorm logs
    its id and gives it up.
    """

    outputs: ClassVar = ["event_ms", "line"]
    max_fails = 3

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Find this task's share of the replay."""
        settings = Settings.from_conf(storm_conf)
        self._lines = load_trips()
        self._speedup = settings.speedup
        self._launched = launch_time(storm_conf["storm.id"])
        index, sources = share(self.task_id, self.component_name, context["task->component"])
        end = settings.replays * len(self._lines) or None
        now = time.time()
        self._schedule = Schedule(settings.rate, index, sources, end, now - self._launched)
        self._reported_skips = 0
        self._next_report = now + REPORT_S
        self.logger.info(
            "source %d of %d joins the replay at trip %d: %s trips/s in all, %g x real time, %s",
            index + 1,
            sources,
            self._schedule.next_ordinal,
            f"{settings.rate:g}" if settings.rate else "as many as possible",
            settings.speedup,
            f"{settings.replays} replays" if settings.replays else "without end",
        )

    def next_tuple(self) -> None:
        """Emit what is due."""
        now = time.time()
        for departure in self._schedule.due(now - self._launched):
            line = self._lines[departure.ordinal % len(self._lines)]
            self.emit(
                [event_ms(departure.elapsed_s, self._speedup), line],
                tup_id=str(departure.ordinal),
            )
        if now >= self._next_report:
            self._next_report = now + REPORT_S
            self._report_skips()

    def _report_skips(self) -> None:
        skipped = self._schedule.skipped
        if skipped > self._reported_skips:
            self.logger.warning("cannot keep up with the rate: %d trips skipped so far", skipped)
            self._reported_skips = skipped


def launch_time(storm_id: str) -> int:
    """Return when Nimbus accepted a topology, in epoch seconds: the end of its id.

    All tasks of a topology agree on it, wherever and whenever they are started.
    """
    return int(storm_id.rsplit("-", 1)[1])


def share(task: int, component: str, components: Mapping[str, str]) -> tuple[int, int]:
    """Return a task's index among the tasks of its component, and their number."""
    tasks = sorted(int(other) for other, name in components.items() if name == component)
    return tasks.index(task), len(tasks)
