"""From an algorithm's nodes to a placement: within limits, one worker per topology and node."""

from __future__ import annotations

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.packing.capacity import Hosts, loads, scarcest
from stormcut.placement.packing.fit import fit
from stormcut.placement.slots.seating import seat


def place_on_nodes(name: str, problem: Problem, able: Hosts, at: Ints) -> Placement:
    """Return the placement in which executors are where an algorithm wants them, as limits allow.

    Parameters
    ----------
    name : str
        The algorithm's.
    able : Hosts
    at : array of shape (executors,)
        Position in ``able`` of each executor.

    Raises
    ------
    Infeasible
        No way was found to keep within the nodes' limits.
    """
    wanted = able.ordinals[at]
    nodes = fit(problem, wanted, able)
    if nodes is None:
        raise Infeasible(
            f"{name} found none: what it places cannot be brought within the nodes' limits",
            scarcest(loads(problem), able.limits),
        )
    moved = int((nodes != wanted).sum())
    notes = (f"{moved} executors moved to keep within the nodes' limits",) if moved else ()
    return Placement(seat(problem, nodes, np.zeros(len(nodes), dtype=np.int64)), notes)
