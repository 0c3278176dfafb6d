"""Log lines on standard error: for people, or a JSON object each, for machines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

TEXT, JSON = FORMATS = ("text", "json")


def log_to_stderr(style: str = TEXT) -> None:
    """Log to standard error in one of `FORMATS`."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s", force=True
    )
    if style == JSON:
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines())


class JsonLines(logging.Formatter):
    """A record as a JSON object in one line.

    ``plan`` is the id of the plan that it concerns (``extra={"plan": id}``), absent where none.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if plan := getattr(record, "plan", None):
            line["plan"] = plan
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)
