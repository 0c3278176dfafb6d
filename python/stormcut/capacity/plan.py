"""The fewest nodes that carry topologies at asked rates, with a placement that does.

Nodes of one shape are added until `cut` finds a placement with the head-room that the demand asks
for. That fewer would do is disproved by the bound on head-room, which holds for every placement:
where it is below that, nothing fits. Of several shapes the cheapest plan counts, then that with
fewest nodes; and some of its nodes make room for nodes of another shape where that is cheaper
still. Where no shape alone has nodes enough, nodes of all are taken, the largest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from stormcut.arrays import ROUNDING
from stormcut.capacity.demand import Demand
from stormcut.model.errors import Infeasible
from stormcut.model.network import UNKNOWN, Link
from stormcut.model.problem import Node, Problem
from stormcut.placement.bounds.headroom_bound import headroom_bound
from stormcut.placement.options import DEFAULT_ALGORITHM, DEFAULT_SEED
from stormcut.placement.solve import Solution, solve

#: Nodes that are tried at most, of shapes that say nothing of how many there are.
MAX_NODES = 1000


#: How a slot's first port is numbered.
FIRST_PORT = 6700


@dataclass(frozen=True)
class NodeShape:
    """Nodes to be had: CPU in points, memory, slots, link each way, price, and how many at most."""

    name: str
    cpu_percent: float | None = None
    memory_mb: float | None = None
    ports: int = 4
    link: Link = UNKNOWN
    price_per_hour: float | None = None
    at_most: int = MAX_NODES

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


#: Nodes by shape.
Counts = tuple[tuple[NodeShape, int], ...]


@dataclass(frozen=True, eq=False)
class CapacityPlan:
    """Nodes and a placement on them that carries the asked rates.

    ``least`` is the proven least number of nodes; ``problem`` is the demand on the nodes;
    ``shapes`` has how many there are of each shape, nothing for the problem's own nodes; ``more``
    is the placement on one node more, None where there is none to be had; ``others`` are plans of
    one shape each, cheapest first.
    """

    problem: Problem
    solution: Solution
    least: int
    shapes: Counts = ()
    more: Solution | None = None
    others: tuple[CapacityPlan, ...] = ()

    @property
    def nodes(self) -> int:
        """How many nodes it takes."""
        return len(self.problem.nodes)

    @property
    def cost_per_hour(self) -> float | None:
        """What they cost, None if not all prices are known."""
        costs = [
            math.nan if shape.price_per_hour is None else count * shape.price_per_hour
            for shape, count in self.shapes
        ]
        cost = sum(costs)
        return None if not costs or math.isnan(cost) else cost


@dataclass(frozen=True)
class _Offer:
    """Nodes to choose from: so many of them, up to ``most``, as ``nodes`` and ``shapes`` say.

    ``of_one_shape``: each node more is like the one before.
    """

    most: int
    nodes: Callable[[int], tuple[Node, ...]]
    shapes: Callable[[int], Counts] = lambda _: ()
    name: str = ""
    of_one_shape: bool = False

    @classmethod
    def of(
        cls,
        most: int,
        shapes: Callable[[int], Counts],
        name: str = "",
        of_one_shape: bool = False,
    ) -> _Offer:
        """Return the nodes of shapes."""
        return cls(
            most,
            lambda count: tuple(
                node for shape, number in shapes(count) for node in shape.nodes(number)
            ),
            shapes,
            name,
            of_one_shape,
        )

    def useful(self, executors: int) -> int:
        """Return the nodes that so many executors can use: of one shape, one each."""
        return min(self.most, executors) if self.of_one_shape else self.most


@dataclass(frozen=True, eq=False)
class _PricedPlan:
    """A plan, and how many nodes of which offer it takes."""

    plan: CapacityPlan
    offer: _Offer
    count: int

    def with_plan(self, **changes: Any) -> _PricedPlan:
        """Return the same nodes, of a plan with other attributes."""
        return replace(self, plan=replace(self.plan, **changes))


@dataclass(frozen=True)
class _Placing:
    """How executors will be placed, and the head-room that they must have."""

    algorithm: str
    seed: int
    headroom: float

    @property
    def chooses(self) -> bool:
        """Whether it chooses among nodes; Storm's takes as many workers as are asked for."""
        return self.algorithm == DEFAULT_ALGORITHM

    def carried(self, problem: Problem) -> Solution | None:
        """Return a placement that carries the rates, None if none is found."""
        if not self.chooses:
            # One worker for each node.
            wanted = (replace(each, workers=len(problem.nodes)) for each in problem.topologies)
            problem = replace(problem, topologies=tuple(wanted))
        options = {"objective": "headroom"} if self.chooses else {}
        try:
            solution = solve(problem, self.algorithm, self.seed, options)
        except Infeasible:
            return None
        room = solution.headroom.value
        return solution if room is None or room >= self.headroom else None


def plan(
    demand: Demand,
    shapes: Sequence[NodeShape] = (),
    seed: int = DEFAULT_SEED,
    algorithm: str = DEFAULT_ALGORITHM,
) -> CapacityPlan:
    """Return the cheapest plan; without shapes, on the problem's own nodes.

    Parameters
    ----------
    algorithm : str
        By which executors will be placed. `cut` takes own nodes from the largest; of another, which
        may take any, the plan counts on the smallest.

    Raises
    ------
    Infeasible
        As many nodes as there are do not carry it; names what binds.
    """
    placing = _Placing(algorithm, seed, demand.headroom)
    chosen = _cheapest(demand, shapes, placing) if shapes else _on_own(demand, placing)
    if chosen.count == chosen.offer.most:
        return chosen.plan
    one_more = _on(demand, chosen.offer, chosen.count + 1)
    return replace(chosen.plan, more=placing.carried(one_more))


def _cheapest(demand: Demand, shapes: Sequence[NodeShape], placing: _Placing) -> _PricedPlan:
    choices, refusals = [], []
    for shape in shapes:
        try:
            choices.append(_fewest(demand, _alone(shape), placing))
        except Infeasible as refusal:
            refusals.append(refusal)
    if not choices:
        if len(shapes) == 1:
            raise refusals[0]
        together = _fewest(demand, _together(shapes), placing)
        return together.with_plan(least=_least_of_any(demand, shapes))
    best, *others = sorted(
        choices, key=lambda each: (each.plan.cost_per_hour or 0.0, each.plan.nodes)
    )
    if mixed := _mixed(demand, best, shapes, placing):
        return mixed.with_plan(others=tuple(each.plan for each in (best, *others)))
    return best.with_plan(others=tuple(each.plan for each in others))


def _on_own(demand: Demand, placing: _Placing) -> _PricedPlan:
    largest_first = sorted(demand.problem.nodes, key=_size)
    best = _in_order(largest_first)
    if placing.chooses:
        return _fewest(demand, best, placing)
    choice = _fewest(demand, _in_order(largest_first[::-1]), placing)
    return choice.with_plan(least=_proven_least(demand, best) or choice.plan.least)


def _in_order(nodes: Sequence[Node]) -> _Offer:
    return _Offer(len(nodes), lambda count: tuple(nodes[:count]))


def _size(node: Node | NodeShape) -> tuple[float, float]:
    unknown = float("inf")
    cpu, memory = (unknown if each is None else each for each in (node.cpu_percent, node.memory_mb))
    return -cpu, -memory


def _alone(shape: NodeShape) -> _Offer:
    name = f" of {shape.name}"
    return _Offer.of(shape.at_most, lambda count: ((shape, count),), name, of_one_shape=True)


def _together(shapes: Sequence[NodeShape]) -> _Offer:
    """Return the nodes of all shapes, the largest first."""
    largest_first = sorted(shapes, key=_size)

    def taken(count: int) -> Iterator[tuple[NodeShape, int]]:
        for shape in largest_first:
            if number := min(count, shape.at_most):
                yield shape, number
            count -= number

    most = min(MAX_NODES, sum(shape.at_most for shape in shapes))
    return _Offer.of(most, lambda count: tuple(taken(count)), " of all shapes")


def _mixed(
    demand: Demand, best: _PricedPlan, shapes: Sequence[NodeShape], placing: _Placing
) -> _PricedPlan | None:
    """Return a cheaper plan in which nodes of another shape stand for some, None if none is found.

    One node makes room, two, four, and so on, and all but one: up to ``shapes x log(nodes)`` plans
    are made.
    """
    ((shape, count),) = best.plan.shapes
    chosen = best
    some = {1, *(count - 2**power for power in range(count.bit_length()))} - {0, count}
    for kept in sorted(some, reverse=True):
        for other in shapes:
            price, cost = other.price_per_hour, chosen.plan.cost_per_hour
            if other is shape or not price or cost is None:
                continue
            left = cost - kept * (shape.price_per_hour or 0.0)
            most = min(other.at_most, math.ceil(left / price - ROUNDING) - 1)
            if most < 1:
                continue
            both = partial(_beside, (shape, kept), other)
            offer = _Offer.of(most, both, of_one_shape=True)
            with suppress(Infeasible):
                chosen = _fewest(demand, offer, placing)
    return None if chosen is best else chosen.with_plan(least=_least_of_any(demand, shapes))


def _beside(kept: tuple[NodeShape, int], other: NodeShape, count: int) -> Counts:
    """Return both, the larger shape first."""
    return tuple(sorted((kept, (other, count)), key=lambda each: _size(each[0])))


def _least_of_any(demand: Demand, shapes: Sequence[NodeShape]) -> int:
    """Return the fewest nodes that are not proven too few, were each as good as all shapes are."""

    def most(values: Iterable[float | None]) -> float | None:
        known = list(values)
        return None if None in known else max(each or 0.0 for each in known)

    ideal = NodeShape(
        "ideal",
        most(shape.cpu_percent for shape in shapes),
        most(shape.memory_mb for shape in shapes),
        max(shape.ports for shape in shapes),
        Link(most(shape.link.out for shape in shapes), most(shape.link.into for shape in shapes)),
        at_most=min(MAX_NODES, sum(shape.at_most for shape in shapes)),
    )
    return _proven_least(demand, _alone(ideal)) or ideal.at_most


def _fewest(demand: Demand, offer: _Offer, placing: _Placing) -> _PricedPlan:
    """Return the plan with the fewest nodes found: ever larger steps up, then halved."""

    def on(count: int) -> Problem:
        return _on(demand, offer, count)

    most = offer.useful(demand.problem.executor_count)
    rates = f"these rates at {demand.utilisation:.0%} of what they have"
    least = _proven_least(demand, offer)
    if least is None:
        why = f"no placement on {offer.most} nodes{offer.name} carries {rates}, as proven"
        raise Infeasible(why, "head-room")
    below, count, step = least - 1, least, 1
    while (solution := placing.carried(on(count))) is None:
        if count == most:
            why = f"no placement found on {offer.most} nodes{offer.name} for {rates}"
            raise Infeasible(why, "head-room")
        below, count, step = count, min(most, count + step), step * 2
    while count - below > 1:
        middle = (below + count) // 2
        better = placing.carried(on(middle))
        if better is None:
            below = middle
        else:
            count, solution = middle, better
    return _PricedPlan(CapacityPlan(on(count), solution, least, offer.shapes(count)), offer, count)


def _on(demand: Demand, offer: _Offer, count: int) -> Problem:
    return replace(demand.problem, nodes=offer.nodes(count))


def _proven_least(demand: Demand, offer: _Offer) -> int | None:
    """Return the fewest nodes that are not proven to be too few, None if all are too few."""
    most = offer.useful(demand.problem.executor_count)
    if _is_too_small(_on(demand, offer, most), demand.headroom):
        return None
    below, count = 0, most
    while count - below > 1:
        middle = (below + count) // 2
        if _is_too_small(_on(demand, offer, middle), demand.headroom):
            below = middle
        else:
            count = middle
    return count


def _is_too_small(problem: Problem, headroom: float) -> bool:
    """Return whether it is proven that no placement has so much head-room."""
    slots = sum(len(node.ports) for node in problem.nodes)
    if slots < len(problem.topologies):
        return True
    limits = [node.memory_mb for node in problem.nodes if node.ports]
    if None not in limits and problem.executor_memory.sum() > sum(each or 0.0 for each in limits):
        return True
    bound = headroom_bound(problem)
    return bound is not None and bound.headroom < headroom
