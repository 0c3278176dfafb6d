"""What a link carries each way, and how the kernel is told."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stormcut.model.errors import InvalidInput

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
    match = _RATE.fullmatch(rate)
    bits = round(float(match[1]) * _BITS[match[2]]) if match else 0
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


def _in_words(bits: int | None) -> str:
    return "no limit" if bits is None else f"{bits / 1e6:.10g} Mbit/s"
