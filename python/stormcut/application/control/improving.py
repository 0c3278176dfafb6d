"""Better places for what runs: sought for topologies together or one alone, judged, and taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stormcut.application.control.adviser import Adviser
from stormcut.application.control.decision import (
    BreaksLimit,
    Circumstance,
    LessHeadroom,
    NoPlacement,
    Reason,
    Together,
    Worth,
)
from stormcut.application.control.intended import Intended, Workers
from stormcut.application.control.situation import Situation
from stormcut.application.control.worth import Verdict, verdict, worth
from stormcut.model.cluster import RunningTopology
from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.objective.verify import violations


@dataclass(frozen=True)
class Move:
    """Other workers for a topology, why, and what its placements are worth."""

    workers: Workers
    reason: Reason
    notes: tuple[str, ...]
    now: Worth
    then: Worth


class Improving:
    """Moves topologies that run to where they are worth more.

    Parameters
    ----------
    intended : Intended
        Where all run; what is moved is put there.
    min_gain : float
        Least gain, a share.
    """

    def __init__(self, intended: Intended, adviser: Adviser, min_gain: float) -> None:
        self._intended = intended
        self._adviser = adviser
        self._min_gain = min_gain

    def alone(
        self, topology: RunningTopology, settled: Reason | None, others: Sequence[str]
    ) -> Move | Reason:
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
        broken = violations(here.problem, now)
        if settled and not broken:
            return settled
        before = worth(here, now)
        if not broken and self._is_enough(before):
            return Circumstance.NOTHING_TRAVELS
        at = self._intended.on_all_nodes((name,))
        try:
            found = self._adviser.advice((topology,), at)
        except Infeasible as error:
            return NoPlacement(str(error))
        then = at.placement(found.workers)
        after = worth(at, then)
        judged = self._judged(at, then, before, after)
        if not broken and not judged.moves:
            return judged.reason
        (workers,) = found.workers
        if not broken and (lost := self._lost((name, *others), {name: workers})):
            return lost
        self._intended.put(name, workers)
        reason = BreaksLimit(broken[0]) if broken else judged.reason
        return Move(workers, reason, found.notes, before, after)

    def together(
        self, topologies: Sequence[RunningTopology], is_settled: bool
    ) -> Mapping[str, Move]:
        """Move topologies, as one problem, if that pays for them as a whole; return those moved.

        One stays if the others can have their places all the same, the cluster keeps its
        head-room, and its own move would not be worth it.

        Parameters
        ----------
        is_settled : bool
            Whether nothing is to be sought as long as no limit is broken.
        """
        names = [topology.id for topology in topologies]
        at = self._intended.on_all_nodes(names)
        now = Placement(at.problem.current_slots())
        broken = violations(at.problem, now)
        if is_settled and not broken:
            return {}
        before = worth(at, now)
        if not broken and self._is_enough(before):
            return {}
        try:
            found = self._adviser.advice(topologies, at)
        except Infeasible:
            return {}
        then = dict(zip(names, found.workers, strict=True))
        proposed = at.placement(found.workers)
        judged = self._judged(at, proposed, before, worth(at, proposed))
        if not broken and not judged.moves:
            return {}
        was = {name: self._intended.workers[name] for name in names}
        own = {name: self._worth(name) for name in names if then[name] != was[name]}
        self._put(then)
        self._spare(at, own, was)
        left = self._placed(at, names)
        spared = self._judged(at, left, before, worth(at, left))
        if spared.moves:
            judged = spared
        elif not broken:
            self._put(then)
        whole = BreaksLimit(broken[0]) if broken else judged.reason
        return self._moves(
            [n for n in own if self._intended.workers[n] != was[n]], own, whole, found.notes
        )

    def _moves(
        self,
        names: Sequence[str],
        before: Mapping[str, Worth],
        whole: Reason,
        notes: tuple[str, ...],
    ) -> Mapping[str, Move]:
        """Return the moves of topologies that were moved together."""
        moves = {}
        for name in names:
            now, then, reason = before[name], self._worth(name), whole
            if len(names) > 1:
                reason = Together(tuple(each for each in names if each != name), whole)
            elif (own := self._verdict(now, then)).moves:
                reason = own.reason
            moves[name] = Move(self._intended.workers[name], reason, notes, now, then)
        return moves

    def _judged(self, at: Situation, then: Placement, before: Worth, after: Worth) -> Verdict:
        """Return whether a proposal is worth it: the one place where that is said.

        Parameters
        ----------
        at : Situation
            Of all for whom it is made; its problem says where they run now.
        then : Placement
            What is proposed.
        """
        return self._verdict(before, after)

    def _verdict(self, now: Worth, then: Worth) -> Verdict:
        return verdict(now, then, self._min_gain, self._adviser.enough)

    def _is_enough(self, now: Worth) -> bool:
        """Return whether no placement could be worth more."""
        return now.travels == 0 and now.headroom >= self._adviser.enough

    def _put(self, workers: Mapping[str, Workers]) -> None:
        for name, its in workers.items():
            self._intended.put(name, its)

    def _worth(self, topology: str) -> Worth:
        """Return what a topology's place is worth on what the others leave."""
        here = self._intended.where_it_runs(topology)
        return worth(here, Placement(here.problem.current_slots()))

    def _placed(self, at: Situation, names: Sequence[str]) -> Placement:
        return at.placement([self._intended.workers[name] for name in names])

    def _spare(self, at: Situation, moved: Mapping[str, Worth], was: Mapping[str, Workers]) -> None:
        """Put back each that was moved and need not be."""
        for name in moved:
            there, then = self._intended.workers[name], self._worth(name)
            whole = worth(at, self._placed(at, [*was]))
            self._intended.put(name, was[name])
            placed = self._placed(at, [*was])
            if (
                violations(at.problem, placed)
                or self._loses(whole, worth(at, placed))
                or self._verdict(self._worth(name), then).moves
            ):
                self._intended.put(name, there)

    def _loses(self, now: Worth, then: Worth) -> bool:
        """Return whether head-room that counts is lost."""
        enough = self._adviser.enough
        return min(then.headroom, enough) < min(now.headroom, enough) * (1 - 1e-9)

    def _lost(self, names: Sequence[str], moved: Mapping[str, Workers]) -> Reason | None:
        """Return what head-room a move would cost those that are placed together, None if none."""
        if len(names) < 2:
            return None
        at = self._intended.on_all_nodes(names)
        then = [moved.get(name, self._intended.workers[name]) for name in names]
        before, after = worth(at, self._placed(at, names)), worth(at, at.placement(then))
        return LessHeadroom(before, after) if self._loses(before, after) else None
