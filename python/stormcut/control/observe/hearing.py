"""Which workers are heard of, and which have fallen silent."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from stormcut.control.observe.probation import with_room_for_what_runs
from stormcut.model.cluster import ClusterState
from stormcut.profile.decay import Slice

#: A topology's workers on a host are silent after so many times the longest recent time between
#: two signs of life, and not before so many seconds.
PATIENCE, MIN_SECONDS = 2.5, 10.0
#: Signs of life that are remembered, and how many there must be to know their rhythm.
REMEMBERED, KNOWN = 5, 3
#: What has been silent for so long, or has left, is forgotten.
FORGOTTEN_SECONDS = 3600.0
#: A node that Nimbus has emptied gets nothing for so long: twice the time after which Nimbus takes
#: a supervisor for dead.
EMPTIED_SECONDS = 120.0

#: By topology and host: whether what runs there is heard of.
Heard = Mapping[tuple[str, str], bool]


class Hearing:
    """When the workers of each topology on each host were heard of.

    Times are of arrival: metrics that all come late make nobody silent. A host that all tasks have
    left is not listened to any more.
    """

    def __init__(self) -> None:
        self._signs: dict[tuple[str, str], deque[float]] = {}
        self._hosts: dict[tuple[str, int], frozenset[str]] = {}
        self._latest = 0.0

    def take(self, slices: Mapping[str, Slice], now: float) -> None:
        """Take note of who is measured in what has come at a moment, in seconds."""
        for topology, slice_ in slices.items():
            measured = [task for task in slice_.tasks if task.ms > 0]
            for task in measured:
                self._hosts[topology, task.task] = frozenset(host for host, _ in task.workers)
            for host in {host for task in measured for host, _ in task.workers}:
                signs = self._signs.setdefault((topology, host), deque(maxlen=REMEMBERED))
                signs.append(now)
                self._latest = now
        used = {(topology, host) for (topology, _), hosts in self._hosts.items() for host in hosts}
        oldest = self._latest - FORGOTTEN_SECONDS
        self._signs = {
            pair: signs
            for pair, signs in self._signs.items()
            if pair in used and signs[-1] > oldest
        }
        living = {topology for topology, _ in self._signs}
        self._hosts = {key: hosts for key, hosts in self._hosts.items() if key[0] in living}

    def heard(self) -> dict[tuple[str, str], bool]:
        """Return who is heard of, by topology and host, of those whose rhythm is known."""
        return {
            pair: self._latest - signs[-1] <= _patience(signs)
            for pair, signs in self._signs.items()
            if len(signs) >= KNOWN
        }


def _patience(signs: Iterable[float]) -> float:
    longest = max(after - before for before, after in pairwise(signs))
    return max(PATIENCE * longest, MIN_SECONDS)


@dataclass(frozen=True)
class Silence:
    """Which nodes have fallen silent, from who is heard of and what Nimbus says runs where.

    Parameters
    ----------
    topologies : frozenset of str
        Ids of those that run where nothing is heard of them.
    since : mapping of str to float
        When nodes were found silent last, by id.
    """

    topologies: frozenset[str] = frozenset()
    since: Mapping[str, float] = field(default_factory=dict)

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that nothing is heard of."""
        return frozenset(self.since)

    def observe(self, state: ClusterState, heard: Heard, now: float) -> Silence:
        """Return who is silent at a moment, in seconds of a clock that never runs back.

        What does not run any more where it was heard of is not silent.
        """
        hosts = {supervisor.id: supervisor.host for supervisor in state.supervisors}
        running = {
            (topology.id, worker.slot.node, heard[topology.id, host])
            for topology in state.topologies
            for worker in topology.assignment
            if (topology.id, host := hosts.get(worker.slot.node, "")) in heard
        }
        speaking = {node for _, node, is_heard in running if is_heard}
        silent = {node for _, node, is_heard in running if not is_heard}
        kept = {
            node: since
            for node, since in self.since.items()
            if node in hosts and node not in speaking and now - since < EMPTIED_SECONDS
        }
        return Silence(
            frozenset(name for name, _, is_heard in running if not is_heard),
            {**kept, **dict.fromkeys(silent - speaking, now)},
        )

    def limited(self, state: ClusterState) -> ClusterState:
        """Return a state in which silent nodes have room for what runs there alone."""
        return with_room_for_what_runs(state, self.nodes)
