"""What a choice for a topology rests on, and what it changes there."""

from __future__ import annotations

from collections.abc import Mapping

from stormcut.control.decide.adviser import Adviser
from stormcut.control.decide.decision import (
    Action,
    Choice,
    Decision,
    Evidence,
    PlacementFigures,
    Worth,
)
from stormcut.model.cluster import ClusterState, RunningTopology
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.profile import Profile
from stormcut.objective.metrics import measure
from stormcut.running.situation import Situation, situation
from stormcut.running.usage import Usage
from stormcut.running.workload import Workload


class Effects:
    """Makes decisions of choices: their evidence, and figures before and after.

    Figures are those of the topology on empty nodes, whatever else runs there.
    """

    def __init__(
        self,
        state: ClusterState,
        loads: Mapping[str, Workload],
        profiles: Mapping[str, Profile],
        adviser: Adviser,
        costs: Costs | None,
    ) -> None:
        self._empty = Usage(state, costs)
        self._loads = loads
        self._profiles = profiles
        self._adviser = adviser
        self._costs = costs

    def decision(self, topology: RunningTopology, choice: Choice) -> Decision:
        """Return a choice with its evidence and figures."""
        evidence = self._evidence(topology, choice)
        if choice.workers is None:
            return Decision(topology.id, choice, evidence)
        workers, present = choice.workers, tuple(sorted(topology.assignment))
        used = {worker.slot.node for worker in (*workers, *present)}
        nodes = self._empty.left(only=used)
        alone = situation((self._loads[topology.id],), nodes, (present,), self._costs)
        whole = not topology.unassigned and not alone.problem.lost_slots
        now = Placement(alone.problem.current_slots())
        return Decision(
            topology.id,
            choice,
            evidence,
            _value(alone, now, choice.now) if whole else None,
            _value(alone, alone.placement((workers,)), choice.then),
            topology.workers,
            self._adviser.workers(topology),
            present if whole and workers != present else (),
        )

    def _evidence(self, topology: RunningTopology, choice: Choice) -> Evidence:
        load = self._loads.get(topology.id)
        measured = load is not None and load.measured
        profile = self._profiles[topology.id].to_epoch_s if measured else None
        if choice.action not in (Action.PLACE, Action.MOVE):
            return Evidence(choice.ground, profile)
        running = bool(topology.assignment)
        return Evidence(choice.ground, profile, self._adviser.uses_traffic(topology, running))


def _value(situation: Situation, placement: Placement, its_worth: Worth | None) -> PlacementFigures:
    content = situation.travels(placement) if situation.has_sizes else None
    return PlacementFigures(measure(situation.problem, placement), content, its_worth)
