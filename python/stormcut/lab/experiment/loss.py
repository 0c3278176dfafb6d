"""Whether a drained topology lost anything: what was sent against what arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: A task's report as its topology writes it: counts, and a part of the answer.
Report = Mapping[str, Any]


@dataclass(frozen=True)
class Hop:
    """A stream from a component to one that receives it, `copies` times each tuple."""

    sender: str
    stream: str
    receiver: str
    copies: int = 1


@dataclass(frozen=True)
class Passage:
    """What went over the hops between two components."""

    sender: str
    receiver: str
    emitted: int
    received: int


@dataclass(frozen=True)
class SourceTotals:
    """What the sources of a topology did.

    Attributes
    ----------
    sent : int
        Records emitted, each counted once.
    acked : int
        Records whose whole tree was acknowledged.
    replayed : int
        Records emitted again, because they failed or were lost.
    skipped : int
        Records left out, because a source could not keep up with its rate.
    finished : bool
        Whether no source has anything left to emit.
    """

    sent: int
    acked: int
    replayed: int
    skipped: int
    finished: bool

    @property
    def drained(self) -> bool:
        """Whether all that will ever be sent is acknowledged."""
        return self.finished and self.sent == self.acked


def restarted(reports: Iterable[Report]) -> list[str]:
    """Return the components of which a task was started more than once: its counts are lost."""
    tasks = Counter((report["component"], report["task"]) for report in reports)
    return sorted({component for (component, _), count in tasks.items() if count > 1})


def source_totals(reports: Sequence[Report], spouts: Mapping[str, int]) -> SourceTotals:
    """Return the totals over all source tasks.

    Parameters
    ----------
    reports : sequence of mappings
        Of all tasks.
    spouts : mapping
        Source components and their number of tasks.
    """
    sources = [report for report in reports if report["component"] in spouts]
    everyone = len(sources) == sum(spouts.values())
    sent, acked, replayed, skipped = (
        sum(each[key] for each in sources) for key in ("sent", "acked", "replayed", "skipped")
    )
    finished = everyone and all(each["finished"] for each in sources)
    return SourceTotals(sent, acked, replayed, skipped, finished)


def passages(reports: Sequence[Report], hops: Iterable[Hop]) -> list[Passage]:
    """Return what each component emitted to each other, and what that one received."""
    emitted: Counter[tuple[str, str]] = Counter()
    received: Counter[tuple[str, str]] = Counter()
    for report in reports:
        component = report["component"]
        if "sent" in report:
            emitted[component, "default"] += report["sent"] + report["replayed"]
        for stream, count in report.get("emitted", {}).items():
            emitted[component, stream] += count
        for sender, count in report.get("received", {}).items():
            received[sender, component] += count
    expected: Counter[tuple[str, str]] = Counter()
    for hop in hops:
        expected[hop.sender, hop.receiver] += hop.copies * emitted[hop.sender, hop.stream]
    return [
        Passage(sender, receiver, count, received[sender, receiver])
        for (sender, receiver), count in expected.items()
    ]


def is_whole(totals: SourceTotals, crossed: Iterable[Passage]) -> bool:
    """Return whether nothing was lost for good.

    Every record's whole tree must be acknowledged. A tuple that got lost on its way has failed
    its record, which was then replayed: without replays no passage may lack one.
    """
    lossless = all(passage.emitted == passage.received for passage in crossed)
    return totals.drained and (lossless or totals.replayed > 0)


def sent_ordinals(reports: Sequence[Report], source: str) -> list[int]:
    """Return the numbers of the records that one source sent, if none was skipped.

    A task's `share` is the first ordinal it sent, the one it would send next, and the step.
    """
    ordinals: list[int] = []
    for report in reports:
        if report["component"] == source:
            first, following, step = report["share"]
            ordinals.extend(range(first, following, step))
    return sorted(ordinals)
