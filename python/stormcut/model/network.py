"""What carries tuples between workers, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """What a link carries each way in Mbit/s, None where that is not known: it then never binds."""

    out: float | None = None
    into: float | None = None


UNKNOWN = Link()


@dataclass(frozen=True)
class HopDelay:
    """How long a tuple is on its way to another node, on top of what links take, in microseconds.

    ``node_us`` to any, and ``distance_us`` for each place between the two in the order of nodes.
    """

    node_us: float = 0.0
    distance_us: float = 0.0


NO_HOP = HopDelay()


@dataclass(frozen=True)
class Costs:
    """What workers cost, and tuples that leave them: the constants of the cost model.

    CPU is counted where tuples leave and enter a worker, in microseconds of one core for each KiB,
    and for each tuple as long as few travel: of h tuples/s from one worker to another, h / (1 + h /
    ``batches_per_s``) count. ``worker_percent`` are the points of CPU that a worker takes that does
    nothing. Between nodes, links carry ``link_bytes_per_tuple`` beside each tuple. ``source`` names
    where the constants come from.
    """

    send_us_per_tuple: float
    send_us_per_kib: float
    receive_us_per_tuple: float
    receive_us_per_kib: float
    link_bytes_per_tuple: float
    batches_per_s: float = math.inf
    worker_percent: float = 0.0
    source: str = "stated"


#: Of problems that state none: fitted to the Docker cluster (docs/results/calibration.md).
SHIPPED = Costs(96.0, 0.0, 155.0, 21.0, 26.0, 25.0, 7.5, "shipped")
