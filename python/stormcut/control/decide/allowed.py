"""On which nodes topologies may run, by their rules: patterns, quotas, nodes of their own.

A rule is a choice of nodes made before any algorithm is asked: all others have no room for the
topology, as drained ones have none for anybody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from stormcut.control.policy import FREE, TopologyRule, matches
from stormcut.model.cluster import ClusterState, RunningTopology, Supervisor, Worker
from stormcut.model.problem import Node
from stormcut.running.declared import max_executors

#: The rule of a topology, by its name.
RuleOf = Callable[[str], TopologyRule]


def free(name: str) -> TopologyRule:
    """Return that a topology may run anywhere."""
    return FREE


@dataclass(frozen=True)
class Allowed:
    """The nodes that topologies may use, by topology id; of those that may use all, nothing."""

    nodes: Mapping[str, frozenset[str]]

    def of(self, topology: str) -> frozenset[str] | None:
        """Return the nodes of a topology, None: all."""
        return self.nodes.get(topology)

    def has(self, topology: str, workers: Iterable[Worker]) -> bool:
        """Return whether a topology may have these workers."""
        its = self.of(topology)
        return its is None or all(worker.slot.node in its for worker in workers)

    def limited(self, topology: str, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return nodes as a topology sees them: where it may not run there is no room."""
        its = self.of(topology)
        if its is None:
            return nodes
        return tuple(n if n.id in its else replace(n, max_executors=0) for n in nodes)


def with_workers(state: ClusterState, rule_of: RuleOf) -> ClusterState:
    """Return a state in which topologies keep their number of workers where a rule says so."""
    said = {t.id: rule_of(t.name).workers or t.workers_policy for t in state.topologies}
    if all(said[t.id] == t.workers_policy for t in state.topologies):
        return state
    topologies = tuple(replace(t, workers_policy=said[t.id]) for t in state.topologies)
    return replace(state, topologies=topologies)


def in_order(topologies: Iterable[RunningTopology], rule_of: RuleOf) -> list[RunningTopology]:
    """Return topologies as they get their places: those with own nodes, then by priority."""

    def rank(topology: RunningTopology) -> tuple[bool, int, str]:
        rule = rule_of(topology.name)
        return not rule.alone, -rule.priority, topology.id

    return sorted(topologies, key=rank)


def allowed(state: ClusterState, rule_of: RuleOf) -> Allowed:
    """Return where topologies may run.

    Who is alone, or has a quota, gets so many nodes: those on which it runs, then those with the
    fewest executors of others; nobody else gets the former's. The same state gives the same nodes,
    and so does one that has done as told. Takes O(topologies x nodes log nodes), little where no
    rule restricts anybody.
    """
    rules = {t.id: rule_of(t.name) for t in state.topologies}
    if not any(rule.nodes or rule.most_nodes for rule in rules.values()):
        return Allowed({})
    running = _executors(state.topologies)
    #: Nodes that are never left.
    kept = {t.id: set(running[t.id]) for t in state.topologies if rules[t.id].pin}
    reserved: set[str] = set()
    fitting_nodes: dict[str, frozenset[str]] = {}
    for topology in in_order(state.topologies, rule_of):
        rule = rules[topology.id]
        others = [nodes for name, nodes in kept.items() if rule.alone and name != topology.id]
        taken = reserved.union(*others)
        fitting = [
            each
            for each in state.supervisors
            if each.id not in taken and _matches(each, rule) and max_executors(each) != 0
        ]
        if rule.most_nodes is not None:
            own, total = running[topology.id], running[""]
            fitting.sort(key=lambda s: (-own[s.id], total[s.id] - own[s.id], s.host, s.id))
            fitting = fitting[: rule.most_nodes]
        if rule.alone:
            reserved |= {each.id for each in fitting}
        if rule.nodes or rule.most_nodes is not None or reserved:
            fitting_nodes[topology.id] = frozenset(each.id for each in fitting)
    return Allowed(fitting_nodes)


def _matches(supervisor: Supervisor, rule: TopologyRule) -> bool:
    return not rule.nodes or matches(rule.nodes, (supervisor.id, supervisor.host))


def _executors(topologies: Iterable[RunningTopology]) -> Mapping[str, dict[str, int]]:
    """Return the executors on each node, by topology id, and of all as that of no name."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for topology in topologies:
        for worker in topology.assignment:
            for name in (topology.id, ""):
                counts[name][worker.slot.node] += len(worker.executors)
    return counts
