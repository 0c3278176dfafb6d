"""Whether a move is worth it: by the algorithm's own rule, or by the default one."""

from __future__ import annotations

from collections.abc import Mapping

from stormcut.application.control.adviser import Settings
from stormcut.application.control.decision import Worth
from stormcut.application.control.pace import Joint, Pace
from stormcut.application.control.worth import Verdict, verdict
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.model.profile import Profile
from stormcut.placement.acceptance import Moment
from stormcut.placement.registry import algorithm, parse_options


class Rules:
    """The rule of a brain's settings, in view of what time has passed.

    Parameters
    ----------
    enough : float
        Of the default rule: head-room beyond which more does not count.
    profiles : mapping of str to Profile
        By topology id.

    Attributes
    ----------
    are_own : bool
        Whether the algorithm brings its rule.
    """

    def __init__(
        self, settings: Settings, enough: float, pace: Pace, profiles: Mapping[str, Profile]
    ) -> None:
        chosen = algorithm(settings.algorithm)
        self._own = chosen.acceptance
        self.are_own = self._own is not None
        self._options = parse_options(chosen, settings.options) if self._own else None
        self._least, self._enough = settings.min_gain, enough
        self._pace, self._profiles = pace, profiles

    def verdict(
        self,
        joint: Joint,
        problem: Problem,
        present: Placement,
        proposed: Placement,
        now: Worth,
        then: Worth,
    ) -> Verdict:
        """Return whether running topologies that are one problem shall move, and why.

        Parameters
        ----------
        joint : tuple of str
            Their ids, ascending.
        now, then : Worth
            Of the two placements, for the default rule.
        """
        if self._own is None:
            return verdict(now, then, self._least, self._enough)
        condition = self._own.condition(problem, present, proposed, self._options)
        measured = tuple(self._profiles[name].to_epoch_s for name in joint)
        held = self._pace.held(joint, measured, condition)
        moment = Moment(self._pace.since_change(joint), held)
        found = self._own.verdict(problem, present, proposed, moment, self._options)
        return Verdict(found.accepts, found.reason)
