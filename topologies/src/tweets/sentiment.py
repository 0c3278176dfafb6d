"""The bolts of sentiment analysis."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from rig.bolt import CountedBolt
from rig.records import lines

NOT_LETTERS = re.compile(r"[^a-z]+")


class Sensitize(CountedBolt):
    """Removes what is not a letter."""

    outputs: ClassVar = ["id", "text"]

    def handle(self, number: int, text: str) -> None:
        """Emit letters and blanks, in lower case."""
        self.emit([number, NOT_LETTERS.sub(" ", text.lower())])


class Clean(CountedBolt):
    """Removes words that say nothing."""

    outputs: ClassVar = ["id", "text"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Load the stop words."""
        self._stop = frozenset(lines("lexicon/stop.txt"))

    def handle(self, number: int, text: str) -> None:
        """Emit the other words."""
        self.emit([number, " ".join(word for word in text.split() if word not in self._stop)])


class Classifier(CountedBolt):
    """Scores a text: how many of its words are in the lexicon of this class."""

    outputs: ClassVar = ["id", "mood", "score"]
    mood = ""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Load the words of this class."""
        self._words = frozenset(lines(f"lexicon/{self.mood}.txt"))

    def handle(self, number: int, text: str) -> None:
        """Emit the score."""
        self.emit([number, self.mood, sum(word in self._words for word in text.split())])


class Positive(Classifier):
    """Scores praise."""

    mood = "positive"


class Negative(Classifier):
    """Scores blame."""

    mood = "negative"


class Join(CountedBolt):
    """Joins the two scores of a tweet."""

    outputs: ClassVar = ["id", "positive", "negative"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with nothing waiting."""
        self._waiting: dict[int, dict[str, int]] = {}

    def handle(self, number: int, mood: str, score: int) -> None:
        """Emit both scores once both are here."""
        scores = self._waiting.setdefault(number, {})
        scores[mood] = score
        if len(scores) == 2:
            del self._waiting[number]
            self.emit([number, scores["positive"], scores["negative"]])


class Score(CountedBolt):
    """Decides the class of each tweet."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start at 0."""
        self._classes: Counter[str] = Counter()

    def handle(self, number: int, positive: int, negative: int) -> None:
        """Compare the scores of one tweet."""
        difference = positive - negative
        mood = "neutral" if not difference else "positive" if difference > 0 else "negative"
        self._classes[mood] += 1

    def answer(self) -> dict[str, int]:
        """Return the tweets of each class."""
        return self._classes
