"""What has been decided for each topology so far, within one `decide`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stormcut.control.decide.decision import (
    KEPT,
    Action,
    Choice,
    Circumstance,
    Ground,
    Reason,
    Unused,
)
from stormcut.control.decide.earlier import Earlier
from stormcut.control.decide.improving import ProposedMove
from stormcut.control.decide.intended import Intended
from stormcut.model.cluster import RunningTopology, Worker
from stormcut.running.workload import Workload

Workers = tuple[Worker, ...]

#: Of a topology without executors.
IDLE = Choice(Action.DECLINE, Circumstance.NO_EXECUTORS, Ground.KEPT)


class Choices:
    """The choice for each topology; taking one puts its workers where they are intended.

    Parameters
    ----------
    misfits : mapping of str to str
        By topology id: why its profile is not used.
    """

    def __init__(
        self,
        intended: Intended,
        earlier: Earlier,
        loads: Mapping[str, Workload],
        misfits: Mapping[str, str],
        algorithm: str,
    ) -> None:
        self._intended = intended
        self._earlier = earlier
        self._loads = loads
        self._misfits = misfits
        self._algorithm = algorithm
        self._choices: dict[str, Choice] = {}

    def __getitem__(self, topology: RunningTopology) -> Choice:
        return self._choices.get(topology.id, IDLE)

    def take(self, topology: RunningTopology, choice: Choice) -> None:
        """Make a choice, unless it keeps what an earlier round has moved: that gave the reason."""
        present = self._intended.workers[topology.id]
        moves = choice.workers is not None and choice.workers != present
        is_moved = present != tuple(sorted(topology.assignment))
        if moves or topology.id not in self._choices or not is_moved:
            self._choices[topology.id] = choice
        if moves and choice.workers is not None:
            self._intended.put(topology.id, choice.workers)

    def place(self, topology: RunningTopology, choice: Choice) -> None:
        """Take what the algorithm answered for a topology that ran nowhere, or not whole."""
        measured = self._loads[topology.id].measured
        ground = Ground.MEASURED if measured else Ground.DECLARED
        self.take(topology, replace(choice, ground=ground, unused=self._unused(topology)))

    def move(self, topology: RunningTopology, move: ProposedMove) -> None:
        """Note why a topology was moved; one that was placed in this round was not running."""
        earlier = self._choices.get(topology.id)
        if earlier is not None and earlier.action is Action.PLACE:
            choice = replace(earlier, workers=move.workers, notes=move.notes)
        else:
            choice = Choice(
                Action.MOVE,
                move.reason,
                Ground.MEASURED,
                move.workers,
                KEPT if move.is_relief else self._algorithm,
                move.notes,
                self._unused(topology),
                move.now,
                move.then,
            )
        self._choices[topology.id] = choice

    def keep(self, topology: RunningTopology, reason: Reason) -> None:
        """Leave a measured topology where it shall run."""
        present = self._intended.workers[topology.id]
        algorithm, unused = self._earlier.algorithm(topology.id, present), self._unused(topology)
        kept = Choice(Action.KEEP, reason, Ground.MEASURED, present, algorithm, unused=unused)
        self.take(topology, kept)

    def as_planned(self, topology: RunningTopology, present: Workers) -> Choice:
        """Keep what was planned of an unmeasured topology; what was not is left to Storm."""
        reason, unused = Circumstance.UNMEASURED, self._unused(topology)
        earlier = self._choices.get(topology.id)
        planned = self._earlier.planned(topology.id)
        if earlier and earlier.workers:
            planned = earlier.workers
        if planned != present:
            nothing = Choice(Action.DECLINE, reason, Ground.KEPT, unused=unused)
            return self._earlier.late(topology) or nothing
        algorithm = self._earlier.algorithm(topology.id, present)
        return Choice(Action.KEEP, reason, Ground.KEPT, present, algorithm, unused=unused)

    def _unused(self, topology: RunningTopology) -> Unused:
        return Unused(self._misfits.get(topology.id, ""), self._earlier.no_way_back(topology))
