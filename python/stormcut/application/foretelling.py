"""What the changes that wait would do: what runs, simulated as it is and as it would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stormcut.application.control.decide.situation import running_problem
from stormcut.model.cluster import ClusterState, Slot, Worker
from stormcut.model.network import Costs
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.profile import Profile
from stormcut.simulator.events import simulate
from stormcut.simulator.simulation import Simulation

#: A withheld change as `Brain.outlook` tells it.
Line = Mapping[str, Any]

#: Simulated seconds at most; shorter where two million tuples are executed before.
SECONDS = 60.0


@dataclass(frozen=True)
class Foretold:
    """Two simulations at the rates that were measured; ``now`` is None if executors run nowhere."""

    now: Simulation | None
    then: Simulation


def foretell(
    state: ClusterState,
    profiles: Mapping[str, Profile],
    withheld: Sequence[Line],
    costs: Costs | None = None,
) -> Foretold:
    """Return what the cluster does now, and what it would do after these changes.

    Raises
    ------
    InvalidInput
        It cannot be simulated, such as where nothing is measured.
    """
    then = _simulated(changed(state, withheld), profiles, costs)
    assert then is not None
    return Foretold(_simulated(state, profiles, costs), then)


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


def _simulated(
    state: ClusterState, profiles: Mapping[str, Profile], costs: Costs | None
) -> Simulation | None:
    problem = running_problem(state, profiles, costs=costs)
    slots = problem.current_slots()
    if (slots == UNASSIGNED).any():
        return None
    return simulate(problem, Placement(slots), seconds=SECONDS)
