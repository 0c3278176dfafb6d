"""Keeps the stream alive: cuts logs, runs Spark, and starts it again when it has ended."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JNetworkError

from stormcut.adapters.files.kafka_topic import KafkaTopic
from stormcut.adapters.files.pieces import Cutter
from stormcut.adapters.machine.sole_use import MARK, taken
from stormcut.adapters.spark.session import kill, spark_session
from stormcut.adapters.spark.streaming import (
    Consumer,
    StreamSettings,
    describe_error,
    metrics_stream,
)
from stormcut.model.errors import StormcutError
from stormcut.profile.decay import Slice

log = logging.getLogger("stormcut.observer")

#: Between two starts of Spark: the first soon, none too often.
FIRST_PAUSE_S, MAX_PAUSE_S = 5.0, 300.0
#: Logs are cut so many times between two batches: no line waits for two of them.
CUTS_PER_BATCH = 2
#: Lines that were cut may wait so long for a batch, and so many times the time between two.
STALL_S, STALL_BATCHES = 120.0, 10
#: Twice as long each time that no batch came, as on a machine that is too busy; so often at most.
MAX_DOUBLINGS = 4
#: What Spark's gateway raises once its JVM has ended.
JVM_IS_GONE = (ConnectionError, Py4JNetworkError)
#: Longest that the end of a stream is waited for.
END_SECONDS = 30.0


@dataclass(frozen=True)
class Sources:
    """Where metrics come from: logs that are cut into a spool, what else is put there, a topic."""

    logs: tuple[Path, ...]
    spool: str
    keep_s: float
    master: str = "local[*]"
    topic: KafkaTopic | None = None


@contextmanager
def observing(
    sources: Sources, settings: StreamSettings, consumer: Consumer
) -> Iterator[Callable[[], bool]]:
    """Stream what is measured to ``consumer`` from a thread, for as long as the block runs.

    Whatever fails is logged and tried again: that nothing is measured stops no brain.

    Yields
    ------
    callable
        Whether the stream runs now.
    """
    stop = threading.Event()
    loop = _Loop(sources, settings, consumer, stop)
    thread = threading.Thread(target=loop.run, name="observer", daemon=True)
    thread.start()
    try:
        yield loop.streams.is_set
    finally:
        stop.set()
        thread.join(END_SECONDS)


def pause_after(lasted_s: float, before_s: float) -> float:
    """Return the pause after a stream that lasted so long, with this pause before it.

    Twice as long each time, but for one that lasted: what failed before says nothing of now.
    """
    if lasted_s > MAX_PAUSE_S:
        return FIRST_PAUSE_S
    return min(max(2 * before_s, FIRST_PAUSE_S), MAX_PAUSE_S)


class Stall:
    """Notices that lines wait and no batch comes, or that Spark does not answer.

    Spark plans its batches by the clock, which may be set back by an hour; and a JVM may hang.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._ahead_s = _clock_ahead_s()
        self._asked = 0.0
        self._waiting_since: float | None = None

    def cut(self, lines: int) -> None:
        """Take note that Spark has answered, and that so many lines more wait, or bytes of them."""
        self._asked = time.monotonic()
        # What waits in a topic is not known: something may, where the clock was set back.
        ahead_s = _clock_ahead_s()
        self._ahead_s = max(self._ahead_s, ahead_s)
        was_set_back = self._ahead_s - ahead_s > self._patience_s
        if (lines or was_set_back) and self._waiting_since is None:
            self._waiting_since = self._asked

    def batch(self) -> None:
        """Take note of a batch."""
        self._waiting_since = None
        self._ahead_s = _clock_ahead_s()

    def _is_too_long(self) -> bool:
        waiting_since = self._waiting_since
        since = self._asked if waiting_since is None else min(self._asked, waiting_since)
        return time.monotonic() - since > self._patience_s

    @contextmanager
    def watched(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` from a thread, once, if it takes too long while the block runs."""
        over = threading.Event()
        self._asked = time.monotonic()

        def watch() -> None:
            while not over.wait(self._patience_s / 100):
                if self._is_too_long():
                    log.warning("Spark hangs, or reads none of the lines that wait; it is ended")
                    end()
                    return

        thread = threading.Thread(target=watch, name="stall", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _clock_ahead_s() -> float:
    return time.time() - time.monotonic()


@contextmanager
def sole_user(spool: Path) -> Iterator[None]:
    """Keep a spool from other controllers of this machine; the kernel ends that with the process.

    Raises
    ------
    StormcutError
        Another one uses it: each would delete what the other has yet to read.
    """
    mark = taken(spool / MARK)
    if mark is None:
        raise StormcutError(
            f"another controller uses the spool {spool}: name another one (observe.spool)"
        )
    with mark:
        yield


class _Loop:
    def __init__(
        self, sources: Sources, settings: StreamSettings, consumer: Consumer, stop: threading.Event
    ) -> None:
        self._sources, self._settings, self._consumer = sources, settings, consumer
        self._stop = stop
        self.streams = threading.Event()
        self._stalls = 0

    def run(self) -> None:
        pause = 0.0
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                reason = self._stream()
            except StormcutError as error:
                reason = str(error)
            except JVM_IS_GONE:
                reason = "Spark's JVM has ended"
            except Exception as error:  # Spark's gateway has many, and none may end the loop
                reason = f"{type(error).__name__}: {describe_error(error)}"
            self.streams.clear()
            pause = pause_after(time.monotonic() - began, pause)
            if not self._stop.is_set():
                log.warning("nothing is measured now: %s; tried again in %.0f s", reason, pause)
            self._stop.wait(pause)

    def _stream(self) -> str:
        """Stream until told to stop, or return why it has ended."""
        spool, topic = self._sources.spool, self._sources.topic
        cutter = None
        if "://" not in spool:
            # What workers log is not for every user of this machine.
            Path(spool).mkdir(mode=0o700, parents=True, exist_ok=True)
            cutter = Cutter(self._sources.logs, Path(spool), self._sources.keep_s)
        patience_s = max(STALL_S, STALL_BATCHES * self._settings.every_s)
        stall = Stall(patience_s * 2 ** min(self._stalls, MAX_DOUBLINGS))

        def take(slices: Mapping[str, Slice], problems: Mapping[str, int]) -> None:
            self._stalls = 0
            stall.batch()
            self._consumer(slices, problems)

        def end() -> None:
            self._stalls += 1
            kill(spark)

        with (
            nullcontext() if cutter is None else sole_user(Path(spool)),
            spark_session(self._sources.master, jars=() if topic is None else topic.jars) as spark,
            stall.watched(end),
            metrics_stream(spark, spool, self._settings, take, topic) as ended,
        ):
            self.streams.set()
            read = spool if topic is None else f"{spool} and topic {topic.topic}"
            log.info("Spark reads %s every %g s", read, self._settings.every_s)
            while (reason := ended()) is None:
                stall.cut(0 if cutter is None else self._cut(cutter))
                if self._stop.wait(self._settings.every_s / CUTS_PER_BATCH):
                    return "it was told to stop"
            return reason

    def _cut(self, cutter: Cutter) -> int:
        try:
            return cutter.cut()
        except StormcutError as error:
            log.warning("metrics wait in their logs: %s", error)
            return 0
