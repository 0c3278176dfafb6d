"""Better places for what runs: sought for topologies together or one alone, judged, and taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from stormcut.control.decide.adviser import Adviser
from stormcut.control.decide.decision import (
    Circumstance,
    LessHeadroom,
    NoPlacement,
    Reason,
    Together,
    Worth,
)
from stormcut.control.decide.intended import Intended, Workers
from stormcut.control.decide.pace import Joint
from stormcut.control.decide.relief import relieved
from stormcut.control.decide.rules import Rules
from stormcut.control.decide.worth import worth
from stormcut.model.cluster import RunningTopology
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.objective.verify import violations
from stormcut.running.situation import Situation


@dataclass(frozen=True)
class ProposedMove:
    """Other workers for a topology, why, and what its placements are worth.

    ``is_relief``: only what must leave moves, and the decision seeks nothing better for the rest.
    """

    workers: Workers
    reason: Reason
    notes: tuple[str, ...]
    now: Worth
    then: Worth
    is_relief: bool = False


@dataclass(frozen=True)
class _Relief:
    """Where topologies run once those workers have left that must, and what that is worth."""

    workers: Mapping[str, Workers]
    worth: Worth


class Improving:
    """Moves topologies that run to where they are worth more.

    Parameters
    ----------
    intended : Intended
        Where all run; what is moved is put there.
    rules : Rules
        What a move must be worth.
    later : collection of tuple of str
        Problems for which nothing new is sought, unless a limit is broken.
    """

    def __init__(
        self, intended: Intended, adviser: Adviser, rules: Rules, later: Collection[Joint]
    ) -> None:
        self._intended = intended
        self._adviser = adviser
        self._rules = rules
        self._later = later

    def by_own_rule(
        self, topologies: Sequence[RunningTopology], settled: Reason | None
    ) -> Mapping[str, ProposedMove] | Reason:
        """Move topologies, as one problem, if the algorithm's own rule says so; else say why not.

        Parameters
        ----------
        settled : Reason, optional
            Why they stay as long as they break no limit.
        """
        names = [topology.id for topology in topologies]
        situation = self._intended.on_all_nodes(names)
        now = Placement(situation.problem.current_slots())
        broken = self._intended.broken_limit(names, situation, now)
        if settled and not broken:
            return settled
        try:
            advice = self._adviser.advice(topologies, situation)
        except Infeasible as error:
            return NoPlacement(str(error))
        proposed = situation.placement(advice.workers)
        broken = self._rules.worth_mending(
            broken, worth(situation, now), worth(situation, proposed)
        )
        if settled and not broken:
            return settled
        judged = self._rules.own(tuple(names), situation.problem, now, proposed)
        if not broken and not judged.moves:
            return judged.reason
        if broken and not judged.moves and (relief := self._relief(topologies, situation)):
            return self._relieve(relief, broken)
        then = dict(zip(names, advice.workers, strict=True))
        before = {n: self._worth(n) for n in names if then[n] != self._intended.workers[n]}
        if not before:
            return Circumstance.NOTHING_BETTER
        self._put(then)
        reason = broken or judged.reason
        return {
            name: ProposedMove(
                then[name], _with(before, name, reason), advice.notes, its, self._worth(name)
            )
            for name, its in before.items()
        }

    def alone(
        self, topology: RunningTopology, settled: Reason | None, others: Sequence[str]
    ) -> ProposedMove | Reason:
        """Move one topology if that pays; else return why not.

        Parameters
        ----------
        settled : Reason, optional
            Why it stays as long as it breaks no limit.
        others : sequence of str
            Those that it is placed together with: their head-room must not pay for the move.
        """
        name = topology.id
        here = self._intended.where_it_runs(name)
        now = Placement(here.problem.current_slots())
        broken = self._intended.broken_limit((name,), here, now)
        if settled and not broken:
            return settled
        if not broken and self._is_later((name,)):
            return Circumstance.LATER
        before = worth(here, now)
        if not broken and self._rules.is_enough(before):
            return Circumstance.NOTHING_TRAVELS
        situation = self._intended.on_all_nodes((name,))
        relief = self._relief((topology,), situation) if broken else None
        if broken and relief and self._rules.is_relieved(broken, before, relief.worth):
            return self._relieve(relief, broken)[name]
        try:
            advice = self._adviser.advice((topology,), situation)
        except Infeasible as error:
            return NoPlacement(str(error))
        then = situation.placement(advice.workers)
        after = worth(situation, then)
        judged = self._rules.default(before, after)
        broken = self._rules.worth_mending(broken, before, after)
        if not broken and not judged.moves:
            return judged.reason
        if broken and relief and not self._rules.gains_room(relief.worth, after):
            return self._relieve(relief, broken)[name]
        (workers,) = advice.workers
        if not broken and (lost := self._lost((name, *others), {name: workers})):
            return lost
        self._intended.put(name, workers)
        reason = broken or judged.reason
        return ProposedMove(workers, reason, advice.notes, before, after)

    def together(
        self, topologies: Sequence[RunningTopology], is_settled: bool
    ) -> Mapping[str, ProposedMove]:
        """Move topologies, as one problem, if that pays for them as a whole; return those moved.

        One stays if the others can have their places all the same, the cluster keeps its
        head-room, and its own move would not be worth it.

        Parameters
        ----------
        is_settled : bool
            Whether nothing is to be sought as long as no limit is broken.
        """
        names = [topology.id for topology in topologies]
        situation = self._intended.on_all_nodes(names)
        now = Placement(situation.problem.current_slots())
        broken = self._intended.broken_limit(names, situation, now)
        if not broken and (is_settled or self._is_later(tuple(names))):
            return {}
        before = worth(situation, now)
        if not broken and self._rules.is_enough(before):
            return {}
        relief = self._relief(topologies, situation) if broken else None
        if broken and relief and self._rules.is_relieved(broken, before, relief.worth):
            return self._relieve(relief, broken)
        try:
            advice = self._adviser.advice(topologies, situation)
        except Infeasible:
            return {}
        after = worth(situation, situation.placement(advice.workers))
        judged = self._rules.default(before, after)
        broken = self._rules.worth_mending(broken, before, after)
        if not broken and not judged.moves:
            return {}
        if broken and relief and not self._rules.gains_room(relief.worth, after):
            return self._relieve(relief, broken)
        was = {name: self._intended.workers[name] for name in names}
        then = dict(zip(names, advice.workers, strict=True))
        own = {name: self._worth(name) for name in names if then[name] != was[name]}
        self._put(then)
        self._spare(situation, own, was)
        spared = self._rules.default(before, worth(situation, self._placed(situation, names)))
        if spared.moves:
            judged = spared
        elif not broken:
            self._put(then)
        whole = broken or judged.reason
        return self._moves(
            [n for n in own if self._intended.workers[n] != was[n]], own, whole, advice.notes
        )

    def _is_later(self, names: Joint) -> bool:
        """Return whether a better place is not known, and sought in a later round."""
        return names in self._later and not self._adviser.knows(
            names, lambda: self._intended.on_all_nodes(names).problem
        )

    def _moves(
        self,
        names: Sequence[str],
        before: Mapping[str, Worth],
        whole: Reason,
        notes: tuple[str, ...],
    ) -> Mapping[str, ProposedMove]:
        """Return the moves of topologies that were moved together."""
        moves = {}
        for name in names:
            now, then, reason = before[name], self._worth(name), whole
            if len(names) > 1:
                reason = _with(names, name, whole)
            elif (own := self._rules.default(now, then)).moves:
                reason = own.reason
            moves[name] = ProposedMove(self._intended.workers[name], reason, notes, now, then)
        return moves

    def _relief(
        self, topologies: Sequence[RunningTopology], situation: Situation
    ) -> _Relief | None:
        """Return where topologies run once those workers have left that must, None without room.

        Where that carries the rates no better place is sought: that is another move, which guards
        may hold.
        """
        was = {topology.id: self._intended.workers[topology.id] for topology in topologies}
        then = dict(was)
        try:
            for topology in topologies:
                name = topology.id
                workers = relieved(topology, self._intended.on_all_nodes((name,)), was[name])
                if workers is None:
                    return None
                then[name] = workers
                self._intended.put(name, workers)
        finally:
            self._put(was)
        placement = situation.placement(list(then.values()))
        if then == was or violations(situation.problem, placement):
            return None
        return _Relief(then, worth(situation, placement))

    def _relieve(self, relief: _Relief, broken: Reason) -> Mapping[str, ProposedMove]:
        """Move those that have to leave."""
        was = self._intended.workers
        leaving = {name: its for name, its in relief.workers.items() if its != was[name]}
        before = {name: self._worth(name) for name in leaving}
        self._put(leaving)
        return {
            name: ProposedMove(
                its, _with(leaving, name, broken), (), before[name], self._worth(name), True
            )
            for name, its in leaving.items()
        }

    def _put(self, workers: Mapping[str, Workers]) -> None:
        for name, its in workers.items():
            self._intended.put(name, its)

    def _worth(self, topology: str) -> Worth:
        """Return what a topology's place is worth on what the others leave."""
        here = self._intended.where_it_runs(topology)
        return worth(here, Placement(here.problem.current_slots()))

    def _placed(self, situation: Situation, names: Sequence[str]) -> Placement:
        return situation.placement([self._intended.workers[name] for name in names])

    def _spare(
        self, situation: Situation, moved: Mapping[str, Worth], was: Mapping[str, Workers]
    ) -> None:
        """Put back each that was moved and need not be."""
        for name in moved:
            there, then = self._intended.workers[name], self._worth(name)
            whole = worth(situation, self._placed(situation, [*was]))
            self._intended.put(name, was[name])
            placed = self._placed(situation, [*was])
            if (
                violations(situation.problem, placed)
                or self._rules.loses(whole, worth(situation, placed))
                or self._rules.default(self._worth(name), then).moves
            ):
                self._intended.put(name, there)

    def _lost(self, names: Sequence[str], moved: Mapping[str, Workers]) -> Reason | None:
        """Return what head-room a move would cost those that are placed together, None if none."""
        if len(names) < 2:
            return None
        situation = self._intended.on_all_nodes(names)
        then = [moved.get(name, self._intended.workers[name]) for name in names]
        before, after = (
            worth(situation, self._placed(situation, names)),
            worth(situation, situation.placement(then)),
        )
        return LessHeadroom(before, after) if self._rules.loses(before, after) else None


def _with(names: Iterable[str], name: str, whole: Reason) -> Reason:
    """Return why one of several was moved."""
    others = tuple(each for each in names if each != name)
    return Together(others, whole) if others else whole
