"""What the topologies of a cluster use of its nodes, and what they leave to another."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass

from stormcut.model.cluster import ClusterState, Slot, Supervisor, Worker
from stormcut.model.network import UNKNOWN, Costs, Link
from stormcut.model.problem import Node, Problem
from stormcut.objective.resources import LINK_IN, LINK_OUT, uses
from stormcut.running.declared import link, max_executors, rack
from stormcut.running.workload import Workload


@dataclass(frozen=True)
class _TopologyUsage:
    """What a topology uses of a node."""

    cpu_percent: float
    memory_mb: float
    executors: int
    ports: tuple[int, ...]
    sends_mbit: float = 0.0
    gets_mbit: float = 0.0


class Usage:
    """Who uses what of a cluster's nodes, kept while topologies are placed one after another.

    Parameters
    ----------
    costs : Costs, optional
        Of transfer; None: those that are shipped.

    Notes
    -----
    To place a topology takes O(its executors), to tell what is left O(nodes + topologies on them).
    """

    def __init__(self, state: ClusterState, costs: Costs | None = None) -> None:
        self.costs = costs
        self._supervisors = [
            (each, rack(each), max_executors(each), link(each))
            for each in sorted(state.supervisors, key=_proximity)
        ]
        self._shares: dict[str, dict[str, _TopologyUsage]] = defaultdict(dict)
        #: What all leave of nodes; most are asked for again and again before any topology moves.
        self._rests: dict[str, Node] = {}
        self._nodes_of: dict[str, set[str]] = {}
        self._has_links = any(its != UNKNOWN for *_, its in self._supervisors)

    def put(self, load: Workload, workers: Iterable[Worker]) -> None:
        """Let a topology's executors use these workers, and nothing else any more."""
        name, workers = load.topology.id, tuple(workers)
        for node in self._nodes_of.pop(name, ()):
            del self._shares[node][name]
            self._rests.pop(node, None)
        by_node: dict[str, list[Worker]] = defaultdict(list)
        for worker in workers:
            by_node[worker.slot.node].append(worker)
        mbit = _mbit(load, workers, self.costs) if self._has_links else {}
        for node, its in by_node.items():
            tasks = [task for worker in its for task in worker.executors]
            self._rests.pop(node, None)
            self._shares[node][name] = _TopologyUsage(
                sum(load.cpu_percent[task] for task in tasks),
                sum(load.memory_mb[task] for task in tasks),
                len(tasks),
                tuple(worker.slot.port for worker in its),
                *mbit.get(node, (0.0, 0.0)),
            )
        self._nodes_of[name] = set(by_node)

    def taken(self, but: str) -> set[Slot]:
        """Return the slots in use by others than this topology."""
        return {
            Slot(node, port)
            for node, shares in self._shares.items()
            for name, share in shares.items()
            if name != but
            for port in share.ports
        }

    def left(
        self, but: Container[str] = (), only: Container[str] | None = None
    ) -> tuple[Node, ...]:
        """Return the nodes (``only`` those, by default all), by host.

        Without what others than the topologies ``but`` use of them.
        """
        wanted = (each for each in self._supervisors if only is None or each[0].id in only)
        return tuple(self._left(*each, but) for each in wanted)

    def _left(
        self,
        supervisor: Supervisor,
        its_rack: str | None,
        most: int | None,
        its_link: Link,
        but: Container[str],
    ) -> Node:
        all_shares = self._shares.get(supervisor.id, {})
        shares = [share for name, share in all_shares.items() if name not in but]
        is_rest = len(shares) == len(all_shares)
        if is_rest and supervisor.id in self._rests:
            return self._rests[supervisor.id]
        taken = {port for share in shares for port in share.ports}
        others = sum(share.executors for share in shares)
        node = Node(
            supervisor.id,
            tuple(port for port in sorted(supervisor.ports) if port not in taken),
            its_rack,
            _rest(supervisor.cpu_percent, sum(share.cpu_percent for share in shares)),
            _rest(supervisor.memory_mb, sum(share.memory_mb for share in shares)),
            None if most is None else max(most - others, 0),
            Link(
                _rest(its_link.out, sum(share.sends_mbit for share in shares)),
                _rest(its_link.into, sum(share.gets_mbit for share in shares)),
            ),
            others,
        )
        if is_rest:
            self._rests[supervisor.id] = node
        return node


def _mbit(
    load: Workload, workers: tuple[Worker, ...], costs: Costs | None
) -> dict[str, tuple[float, float]]:
    """Return what each node sends to others and gets from them for a topology, Mbit/s."""
    ports: dict[str, list[int]] = defaultdict(list)
    for worker in workers:
        ports[worker.slot.node].append(worker.slot.port)
    nodes = tuple(Node(name, tuple(its)) for name, its in sorted(ports.items()))
    problem = Problem(nodes, (load.topology,), costs=costs).with_traffic(load.traffic)
    used = {
        use.kind: use.load.tolist()
        for use in uses(problem, load.placement(workers, problem.slot_ordinals))
    }
    rows = zip(nodes, used[LINK_OUT], used[LINK_IN], strict=True)
    return {node.id: (sends, gets) for node, sends, gets in rows}


def _proximity(supervisor: Supervisor) -> tuple[list[str | int], str]:
    """Return what puts supervisors of one host side by side, and node10 after node9.

    Their ids are random: to follow them would say that any two are near.
    """
    parts = re.split(r"([0-9]+)", supervisor.host)
    return [int(part) if index % 2 else part for index, part in enumerate(parts)], supervisor.id


def _rest(capacity: float | None, used: float) -> float | None:
    return None if capacity is None else max(capacity - used, 0.0)
