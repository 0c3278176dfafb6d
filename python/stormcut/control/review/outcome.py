"""What a move turned out to be: light to import, as it is kept and shown, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stormcut.profile.drift import MeanInterval

#: Task -> host and port.
Places = Mapping[int, tuple[str, int]]


class Outcome(Enum):
    """What a move turned out to be."""

    BETTER = "better"
    SAME = "neither better nor worse for sure"
    WORSE = "worse"


@dataclass(frozen=True)
class Finding:
    """An outcome with its figures; latencies are None where none were sampled.

    ``between_nodes_per_s`` are tuples after the move. ``restart_s`` is what a restart of all
    workers costs, in seconds of the topology's work, None where it is not known;
    it is at most too high, as what a task did just before it ended and after it began is not
    reported. ``places`` is where tasks run since, as far as known.
    """

    outcome: Outcome
    acked_before: MeanInterval
    acked_after: MeanInterval
    latency_before: MeanInterval | None
    latency_after: MeanInterval | None
    between_nodes_per_s: float = 0.0
    restart_s: float | None = None
    places: Places = field(default_factory=dict)

    def __str__(self) -> str:
        text = (
            f"{self.outcome.value}: {self.acked_after.mean:,.0f} tuples acked a second, "
            f"were {self.acked_before.mean:,.0f}"
        )
        if self.latency_before is None or self.latency_after is None:
            return text
        return f"{text}; {self.latency_after.mean:,.1f} ms, were {self.latency_before.mean:,.1f}"
