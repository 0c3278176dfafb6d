"""What the changes that wait would do: what runs, simulated as it is and as it would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stormcut.model.cluster import ClusterState, Slot, Worker
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.profile import Profile
from stormcut.running.machines import with_real_capacity
from stormcut.running.situation import running_problem
from stormcut.simulator.events import simulate
from stormcut.simulator.simulation import Simulation

#: A withheld change as `Brain.outlook` tells it.
Line = Mapping[str, Any]


@dataclass(frozen=True)
class SimulatedPlan:
    """Two simulations at the measured rates, of the topologies whose executors all run.

    ``now`` is None if there is no such topology yet.
    """

    now: Simulation | None
    then: Simulation


def simulate_plan(
    state: ClusterState,
    profiles: Mapping[str, Profile],
    withheld: Sequence[Line],
) -> SimulatedPlan:
    """Return what the cluster does now, and what it would do after these changes.

    Raises
    ------
    InvalidInput
        No topology would run whole.
    """
    then = _simulated(changed(state, withheld), profiles)
    if then is None:
        raise InvalidInput("nothing to simulate: no topology would run whole", "--simulate")
    return SimulatedPlan(_simulated(state, profiles), then)


def changed(state: ClusterState, withheld: Sequence[Line]) -> ClusterState:
    """Return a cluster in which topologies run where these changes would put them."""
    workers = {
        line["topology"]: tuple(
            Worker(Slot(node, port), tuple(tasks)) for node, port, tasks in line["workers"]
        )
        for line in withheld
        if line.get("workers")
    }
    topologies = tuple(
        replace(each, assignment=workers.get(each.id, each.assignment)) for each in state.topologies
    )
    return replace(state, topologies=topologies)


def _simulated(state: ClusterState, profiles: Mapping[str, Profile]) -> Simulation | None:
    whole = tuple(each for each in state.topologies if each.executors and not each.unassigned)
    if not whole:
        return None
    real = with_real_capacity(replace(state, topologies=whole), profiles)
    problem = running_problem(real, profiles)
    return simulate(problem, Placement(problem.current_slots()))
