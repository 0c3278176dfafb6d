"""From what a run of the hour was seen to do to its figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from stormcut.lab.experiment.recorder import STEP_S
from stormcut.lab.experiment.timeline import Point

#: Below this share of what is offered a load is not served, in windows of so many points.
SERVED, WINDOW_POINTS = 0.95, 5
#: What a move costs is counted for so long after it.
COST_S = 60.0
#: A topology that was just submitted may be moved once; what comes later is counted on its own.
SETTLED_S = 300.0

_PLAN = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) \w+ +plan (\w+) in ", re.MULTILINE)

Slots = Mapping[tuple[str, int], frozenset[int]]


def acked_share(points: Sequence[Point]) -> float:
    """Return the tuples that were acknowledged, as a share of those offered."""
    return sum(p.acked_per_s for p in points) / max(sum(p.offered_per_s for p in points), 1e-9)


def served_share(points: Sequence[Point]) -> float:
    """Return the share of the time in which as good as all that was offered was acknowledged."""
    firsts = range(0, len(points) - WINDOW_POINTS + 1, WINDOW_POINTS)
    windows = [acked_share(points[first : first + WINDOW_POINTS]) for first in firsts]
    return sum(share >= SERVED for share in windows) / max(len(windows), 1)


def unseen_share(points: Sequence[Point]) -> float:
    """Return the share of the time in which the bench had no processor to look at the sources.

    What they did then is known by a later look: tuples, but not when in between, nor how fast.
    """
    return sum(p.acked_per_s > 0 and p.mean_ms is None for p in points) / max(len(points), 1)


def cost(points: Sequence[Point], moves: Iterable[float]) -> float:
    """Return the tuples that were offered and not acknowledged within `COST_S` of moves.

    What two moves cost together counts once, and what is made up for within the time, not at all.
    """
    at = list(moves)
    near = [p for p in points if any(0 < p.at_s - move <= COST_S for move in at)]
    return STEP_S * sum(p.offered_per_s - p.acked_per_s for p in near)


def answers(
    changes: Iterable[float], moves: Iterable[float], end_s: float
) -> list[tuple[float, float | None]]:
    """Return each change and after how many seconds a plan came, None if none did before the next.

    Parameters
    ----------
    changes, moves : iterable of float
        In seconds since the hour began.
    """
    edges, plans = [*sorted(changes), end_s], sorted(moves)
    found = []
    for begin, end in pairwise(edges):
        first = next((round(at - begin, 1) for at in plans if begin <= at < end), None)
        found.append((begin, first))
    return found


def restarted(before: Slots, after: Slots) -> int:
    """Return how many workers of a placement were not there before as they are."""
    return sum(before.get(slot) != tasks for slot, tasks in after.items())


def shortened(run: Mapping[str, Any], minutes: int) -> dict[str, Any]:
    """Return a run as if it had ended after so many minutes, to stand beside a shorter one.

    Its p50 and p99 are the median of its phases', of which the exact ones are known.
    """
    end = 60.0 * minutes
    points = [point for point in run["points"] if point[0] <= end]
    series = [Point(*point) for point in points]
    moves = [move for move in run["moves"] if move["at_s"] <= end]
    phases = [phase for phase in run["phases"] if phase["end_s"] <= end]
    changed = [change for change in run["changed"] if change["at_s"] <= end]
    return {
        **run,
        "minutes": minutes,
        "points": points,
        "events": [event for event in run["events"] if event["at_s"] <= end],
        "moves": moves,
        "phases": phases,
        "changed": changed,
        "acked_share": acked_share(series),
        "served_share": served_share(series),
        **{name: _median(phases, name) for name in ("p50_ms", "p99_ms")},
        "workers_restarted": sum(change["workers_restarted"] for change in changed),
        "cost_tuples": cost(series, [move["at_s"] for move in moves]),
        "taken_back": sum(move["undone"] for move in moves),
        "answers": [answer for answer in run["answers"] if answer[0] < end],
    }


def _median(phases: Iterable[Mapping[str, Any]], name: str) -> float | None:
    known = [phase[name] for phase in phases if phase[name]]
    return median(known) if known else None


def planned(log: str) -> dict[str, float]:
    """Return when each plan was made, by what the controller's log says: plan, epoch seconds."""
    return {
        found[2]: datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S,%f").timestamp()
        for found in _PLAN.finditer(log)
    }


def moves_in(
    history: Iterable[Mapping[str, Any]], made: Mapping[str, float], began: float
) -> list[dict[str, Any]]:
    """Return what plans did to running topologies, in the order of time.

    Parameters
    ----------
    history : iterable of mapping
        Entries of the brain's history, each once.
    made : mapping
        When each plan was, in epoch seconds: an entry names the moment when it was asked for.
    began : float
        When the hour did, in epoch seconds.
    """

    def moment(entry: Mapping[str, Any]) -> float:
        return made.get(entry["plan"], entry["created_ms"] / 1000)

    found = []
    for entry in sorted(history, key=moment):
        moved = [
            part for part in entry["topologies"] if part["former"] and part["workers_restarted"]
        ]
        if moved:
            found.append(
                {
                    "at_s": round(moment(entry) - began, 1),
                    "plan": entry["plan"],
                    "topologies": [part["topology"].rsplit("-", 2)[0] for part in moved],
                    "reasons": [part["reason"] for part in moved],
                    "undone": any(part["evidence"] == "undone" for part in moved),
                }
            )
    return found
