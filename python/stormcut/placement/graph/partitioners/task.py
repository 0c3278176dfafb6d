"""What a partitioner is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class PartitionTask:
    """A graph in compressed rows and the parts that it is to be divided into.

    Parameters
    ----------
    starts : array of shape (n + 1,)
        Where each vertex's neighbours start.
    neighbours, edge_weights : array of shape (2 m,)
        Both directions of every edge; weights at least 1.
    vertex_weights : array of shape (n,)
    shares : array of shape (parts,)
        Wanted share of the weight of each part; their sum is 1.
    imbalance : float or None
        Part of its share by which a part may exceed it, None for the partitioner's own default.
    preset : str
        One of the partitioner's ``PRESETS``.
    seed : int
        From 0 to 2**31 - 1.
    """

    starts: Ints
    neighbours: Ints
    edge_weights: Ints
    vertex_weights: Ints
    shares: Floats
    imbalance: float | None
    preset: str
    seed: int

    @property
    def parts(self) -> int:
        """Number of parts."""
        return len(self.shares)

    @property
    def equal(self) -> bool:
        """Whether all parts are to be of the same weight."""
        return bool(np.allclose(self.shares, self.shares[0], rtol=1e-9, atol=0))
