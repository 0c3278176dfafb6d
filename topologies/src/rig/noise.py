"""A clock that runs unevenly: a source that follows it has a noisy rate."""

from __future__ import annotations

import math

BLOCK_S = 60
#: A stall lasts so many seconds; one in so many of these is one.
STALL_S, STALLS = 3, 60
_MASK = 0xFFFFFFFF


class UnevenClock:
    """Seconds of different lengths, drawn alike in every run; each minute has its 60.

    Parameters
    ----------
    noise : float
        A second may be longer or shorter by this share, and now and then three of them do not count
        at all; 0: an even clock.
    """

    def __init__(self, noise: float) -> None:
        self._noise = noise
        self._block = -1
        self._lengths: list[float] = []

    def read(self, elapsed_s: float) -> float:
        """Return what it shows after so many seconds."""
        if not self._noise or elapsed_s <= 0:
            return elapsed_s
        block, within = divmod(elapsed_s, BLOCK_S)
        if block != self._block:
            first = int(block) * BLOCK_S
            self._block = int(block)
            self._lengths = [self._length(first + second) for second in range(BLOCK_S)]
        whole = math.floor(within)
        passed = sum(self._lengths[:whole]) + (within - whole) * self._lengths[whole]
        return BLOCK_S * (block + passed / sum(self._lengths))

    def _length(self, second: int) -> float:
        if _drawn(2 * (second // STALL_S) + 1) < 1 / STALLS:
            return 0.0
        return 1 + self._noise * (2 * _drawn(2 * second) - 1)


def _drawn(number: int) -> float:
    """Return a number from 0 to 1 by another, as `UnevenClock.java` does: a 32-bit hash."""
    number ^= number >> 16
    number = number * 0x7FEB352D & _MASK
    number ^= number >> 15
    number = number * 0x846CA68B & _MASK
    number ^= number >> 16
    return number / 2**32
