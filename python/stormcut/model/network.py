"""What carries tuples between workers, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

#: Where costs come from that nobody stated.
SHIPPED = "shipped"


@dataclass(frozen=True)
class Link:
    """What a link carries each way in Mbit/s, None where that is not known: it then never binds."""

    out: float | None = None
    into: float | None = None


UNKNOWN = Link()


@dataclass(frozen=True)
class Costs:
    """What it costs to send a tuple to another worker: the constants of the cost model.

    CPU is counted where a tuple leaves or enters a worker, in microseconds of one core for each
    tuple and for each KiB of it; between nodes, links carry ``link_bytes_per_tuple`` beside it.
    ``source`` names where the constants come from.
    """

    send_us_per_tuple: float = 1.0
    send_us_per_kib: float = 30.0
    receive_us_per_tuple: float = 1.0
    receive_us_per_kib: float = 40.0
    link_bytes_per_tuple: float = 26.0
    source: str = SHIPPED
