"""Storm's own scheduler classes and ours give every executor the same slot, in random states.

Executors on lost slots are not shown to Storm's: Nimbus does not show its scheduler executors
without heartbeats.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.storm.even import storm_executor_order
from stormcut.placement.registry import algorithm, parse_options

pytestmark = pytest.mark.slow

STATES = 600
#: Drawn so that r-storm meets a node that is full but for the last digit of a sum.
SEED = 6
HEAPS = (768.0, 300.0, 1500.0)
#: Pairs of strings with equal hash codes, so that names made of them share hash buckets.
COLLIDING = ("Aa", "BB")
SYSTEM = ("__acker", "__eventlogger", "__metrics_consumer")


def state_lines(problem):
    for node in problem.nodes:
        ports = ",".join(map(str, node.ports))
        rack = node.rack or "/default-rack"
        yield f"SUPERVISOR\t{node.id}\t{rack}\t{node.cpu_percent}\t{node.memory_mb}\t{ports}"
    for ordinal, topology in enumerate(problem.topologies):
        yield f"TOPOLOGY\t{topology.id}\t{topology.workers}"
        for part in sorted(topology.components, key=lambda c: c.name.encode("utf-16-be")):
            cpu, memory = part.cpu_percent[0], part.memory_mb[0]
            yield f"COMPONENT\t{part.name}\t{part.kind}\t{part.executors}\t{cpu}\t{memory}"
        for stream in topology.streams:
            yield f"STREAM\t{stream.source}\t{stream.stream}\t{stream.target}"
        for task, executor in tasks(problem, ordinal):
            slot = problem.current_slots()[executor]
            if 0 <= slot < problem.slot_count:
                node, port = problem.slot_ids[slot]
                yield f"HELD\t{task}\t{node}\t{port}"


def tasks(problem, ordinal):
    order = storm_executor_order(problem, ordinal) + problem.topology_offsets[ordinal]
    return list(enumerate(order.tolist(), start=1))


def read_answer(lines):
    if lines and lines[0].startswith("FAILED"):
        return lines[0]
    result = {}
    for line in lines:
        topology, task, node, port = line.split("\t")
        result[topology, int(task)] = (node, int(port))
    return result


def our_answer(name, problem, heap):
    chosen = algorithm(name)
    options = parse_options(chosen, {"max_heap_mb": str(heap)} if name == "r-storm" else {})
    slots = chosen.place(problem, np.random.default_rng(0), options).slots
    return {
        (topology.id, task): problem.slot_ids[slots[executor]]
        for ordinal, topology in enumerate(problem.topologies)
        for task, executor in tasks(problem, ordinal)
        if slots[executor] != UNASSIGNED
    }


def random_names(draw, count, style, prefix):
    if style == "numbered":
        return [f"{prefix}{i:02d}" for i in range(count)]
    if style == "random":
        return [f"{draw.getrandbits(128):032x}" for _ in range(count)]
    # Four to a hash code: Java turns buckets of more than eight into trees, whose order it does
    # not promise.
    tails = [first + second for first in COLLIDING for second in COLLIDING]
    return draw.sample(
        [f"{prefix}{i}{tail}" for i in range(-(-count // 3)) for tail in tails], count
    )


def random_ports(draw):
    return draw.choice(
        (
            list(range(6700, 6700 + draw.randint(0, 12))),
            draw.sample(range(6700, 6760), draw.randint(0, 20)),
            [6700 + 16 * i for i in range(draw.randint(0, 12))],
            [6703, 6701, 6700, 6702],
        )
    )


def random_nodes(draw):
    count = draw.choice((0, 1, 2, 3, 4, 5, 8, 9, 13, 20, 40))
    style = draw.choice(("numbered", "random", "colliding"))
    racks = [None, *random_names(draw, 4, draw.choice(("numbered", "colliding")), "rack")]
    equal = draw.random() < 0.5
    nodes = []
    for name in random_names(draw, count, style, "n"):
        if not nodes or not equal:
            ports = tuple(random_ports(draw))
            cpu = draw.choice((0.0, 100.0, 200.0, 400.0, 333.3))
            memory = draw.choice((512.0, 2048.0, 4096.0, 3000.1))
        nodes.append(Node(name, ports, draw.choice(racks[: draw.randint(1, 5)]), cpu, memory))
    draw.shuffle(nodes)
    return tuple(nodes)


def random_topology(draw, name):
    users = draw.sample(("spout", "a", "B", "count", "Z9", "é", "xAa", "xBB"), draw.randint(1, 6))
    system = draw.sample(SYSTEM, draw.choice((0, 1, 1, 3)))
    whole = draw.random() < 0.6
    most = draw.choice((2, 6, 15))
    parts = []
    for position, part in enumerate(users + system):
        cpu = draw.choice((0, 5, 10, 50)) if whole else draw.choice((0.1, 3.3, 12.345, 33.3))
        memory = draw.choice((0, 32, 128, 300)) if whole else draw.choice((0.7, 33.3, 100.1))
        kind = "spout" if position == 0 or draw.random() < 0.2 else "bolt"
        executors = draw.randint(1, most)
        parts.append(Component.uniform(part, executors, kind, float(cpu), float(memory)))
    draw.shuffle(parts)
    streams = tuple(
        Stream(draw.choice(users), draw.choice(users), 1.0, stream=draw.choice(("default", "s2")))
        for _ in range(draw.randint(0, 2 * len(users)))
    )
    return Topology(name, tuple(parts), streams, workers=draw.randint(1, 12))


def random_problem(draw, within_capacity):
    nodes = random_nodes(draw)
    count = draw.choice((1, 1, 2, 3, 5, 14))
    style = draw.choice(("numbered", "random", "colliding"))
    names = random_names(draw, count, style, "topology-")
    topologies = tuple(random_topology(draw, name) for name in names)
    known = {(node.id, port) for node in nodes for port in node.ports}
    gone = {("gone", 6700), *((node.id, 6799) for node in nodes[:2])} - known
    problem = Problem(nodes, topologies, None, tuple(sorted(gone)))
    return replace(problem, current=random_current(draw, problem, within_capacity))


def random_current(draw, problem, within_capacity):
    """Some topologies hold some slots; some of these are lost."""
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    free = list(range(len(problem.slot_ids)))
    draw.shuffle(free)
    room = [[node.cpu_percent - 1e-6, node.memory_mb - 1e-6] for node in problem.nodes]
    for ordinal in range(len(problem.topologies)):
        if draw.random() < 0.4:
            continue
        mine = [free.pop() for _ in range(min(len(free), draw.choice((1, 2, 4, 11))))]
        density = draw.choice((1.0, 0.9, 0.4))
        for _, executor in tasks(problem, ordinal):
            if not mine or draw.random() > density:
                continue
            slot = draw.choice(mine)
            if within_capacity and slot < problem.slot_count:
                load = problem.executor_cpu[executor], problem.executor_memory[executor]
                left = room[problem.slot_node[slot]]
                if load[0] > left[0] or load[1] > left[1]:
                    continue
                left[:] = left[0] - load[0], left[1] - load[1]
            slots[executor] = slot
    return Placement(slots)


def states(name):
    draw = random.Random(f"{name} {SEED}")
    # Storm's resource-aware scheduler throws if what runs exceeds a node.
    problems = [random_problem(draw, name == "r-storm") for _ in range(STATES)]
    return problems, [draw.choice(HEAPS) for _ in problems]


def has_answer(answer):
    """Say whether Storm answered: sums of what it placed itself may exceed a node, by rounding."""
    return not (isinstance(answer, str) and "Attempting to consume more" in answer)


@pytest.mark.parametrize("name", ["even", "default", "r-storm"])
def test_every_executor_gets_the_slot_that_storm_gives_it(storm_oracle, name):
    problems, heaps = states(name)
    expected = [
        read_answer(storm_oracle.ask(name, state_lines(problem), heap))
        for problem, heap in zip(problems, heaps, strict=True)
    ]
    assert sum(has_answer(answer) for answer in expected) >= 500
    different = [
        at
        for at, (problem, heap) in enumerate(zip(problems, heaps, strict=True))
        if has_answer(expected[at]) and our_answer(name, problem, heap) != expected[at]
    ]
    assert different == []


@pytest.mark.parametrize("name", ["even", "default", "r-storm"])
def test_states_are_of_every_kind(name):
    problems, _ = states(name)
    kinds = {
        "system executors": has_system_executors,
        "partly assigned": is_partly_assigned,
        "dead slots": lambda problem: (problem.current_slots() >= problem.slot_count).any(),
        "several topologies": lambda problem: len(problem.topologies) > 1,
        "no slot": lambda problem: not problem.slot_count,
    }
    counts = {kind: sum(map(bool, map(is_of, problems))) for kind, is_of in kinds.items()}
    assert min(counts.values()) >= 20, counts


def has_system_executors(problem):
    return any(part.name in SYSTEM for each in problem.topologies for part in each.components)


def is_partly_assigned(problem):
    running = problem.current_slots() >= 0
    shares = np.bincount(problem.executor_topology, running) / np.bincount(
        problem.executor_topology
    )
    return ((shares > 0) & (shares < 1)).any()
