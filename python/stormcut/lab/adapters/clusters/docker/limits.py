"""What a node may use, how the kernel is told, and what the kernel says it does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stormcut.lab.adapters.clusters.bandwidth import Bandwidth

#: Of the CPU quota. Shorter periods punish a node whose threads all wake up at once: at 10 ms,
#: packed placements lost a third of their throughput.
PERIOD_US = 100_000

#: The kernel refuses less than 1 ms of CPU per period.
MIN_QUOTA_US = 1_000

#: Of a supervisor with two workers of Python components, and of Nimbus.
MIN_MEMORY_MB = 384


@dataclass(frozen=True)
class NodeLimits:
    """Upper limits of one node; None: not limited.

    Attributes
    ----------
    cpus : float or None
        Cores, as a quota in each `PERIOD_US`.
    bandwidth : Bandwidth
        What the node sends and what it receives.
    memory_mb : int or None
        Of all processes in the container, without swap.
    """

    cpus: float | None
    bandwidth: Bandwidth
    memory_mb: int | None

    @property
    def quota_us(self) -> int:
        """CPU time in each period; -1 is how the kernel writes "no limit"."""
        return -1 if self.cpus is None else round(self.cpus * PERIOD_US)


@dataclass(frozen=True)
class Effective:
    """Limits that the kernel has for a container now; None: none, or not to be seen.

    ``tc_out`` and ``tc_in`` are what ``tc`` says of what it sends and of what it receives.
    """

    cpus: float | None
    period_us: int | None
    memory_mb: int | None
    tc_out: str
    tc_in: str

    @property
    def rate_out(self) -> str | None:
        """The limit of what the container sends, as ``tc`` writes it."""
        return _shaped(self.tc_out)

    @property
    def rate_in(self) -> str | None:
        """The limit of what the container receives, as ``tc`` writes it."""
        return _shaped(self.tc_in)


def is_whole(text: str) -> bool:
    """Return whether this is all that `docker/limits` prints: its last line tells of receiving."""
    return any(line.startswith("in ") for line in text.splitlines())


def parse_effective(text: str) -> Effective:
    """Read what `docker/limits` prints in a container, on cgroup v1 or v2."""
    lines = dict(line.partition(" ")[::2] for line in text.splitlines() if line.strip())
    cpu = lines.get("cpu", "").split()
    numbers = [int(each) for each in cpu if re.fullmatch(r"-?\d+", each)]
    quota, period = numbers if len(numbers) == 2 else (-1, None)
    memory = lines.get("memory", "").strip()
    memory_mb = int(memory) // 2**20 if memory.isdigit() else None
    return Effective(
        quota / period if quota > 0 and period else None,
        period,
        # Without a limit, cgroup v1 shows the largest number of whole pages.
        memory_mb if memory_mb is not None and memory_mb < 2**40 else None,
        lines.get("out", "").strip(),
        lines.get("in", "").strip(),
    )


def shortfalls(wanted: NodeLimits, effective: Effective) -> dict[str, str]:
    """Return which limits a container does not have though they were asked for, and why."""
    lacks = {}
    if wanted.cpus is not None and not _near(wanted.cpus, effective.cpus):
        lacks["cpu"] = f"asked for {wanted.cpus:g} cores, {_shown(effective.cpus, 'cores')}"
    if wanted.memory_mb is not None and not _near(wanted.memory_mb, effective.memory_mb):
        lacks["memory"] = f"asked for {wanted.memory_mb} MB, {_shown(effective.memory_mb, 'MB')}"
    if wanted.bandwidth.out_bits is not None and effective.rate_out is None:
        lacks["bandwidth out"] = f"tc says: {effective.tc_out or 'nothing'}"
    if wanted.bandwidth.in_bits is not None and effective.rate_in is None:
        lacks["bandwidth in"] = f"tc says: {effective.tc_in or 'nothing'}"
    return lacks


def _shaped(said: str) -> str | None:
    match = re.search(r"qdisc tbf .*?\brate (\S+)", said)
    return match[1] if match else None


def _near(wanted: float, effective: float | None) -> bool:
    return effective is not None and abs(effective - wanted) <= 0.01 * wanted


def _shown(value: float | None, unit: str) -> str:
    return "the kernel has no limit" if value is None else f"the kernel has {value:g} {unit}"
