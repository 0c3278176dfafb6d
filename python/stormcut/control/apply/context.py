"""What one round is decided from, and what its steps share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from stormcut.control.decide.adviser import Recorder, Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import Decisions
from stormcut.control.decide.memory import Memory
from stormcut.control.decide.question import Question
from stormcut.control.gate.account import Account
from stormcut.control.gate.gate import Gate, GuardContext
from stormcut.control.observe.hearing import Heard
from stormcut.control.orders import NO_ORDERS, Orders, Undo
from stormcut.control.policy import Policy
from stormcut.control.review.reviews import Review
from stormcut.model.cluster import ClusterState, RunningTopology, Worker
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

#: Workers that topologies keep, by id.
Staying = Mapping[str, tuple[Worker, ...]]


@dataclass(frozen=True)
class Inputs:
    """What a round is decided from, beside what earlier ones have left.

    Parameters
    ----------
    state : ClusterState
        As Nimbus describes it.
    policy : Policy
    settings : Settings
        How to decide.
    now : float
        Seconds of a clock that never runs back.
    local : datetime
        The local time, for quiet hours.
    profiles, undos : mapping of str to Profile, Undo
        Measurements, and orders back, by topology id.
    orders : Orders
        What people have ordered beside.
    last_plan : Plan, optional
        The plan that the cluster was told last.
    plan_age_s : float
        How old it is, infinite where that is not known.
    reviews : tuple of Review
        What became of moves.
    heard : mapping of (str, str) to bool
        Whether the workers of a topology on a host are heard of.
    accounts : mapping of str to Account
        How topologies fare, by id.
    rested : collection of str
        Ids of the topologies whose spouts have come to rest, or need not.
    is_shown : bool
        Somebody looks at what could be approved: that takes three times as long.
    recorder : Recorder, optional
        Is told of every answer of the algorithm that is used.
    """

    state: ClusterState
    policy: Policy
    settings: Settings
    now: float
    local: datetime
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    undos: Mapping[str, Undo] = field(default_factory=dict)
    orders: Orders = NO_ORDERS
    last_plan: Plan | None = None
    plan_age_s: float = 0.0
    reviews: tuple[Review, ...] = ()
    heard: Heard = field(default_factory=dict)
    accounts: Mapping[str, Account] = field(default_factory=dict)
    rested: Collection[str] = ()
    is_shown: bool = False
    recorder: Recorder | None = None

    def is_as_planned(self, topology: str, workers: tuple[Worker, ...]) -> bool:
        """Return whether the last plan has a topology on these workers."""
        part = self.last_plan.of(topology) if self.last_plan else None
        return part is not None and part.workers == workers


class Deciding:
    """Decides with topologies that stay where they run, and answers no question twice."""

    def __init__(self, question: Question, memory: Memory) -> None:
        self._question, self._memory = question, memory
        self._known: dict[tuple[tuple[str, tuple[Worker, ...]], ...], Decisions] = {}

    def decide_around(self, staying: Staying) -> Decisions:
        """Return what is decided if these stay."""
        key = tuple(sorted(staying.items()))
        if key not in self._known:
            self._known[key] = decide(replace(self._question, staying=staying), self._memory)
        return self._known[key]


@dataclass(frozen=True)
class RoundContext:
    """What the steps of one round share.

    Parameters
    ----------
    drained : frozenset of str
        Ids of the nodes that shall run nothing.
    obeyed : mapping of str to Undo
        The orders back that were carried out, by topology id.
    base : mapping of str to tuple of Worker
        Topologies that stay whatever is judged: they move in stages.
    """

    given: Inputs
    gate: Gate
    moment: GuardContext
    deciding: Deciding
    drained: frozenset[str]
    obeyed: Mapping[str, Undo]
    base: Staying

    @cached_property
    def running(self) -> Mapping[str, RunningTopology]:
        """All topologies, by id."""
        return {topology.id: topology for topology in self.given.state.topologies}
