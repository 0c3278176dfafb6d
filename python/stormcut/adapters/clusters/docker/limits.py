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

_WAYS = ("out", "in")

_RATE = re.compile(r"(\d+(?:\.\d+)?)(kbit|mbit|gbit)")
_BITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_MIN_BITS = 10_000
_FORM = (
    "must be a rate such as 50mbit, 500kbit or 1gbit, or one for each way such as"
    " out=50mbit,in=25mbit"
)

#: Bytes sent at once. tbf needs what the rate sends between two ticks of a slow clock (10 ms).
_MIN_BURST = 32 * 1024
_TICKS_PER_S = 100


@dataclass(frozen=True)
class Bandwidth:
    """What a node's link carries each way, in bit/s; None: not limited."""

    out_bits: int | None = None
    in_bits: int | None = None

    @property
    def mbit(self) -> str:
        """Mbit/s, as a node states its link to Storm; empty: not limited.

        Examples
        --------
        >>> Bandwidth(50_000_000, 50_000_000).mbit, Bandwidth(50_000_000, 500_000).mbit
        ('50', 'out=50,in=0.5')
        """
        ways = zip(_WAYS, (self.out_bits, self.in_bits), strict=True)
        limited = {way: f"{bits / 1e6:.10g}" for way, bits in ways if bits is not None}
        if self.out_bits == self.in_bits:
            return limited.get("out", "")
        return ",".join(f"{way}={mbit}" for way, mbit in limited.items())

    def __str__(self) -> str:
        """Return both ways in words."""
        if self.out_bits == self.in_bits:
            return f"{_in_words(self.out_bits)} each way"
        return f"{_in_words(self.out_bits)} out, {_in_words(self.in_bits)} in"


FREE = Bandwidth()


@dataclass(frozen=True)
class Limits:
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


def parse_bandwidth(text: str) -> Bandwidth:
    """Return a link from a rate as `tc` writes it, for both ways, or from one for each way.

    Raises
    ------
    InvalidInput
        It has another form, or a rate is less than 10 kbit/s.

    Examples
    --------
    >>> parse_bandwidth("50mbit")
    Bandwidth(out_bits=50000000, in_bits=50000000)
    >>> parse_bandwidth("out=50mbit,in=500kbit")
    Bandwidth(out_bits=50000000, in_bits=500000)
    >>> parse_bandwidth("out=50mbit")
    Bandwidth(out_bits=50000000, in_bits=None)
    """
    where = f"bandwidth {text!r}"
    if "=" not in text:
        bits = _bits(text, where)
        return Bandwidth(bits, bits)
    parts = [part.partition("=") for part in text.split(",")]
    rates = {way: rate for way, _, rate in parts}
    if len(rates) < len(parts) or not rates.keys() <= set(_WAYS):
        raise InvalidInput(_FORM, where)
    out, into = (_bits(rates[way], where) if way in rates else None for way in _WAYS)
    return Bandwidth(out, into)


def _bits(rate: str, where: str) -> int:
    found = _RATE.fullmatch(rate)
    bits = round(float(found[1]) * _BITS[found[2]]) if found else 0
    if bits < _MIN_BITS:
        raise InvalidInput(_FORM, where)
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


def shortfalls(wanted: Limits, effective: Effective) -> dict[str, str]:
    """Return which limits a container does not have though they were asked for, and why."""
    found = {}
    if wanted.cpus is not None and not _near(wanted.cpus, effective.cpus):
        found["cpu"] = f"asked for {wanted.cpus:g} cores, {_shown(effective.cpus, 'cores')}"
    if wanted.memory_mb is not None and not _near(wanted.memory_mb, effective.memory_mb):
        found["memory"] = f"asked for {wanted.memory_mb} MB, {_shown(effective.memory_mb, 'MB')}"
    if wanted.bandwidth.out_bits is not None and effective.rate_out is None:
        found["bandwidth out"] = f"tc says: {effective.tc_out or 'nothing'}"
    if wanted.bandwidth.in_bits is not None and effective.rate_in is None:
        found["bandwidth in"] = f"tc says: {effective.tc_in or 'nothing'}"
    return found


def _shaped(said: str) -> str | None:
    found = re.search(r"qdisc tbf .*?\brate (\S+)", said)
    return found[1] if found else None


def _in_words(bits: int | None) -> str:
    return "no limit" if bits is None else f"{bits / 1e6:.10g} Mbit/s"


def _near(wanted: float, found: float | None) -> bool:
    return found is not None and abs(found - wanted) <= 0.01 * wanted


def _shown(value: float | None, unit: str) -> str:
    return "the kernel has no limit" if value is None else f"the kernel has {value:g} {unit}"
