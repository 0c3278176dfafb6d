"""What is decided from: a state, and all that is known and ordered at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stormcut.control.decide.adviser import Recorder, Settings
from stormcut.control.decide.allowed import RuleOf, free
from stormcut.control.decide.pace import Pace
from stormcut.control.orders import Undo
from stormcut.model.cluster import ClusterState, Worker
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile


@dataclass(frozen=True)
class Question:
    """The question that `decide` answers.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By topology id; one that does not fit the executors is not used, and the reason says so.
    last_plan : Plan, optional
        The plan that the cluster was told last: what it placed stays as long as nothing better
        is known.
    undos : mapping of str to Undo
        By topology id: where it ran before and shall run again, whatever is better, as long as
        that is possible.
    staying : mapping of str to tuple of Worker
        By topology id: the workers that it keeps, whatever is better.
    lost : mapping of str to set of str
        By topology id: the nodes that have just lost its workers, on which none of it starts.
    is_recent : bool
        The last plan is so young that what runs otherwise has hardly begun: the plan came too late
        for Nimbus's deadline, and is offered again.
    recorder : Recorder, optional
        Told of every answer of the algorithm that is used.
    pace : Pace
        When topologies moved and how long conditions have held, as far as that is known.
    rule_of : callable
        The rule of a topology, by its name: on which nodes it may run, and who goes first.
    """

    state: ClusterState
    profiles: Mapping[str, Profile]
    last_plan: Plan | None
    settings: Settings
    undos: Mapping[str, Undo] = field(default_factory=dict)
    staying: Mapping[str, tuple[Worker, ...]] = field(default_factory=dict)
    lost: Mapping[str, frozenset[str]] = field(default_factory=dict)
    is_recent: bool = False
    recorder: Recorder | None = None
    pace: Pace = field(default_factory=Pace)
    rule_of: RuleOf = free
