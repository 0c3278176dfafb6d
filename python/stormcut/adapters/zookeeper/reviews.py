"""What became of moves, in one node: docs/protocol.md."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.control.review.outcome import Outcome
from stormcut.control.review.reviews import REVIEWS_KEPT, Review
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

REVIEWS_VERSION = 1
_NODE = "reviews"
#: What a review has beside its numbers.
_TEXTS = ("topology", "plan", "outcome")
_OPTIONAL = ("latency_before", "latency_after", "predicted", "restart_s")


def write_reviews(nodes: StormcutNodes, reviews: tuple[Review, ...]) -> None:
    """Put reviews in the place of whatever is there."""
    rows = [{**asdict(each), "outcome": each.outcome.value} for each in reviews]
    nodes.write_marked(_NODE, {"version": REVIEWS_VERSION, "reviews": rows})


def read_reviews(nodes: StormcutNodes) -> tuple[Review, ...]:
    """Return what became of moves, the last ones, oldest first.

    Nothing is known where that cannot be used; the log says so once.
    """
    try:
        document = nodes.read_marked(_NODE, "reviews of moves", REVIEWS_VERSION)
        if document is None:
            return ()
        return tuple(_review(row) for row in document["reviews"][-REVIEWS_KEPT:])
    except InvalidInput as error:
        _warn(str(error))
    except (KeyError, TypeError, ValueError) as error:
        _warn(f"ZooKeeper node {nodes.path(_NODE)}: holds no reviews: {error!r}")
    return ()


def _review(row: Mapping[str, Any]) -> Review:
    numbers = {
        key: None if value is None and key in _OPTIONAL else _number(value)
        for key, value in row.items()
        if key not in _TEXTS
    }
    texts = {"topology": str(row["topology"]), "plan": str(row["plan"])}
    return Review(**texts, outcome=Outcome(row["outcome"]), **numbers)  # type: ignore[arg-type]


def _number(value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


@lru_cache(maxsize=64)
def _warn(error: str) -> None:
    """Log what is not used; cached, as the leader reads it twice a second."""
    log.warning("what became of moves is not used: %s", error)
