"""How often and with what an algorithm is asked for one problem, until it finds a placement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from stormcut.model.problem import Node, Problem
from stormcut.placement.packing.thesis import ThesisOptions
from stormcut.placement.registry import algorithm

#: So many nodes are searched whatever their room, and so many times as many as need be.
MANY_NODES = 64
SPACIOUS = 3


def attempts(
    problem: Problem, name: str, options: Mapping[str, str]
) -> Iterator[tuple[tuple[Node, ...], dict[str, str]]]:
    """Yield sets of nodes and options of an algorithm to try in turn, given ones unchanged.

    One that fills nodes' CPU may do so only in part, to the thesis's share, unless there is no
    other way. What other topologies leave of the nodes is never equal: one that knows one capacity
    takes the smallest node's.
    """
    given, usable = dict(options), tuple(node for node in problem.nodes if node.ports)
    chosen = algorithm(name)
    if chosen.one_capacity:
        for nodes in node_sets(problem, given):
            yield nodes, {"capacity": "smallest"} | given
        return
    if not usable:
        return
    sets = tuple(dict.fromkeys((roomiest(problem, usable), usable)))
    if chosen.fills_cpu and "cpu_share" not in given:
        for nodes in sets:
            yield nodes, given | {"cpu_share": str(ThesisOptions.cpu_share)}
    for nodes in sets:
        yield nodes, given


def roomiest(problem: Problem, usable: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return nodes enough for a problem: all of few, of many those with most room.

    A search among a thousand nodes for a topology that fills ten takes long and finds little more.
    Those that run something of it now are among them; of equal ones, those of one rack.
    """
    if len(usable) <= MANY_NODES:
        return usable
    ordinals = problem.current_nodes()
    running = {problem.nodes[index].id for index in set(ordinals[ordinals >= 0].tolist())}
    order = sorted(
        usable, key=lambda node: (node.id not in running, *_least_room(node), node.rack or "")
    )
    need = (float(problem.executor_cpu.sum()), float(problem.executor_count))
    cpu = executors = 0.0
    most = len(order)
    for count, node in enumerate(order, start=1):
        cpu, executors = cpu + _room(node)[0], executors + _room(node)[1]
        if _covers((cpu, executors), need):
            most = count
            break
    chosen = {node.id for node in order[: max(MANY_NODES, SPACIOUS * most)]}
    return tuple(node for node in usable if node.id in chosen)


def _least_room(node: Node) -> tuple[float, float, int]:
    cpu, executors = _room(node)
    return -cpu, -executors, -len(node.ports)


def node_sets(problem: Problem, options: Mapping[str, str]) -> Iterator[tuple[Node, ...]]:
    """Yield sets of nodes to try where one capacity counts; a node without a free slot is in none.

    The smallest node's capacity counts for all: one nearly full node would make the whole cluster
    small. So the roomiest nodes come first and ever smaller ones join; sets that would have to be
    used above the share of CPU come last.
    """
    share = float(options.get("cpu_share", ThesisOptions.cpu_share))
    load = (float(problem.executor_cpu.sum()), float(problem.executor_count))
    usable = [node for node in problem.nodes if node.ports]
    tight = []
    for least in sorted({_room(node) for node in usable}, reverse=True):
        nodes = tuple(node for node in usable if _covers(_room(node), least))
        if _covers((share * least[0] * len(nodes), least[1] * len(nodes)), load):
            yield nodes
        else:
            tight.append(nodes)
    yield from reversed(tight)


def _room(node: Node) -> tuple[float, float]:
    """Return (CPU, executors) that a node can take, infinite without a limit."""
    cpu = math.inf if node.cpu_percent is None else node.cpu_percent
    return cpu, math.inf if node.max_executors is None else float(node.max_executors)


def _covers(room: tuple[float, float], need: tuple[float, float]) -> bool:
    return room[0] >= need[0] and room[1] >= need[1]
