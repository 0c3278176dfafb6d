"""Random scheduling problems and placements for hypothesis."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from stormcut.model.network import Costs, Link
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import (
    GROUPINGS,
    SHUFFLES,
    Component,
    MeasuredPair,
    Node,
    Problem,
    Stream,
    Topology,
)

rates = st.one_of(st.just(0.0), st.floats(0.001, 1000.0), st.integers(1, 100).map(float))
loads = st.one_of(st.just(0.0), st.integers(1, 60).map(float))


@st.composite
def components(draw, name):
    count = draw(st.integers(1, 5))
    per_executor = st.lists(loads, min_size=count, max_size=count).map(np.array)
    return Component(
        name,
        draw(st.sampled_from(("spout", "bolt"))),
        count,
        draw(st.one_of(loads.map(lambda value: np.full(count, value)), per_executor)),
        draw(per_executor) * 8,
    )


def prefers_near(topology, stream):
    """Return whether sources of a stream send to targets in their worker, if there are any."""
    aware = topology.shuffle == "load_aware" and stream.grouping == "shuffle"
    return aware or stream.grouping == "local_or_shuffle"


def with_shares(stream, source):
    """A stream of which executors of a spout may send unequal shares."""
    if source.kind == "bolt":
        return st.just(stream)
    size = source.executors
    weights = st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any)
    shares = weights.map(lambda each: tuple(weight / sum(each) for weight in each))
    return st.one_of(st.none(), shares).map(lambda each: replace(stream, shares=each))


@st.composite
def topologies(draw, name):
    names = draw(st.lists(st.sampled_from("aBcd_"), min_size=1, max_size=4, unique=True))
    parts = tuple(draw(components(component)) for component in names)
    ends = st.sampled_from(names)
    streams = st.builds(Stream, ends, ends, rates, st.sampled_from(GROUPINGS)).flatmap(
        lambda stream: with_shares(
            stream, next(part for part in parts if part.name == stream.source)
        )
    )
    executors = [(part.name, index) for part in parts for index in range(part.executors)]
    ends = st.sampled_from(executors)
    pairs = st.builds(MeasuredPair, ends, ends, rates, st.none())
    return Topology(
        name,
        parts,
        tuple(draw(st.lists(streams, min_size=draw(st.sampled_from((0, 1, 1))), max_size=4))),
        tuple(draw(st.lists(pairs, max_size=4))),
        draw(st.one_of(st.none(), st.integers(1, 8))),
    )


def node_capacities():
    """Strategy of (cpu, memory, executors) limits that all nodes of a problem share."""
    return st.tuples(
        st.one_of(st.none(), st.sampled_from((100.0, 200.0, 400.0))),
        st.one_of(st.none(), st.sampled_from((1024.0, 4096.0))),
        st.one_of(st.none(), st.integers(1, 8)),
    )


@st.composite
def problems(draw, homogeneous=False):
    """Problems of up to three topologies; about a quarter have too few slots for any placement."""
    shared = draw(node_capacities())
    homogeneous = homogeneous or draw(st.booleans())
    slots = draw(st.sampled_from((0, 2, 2, 2)))
    nodes = []
    for ordinal in range(draw(st.integers(min(slots, 1), 6))):
        cpu, memory, executors = shared if homogeneous else draw(node_capacities())
        ports = draw(st.lists(st.integers(6700, 6709), min_size=slots, max_size=4, unique=True))
        rack = draw(st.sampled_from((None, "r0", "r1")))
        nodes.append(Node(f"n{ordinal}", tuple(ports), rack, cpu, memory, executors))
    count = draw(st.integers(1, 3))
    problem = Problem(tuple(nodes), tuple(draw(topologies(f"t{k}")) for k in range(count)))
    if not draw(st.booleans()):
        return problem
    problem = replace(problem, lost_slots=draw(st.sampled_from(((), (("gone", 6700),)))))
    return replace(problem, current=draw(tenant_placements(problem)))


@st.composite
def placements(draw, problem):
    """Any placement, feasible or not."""
    slot = st.integers(UNASSIGNED, len(problem.slot_ids) - 1)
    size = problem.executor_count
    return Placement(np.array(draw(st.lists(slot, min_size=size, max_size=size)), dtype=np.int64))


@st.composite
def tenant_placements(draw, problem):
    """A placement that Storm could run: no slot holds executors of two topologies."""
    slots = np.full(problem.executor_count, UNASSIGNED, dtype=np.int64)
    free = draw(st.permutations(range(len(problem.slot_ids))))
    for topology in range(len(problem.topologies)):
        own, free = free[: (take := draw(st.integers(0, 3)))], free[take:]
        for executor in np.flatnonzero(problem.executor_topology == topology):
            slots[executor] = draw(st.sampled_from([UNASSIGNED, *own]))
    return Placement(slots)


@st.composite
def placed_problems(draw):
    problem = draw(problems())
    return problem, draw(placements(problem))


capacities = st.one_of(st.none(), st.sampled_from((0.0, 0.5, 10.0, 100.0)))
links = st.builds(Link, capacities, capacities)
amounts = st.sampled_from((0.0, 1.0, 25.0, 200.0))


@st.composite
def with_resources(draw, problem):
    """A problem with links, uplinks, costs of transfer, sizes of tuples and CPU per tuple."""

    def component(part):
        return replace(
            part,
            cpu_us_per_tuple=draw(st.one_of(st.none(), amounts)),
            threads=draw(st.sampled_from((1.0, 2.0, 0.5))),
        )

    def size():
        return draw(st.one_of(st.none(), amounts))

    def topology(of):
        return replace(
            of,
            components=tuple(component(part) for part in of.components),
            streams=tuple(
                replace(
                    stream,
                    bytes_per_tuple=size(),
                    stream=draw(st.sampled_from(("default", "x"))),
                )
                for stream in of.streams
            ),
            measured=tuple(pair._replace(bytes_per_tuple=size()) for pair in of.measured),
            max_spout_pending=draw(st.one_of(st.none(), st.integers(1, 100))),
            shuffle=draw(st.sampled_from(SHUFFLES)),
        )

    return replace(
        problem,
        nodes=tuple(replace(node, link=draw(links)) for node in problem.nodes),
        topologies=tuple(topology(of) for of in problem.topologies),
        uplinks=draw(st.sampled_from(((), (("r0", Link(1.0, None)), ("r1", Link(2.0, 3.0)))))),
        costs=draw(
            st.one_of(
                st.none(),
                st.builds(
                    Costs,
                    amounts,
                    amounts,
                    amounts,
                    amounts,
                    amounts,
                    st.sampled_from((math.inf, 25.0, 1.0)),
                    st.sampled_from((0.0, 7.5)),
                    source=st.just("the problem"),
                ),
            )
        ),
    )


@st.composite
def placed_problems_with_resources(draw):
    problem = draw(with_resources(draw(problems())))
    return problem, draw(placements(problem))
