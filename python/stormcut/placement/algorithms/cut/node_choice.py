"""Topologies of large instances, and the nodes that might carry one: few, close, largest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Model, SearchState, weights

#: Share of a topology's load that its nodes have room for beyond it, so that executors can move:
#: with none, traffic is 0.25 % more (docs/results/cut-constants.md).
SLACK = 0.02

#: Share of a node's room that large executors may leave idle without counting as wasted.
COARSE = 0.25


@dataclass(frozen=True, eq=False)
class TopologyGroups:
    """A topology's groups, large executors first, with their weights.

    ``weight`` (members,) is the largest share that one executor takes of an average node's limits;
    ``total`` is what all executors need together, ``traffic`` what they exchange.
    """

    ordinal: int
    members: Ints
    weight: Floats
    total: Floats
    traffic: float


def topologies_of(instance: Instance, model: Model) -> list[TopologyGroups]:
    """Return the topologies of an instance, in the order of their ordinals."""
    groups = instance.groups
    rates = groups.pair_rate.tocoo()
    sizes = groups.size.astype(np.float64)
    pairs = sizes[rates.row] * (sizes[rates.col] - (rates.row == rates.col))
    traffic = np.bincount(groups.topology[rates.row], weights=rates.data * pairs / 2)
    weight = weights(model)
    result = []
    for ordinal in np.unique(groups.topology).tolist():
        members = np.flatnonzero(groups.topology == ordinal)
        members = members[np.argsort(-weight[members], kind="stable")]
        total = sizes[members] @ instance.load[members]
        own = float(traffic[ordinal]) if ordinal < len(traffic) else 0.0
        result.append(TopologyGroups(ordinal, members, weight[members], total, own))
    return result


def room_shares(room: Floats, total: Floats) -> Floats:
    """Return which share of a topology each node has room for, shape (nodes,)."""
    needed = total > 0
    with np.errstate(invalid="ignore"):
        shares = room[:, needed] / total[needed]
    return np.asarray(shares.min(axis=1, initial=np.inf))


def choices(
    instance: Instance, state: SearchState, topology: TopologyGroups, slack: float = SLACK
) -> Iterator[tuple[Ints, Floats]]:
    """Yield nodes that might carry a topology, better ones first, and what share each node has.

    The first have just enough room if loads were liquid, each further ones are an eighth more.

    Parameters
    ----------
    slack : float
        Share of the topology's load that the first have room for beyond it.
    """
    room = np.maximum(instance.bounds - state.used, 0.0)
    loads = instance.load[topology.members]
    takes_one = (loads[:, None, :] <= room).all(axis=2).any(axis=0)
    room[(state.tenants >= instance.slots) | ~takes_one] = 0.0
    liquid = room_shares(room, topology.total)
    whole = _whole_shares(instance, topology, room)
    shares = np.where(whole < (1.0 - COARSE) * liquid, whole, liquid)
    part = np.divide(
        shares, liquid, out=np.ones(len(shares)), where=np.isfinite(liquid) & (liquid > 0)
    )
    waste = np.floor((1.0 - part) / COARSE)
    # Room for one more executor than there are, so that they can change places.
    wanted = 1.0 + slack + min(slack, _largest_part(instance, topology))
    for nodes in _choices(instance.rack, shares, waste, wanted):
        yield nodes, shares


def _largest_part(instance: Instance, topology: TopologyGroups) -> float:
    """Return the largest share that one executor has of what its topology needs."""
    needed = topology.total > 0
    parts = instance.load[topology.members][:, needed] / topology.total[needed]
    return float(parts.max(initial=0.0))


def _whole_shares(instance: Instance, topology: TopologyGroups, room: Floats) -> Floats:
    """Return the share of its groups that make most of its load that a node can take, as integers.

    A node of 35 cores has room for one executor of 18, not for 1.9.
    """
    sizes = instance.groups.size[topology.members]
    loads = instance.load[topology.members]
    result = np.full(len(room), np.inf)
    for resource in np.flatnonzero(topology.total > 0):
        part = sizes * loads[:, resource] / topology.total[resource]
        for g in np.flatnonzero(part > 0.5):
            most = np.floor(room[:, resource] / loads[g, resource])
            result = np.minimum(result, most / sizes[g])
    return result


def _choices(rack: Ints, shares: Floats, waste: Floats, wanted: float) -> Iterator[Ints]:
    """Yield sets of nodes; one that carries all alone, else such as carry it together."""
    whole = np.flatnonzero(shares >= 1.0)
    if len(whole):
        yield whole[[np.argmin(shares[whole])]]
        return
    order = _near_order(rack, shares, waste, wanted)
    ahead = np.cumsum(shares[order])
    count = int(np.searchsorted(ahead, wanted)) + 1
    if count <= len(order):
        rest = wanted - (ahead[count - 2] if count > 1 else 0.0)
        tail = order[count - 1 :]
        close = tail[rack[tail] == rack[order[count - 1]]]
        enough = close[shares[close] >= rest]
        last = enough[[np.argmin(shares[enough])]]
        yield np.concatenate((order[: count - 1], last))
    count = min(count, len(order))
    while count < len(order):
        count = min(len(order), count + max(1, count // 8))
        yield order[:count]


def _near_order(rack: Ints, shares: Floats, waste: Floats, wanted: float) -> Ints:
    """Return nodes with room, rack by rack.

    First comes the rack that carries the topology on the largest pieces, of like ones the fullest;
    then those that do not carry it, the emptiest first. If none does, nodes on which little room
    would be left that executors cannot fill come first.
    """
    order = np.lexsort((-shares, rack))
    order = order[shares[order] > 0]
    racks = []
    for own in np.split(order, np.flatnonzero(np.diff(rack[order])) + 1) if len(order) else []:
        pieces = np.diff(np.minimum(np.cumsum(shares[own]), wanted), prepend=0.0)
        carries = pieces.sum() >= wanted
        free = shares[own].sum()
        # Of traffic between pieces of a topology, that within a piece is its square.
        racks.append((-(pieces @ pieces) if carries else 0.0, free if carries else -free, own))
    racks.sort(key=lambda each: each[:2])
    if not racks:
        return order
    order = np.concatenate([own for *_, own in racks])
    if racks[0][0] == 0.0:
        order = order[np.argsort(waste[order], kind="stable")]
    return order
