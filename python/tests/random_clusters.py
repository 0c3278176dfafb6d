"""Random problems as people bring them, by kind: for properties, and for a benchmark.

Shapes from chains to wide fans, every grouping, nodes alike and not, racks, links that bind one
way, memory that binds, what runs already, nodes left out, overload, one to twenty topologies.
Nothing here is taken from a problem on which an algorithm was developed.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np

from stormcut.model.network import UNKNOWN, Link
from stormcut.model.placement import Placement
from stormcut.model.problem import (
    CORE_PERCENT,
    Component,
    MeasuredPair,
    Node,
    Problem,
    Stream,
    Topology,
)

Random = np.random.Generator

#: How often each grouping is drawn where they are mixed.
GROUPINGS = {
    "shuffle": 0.3,
    "local_or_shuffle": 0.25,
    "fields": 0.25,
    "partial_key": 0.05,
    "all": 0.05,
    "global": 0.05,
    "none": 0.05,
}


#: Of the largest node's CPU, what the largest executor may need.
LARGEST = 0.8


@dataclass(frozen=True)
class Kind:
    """What problems of one kind have in common.

    Parameters
    ----------
    executors : (int, int)
        Of each topology.
    topologies : (int, int)
    nodes : (int, int)
    use : (float, float)
        CPU that all executors need, as a share of what all nodes have.
    groupings : tuple of str
        Empty: mixed.
    """

    executors: tuple[int, int]
    topologies: tuple[int, int] = (1, 1)
    nodes: tuple[int, int] = (2, 8)
    use: tuple[float, float] = (0.05, 0.6)
    groupings: tuple[str, ...] = ()
    measured: bool = False
    racks: bool = False
    links: bool = False
    memory: bool = False
    runs: bool = False
    left_out: bool = False
    load_aware: bool = False


KINDS = {
    "tiny": Kind((3, 9), nodes=(2, 4)),
    "small": Kind((8, 30)),
    "local-or-shuffle": Kind((8, 40), groupings=("local_or_shuffle",)),
    "local and keys": Kind((10, 50), groupings=("local_or_shuffle", "local_or_shuffle", "fields")),
    "medium": Kind((30, 90), nodes=(4, 20)),
    "links": Kind((10, 40), links=True),
    "racks": Kind((15, 60), nodes=(4, 12), racks=True, links=True),
    "memory": Kind((10, 40), memory=True),
    "overload": Kind((10, 40), use=(0.7, 0.95), links=True),
    "idle": Kind((10, 40), use=(0.005, 0.05)),
    "several": Kind((5, 20), topologies=(2, 5), nodes=(3, 10)),
    "many": Kind((4, 10), topologies=(8, 20), nodes=(6, 15)),
    "measured": Kind((8, 30), measured=True, links=True),
    "runs": Kind((10, 40), runs=True),
    "nodes left out": Kind((10, 40), left_out=True, nodes=(4, 10)),
    "load-aware": Kind((8, 40), load_aware=True),
    "large": Kind((150, 400), nodes=(10, 40)),
    "huge": Kind((600, 2000), nodes=(20, 80), groupings=("shuffle", "fields", "local_or_shuffle")),
}


def problem_of(kind: str, seed: int) -> Problem:
    """Return the problem of a kind with that number."""
    random = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    return _problem(KINDS[kind], random)


def _problem(kind: Kind, random: Random) -> Problem:
    count = int(random.integers(*kind.topologies, endpoint=True))
    topologies = tuple(_topology(f"t{at}", kind, random) for at in range(count))
    nodes = _nodes(kind, random, count)
    problem = Problem(nodes, _scaled(topologies, nodes, random.uniform(*kind.use)))
    if kind.racks:
        racks = sorted({node.rack for node in nodes if node.rack})
        uplinks = tuple((rack, Link(*random.choice((20.0, 100.0, 1000.0), 2))) for rack in racks)
        problem = replace(problem, uplinks=uplinks)
    if kind.memory:
        problem = _with_memory(problem, random)
    return _running(problem, random) if kind.runs else problem


def _nodes(kind: Kind, random: Random, topologies: int) -> tuple[Node, ...]:
    count = int(random.integers(*kind.nodes, endpoint=True))
    alike = random.random() < 0.5
    cores = random.choice((1, 2, 4, 8), 1 if alike else count)
    nodes = []
    for at in range(count):
        slots = int(random.integers(2, 6)) + topologies // 2
        link = UNKNOWN
        if kind.links:
            link = Link(*(random.choice((None, 5.0, 50.0, 500.0)) for _ in range(2)))
        nodes.append(
            Node(
                f"n{at:02d}",
                tuple(range(6700, 6700 + slots)),
                f"r{at % 3}" if kind.racks else None,
                float(CORE_PERCENT * cores[0 if alike else at]),
                link=link,
            )
        )
    if kind.left_out:
        nodes[0] = replace(nodes[0], ports=())
        nodes[1] = replace(nodes[1], max_executors=0)
    return tuple(nodes)


def _topology(name: str, kind: Kind, random: Random) -> Topology:
    wanted = int(random.integers(*kind.executors, endpoint=True))
    count = int(random.integers(2, min(9, wanted) + 1))
    sizes = 1 + random.multinomial(wanted - count, random.dirichlet(np.full(count, 1.5)))
    sources = 1 if count < 4 or random.random() < 0.7 else 2
    by_tuple = random.random() < 0.7
    parts = tuple(
        _component(f"c{at}", "spout" if at < sources else "bolt", int(size), by_tuple, random)
        for at, size in enumerate(sizes)
    )
    streams = _streams(parts, sources, kind, random)
    topology = Topology(
        name,
        parts,
        streams,
        workers=int(random.integers(1, 9)) if random.random() < 0.8 else None,
        max_spout_pending=int(random.choice((50, 200, 1000))) if random.random() < 0.4 else None,
    )
    if kind.load_aware:
        topology = replace(topology, shuffle="load_aware")
    return _measured(topology, random) if kind.measured else topology


def _component(name: str, kind: str, size: int, by_tuple: bool, random: Random) -> Component:
    part = Component.uniform(name, size, kind, cpu_percent=float(random.lognormal(2.0, 0.8)))
    cost = float(random.lognormal(4.0, 1.0)) if by_tuple else None
    return replace(part, cpu_us_per_tuple=cost)


def _streams(
    parts: tuple[Component, ...], sources: int, kind: Kind, random: Random
) -> tuple[Stream, ...]:
    """Return streams in which every bolt takes from one to three of those before it."""
    shape = random.choice(("chain", "fan", "any"))
    names = kind.groupings or tuple(GROUPINGS)
    chances = None if kind.groupings else list(GROUPINGS.values())
    emits = {part.name: float(random.lognormal(6.5, 1.0)) for part in parts[:sources]}
    streams = []
    for at in range(sources, len(parts)):
        if shape == "chain":
            before = [at - 1] if at > sources else list(range(sources))
        elif shape == "fan":
            before = [int(random.integers(sources))]
        else:
            most = min(3, at)
            before = random.choice(at, int(random.integers(1, most + 1)), replace=False).tolist()
        takes = 0.0
        for each in before:
            grouping = str(random.choice(names, p=chances))
            rate = emits[parts[each].name]
            takes += rate * (parts[at].executors if grouping == "all" else 1)
            size = float(random.lognormal(5.0, 1.0)) if random.random() < 0.7 else None
            streams.append(
                Stream(parts[each].name, parts[at].name, rate, grouping, bytes_per_tuple=size)
            )
        emits[parts[at].name] = takes * float(random.choice((0.1, 0.5, 1.0, 1.0, 2.0)))
    return tuple(streams)


def _measured(topology: Topology, random: Random) -> Topology:
    """Return a topology with its streams as pairs that were measured, with keys that are skewed."""
    sizes = {part.name: part.executors for part in topology.components}
    pairs = []
    for stream in topology.streams:
        source, target = sizes[stream.source], sizes[stream.target]
        weights = random.lognormal(0.0, 0.7, (source, target))
        rates = stream.tuples_per_second * weights / weights.sum()
        size = stream.bytes_per_tuple or 100.0
        pairs += [
            MeasuredPair((stream.source, i), (stream.target, j), float(rates[i, j]), size)
            for i in range(source)
            for j in range(target)
        ]
    seen = {(pair.source, pair.target): pair for pair in pairs}
    return replace(topology, measured=tuple(seen.values()))


def _scaled(
    topologies: tuple[Topology, ...], nodes: tuple[Node, ...], use: float
) -> tuple[Topology, ...]:
    """Return topologies with CPU so that together they use that share of all nodes' CPU."""
    needed = float(Problem(nodes, topologies).executor_cpu.sum())
    offered = sum(node.cpu_percent or 0.0 for node in nodes if node.ports)
    factor = use * offered / max(needed, 1e-9)
    # No executor is larger than what a node has.
    largest = float(Problem(nodes, topologies).executor_cpu.max(initial=0.0))
    most = max(node.cpu_percent or 0.0 for node in nodes if node.ports)
    factor = min(factor, LARGEST * most / max(largest, 1e-9))

    def scaled(part: Component) -> Component:
        cost = None if part.cpu_us_per_tuple is None else part.cpu_us_per_tuple * factor
        return replace(part, cpu_percent=part.cpu_percent * factor, cpu_us_per_tuple=cost)

    return tuple(
        replace(each, components=tuple(scaled(part) for part in each.components))
        for each in topologies
    )


def _with_memory(problem: Problem, random: Random) -> Problem:
    """Return a problem in which nodes' memory holds little more than all executors."""
    topologies = tuple(
        replace(
            topology,
            components=tuple(
                replace(
                    part, memory_mb=np.full(part.executors, float(random.choice((64, 256, 768))))
                )
                for part in topology.components
            ),
        )
        for topology in problem.topologies
    )
    needed = float(replace(problem, topologies=topologies).executor_memory.sum())
    each = max(768.0, needed * random.uniform(1.1, 2.0) / len(problem.nodes))
    nodes = tuple(replace(node, memory_mb=each) for node in problem.nodes)
    return replace(problem, topologies=topologies, nodes=nodes)


def _running(problem: Problem, random: Random) -> Problem:
    """Return a problem of which all or some executors run, dealt to slots in turn or at random."""
    slots = np.zeros(problem.executor_count, dtype=np.int64)
    order = random.permutation(problem.slot_count)
    for at, (topology, first) in enumerate(
        zip(problem.topologies, problem.topology_offsets.tolist(), strict=False)
    ):
        own = order[at :: len(problem.topologies)][: (topology.workers or 3)]
        slots[first : first + topology.executor_count] = np.resize(own, topology.executor_count)
    if random.random() < 0.3:
        slots[random.random(len(slots)) < 0.2] = -1
    return replace(problem, current=Placement(slots))
