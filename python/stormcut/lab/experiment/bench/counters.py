"""What nodes used: totals at a moment, means between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class NodeCounters:
    """Totals at a moment (`time.time`): of each node, and ``busy_s`` of the whole machine.

    ``busy_s`` counts every core's seconds that were not idle. ``periods`` counts the periods of a
    node's CPU quota, ``throttled`` those in which the kernel halted it.
    """

    taken_at: float
    sent_bytes: tuple[int, ...]
    received_bytes: tuple[int, ...]
    cpu_s: tuple[float, ...]
    busy_s: float
    periods: tuple[int, ...]
    throttled: tuple[int, ...]


@dataclass(frozen=True)
class NodeUsage:
    """Means between two moments: Mbit/s that each node sent and received, and cores used.

    ``node_throttled`` is the share of a node's CPU periods in which the kernel halted it.
    """

    node_sent_mbit_s: tuple[float, ...]
    node_received_mbit_s: tuple[float, ...]
    node_cores: tuple[float, ...]
    other_cores: float
    node_throttled: tuple[float, ...]

    @property
    def sent_mbit_s(self) -> float:
        """What all nodes sent."""
        return sum(self.node_sent_mbit_s)


def usage(before: NodeCounters, after: NodeCounters) -> NodeUsage:
    """Return what was used between two readings."""
    seconds = after.taken_at - before.taken_at
    sent = _mbit_s(before.sent_bytes, after.sent_bytes, seconds)
    received = _mbit_s(before.received_bytes, after.received_bytes, seconds)
    cores = tuple((b - a) / seconds for a, b in zip(before.cpu_s, after.cpu_s, strict=True))
    busy = (after.busy_s - before.busy_s) / seconds
    throttled = tuple(
        (after.throttled[n] - before.throttled[n]) / max(1, after.periods[n] - before.periods[n])
        for n in range(len(cores))
    )
    return NodeUsage(sent, received, cores, max(0.0, busy - sum(cores)), throttled)


def _mbit_s(before: Sequence[int], after: Sequence[int], seconds: float) -> tuple[float, ...]:
    return tuple(8e-6 * (b - a) / seconds for a, b in zip(before, after, strict=True))
