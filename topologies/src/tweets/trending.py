"""The bolts of trending topics."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from rig.bolt import CountedBolt

TOPIC = re.compile(r"#([a-z0-9_]+)")


def top(counts: Iterable[tuple[str, int]], k: int) -> list[tuple[str, int]]:
    """Return the k topics with the highest counts, equal counts by name."""
    return sorted(counts, key=lambda each: (-each[1], each[0]))[:k]


class Prepare(CountedBolt):
    """Counts the topics of the tweets that come to this task, and passes each new count on."""

    outputs: ClassVar = ["letter", "topic", "count"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no topics."""
        self._counts: Counter[str] = Counter()

    def handle(self, number: int, text: str) -> None:
        """Count the hashtags of one tweet."""
        for topic in TOPIC.findall(text.lower()):
            self._counts[topic] += 1
            self.emit([topic[0], topic, self._counts[topic]])


class Rank(CountedBolt):
    """Keeps the top topics of the letters that are grouped to this task."""

    outputs: ClassVar = ["ranking"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no topics."""
        self._k = conf["rig.k"]
        # Tweets are shuffled: every task of Prepare holds its own part of each count.
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._last: list[tuple[str, int]] = []

    def handle(self, letter: str, topic: str, count: int) -> None:
        """Take note of one task's count."""
        parts = self._counts[topic]
        parts[self.sender] = max(count, parts.get(self.sender, 0))

    def tick(self) -> None:
        """Pass the ranking on if it has changed."""
        totals = ((topic, sum(parts.values())) for topic, parts in self._counts.items())
        ranking = top(totals, self._k)
        if ranking != self._last:
            self._last = ranking
            # as text: Storm cannot send a list within a tuple to another worker
            self.emit([json.dumps(ranking)])


class Merge(CountedBolt):
    """Merges the rankings of all tasks into one."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no rankings."""
        self._k = conf["rig.k"]
        self._rankings: dict[int, list[tuple[str, int]]] = {}

    def handle(self, ranking: str) -> None:
        """Replace one task's ranking."""
        self._rankings[self.sender] = [(topic, count) for topic, count in json.loads(ranking)]

    def answer(self) -> list[tuple[str, int]]:
        """Return the topics that trend."""
        return top((each for ranking in self._rankings.values() for each in ranking), self._k)
