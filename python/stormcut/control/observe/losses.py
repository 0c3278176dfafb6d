"""Nodes that have just lost workers of a topology that goes on: nothing of it starts there soon."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from stormcut.control.observe.hearing import EMPTIED_SECONDS
from stormcut.model.cluster import ClusterState


@dataclass(frozen=True)
class Losses:
    """When each topology last lost all that it had on a node, from what Nimbus describes.

    A supervisor that lives starts a dead worker again by itself, long before Nimbus takes it for
    lost. So who has lost it is most likely dead, and is listed for a while all the same.

    Parameters
    ----------
    used : mapping of str to frozenset of str
        The nodes where each topology ran last.
    lost : mapping of (str, str) to float
        When a topology lost what it had on a node.
    """

    used: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lost: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def observe(self, state: ClusterState, now: float) -> Losses:
        """Return what is lost once a state was seen, in seconds of a clock that never runs back.

        One of which nothing runs any more was ended or rebalanced.
        """
        used = {
            t.id: frozenset(worker.slot.node for worker in t.assignment) for t in state.topologies
        }
        lost = {
            (topology.id, node): now
            for topology in state.topologies
            if topology.assignment and topology.unassigned
            for node in self.used.get(topology.id, frozenset()) - used[topology.id]
        }
        recent = {
            pair: moment for pair, moment in self.lost.items() if now - moment < EMPTIED_SECONDS
        }
        # Storm's own scheduler may have put something there meanwhile.
        still = {
            (topology, node): moment
            for (topology, node), moment in {**recent, **lost}.items()
            if topology in used and node not in used[topology]
        }
        return Losses(used, still)

    def nodes(self) -> dict[str, frozenset[str]]:
        """Return the nodes that have just lost a topology's workers, by topology id."""
        topologies = {topology for topology, _ in self.lost}
        return {
            topology: frozenset(node for name, node in self.lost if name == topology)
            for topology in topologies
        }

    def ends_in(self, now: float) -> float:
        """Return the seconds until the next of them is forgotten, infinite if there is none."""
        left = (moment + EMPTIED_SECONDS - now for moment in self.lost.values())
        return min((each for each in left if each > 0), default=math.inf)
