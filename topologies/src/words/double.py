"""Double: twice the words that came in."""

from __future__ import annotations

from typing import Any, ClassVar

from rig.bolt import CountedBolt


class Double(CountedBolt):
    """Emits a text twice as long: the text, and again."""

    outputs: ClassVar = ["text"]

    def handle(self, text: str) -> None:
        """Emit the doubled text."""
        self.emit([f"{text} {text}"])


class LastDouble(CountedBolt):
    """Doubles and keeps count: nobody comes after it."""

    outputs: ClassVar[list[str]] = []

    def prepare(self, conf: Any) -> None:
        """Start at 0."""
        self._characters = 0

    def handle(self, text: str) -> None:
        """Count the characters of the doubled text."""
        self._characters += len(f"{text} {text}")

    def answer(self) -> int:
        """Return the characters."""
        return self._characters
