"""What became of moves: measured afterwards, kept for whoever leads next, and learned from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from stormcut.control.review.outcome import Finding, Outcome
from stormcut.control.review.trail import Step

#: So many are kept, the last ones.
REVIEWS_KEPT = 50


@dataclass(frozen=True)
class Review:
    """What became of a move that a plan ordered.

    Parameters
    ----------
    plan : str
        Its id.
    at_s : float
        When this was known, in seconds since the epoch.
    acked_before, acked_after : float
        Tuples acked a second.
    latency_before, latency_after : float, optional
        Of a tuple, in ms; None where it was not sampled.
    predicted : float, optional
        Tuples/s between nodes after the move; for as many more or fewer as are acked since.
    measured : float
        The same, measured.
    restart_s : float, optional
        What a restart of all its workers costs, in seconds of its work; None: not measured.
    held_s : float
        It was taken back, and does not move for so long; 0: it was not.
    """

    topology: str
    plan: str
    at_s: float
    outcome: Outcome
    acked_before: float
    acked_after: float
    latency_before: float | None
    latency_after: float | None
    predicted: float | None
    measured: float
    restart_s: float | None
    held_s: float = 0.0

    def __str__(self) -> str:
        parts = [f"{self.acked_after:,.0f} tuples/s acked, were {self.acked_before:,.0f}"]
        if self.latency_before is not None and self.latency_after is not None:
            parts.append(f"{self.latency_after:,.1f} ms, were {self.latency_before:,.1f}")
        prediction = "" if self.predicted is None else f", predicted {self.predicted:,.0f}"
        parts.append(f"{self.measured:,.0f} tuples/s between nodes{prediction}")
        if self.restart_s is not None:
            parts.append(f"a restart costs {self.restart_s:.0f} s of work")
        if self.held_s:
            parts.append(f"taken back for {self.held_s:.0f} s")
        return f"{self.outcome.value}: {'; '.join(parts)}"


def review(topology: str, step: Step, finding: Finding, at_s: float, held_s: float) -> Review:
    """Return what became of a move."""
    before, after = finding.latency_before, finding.latency_after
    expected, load = step.between_nodes_per_s, finding.acked_before.mean
    if expected is not None and load > 0:
        expected *= finding.acked_after.mean / load
    return Review(
        topology,
        step.plan,
        at_s,
        finding.outcome,
        finding.acked_before.mean,
        finding.acked_after.mean,
        None if before is None else before.mean,
        None if after is None else after.mean,
        expected,
        finding.between_nodes_per_s,
        finding.restart_s,
        held_s,
    )


def restart_seconds(reviews: Iterable[Review], topology: str) -> float | None:
    """Return what a restart of a topology's workers costs, in seconds of its work.

    The median of its own moves, else of all; None if none was measured.
    """
    known = [each for each in reviews if each.restart_s is not None]
    own = [each for each in known if each.topology == topology] or known
    return median(each.restart_s for each in own if each.restart_s is not None) if own else None


def taken_back(reviews: Iterable[Review], topology: str) -> int:
    """Return how often in a row, up to now, a topology's moves were taken back."""
    count = 0
    for each in reviews:
        if each.topology == topology:
            count = count + 1 if each.held_s else 0
    return count


def review_line(review: Review) -> dict[str, Any]:
    """Return what became of a move as JSON values."""
    return {**asdict(review), "outcome": review.outcome.value, "words": str(review)}
