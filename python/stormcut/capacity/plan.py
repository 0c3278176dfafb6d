"""The fewest nodes that carry topologies at asked rates, with a placement that does.

Nodes of one shape are added until `cut` finds a placement whose head-room is 1 or more. That fewer
would do is disproved by the bound on head-room, which holds for every placement: where it is below
1, nothing fits. Of several shapes the cheapest plan counts, then that with fewest nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from stormcut.capacity.demand import Demand
from stormcut.model.errors import Infeasible
from stormcut.model.network import UNKNOWN, Link
from stormcut.model.problem import Node, Problem
from stormcut.placement.bounds.headroom_bound import headroom_bound
from stormcut.placement.solve import DEFAULT_ALGORITHM, DEFAULT_SEED, Solution, solve

#: Nodes that are tried at most, of shapes that say nothing of how many there are.
MOST_NODES = 1000

#: Head-room that carries the asked rates; less is rounding.
ENOUGH = 1.0 - 1e-9

#: How a slot's first port is numbered.
FIRST_PORT = 6700


@dataclass(frozen=True)
class Shape:
    """Nodes to be had: CPU in points, memory, slots, link each way, price, and how many at most."""

    name: str
    cpu_percent: float | None = None
    memory_mb: float | None = None
    ports: int = 4
    link: Link = UNKNOWN
    price_per_hour: float | None = None
    at_most: int = MOST_NODES

    def nodes(self, count: int) -> tuple[Node, ...]:
        """Return so many nodes of it."""
        ports = tuple(range(FIRST_PORT, FIRST_PORT + self.ports))
        return tuple(
            Node(
                f"{self.name}-{number}",
                ports,
                cpu_percent=self.cpu_percent,
                memory_mb=self.memory_mb,
                link=self.link,
            )
            for number in range(1, count + 1)
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """Nodes and a placement on them that carries the asked rates.

    ``least`` is the proven least number of nodes; ``problem`` is the demand on the nodes;
    ``shape`` is None for the problem's own nodes; ``more`` is the placement on one node more, None
    where there is none to be had; ``others`` are the plans of other shapes, cheapest first.
    """

    problem: Problem
    solution: Solution
    least: int
    shape: Shape | None
    more: Solution | None = None
    others: tuple[Plan, ...] = ()

    @property
    def nodes(self) -> int:
        """How many nodes it takes."""
        return len(self.problem.nodes)

    @property
    def cost_per_hour(self) -> float | None:
        """What they cost, None if no price is known."""
        price = self.shape.price_per_hour if self.shape else None
        return None if price is None else self.nodes * price


def plan(demand: Demand, shapes: Sequence[Shape] = (), seed: int = DEFAULT_SEED) -> Plan:
    """Return the cheapest plan; without shapes, on the problem's own nodes, largest first.

    Raises
    ------
    Infeasible
        As many nodes as there are do not carry it; names what binds.
    """
    if not shapes:
        own = sorted(demand.problem.nodes, key=_size)
        return _fewest(demand, lambda count: tuple(own[:count]), len(own), None, seed)
    found, refusals = [], []
    for shape in shapes:
        try:
            found.append(_fewest(demand, shape.nodes, shape.at_most, shape, seed))
        except Infeasible as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    best, *others = sorted(found, key=lambda each: (each.cost_per_hour or 0.0, each.nodes))
    return replace(best, others=tuple(others))


def _size(node: Node) -> tuple[float, float, str]:
    unknown = float("inf")
    cpu, memory = (unknown if each is None else each for each in (node.cpu_percent, node.memory_mb))
    return -cpu, -memory, node.id


def _fewest(
    demand: Demand,
    nodes: Callable[[int], tuple[Node, ...]],
    most: int,
    shape: Shape | None,
    seed: int,
) -> Plan:
    """Return the plan with the fewest nodes found: ever larger steps up, then halved."""
    of = f" of {shape.name}" if shape else ""

    def on(count: int) -> Problem:
        return replace(demand.problem, nodes=nodes(count))

    least = _proven_least(on, most)
    if least is None:
        raise Infeasible(
            f"no placement on {most} nodes{of} carries these rates, as proven", "head-room"
        )
    below, count, step = least - 1, least, 1
    while (found := _carried(on(count), seed)) is None:
        if count == most:
            raise Infeasible(f"no placement found on {most} nodes{of} for these rates", "head-room")
        below, count, step = count, min(most, count + step), step * 2
    while count - below > 1:
        middle = (below + count) // 2
        better = _carried(on(middle), seed)
        if better is None:
            below = middle
        else:
            count, found = middle, better
    more = _carried(on(count + 1), seed) if count < most else None
    return Plan(on(count), found, least, shape, more)


def _proven_least(on: Callable[[int], Problem], most: int) -> int | None:
    """Return the fewest nodes that are not proven to be too few, None if all are too few."""
    if _is_too_small(on(most)):
        return None
    below, count = 0, most
    while count - below > 1:
        middle = (below + count) // 2
        if _is_too_small(on(middle)):
            below = middle
        else:
            count = middle
    return count


def _is_too_small(problem: Problem) -> bool:
    """Return whether it is proven that no placement carries the rates."""
    slots = sum(len(node.ports) for node in problem.nodes)
    if slots < len(problem.topologies):
        return True
    limits = [node.memory_mb for node in problem.nodes if node.ports]
    if None not in limits and problem.executor_memory.sum() > sum(each or 0.0 for each in limits):
        return True
    bound = headroom_bound(problem)
    return bound is not None and bound.headroom < ENOUGH


def _carried(problem: Problem, seed: int) -> Solution | None:
    """Return a placement that carries the rates, None if none is found."""
    try:
        found = solve(problem, DEFAULT_ALGORITHM, seed, {"objective": "headroom"})
    except Infeasible:
        return None
    room = found.headroom.value
    return found if room is None or room >= ENOUGH else None
