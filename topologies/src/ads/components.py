"""The components of the Yahoo streaming benchmark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ads.events import campaigns, events
from rig.bolt import CountedBolt
from rig.source import FileSource
from rig.table import Table

ADS_TABLE = "stormcut:campaign-of-ad"
VIEWS_TABLE = "stormcut:views"
#: Fields of an event, in the order in which they are passed on.
FIELDS = ("user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address")


class Source(FileSource):
    """Emits events as texts; its first task keeps the campaigns in Redis."""

    @classmethod
    def records(cls, conf: Mapping[str, Any]) -> Sequence[str]:
        """Return the events."""
        return events(conf["rig.events.per.second"])

    def tick(self) -> None:
        """Keep the table full."""
        if not self.index:
            rows = campaigns()
            Table(self.conf["rig.redis"], ADS_TABLE, len(rows)).fill(rows)


class Deserialize(CountedBolt):
    """Reads events; texts that hold none are dropped."""

    outputs: ClassVar = [*FIELDS]

    def handle(self, text: str) -> None:
        """Read one event."""
        try:
            event = json.loads(text)
            self.emit([event[name] for name in FIELDS])
        except (ValueError, KeyError, TypeError):
            self.drop("malformed", text)


class Filter(CountedBolt):
    """Lets views pass."""

    outputs: ClassVar = [*FIELDS]

    def handle(self, *values: Any) -> None:
        """Look at one event."""
        if values[FIELDS.index("event_type")] == "view":
            self.emit([*values])


class Project(CountedBolt):
    """Keeps the two fields that matter."""

    outputs: ClassVar = ["ad_id", "event_time"]

    def handle(self, *values: Any) -> None:
        """Cut one event down."""
        self.emit([values[FIELDS.index("ad_id")], values[FIELDS.index("event_time")]])


class Join(CountedBolt):
    """Finds the campaign of each advertisement in Redis, and remembers it."""

    outputs: ClassVar = ["campaign_id", "event_time"]

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start with no campaigns."""
        self._table = Table(conf["rig.redis"], ADS_TABLE, len(campaigns()))
        self._known: dict[str, str | None] = {}

    def handle(self, ad: str, event_time: int) -> None:
        """Replace the advertisement by its campaign."""
        if ad not in self._known:
            (self._known[ad],) = self._table.values([ad])
        campaign = self._known[ad]
        if campaign is None:
            self.drop("unknown ad", ad)
        else:
            self.emit([campaign, event_time])


class Count(CountedBolt):
    """Counts views per campaign and window; Redis gets the counts that changed.

    Counts are set, not added to: one that is written twice does no harm.
    """

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start at 0."""
        self._window_ms = conf["rig.window.seconds"] * 1000
        self._table = Table(conf["rig.redis"], VIEWS_TABLE, 0)
        self._views: Counter[str] = Counter()
        self._written: Counter[str] = Counter()

    def handle(self, campaign: str, event_time: int) -> None:
        """Count one view."""
        self._views[f"{campaign} {event_time // self._window_ms}"] += 1

    def tick(self) -> None:
        """Write what changed."""
        changed = {key: n for key, n in self._views.items() if n != self._written[key]}
        self._table.write(changed)
        self._written.update({key: n - self._written[key] for key, n in changed.items()})

    def tally(self) -> dict[str, Any]:
        """Return the counts with those of views that Redis holds."""
        return {**super().tally(), "written": self._written.total()}

    def answer(self) -> dict[str, int]:
        """Return the views that Redis has been given."""
        return self._written
