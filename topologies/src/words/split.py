"""Split: from lines to words."""

from __future__ import annotations

import re
from typing import ClassVar

from rig.bolt import CountedBolt

#: Letters, with apostrophes inside: `whale’s` is one word.
WORD = re.compile(r"[a-z]+(?:['’][a-z]+)*")


class Split(CountedBolt):
    """Emits each word of a line."""

    outputs: ClassVar = ["word"]

    def handle(self, line: str) -> None:
        """Emit the words in lower case."""
        for word in WORD.findall(line.lower()):
            self.emit([word])
