"""What the brain decides of a topology, and why, as values; `wording` makes sentences of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from stormcut.model.cluster import Slot, Worker
from stormcut.placement import acceptance

if TYPE_CHECKING:
    # Decisions are kept and shown by commands that need no arrays.
    from stormcut.objective.headroom import Bottleneck
    from stormcut.objective.metrics import Metrics
    from stormcut.objective.verify import Violation

#: What is saved must be so many standard deviations: the best of many places looks better than it
#: is, by what chance has counted.
SURE = 3.0
#: The algorithm of what no plan has placed.
KEPT = "kept"


class Action(Enum):
    """What becomes of a topology."""

    KEEP = "keep"
    MOVE = "move"
    PLACE = "place"
    #: Back to where it ran before a plan.
    UNDO = "undo"
    #: Storm's default scheduler decides.
    DECLINE = "decline"


class Ground(Enum):
    """What a decision rests on."""

    MEASURED = "measured"
    DECLARED = "declared"
    #: What runs, or the last plan.
    KEPT = "kept"
    #: An order to go back.
    UNDONE = "undone"


@dataclass(frozen=True)
class Evidence:
    """What was known of a topology, and what of it was used.

    ``profile`` is the last second measured of its profile, None without one that fits: figures are
    then of declared structure. ``uses_traffic`` is whether the algorithm goes by traffic.
    """

    ground: Ground
    profile: int | None = None
    uses_traffic: bool = True

    @property
    def measured(self) -> bool:
        """Whether figures are of measured traffic."""
        return self.profile is not None


class Circumstance(Enum):
    """A reason without numbers."""

    #: Some of its executors run nowhere.
    INCOMPLETE = "incomplete"
    #: Some of its workers were lost; those that live stay as they are.
    LOST = "lost"
    #: Some of its workers were lost, and beside those that live there is no room for them.
    NO_ROOM = "no room for lost workers"
    #: Not measured yet: spread over as many workers as it asks for, as Storm would.
    SPREAD = "spread"
    AS_PLANNED = "as planned"
    UNMEASURED = "unmeasured"
    #: A supervisor is away, its workers run on.
    AWAY = "away"
    #: The last plan came too late for Nimbus's deadline.
    TOO_LATE = "too late"
    #: Runs where a person ordered it back to.
    UNDONE = "undone"
    #: Stays where it ran when a person ordered that.
    STOPPED = "stopped"
    #: Runs where it did before a move that turned out worse.
    TAKEN_BACK = "taken back"
    #: Stays where it runs, as a guard withholds what would become of it.
    STAYS = "stays"
    NO_EXECUTORS = "no executors"
    NOTHING_TRAVELS = "nothing travels"
    #: It has done as an earlier plan for this profile says.
    NOTHING_BETTER = "nothing better"
    #: The round has no time to seek a better place.
    LATER = "later"


@dataclass(frozen=True)
class Worth:
    """What a placement of one topology is worth on the nodes that the others leave to it.

    ``travels`` is what goes between nodes, in ``unit``: bytes where tuples' sizes were measured;
    ``deviation`` is its standard deviation, as tuples come by chance while they are counted;
    ``noise`` is that of the head-room, as a share of it, as loads are known no better. ``burden``
    is what travelling takes: of the CPU of the nodes in use, or of the fullest link, if that is
    more, as a share. ``reached`` is what the sources of each topology would reach in tuples/s, if
    they sent as fast as tuples are acknowledged; empty where no full node holds them back now, or
    where the model cannot tell.
    """

    headroom: float
    bottleneck: Bottleneck | None
    travels: float
    unit: str
    deviation: float = 0.0
    noise: float = 0.0
    burden: float = 0.0
    reached: tuple[float, ...] = ()


@dataclass(frozen=True)
class NoPlacement:
    """The algorithm found none."""

    error: str


@dataclass(frozen=True)
class BreaksLimit:
    """Where it runs it breaks a limit now."""

    violation: Violation


@dataclass(frozen=True)
class MoreHeadroom:
    """A move gains head-room."""

    now: Worth
    then: Worth


@dataclass(frozen=True)
class LessTraffic:
    """A move takes traffic from between nodes."""

    now: Worth
    then: Worth


@dataclass(frozen=True)
class LessHeadroom:
    """A move would cost head-room."""

    now: Worth
    then: Worth


@dataclass(frozen=True)
class LittleGained:
    """A move would raise the head-room by no more than noise in the profile may seem to."""

    now: Worth
    then: Worth
    chance: float


@dataclass(frozen=True)
class LittleReached:
    """A move would raise the head-room, and what sources reach by less than the share ``least``."""

    now: Worth
    then: Worth
    least: float

    @property
    def growth(self) -> float:
        """How many times what it reaches now the topology would reach that gains most.

        Infinite where the model cannot tell of either.
        """
        pairs = zip(self.now.reached, self.then.reached, strict=False)
        return max((then / now if now > 0 else math.inf for now, then in pairs), default=math.inf)


@dataclass(frozen=True)
class LittleSaved:
    """A move would save less than the share ``least`` of what travels, or no more than chance."""

    now: Worth
    then: Worth
    least: float

    @property
    def share(self) -> float:
        """What would be saved, as a share of what travels now."""
        saved = max(self.now.travels - self.then.travels, 0.0)
        return saved / self.now.travels if self.now.travels > 0 else 0.0

    @property
    def chance(self) -> float:
        """What chance alone may seem to save, as a share of what travels now."""
        most = SURE * math.hypot(self.now.deviation, self.then.deviation)
        return most / self.now.travels if self.now.travels > 0 else 0.0


@dataclass(frozen=True)
class Together:
    """A move that pays with those of others; ``whole`` says why, of all that share a problem."""

    others: tuple[str, ...]
    whole: Reason


class Guard(Enum):
    """What can stand between a change and Nimbus; the value says it in words."""

    PINNED = "pinned: its rule says never to move it"
    NEVER = "the policy never moves what runs"
    DRAINED = "it would use a node that is drained, excluded, silent or on probation"
    ADVICE = "advise mode: will not act"
    APPROVAL = "waits for approval"
    SILENT = "workers have fallen silent"
    CONTRADICTED = "what is measured contradicts the model"
    PAUSED = "paused"
    QUIET = "quiet hours"
    COOL_DOWN = "cool-down: it moved a short while ago"
    DWELL = "it moved less than a minute ago"
    DEAR = "its restarts would cost more than it gains"
    STAGE = "another move is under way"
    ROUND = "as many workers as may restart in a round"
    NODE = "as many workers as may restart on a node in a round"
    HOUR = "as many workers as may restart within an hour"
    OTHERS = "it needs room that others do not leave yet"
    REST = "its spouts rest first"

    @property
    def key(self) -> str:
        """Its name in documents and orders."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Pay:
    """What a move gains and costs, in seconds of the topology's work."""

    gain_s: float
    cost_s: float

    @property
    def pays(self) -> bool:
        """Whether no less is gained than it costs."""
        return self.gain_s >= self.cost_s


@dataclass(frozen=True)
class Withheld:
    """A change that is not made now; after ``left_s`` seconds it may be, infinite: not by time.

    ``is_final``: it is not made at all as long as the guard stands, however long that is.
    """

    guard: Guard
    proposed: Decision
    left_s: float = math.inf
    pay: Pay | None = None
    is_final: bool = False


Reason = (
    Circumstance
    | Withheld
    | NoPlacement
    | BreaksLimit
    | MoreHeadroom
    | LessTraffic
    | LessHeadroom
    | LittleGained
    | LittleReached
    | LittleSaved
    | acceptance.Ground
    | Together
)


class Obstacle(Enum):
    """Why a topology cannot run on workers chosen earlier."""

    OTHER_EXECUTORS = "other executors"
    SLOT_GONE = "slot gone"
    SLOT_TAKEN = "slot taken"
    DRAINED = "drained"
    EXCLUDED = "excluded"


@dataclass(frozen=True)
class InTheWay:
    """What is in the way of workers chosen earlier, and in which slot.

    The slot's ``node`` is the name of its host, the supervisor's id where that has gone.
    """

    obstacle: Obstacle
    slot: Slot | None = None


@dataclass(frozen=True)
class Unused:
    """What cannot be used of what is known of a topology.

    ``misfit`` is why its profile does not fit, empty if it does; ``no_way_back`` why an order to go
    back cannot be followed.
    """

    misfit: str = ""
    no_way_back: InTheWay | None = None


@dataclass(frozen=True)
class Choice:
    """Workers that a topology shall have, None if the brain has no opinion, and why.

    ``notes`` are the algorithm's; ``now`` and ``then`` are None where they were not weighed.
    """

    action: Action
    reason: Reason
    ground: Ground
    workers: tuple[Worker, ...] | None = None
    algorithm: str = KEPT
    notes: tuple[str, ...] = ()
    unused: Unused = Unused()
    now: Worth | None = None
    then: Worth | None = None


@dataclass(frozen=True)
class PlacementFigures:
    """A placement's figures: tuples/s and bytes/s between nodes, nodes, workers, slots changed.

    Bytes are None where no size of a tuple was measured, ``worth`` where it was not weighed.
    """

    metrics: Metrics
    bytes_per_second: float | None
    worth: Worth | None = None


@dataclass(frozen=True)
class Decision:
    """One topology's part of a plan: what was chosen for it, on which evidence, to what effect.

    ``before`` is None where it did not run whole, ``after`` if it is declined. ``former`` is where
    it ran whole if it is to leave that, else empty; ``workers_asked`` is its ``topology.workers``,
    and ``workers_policy`` what the algorithm was told of that number, None if it takes no word.
    """

    topology: str
    choice: Choice
    evidence: Evidence
    before: PlacementFigures | None = None
    after: PlacementFigures | None = None
    workers_asked: int = 0
    workers_policy: str | None = None
    former: tuple[Worker, ...] = ()

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The workers that it shall have, none if it is declined."""
        return self.choice.workers or ()


@dataclass(frozen=True)
class Decisions:
    """Every topology is in exactly one of the two, in the order of their ids."""

    decided: tuple[Decision, ...]
    declined: tuple[Decision, ...]

    @property
    def again_in(self) -> float:
        """In how many seconds time alone may change a decision, infinite if it changes none."""
        pauses = (
            reason.left if isinstance(reason, acceptance.Pause) else reason.left_s
            for decision in (*self.decided, *self.declined)
            if isinstance(reason := decision.choice.reason, acceptance.Pause | Withheld)
        )
        waits = any(each.choice.reason is Circumstance.LATER for each in self.decided)
        return 0.0 if waits else min(pauses, default=math.inf)
