"""Waiting for what others do: as long as it moves, not until an hour on the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from stormcut.application.served_time import Processes, ServedTime, this_process
from stormcut.model.errors import StormcutError

T = TypeVar("T")

#: Pauses between polls grow with the wait, to this share of it, and at most to this multiple of
#: the first: each poll takes CPU that a starting cluster needs.
PAUSE_SHARE, MAX_PAUSE_FACTOR = 0.1, 4.0


class NotYet(StormcutError):
    """What is asked does not answer now; whoever waits asks again."""


class TimedOut(StormcutError):
    """What was waited for did not come, and nothing moved any more."""


def _nothing() -> tuple[int, ...]:
    return ()


def _silent() -> str:
    return ""


@dataclass(frozen=True)
class Watch:
    """What to look at while waiting.

    Attributes
    ----------
    moves : callable
        Returns counts, always of the same things: workers up, sources that acked, ... Any count
        that is higher than ever before is progress. (One that falls and rises again is not: what
        crashes and starts again for ever must come to an end.)
    processes : callable
        Ids of the processes that do the work: while they queue for a core, no patience is lost.
    last_words : callable
        What the part that is waited for said last, for the error.
    """

    moves: Callable[[], Iterable[int]] = _nothing
    processes: Processes = this_process
    last_words: Callable[[], str] = _silent


def wait_until(
    condition: Callable[[], T | None],
    patience_s: float,
    what: str,
    poll_s: float = 0.25,
    watch: Watch | None = None,
) -> T:
    """Return the first true value of ``condition``; `NotYet` counts as a false one.

    Parameters
    ----------
    condition : callable
        What it raises, but for `NotYet`, ends the wait: a failure that is certain.
    patience_s : float
        Served seconds (see `ServedTime`) without progress after which it is given up.
    what : str
        What is waited for, for the message: "topology taxi is gone".
    poll_s : float
        The first pause between two calls. Pauses grow with the wait, up to four times that.

    Raises
    ------
    TimedOut
        Nothing moved for so long; with what the part said last.
    """
    watch = watch or Watch()
    began = moved = time.monotonic()
    clock = ServedTime(watch.processes)
    best: tuple[int, ...] = ()
    since, cause = clock.seconds, ""
    while True:
        try:
            value = condition()
            if value:
                return value
            counts, cause = tuple(watch.moves()), ""
        except NotYet as error:
            counts, cause = best, f" ({error})"
        highest = tuple(map(max, zip(counts, best, strict=True))) if best else counts
        if highest != best:
            best, since, moved = highest, clock.seconds, time.monotonic()
        elif clock.seconds - since > patience_s:
            raise TimedOut(_given_up(what, cause, began, moved, watch))
        grown_s = PAUSE_SHARE * (time.monotonic() - began)
        time.sleep(min(max(poll_s, grown_s), MAX_PAUSE_FACTOR * poll_s))


def _given_up(what: str, cause: str, began: float, moved: float, watch: Watch) -> str:
    now = time.monotonic()
    still = "" if moved == began else f", of which {now - moved:.0f} s without any progress"
    words = watch.last_words()
    return f"not within {now - began:.0f} s{still}: {what}{cause}{words and f'; {words}'}"
