"""How often and with what an algorithm is asked for one topology, until it finds a placement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from stormcut.model.problem import Node, Problem
from stormcut.placement import p_scheduler

CUT = "cut"
P_SCHEDULER = "p-scheduler"


def attempts(
    problem: Problem, algorithm: str, options: Mapping[str, str]
) -> Iterator[tuple[tuple[Node, ...], dict[str, str]]]:
    """Yield sets of nodes and options of an algorithm to try in turn, given ones unchanged.

    `cut` may fill nodes' CPU only in part, to the thesis's share, unless there is no other way.
    P-Scheduler knows one capacity, and what other topologies leave of the nodes is never equal: it
    takes the smallest node's.
    """
    given, usable = dict(options), tuple(node for node in problem.nodes if node.ports)
    if algorithm == P_SCHEDULER:
        for nodes in node_sets(problem, given):
            yield nodes, {"capacity": "smallest"} | given
        return
    if not usable:
        return
    if algorithm == CUT and "cpu_share" not in given:
        yield usable, given | {"cpu_share": str(p_scheduler.Options.cpu_share)}
    yield usable, given


def node_sets(problem: Problem, options: Mapping[str, str]) -> Iterator[tuple[Node, ...]]:
    """Yield sets of nodes for P-Scheduler to try; a node without a free slot is in none.

    It takes the smallest node's capacity for all: one nearly full node would make the whole
    cluster small. So the roomiest nodes come first and ever smaller ones join; sets that would
    have to be used above its share of CPU come last.
    """
    share = float(options.get("cpu_share", p_scheduler.Options.cpu_share))
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
