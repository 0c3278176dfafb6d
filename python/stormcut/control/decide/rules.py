"""Whether a move is worth it: by the algorithm's own rule, or by the default one."""

from __future__ import annotations

from collections.abc import Mapping

from stormcut.control.decide.adviser import Adviser, Settings
from stormcut.control.decide.decision import BreaksLimit, MoreHeadroom, Worth
from stormcut.control.decide.memory import Memory
from stormcut.control.decide.pace import Joint, Pace
from stormcut.control.decide.worth import WorthVerdict, verdict
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.model.profile import Profile
from stormcut.placement.acceptance import Acceptance, MoveTiming, NoMove, lessens
from stormcut.placement.registry import algorithm, parse_options


class Rules:
    """The rules of a brain's settings, in view of what time has passed.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By topology id.
    """

    def __init__(
        self,
        settings: Settings,
        adviser: Adviser,
        pace: Pace,
        memory: Memory,
        profiles: Mapping[str, Profile],
    ) -> None:
        chosen = algorithm(settings.algorithm)
        self._own: Acceptance | None = chosen.acceptance
        self._options = parse_options(chosen, settings.options) if self._own else None
        self._least, self._adviser = settings.min_gain, adviser
        self._pace, self._memory, self._profiles = pace, memory, profiles

    @property
    def are_own(self) -> bool:
        """Whether the algorithm brings its rule; the default one then decides nothing."""
        return self._own is not None

    def default(self, now: Worth, then: Worth) -> WorthVerdict:
        """Return whether what is gained is worth a move."""
        return verdict(now, then, self._least, self._adviser.enough(now))

    def gains_room(self, now: Worth, then: Worth) -> bool:
        """Return whether a move would be worth it for head-room."""
        return isinstance(self.default(now, then).reason, MoreHeadroom)

    def worth_mending(
        self, broken: BreaksLimit | None, now: Worth, then: Worth
    ) -> BreaksLimit | None:
        """Return a broken limit, None if it is of CPU and a move would not gain head-room.

        A node that is full slows its executors down; that it is over its limit by what
        measurements are off, or stays about as full, is worth no restart.
        """
        if broken is None or broken.violation.constraint != "cpu":
            return broken
        return broken if self.gains_room(now, then) else None

    def is_relieved(self, broken: BreaksLimit, now: Worth, then: Worth) -> bool:
        """Return whether it is enough that what must leave a node leaves it."""
        return then.headroom >= 1 and self.worth_mending(broken, now, then) is not None

    def is_enough(self, now: Worth) -> bool:
        """Return whether no placement could be worth more."""
        return now.travels == 0 and now.headroom >= self._adviser.enough(now)

    def loses(self, now: Worth, then: Worth) -> bool:
        """Return whether head-room that counts is lost."""
        enough = self._adviser.enough(now)
        return min(then.headroom, enough) < min(now.headroom, enough) * (1 - 1e-9)

    def own(
        self, joint: Joint, problem: Problem, present: Placement, proposed: Placement
    ) -> WorthVerdict:
        """Return whether running topologies that are one problem shall move by the own rule.

        What called for the move must be less severe after it, whatever the rule says.

        Parameters
        ----------
        joint : tuple of str
            Their ids, ascending; all have a profile.
        """
        assert self._own is not None
        condition = self._own.condition(problem, present, proposed, self._options)
        measured = tuple(self._profiles[name].to_epoch_s for name in joint)
        held = self._memory.held(joint, measured, condition, self._pace.changed_at(joint))
        moment = MoveTiming(self._pace.since_change(joint), held)
        verdict = self._own.verdict(problem, present, proposed, moment, self._options)
        then = self._own.condition(problem, proposed, proposed, self._options)
        if verdict.accepts and condition and not lessens(condition, then):
            return WorthVerdict(False, NoMove.LESSENS_NOTHING)
        return WorthVerdict(verdict.accepts, verdict.reason)
