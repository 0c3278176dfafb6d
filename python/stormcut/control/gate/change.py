"""A change that somebody wants: the one value that passes the gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from stormcut.control.decide.decision import Evidence, Reason
from stormcut.control.orders import Override
from stormcut.model.cluster import Slot, Worker

Workers = tuple[Worker, ...]


class Initiator(Enum):
    """Who wants a change."""

    #: Executors run nowhere: a new topology, or a lost worker.
    PLACEMENT = "placement"
    #: The controller's decision to move for head-room or less traffic.
    GAIN = "gain"
    #: A limit is broken where the topology runs.
    LIMIT = "limit"
    #: A node that the topology uses was drained.
    DRAIN = "drain"
    #: The controller takes back a move that turned out worse.
    TAKE_BACK = "take-back"
    #: The next stage of a move that is under way.
    STAGE = "stage"
    #: A person approved a proposal.
    APPROVE = "approve"
    #: A person ordered a topology back.
    UNDO = "undo"


@dataclass(frozen=True)
class Change:
    """What shall become of one topology.

    Parameters
    ----------
    home, target : tuple of Worker
        Where it runs, and where it shall run.
    override : Override, optional
        A person's order to pass guards; None: guards hold.
    passed : tuple of str
        Keys of the guards that it passes by that alone.
    is_approved : bool
        A person approved the proposal that it is part of.
    who : str
        The person who ordered or approved it, empty if none did.
    origin : Initiator, optional
        Of a stage: who initiated the whole move.
    continues : bool
        Of a stage: an earlier one has moved the topology already.
    """

    initiator: Initiator
    topology: str
    home: Workers
    target: Workers
    reason: Reason
    evidence: Evidence
    override: Override | None = None
    passed: tuple[str, ...] = ()
    is_approved: bool = False
    who: str = ""
    origin: Initiator | None = None
    continues: bool = False

    @cached_property
    def restarts(self) -> Mapping[str, int]:
        """How many workers end or start again because of it, by node."""
        return Counter(slot.node for slot in restarted(self.home, self.target))

    @property
    def restart_count(self) -> int:
        """How many workers end or start again because of it."""
        return sum(self.restarts.values())


def restarted(home: Workers, target: Workers) -> set[Slot]:
    """Return the slots whose worker ends or starts again, as Storm restarts workers.

    A worker of executors that ran nowhere before restarts nothing.
    """
    before = {worker.slot: worker.executors for worker in home}
    after = {worker.slot: worker.executors for worker in target}
    ran = {task for worker in home for task in worker.executors}
    return {
        slot
        for slot in before.keys() | after.keys()
        if before.get(slot) != after.get(slot)
        and (slot in before or not ran.isdisjoint(after[slot]))
    }
