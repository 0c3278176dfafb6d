"""The most frequent routes: of one task's share, and of all shares together."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable

#: Length of a ranking, as in the challenge.
TOP = 10

Count = tuple[str, int]


def top(counts: Iterable[Count], k: int = TOP) -> list[Count]:
    """Return the `k` largest counts, descending; equal counts are ordered by the route's name.

    The order is total, so the top of the tops of shares is the top of the whole.
    """
    return heapq.nsmallest(k, counts, key=lambda count: (-count[1], count[0]))


class RouteRanking:
    """The newest count of each route, and the top of them.

    A count that was not renewed for a whole window is forgotten: all its trips have left the
    window, and whoever counted it was restarted in between.
    """

    def __init__(self, window_minutes: int) -> None:
        self.minute = -1
        self._window_minutes = window_minutes
        self._counts: dict[str, tuple[int, int]] = {}

    def update(self, minute: int, route: str, count: int) -> None:
        """Take note of a route's count as of `minute`."""
        self.minute = max(self.minute, minute)
        if count:
            self._counts[route] = (count, minute)
        else:
            self._counts.pop(route, None)

    def top(self) -> list[Count]:
        """Return the most frequent routes."""
        horizon = self.minute - self._window_minutes
        self._counts = {
            route: (count, minute)
            for route, (count, minute) in self._counts.items()
            if minute > horizon
        }
        return top((route, count) for route, (count, _) in self._counts.items())


class MergedRanking:
    """The newest ranking of each task before it, and the top of all."""

    def __init__(self, window_minutes: int) -> None:
        self.minute = -1
        self._window_minutes = window_minutes
        self._shares: dict[int, tuple[int, list[Count]]] = {}

    def update(self, task: int, minute: int, ranking: list[Count]) -> None:
        """Take note of a task's ranking as of `minute`."""
        self.minute = max(self.minute, minute)
        self._shares[task] = (minute, ranking)

    def top(self) -> list[Count]:
        """Return the most frequent routes; a share older than the window counts no longer."""
        horizon = self.minute - self._window_minutes
        return top(
            count
            for minute, ranking in self._shares.values()
            if minute > horizon
            for count in ranking
        )


def to_text(ranking: list[Count]) -> str:
    """Return a ranking as JSON.

    A tuple that crosses workers may hold only types that Storm's Kryo knows, and the lists of
    its multilang parser (JSONArray) are not among them.
    """
    return json.dumps(ranking, separators=(",", ":"))


def from_text(text: str) -> list[Count]:
    """Return the ranking of a text of `to_text`."""
    return [(route, count) for route, count in json.loads(text)]
