"""Rules: what a log line says, and how grave it is."""

from __future__ import annotations

import re
from typing import ClassVar

from rig.bolt import CountedBolt

LINE = re.compile(r"\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ (?P<program>[\w-]+)(?:\[\d+\])?: (?P<text>.*)")

#: The first rule that a text meets gives its level; the lines themselves carry none.
RULES = (
    ("warning", re.compile("(?i)failed|failure|invalid|break-in|not allowed")),
    ("error", re.compile("(?i)error|fatal|bad protocol|unable")),
    ("notice", re.compile("(?i)accepted|session opened|new user")),
)
OTHERWISE = "info"


class Rules(CountedBolt):
    """Emits the program, text and level of each line; lines of another form are dropped."""

    outputs: ClassVar = ["level", "program", "text"]

    def handle(self, line: str) -> None:
        """Apply the rules to one line."""
        found = LINE.fullmatch(line)
        if found is None:
            self.drop("malformed", line)
            return
        self.emit([level(found["text"]), found["program"], found["text"]])


def level(text: str) -> str:
    """Return how grave a text is."""
    return next((name for name, rule in RULES if rule.search(text)), OTHERWISE)
