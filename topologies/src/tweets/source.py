"""Source: replays tweets."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from rig.schedule import Departure
from rig.source import Malformed, ReplayingSpout


class Tweets(ReplayingSpout):
    """Emits the text of each tweet with its number in the replay."""

    outputs: ClassVar = ["id", "text"]

    def values(self, record: str, departure: Departure) -> list[Any]:
        """Return number and text."""
        return [departure.ordinal, text(record)]


def text(record: str) -> str:
    """Return the text of a tweet written as JSON.

    Raises
    ------
    Malformed
        It is no JSON object with a text.
    """
    try:
        found = json.loads(record)["text"]
    except (ValueError, TypeError, KeyError):
        raise Malformed("malformed") from None
    if not isinstance(found, str):
        raise Malformed("malformed")
    return found
