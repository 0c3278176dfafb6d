"""What executors send each other under a placement, pair by pair, straight from the words.

Written apart from what it checks: no folding, components followed one by one.
"""

import math
from collections import defaultdict

import networkx as nx
import numpy as np
from problem_strategies import prefers_near


def pairs_of(problem, slots):
    """Yield (source, target, tuples/s, bytes or NaN, local) if all executors send equal shares.

    ``local`` says whether they do by local-or-shuffle, None of measured pairs.
    """
    for topology, first in zip(problem.topologies, problem.topology_offsets.tolist(), strict=False):
        at = {name: first + offset for name, offset in topology.offsets.items()}
        size = {c.name: c.executors for c in topology.components}
        edges = {(pair.source[0], pair.target[0]) for pair in topology.measured}
        for pair in topology.measured:
            content = pair.bytes_per_tuple
            if content is None:
                declared = [
                    (s.tuples_per_second, s.bytes_per_tuple)
                    for s in topology.streams
                    if (s.source, s.target) == (pair.source[0], pair.target[0])
                    and s.bytes_per_tuple is not None
                    and s.tuples_per_second > 0
                ]
                total = sum(rate for rate, _ in declared)
                content = sum(r * b for r, b in declared) / total if total else math.nan
            source, target = (
                at[pair.source[0]] + pair.source[1],
                at[pair.target[0]] + pair.target[1],
            )
            yield source, target, pair.tuples_per_second, content, None
        for stream in topology.streams:
            if (stream.source, stream.target) in edges:
                continue
            content = math.nan if stream.bytes_per_tuple is None else stream.bytes_per_tuple
            targets = [at[stream.target] + index for index in range(size[stream.target])]
            for index in range(size[stream.source]):
                source = at[stream.source] + index
                part = stream.shares[index] if stream.shares else 1 / size[stream.source]
                share = stream.tuples_per_second * part
                near = [t for t in targets if slots[t] >= 0 and slots[t] == slots[source]]
                if stream.grouping == "all":
                    receivers, each = targets, share
                elif stream.grouping == "global":
                    receivers, each = targets[:1], share
                elif prefers_near(topology, stream) and near:
                    receivers, each = near, share / len(near)
                else:
                    receivers, each = targets, share / len(targets)
                for target in receivers:
                    yield source, target, each, content, prefers_near(topology, stream)


def flows_of(problem, slots):
    """Yield (source, target, tuples/s, bytes or NaN) as executors pass on what they take."""
    component, spouts = _components(problem)
    pairs = list(pairs_of(problem, slots))
    local = {(component[s], component[t]) for s, t, _, _, is_local in pairs if is_local}
    measured = {(component[s], component[t]) for s, t, _, _, is_local in pairs if is_local is None}
    graph = nx.DiGraph(edge for edge in local | measured if edge[0] not in spouts)
    changed = {target for _, target in local}
    graph.add_nodes_from(changed)
    changed |= {each for target in changed for each in nx.descendants(graph, target)}
    graph = graph.subgraph(changed)
    circles = {each for each in graph if graph.has_edge(each, each)}
    circles |= {each for part in nx.strongly_connected_components(graph) if len(part) > 1
                for each in part}  # fmt: skip
    circles |= {each for circle in circles for each in nx.descendants(graph, circle)}
    nominal = _taken(component, pairs_of(problem, [-1] * len(slots)))
    unequal = {target for _, target in measured} | _partly_taking(problem, component)
    first = (unequal & {source for source, _ in local}) - changed - spouts
    order = [*first, *(each for each in nx.topological_sort(graph.subgraph(changed - circles)))]
    sending, growth = defaultdict(lambda: 1.0), defaultdict(lambda: 1.0)
    for each in (*order, *circles):
        own = [at for at, its in enumerate(component) if its == each]
        taken = _taken(component, _scaled(pairs, component, changed - spouts, sending, growth))
        mean = np.mean([taken[at] for at in own])
        for at in own if each not in circles | spouts else ():
            sending[at] = taken[at] / mean if mean > 0 else 1.0
            growth[at] = taken[at] / nominal[at] if nominal[at] > 0 else 1.0
    yield from _scaled(pairs, component, changed - spouts, sending, growth)


def _components(problem):
    """Return a number of the component of each executor, and the numbers of spouts."""
    parts = [part for topology in problem.topologies for part in topology.components]
    component = [at for at, part in enumerate(parts) for _ in range(part.executors)]
    return component, {at for at, part in enumerate(parts) if part.kind == "spout"}


def _partly_taking(problem, component):
    """Return the numbers of components of which one executor gets all of a stream."""
    found = set()
    for topology, first in zip(problem.topologies, problem.topology_offsets.tolist(), strict=False):
        at = {name: component[first + offset] for name, offset in topology.offsets.items()}
        edges = {(pair.source[0], pair.target[0]) for pair in topology.measured}
        found |= {
            at[s.target]
            for s in topology.streams
            if s.grouping == "global" and (s.source, s.target) not in edges
        }
    return found


def _taken(component, pairs):
    taken = np.zeros(len(component))
    for _, target, rate, *_ in pairs:
        taken[target] += rate
    return taken


def _scaled(pairs, component, changed, sending, growth):
    """Return pairs at what sources pass on; measured ones into a component keep their sum."""
    before, after = defaultdict(float), defaultdict(float)
    for source, target, rate, _, is_local in pairs:
        if is_local is None and component[source] in changed:
            before[component[target]] += rate
            after[component[target]] += rate * growth[source]
    found = []
    for source, target, rate, content, is_local in pairs:
        factor, at = sending[source], component[target]
        if is_local is None:
            sums = component[source] in changed and after[at] > 0
            factor = growth[source] * before[at] / after[at] if sums else 1.0
        found.append((source, target, rate * factor, content))
    return found
