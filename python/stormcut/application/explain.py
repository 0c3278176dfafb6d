"""Says why an executor is where it is: what it exchanges with whom, and what a move would change.

The reasons are computed from problem and placement alone, so that they hold for any algorithm and
cannot be embellished: what stays on the node, what every other node would offer, and which
constraint keeps the executor from going there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import executor_nodes, inter_node_tuples_per_second
from stormcut.objective.headroom import Headroom, headroom
from stormcut.objective.order import PlacementValue, advantage
from stormcut.objective.verify import violations

#: Peers and nodes that are listed for an executor.
LISTED = 5


@dataclass(frozen=True)
class Peer:
    """An executor with which traffic is exchanged, and how far it is."""

    name: str
    tuples_per_second: float
    distance: str


@dataclass(frozen=True)
class Alternative:
    """Another node: how the cut would change if this executor alone moved there.

    ``blocked_by`` names the constraint that forbids it, None if it is allowed; ``headroom`` is the
    placement's then, None where nothing limits it or it has no slot to move to. ``better`` says why
    the order prefers it, ``worse`` why not; both are None where it does not care.
    """

    node: str
    change: float
    blocked_by: str | None
    headroom: float | None
    better: str | None = None
    worse: str | None = None


@dataclass(frozen=True)
class Explanation:
    """Why one executor is where it is; rates in tuples/s.

    ``current`` is the slot where it runs now, None if nowhere; ``alternatives`` come best first.
    ``headroom`` is that of the whole placement.
    """

    executor: str
    slot: str
    current: str | None
    in_worker: float
    on_node: float
    to_other_nodes: float
    peers: tuple[Peer, ...]
    alternatives: tuple[Alternative, ...]
    headroom: Headroom

    @property
    def verdict(self) -> str:
        """One line: whether another node would be better, and what stands in the way."""
        if self.in_worker + self.on_node + self.to_other_nodes == 0:
            return "exchanges no traffic: any node that has room will do"
        if not self.alternatives:
            return "there is no other node"
        allowed = [each for each in self.alternatives if each.blocked_by is None]
        for each in allowed:
            if each.better is not None:
                return f"a move to {each.node} alone would be better: {each.better}"
        saving = [each for each in self.alternatives if each.change < 0]
        for each in saving:
            why_not = each.blocked_by or (each.worse and f"it is better here: {each.worse}")
            if why_not:
                return f"{each.node} would save {-each.change:,.1f} tuples/s, but {why_not}"
        nearest = self.alternatives[0]
        if nearest.change == 0:
            return f"no other node is better; {nearest.node} would be as good"
        return (
            f"no other node is better: {nearest.node}, the next best, would cost "
            f"{nearest.change:,.1f} tuples/s more"
        )


def explain(problem: Problem, placement: Placement, name: str) -> Explanation:
    """Explain the place of one executor.

    Parameters
    ----------
    name : str
        ``component[i]``, or ``topology/component[i]`` where several topologies have it.

    Raises
    ------
    InvalidInput
        There is no such executor, several topologies have one, or it is not placed.
    """
    executor = find_executor(problem, name)
    slot = int(placement.slots[executor])
    if slot == UNASSIGNED:
        raise InvalidInput("is unassigned: there is nothing to explain", name)
    peers, rates = _peers(problem, executor)
    nodes = executor_nodes(problem, placement)
    same_worker = placement.slots[peers] == slot
    same_node = (nodes[peers] == nodes[executor]) & ~same_worker
    names = _names(problem)
    heaviest = np.argsort(-rates, kind="stable")[:LISTED].tolist()
    distances = np.where(same_worker, "same worker", np.where(same_node, "same node", "other node"))
    now = int(problem.current_slots()[executor])
    return Explanation(
        names[executor],
        _slot_name(problem, slot),
        _slot_name(problem, now) if now >= 0 else None,
        float(rates[same_worker].sum()),
        float(rates[same_node].sum()),
        float(rates[~same_worker & ~same_node].sum()),
        tuple(Peer(names[peers[i]], float(rates[i]), str(distances[i])) for i in heaviest),
        _alternatives(problem, placement, executor, _node_rates(problem, peers, rates, nodes)),
        headroom(problem, placement),
    )


def find_executor(problem: Problem, name: str) -> int:
    """Return the ordinal of an executor named as in `explain`.

    Raises
    ------
    InvalidInput
        There is none, or more than one.
    """
    names = _names(problem)
    matches = [
        ordinal for ordinal, full in enumerate(names) if name in (full, full.partition("/")[2])
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InvalidInput(f"several topologies have it; say {names[matches[0]]}", name)
    raise InvalidInput(
        f"no such executor; without a name `stormcut explain` lists some, such as "
        f"{names[0] if names else 'none'}",
        name,
    )


def _names(problem: Problem) -> list[str]:
    return [f"{topology}/{name}[{i}]" for topology, name, i in problem.executor_names()]


def _slot_name(problem: Problem, slot: int) -> str:
    node, port = problem.slot_ids[slot]
    return f"{node}:{port}"


def _peers(problem: Problem, executor: int) -> tuple[Ints, Floats]:
    """Return the executors it exchanges traffic with, and the tuples/s, both directions added.

    A local-or-shuffle stream counts as if it were spread over all its targets.
    """
    traffic = problem.traffic
    total = np.zeros(problem.executor_count)
    for here, there in ((traffic.source, traffic.target), (traffic.target, traffic.source)):
        own = here == executor
        np.add.at(total, there[own], traffic.rate[own])
    for block in traffic.blocks:
        for here_range, there_range in (
            (block.sources, block.targets),
            (block.targets, block.sources),
        ):
            if executor in here_range:
                total[there_range.start : there_range.stop] += block.rate
    total[executor] = 0.0
    peers = np.flatnonzero(total)
    return peers, total[peers]


def _node_rates(problem: Problem, peers: Ints, rates: Floats, nodes: Ints) -> Floats:
    placed = nodes[peers] >= 0
    count = int(problem.slot_hosts.max(initial=len(problem.nodes) - 1)) + 1
    return np.bincount(nodes[peers][placed], weights=rates[placed], minlength=count).astype(float)


def _alternatives(
    problem: Problem, placement: Placement, executor: int, rates: Floats
) -> tuple[Alternative, ...]:
    """Return the nodes that hold most of its traffic, and what a move there would do."""
    here = int(problem.slot_hosts[placement.slots[executor]])
    now = inter_node_tuples_per_second(problem, placement)
    others = [node for node in range(len(problem.nodes)) if node != here]
    others.sort(key=lambda node: (-rates[node], problem.nodes[node].id))
    result, stays = [], PlacementValue(problem, placement)
    for node in others[:LISTED]:
        moved, blocked = _moved(problem, placement, executor, node)
        change = inter_node_tuples_per_second(problem, moved) - now if moved else np.nan
        if moved is None:
            change = float(rates[here] - rates[node])
        name, better, worse, room = problem.nodes[node].id, None, None, None
        if moved is not None:
            moves = PlacementValue(problem, moved)
            room = moves.headroom.value
            better, worse = advantage(moves, stays), advantage(stays, moves)
        result.append(Alternative(name, float(change), blocked, room, better, worse))
    return tuple(sorted(result, key=lambda each: each.change))


def _moved(
    problem: Problem, placement: Placement, executor: int, node: int
) -> tuple[Placement | None, str | None]:
    """Return the placement with an executor in a worker of another node, and what forbids it."""
    slots = np.flatnonzero(problem.slot_node == node)
    topology = problem.executor_topology[executor]
    tenants = {
        slot: set(problem.executor_topology[placement.slots == slot].tolist())
        for slot in slots.tolist()
    }
    own = [slot for slot, held in tenants.items() if held == {topology}]
    free = [slot for slot, held in tenants.items() if not held]
    if not own and not free:
        return None, "it has no free slot (slots)"
    changed = placement.slots.copy()
    changed[executor] = (own or free)[0]
    moved = Placement(changed)
    known = {each.message for each in violations(problem, placement)}
    broken = [each for each in violations(problem, moved) if each.message not in known]
    return moved, f"{broken[0].message} ({broken[0].constraint})" if broken else None


def worth_a_look(problem: Problem, placement: Placement, limit: int) -> Sequence[str]:
    """Return the executors with most traffic to other nodes, most first, at most ``limit``.

    Takes O(executors + pairs + blocks x nodes).
    """
    nodes = executor_nodes(problem, placement)
    away = np.zeros(problem.executor_count)
    traffic = problem.traffic
    crossing = nodes[traffic.source] != nodes[traffic.target]
    for ends in (traffic.source, traffic.target):
        np.add.at(away, ends[crossing], traffic.rate[crossing])
    count = int(nodes.max(initial=0)) + 1
    for block in traffic.blocks:
        for here, there in ((block.sources, block.targets), (block.targets, block.sources)):
            held = nodes[there.start : there.stop]
            on_node = np.bincount(held[held >= 0], minlength=count)
            own = nodes[here.start : here.stop]
            away[here.start : here.stop] += block.rate * (len(there) - on_node[own])
    order = np.argsort(-away, kind="stable")[:limit]
    names = _names(problem)
    return [names[each] for each in order.tolist() if away[each] > 0]
