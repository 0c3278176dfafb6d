"""What a running cluster needs at other rates, and what to type for it, or why nobody knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote

import numpy as np

from stormcut.arrays import Bools
from stormcut.capacity.demand import Demand, Need, demand
from stormcut.capacity.evidence import costs_that_fit
from stormcut.capacity.options import UTILISATION
from stormcut.capacity.plan import CapacityPlan, NodeShape, plan
from stormcut.model.cluster import ClusterState, RunningTopology
from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.model.profile import Profile
from stormcut.objective.cut import executor_nodes
from stormcut.objective.headroom import headroom
from stormcut.objective.resources import CPU, EXECUTOR, uses
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.running.machines import with_real_capacity
from stormcut.running.situation import (
    named_by_host,
    running_problem,
    unmeasured,
)
from stormcut.running.workload import misfit

#: What was measured for less says little of rates and CPU.
MIN_SECONDS = 60
#: Fuller than this, a topology may be offered more than was measured of it.
NEARLY_FULL = 0.9

#: Storm's own executors are not asked for by name.
SYSTEM = "__"


@dataclass(frozen=True, eq=False)
class ScalingAdvice:
    """What topologies need, where it would run, and how to get there.

    ``commands`` are lines of Storm's own client; ``notes`` say what they cannot do, or what is not
    certain.
    """

    demand: Demand
    plan: CapacityPlan
    commands: tuple[str, ...]
    notes: tuple[str, ...]


def measured_problem(
    state: ClusterState,
    profiles: Mapping[str, Profile],
    topologies: Sequence[str],
    costs: Costs | None = None,
) -> Problem:
    """Return what runs, as measured, if the evidence of these topologies bears a plan.

    Its costs are those of `as_proven`.

    Raises
    ------
    InvalidInput
        One runs in part, or is not measured, or not for long enough; says which and why.
    """
    running = {topology.id: topology for topology in state.topologies}
    for name in topologies:
        if reason := _thin(running[name], profiles.get(name)):
            raise InvalidInput(f"no advice: {reason}", name)
    state = with_real_capacity(state, profiles, costs)
    problem = named_by_host(running_problem(state, profiles, costs=costs), state)
    return as_proven(problem, state, profiles)


def as_proven(problem: Problem, state: ClusterState, profiles: Mapping[str, Profile]) -> Problem:
    """Return a problem of what runs, by costs that fit it if all of it is measured."""
    if any(unmeasured(state, profiles, [topology.id for topology in problem.topologies])):
        return problem
    fitting = costs_that_fit(problem, Placement(problem.current_slots()))
    return replace(problem, costs=fitting) if fitting else problem


def _thin(running: RunningTopology, profile: Profile | None) -> str | None:
    """Return why what is known of a topology bears no plan, None if it does."""
    if running.unassigned:
        return f"{len(running.unassigned)} of its executors run nowhere"
    if profile is None:
        return "nothing is measured yet; the controller publishes a profile after a minute or two"
    if reason := misfit(profile, running):
        return f"what was measured does not fit what runs: {reason}"
    if profile.seconds < MIN_SECONDS:
        return f"it was measured for {profile.seconds} s; wait until it is {MIN_SECONDS} s"
    if not any(pair.tuples_per_second > 0 for pair in profile.traffic):
        return "no tuple was sent while it was measured"
    return None


def advise(
    state: ClusterState,
    problem: Problem,
    growth: Mapping[str, float],
    shapes: Sequence[NodeShape] = (),
    seed: int = 1,
    algorithm: str = DEFAULT_ALGORITHM,
    utilisation: float = UTILISATION,
) -> ScalingAdvice:
    """Return what topologies need whose rates grow by such factors.

    Parameters
    ----------
    problem : Problem
        Of `measured_problem`.
    algorithm : str
        By which executors will be placed.
    utilisation : float
        Part of every thread, CPU and link that may be used, above 0 and at most 1.

    Raises
    ------
    Infeasible
        The nodes that can be had do not carry it; says what binds.
    """
    wanted = demand(problem, growth, utilisation)
    chosen = plan(wanted, shapes, seed, algorithm)
    running = {topology.id: topology for topology in state.topologies}
    commands, notes = [], list(_cautions(problem))
    for name in growth:
        line, more = _rebalance(running[name], wanted.needs[name], chosen)
        commands += [line] if line else []
        notes += more
        if _workers(name, chosen) < len(running[name].assignment):
            notes.append(_fewer_workers(running[name], problem, chosen))
    return ScalingAdvice(wanted, chosen, tuple(commands), tuple(notes))


def _cautions(problem: Problem) -> Iterator[str]:
    room = headroom(problem, Placement(problem.current_slots()))
    if room.value is not None and room.value < 1 / NEARLY_FULL:
        yield (
            f"the {room.bottleneck} is {1 / room.value:.0%} in use: more may be offered already "
            "than was measured, and then the rates asked for are too low"
        )


def _rebalance(
    running: RunningTopology, needs: Mapping[str, Need], chosen: CapacityPlan
) -> tuple[str | None, list[str]]:
    """Return a line of `storm rebalance`, None if nothing changes, and what it cannot do."""
    tasks: Counter[str] = Counter()
    for executor in running.executors:
        tasks[executor.component] += executor.end_task - executor.start_task + 1
    parts, notes = [], []
    for name, need in needs.items():
        if need.planned == need.now or name.startswith(SYSTEM):
            continue
        if need.planned > tasks[name]:
            notes.append(
                f"{name} of {running.name} has {tasks[name]} tasks, which no rebalance changes: "
                f"for {need.planned} executors resubmit it with as many tasks"
            )
        if (most := min(need.planned, tasks[name])) > need.now:
            parts.append(f"-e {quote(f'{name}={most}')}")
    workers = _workers(running.id, chosen)
    if workers != len(running.assignment):
        parts.insert(0, f"-n {workers}")
    line = f"storm rebalance {quote(running.name)} {' '.join(parts)}"
    return line if parts else None, notes


def _fewer_workers(running: RunningTopology, problem: Problem, chosen: CapacityPlan) -> str:
    """Return what it would save, and risk, to run a topology on fewer workers than it has."""
    now = Placement(problem.current_slots())
    sides = ((problem, now), (chosen.problem, chosen.solution.placement))
    crossing = [f"{_crossing(*side):.1%}" for side in sides]
    most = [f"{_most_on_a_node(running.id, *side):.0%}" for side in sides]
    return (
        f"{running.name}: {_workers(running.id, chosen)} workers instead of "
        f"{len(running.assignment)} carry it; workers and transfer between them take "
        f"{crossing[1]} of the CPU used instead of {crossing[0]}, and losing one node stops up to "
        f"{most[1]} of its executors instead of {most[0]}"
    )


def _crossing(problem: Problem, placement: Placement) -> float:
    """Return which share of the CPU used goes to tuples that leave a worker, and to workers."""
    load = {use.kind: float(use.load.sum()) for use in uses(problem, placement)}
    return 1 - load[EXECUTOR] / load[CPU] if load[CPU] > 0 else 0.0


def _most_on_a_node(topology: str, problem: Problem, placement: Placement) -> float:
    """Return which share of a topology's executors is on the node with most of them."""
    nodes = executor_nodes(problem, placement)[_of(topology, problem)]
    return float(np.unique(nodes, return_counts=True)[1].max() / len(nodes))


def _workers(topology: str, chosen: CapacityPlan) -> int:
    """Return how many workers a plan has for a topology."""
    slots = chosen.solution.placement.slots[_of(topology, chosen.problem)]
    return len(set(slots.tolist()))


def _of(topology: str, problem: Problem) -> Bools:
    ordinal = [each.id for each in problem.topologies].index(topology)
    chosen: Bools = problem.executor_topology == ordinal
    return chosen
