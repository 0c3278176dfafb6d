"""What is measured of how a topology fares, held against what the model says of it."""

from __future__ import annotations

from dataclasses import dataclass

#: A topology that stalls with so much head-room suffers from what the model does not know.
AMPLE_ROOM = 2.0
#: One that does not stall has at least so much: what is carried fits. Below 1, as loads are off.
MIN_ROOM = 0.75


@dataclass(frozen=True)
class Account:
    """How a topology fares.

    Parameters
    ----------
    is_stalled : bool
        Its spouts' tuples are not acked any more, or many of them fail.
    factor : float
        How many times what is measured the brain was told, as another load is expected.
    share : float
        Which part of the rate that was measured for the brain is measured now.
    """

    is_stalled: bool = False
    factor: float = 1.0
    share: float = 1.0

    def contradicts(self, headroom: float) -> bool:
        """Return whether a head-room that the model gives the load that was told cannot be true."""
        carried = headroom * self.factor
        if self.is_stalled:
            return carried >= AMPLE_ROOM
        return carried < MIN_ROOM * min(self.share, 1.0)
