"""What fewer workers than a topology asks for would save, and risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from stormcut.model.cluster import ClusterState
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, Problem
from stormcut.model.profile import Profile
from stormcut.objective.cut import executor_nodes
from stormcut.objective.headroom import headroom
from stormcut.objective.order import ENOUGH_ROOM
from stormcut.objective.resources import CPU, EXECUTOR, costs_of, uses
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.placement.solve import solve
from stormcut.running.machines import with_real_capacity
from stormcut.running.situation import fitting, running_problem

#: Part of its head-room, as far as that counts, that a topology must keep.
KEPT_ROOM = 0.95


@dataclass(frozen=True)
class FewerWorkers:
    """A topology that fewer workers would carry.

    ``saved_percent`` are the points of CPU that workers and transfer between them would save,
    ``of_node`` that as a share of its largest node; ``stops_now`` and ``stops_then`` which share of
    its executors stops with the node that has most of them.
    """

    topology: str
    now: int
    then: int
    saved_percent: float
    of_node: float
    stops_now: float
    stops_then: float

    def __str__(self) -> str:
        workers = f"{self.then} worker{'s' * (self.then != 1)}"
        return (
            f"{self.topology}: {workers} would carry it instead of {self.now}, and save "
            f"{self.saved_percent:,.0f} points of CPU, {self.of_node:.0%} of a node; a lost node "
            f"would then stop up to {self.stops_then:.0%} of its executors instead of "
            f"{self.stops_now:.0%}. `workers: pack` allows it"
        )


def find_fewer_workers(
    state: ClusterState, profiles: Mapping[str, Profile], costs: Costs | None = None
) -> Iterator[FewerWorkers]:
    """Yield topologies that fewer workers would carry with as much head-room, and save CPU.

    Each by itself, on what the others leave. What is not measured, or does not run whole, is left
    out.
    """
    state = with_real_capacity(state, profiles, costs)
    for running in state.topologies:
        if len(running.assignment) < 2 or running.unassigned or not fitting(profiles, running):
            continue
        problem = running_problem(state, profiles, running.id, costs)
        now = Placement(problem.current_slots())
        # Placed as always, but with any number of workers.
        then = solve(problem, DEFAULT_ALGORITHM, options={"workers": "any"}).placement
        sides = [_side(problem, placement) for placement in (now, then)]
        (workers, cpu, stops, room), (fewer, less, stops_then, room_then) = sides
        if fewer >= workers or less >= cpu or room_then < KEPT_ROOM * min(room, ENOUGH_ROOM):
            continue
        node = max((each.cpu_percent or CORE_PERCENT for each in problem.nodes), default=1.0)
        saved = cpu - less
        yield FewerWorkers(running.name, workers, fewer, saved, saved / node, stops, stops_then)


def _side(problem: Problem, placement: Placement) -> tuple[int, float, float, float]:
    """Return workers, CPU that executors do not take, share of the fullest node, head-room."""
    workers = len(np.unique(placement.slots))
    load = {use.kind: float(use.load.sum()) for use in uses(problem, placement)}
    idle = costs_of(problem).worker_percent * workers
    nodes = executor_nodes(problem, placement)
    most = float(np.unique(nodes, return_counts=True)[1].max() / len(nodes))
    room = headroom(problem, placement).value
    overhead = load[CPU] - load[EXECUTOR] + idle
    return workers, overhead, most, np.inf if room is None else room
