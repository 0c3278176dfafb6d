"""What a node may use, how the kernel is told, and what the kernel says it does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stormcut.model.errors import InvalidInput

#: Of the CPU quota. Shorter periods punish a node whose threads all wake up at once: at 10 ms,
#: packed placements lost a third of their throughput.
PERIOD_US = 100_000

#: The kernel refuses less than 1 ms of CPU per period.
MIN_QUOTA_US = 1_000

#: Of a supervisor with two workers of Python components, and of Nimbus.
MIN_MEMORY_MB = 384

_RATE = re.compile(r"(\d+(?:\.\d+)?)(kbit|mbit|gbit)")
_BITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_MIN_BITS = 10_000

#: Bytes sent at once. tbf needs what the rate sends between two ticks of a slow clock (10 ms).
_MIN_BURST = 32 * 1024
_TICKS_PER_S = 100


@dataclass(frozen=True)
class Limits:
    """Upper limits of one node; None: not limited.

    Attributes
    ----------
    cpus : float or None
        Cores, as a quota in each `PERIOD_US`.
    bandwidth_bits : int or None
        What the node sends, in bit/s. What it receives is limited by the others' sending.
    memory_mb : int or None
        Of all processes in the container, without swap.
    """

    cpus: float | None
    bandwidth_bits: int | None
    memory_mb: int | None

    @property
    def quota_us(self) -> int:
        """CPU time in each period; -1 is how the kernel writes "no limit"."""
        return -1 if self.cpus is None else round(self.cpus * PERIOD_US)


@dataclass(frozen=True)
class Effective:
    """Limits that the kernel has for a container now; None: none, or not to be seen."""

    cpus: float | None
    period_us: int | None
    memory_mb: int | None
    shaping: str

    @property
    def is_shaped(self) -> bool:
        """Whether what the container sends is limited."""
        return "qdisc tbf" in self.shaping


def parse_bandwidth(text: str) -> int:
    """Return the bit/s of a rate as `tc` writes it.

    Raises
    ------
    InvalidInput
        It is no such rate, or less than 10 kbit/s.

    Examples
    --------
    >>> parse_bandwidth("50mbit")
    50000000
    """
    found = _RATE.fullmatch(text)
    bits = round(float(found[1]) * _BITS[found[2]]) if found else 0
    if bits < _MIN_BITS:
        raise InvalidInput("must be a rate such as 50mbit, 500kbit or 1gbit", f"bandwidth {text!r}")
    return bits


def tbf_arguments(bits: int) -> str:
    """Return the arguments of ``tc qdisc ... tbf`` for a rate in bit/s.

    Examples
    --------
    >>> tbf_arguments(50_000_000)
    'rate 50000000bit burst 62500 latency 200ms'
    """
    burst = max(_MIN_BURST, bits // 8 // _TICKS_PER_S)
    return f"rate {bits}bit burst {burst} latency 200ms"


def is_whole(text: str) -> bool:
    """Return whether this is all that `docker/limits` prints: its last line tells of ``tc``."""
    return any(line.startswith("tc ") for line in text.splitlines())


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
        lines.get("tc", "").strip(),
    )


def shortfalls(wanted: Limits, effective: Effective) -> dict[str, str]:
    """Return which limits a container does not have though they were asked for, and why."""
    found = {}
    if wanted.cpus is not None and not _near(wanted.cpus, effective.cpus):
        found["cpu"] = f"asked for {wanted.cpus:g} cores, {_shown(effective.cpus, 'cores')}"
    if wanted.memory_mb is not None and not _near(wanted.memory_mb, effective.memory_mb):
        found["memory"] = f"asked for {wanted.memory_mb} MB, {_shown(effective.memory_mb, 'MB')}"
    if wanted.bandwidth_bits is not None and not effective.is_shaped:
        found["bandwidth"] = f"tc says: {effective.shaping or 'nothing'}"
    return found


def _near(wanted: float, found: float | None) -> bool:
    return found is not None and abs(found - wanted) <= 0.01 * wanted


def _shown(value: float | None, unit: str) -> str:
    return "the kernel has no limit" if value is None else f"the kernel has {value:g} {unit}"
