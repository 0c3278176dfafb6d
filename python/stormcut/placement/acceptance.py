"""When a running placement gives way to another: what an algorithm's own rule says, and with what.

A rule is a module beside its algorithm, with the two functions of `Acceptance`. It sees a problem,
two placements and how much time has passed; it knows no clock and no names. What breaks a hard
limit is not its business: that moves whatever a rule says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Reasons are shown by commands that need no arrays.
    from stormcut.model.placement import Placement
    from stormcut.model.problem import Problem


class NoMove(Enum):
    """What the algorithm proposes is no answer."""

    STAYS = "the algorithm leaves it where it runs"
    LESSENS_NOTHING = "what the algorithm proposes would not lessen what calls for a move"


@dataclass(frozen=True)
class Skew:
    """The load of the busiest node, in means, and the most that is right."""

    node: str
    means: float
    most: float


@dataclass(frozen=True)
class Overuse:
    """The share in use of the node that is most above what is right (``most``)."""

    node: str
    share: float
    most: float


@dataclass(frozen=True)
class Imbalance:
    """How much more of the busiest node is in use than of the idlest, and the most allowed."""

    busiest: str
    idlest: str
    difference: float
    most: float


@dataclass(frozen=True)
class Saving:
    """Tuples/s between nodes now and then, and the least share of them that must go."""

    now: float
    then: float
    least: float

    @property
    def share(self) -> float:
        """What goes, as a share of what travels now; 0 if more travels then."""
        return max(self.now - self.then, 0.0) / self.now if self.now > 0 else 0.0

    @property
    def is_enough(self) -> bool:
        """Whether it is something, and no less than the least."""
        return self.then < self.now and self.now - self.then >= self.least * self.now


@dataclass(frozen=True)
class Pause:
    """Seconds since the last change was applied, and for how long there shall be no other."""

    since: float
    least: float

    @property
    def left(self) -> float:
        """Return in how many seconds it is over."""
        return self.least - self.since


@dataclass(frozen=True)
class Unconfirmed:
    """In how many measurements in a row the condition held, and in how many it must."""

    held: int
    least: int


#: What calls for another placement.
Condition = Skew | Overuse | Imbalance | Saving
#: Reasons that pass: the same question is to be asked again.
Passing = Pause | Unconfirmed
Ground = Condition | Passing | NoMove

#: Measures of conditions differ by less for no reason.
SLIGHT = 1e-9


@dataclass(frozen=True)
class MoveTiming:
    """What time adds to a question.

    ``since_change`` are the seconds since a change was applied to any of the problem's topologies,
    None if none is known; ``held`` is in how many measurements in a row, this one included, the
    condition held.
    """

    since_change: float | None = None
    held: int = 1


@dataclass(frozen=True)
class AcceptanceVerdict:
    """Whether a proposed placement replaces the present one, and why."""

    accepts: bool
    reason: Ground


class Acceptance(Protocol):
    """An algorithm's own trigger and rule; a module is one."""

    def condition(
        self, problem: Problem, present: Placement, proposed: Placement, options: Any
    ) -> Condition | None:
        """Return what calls for another placement, None if nothing does: the trigger."""
        ...

    def verdict(
        self,
        problem: Problem,
        present: Placement,
        proposed: Placement,
        moment: MoveTiming,
        options: Any,
    ) -> AcceptanceVerdict:
        """Return whether the proposed placement replaces the present one."""
        ...


def pause(moment: MoveTiming, least: float) -> Pause | None:
    """Return why it is too early for another change, None if it is not."""
    if moment.since_change is None or moment.since_change >= least:
        return None
    return Pause(moment.since_change, least)


def lessens(now: Condition, then: Condition | None) -> bool:
    """Return whether after a move what called for it is gone, or less severe.

    A rule that moves all the same may move executors back and forth for ever.
    """
    if then is None:
        return True
    (kind, measure), (kind_then, measure_then) = _severity(now), _severity(then)
    return kind_then < kind or (kind_then == kind and measure_then < measure - SLIGHT)


def _severity(condition: Condition) -> tuple[int, float]:
    match condition:
        case Skew():
            return 2, condition.means
        case Overuse():
            return 2, condition.share - condition.most
        case Imbalance():
            return 1, condition.difference
        case Saving():
            return 0, condition.now
