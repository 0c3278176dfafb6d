"""The papers' workloads as problems.

What a paper prints is a constant here; what it leaves out is a parameter with a default, chosen
once and varied by `stormcut reproduce --set`. Work is in microseconds of one core for a tuple,
``cores`` is what all executors of a topology need at its rates.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from stormcut.lab.papers.cells import Value
from stormcut.model.errors import InvalidInput
from stormcut.model.network import SHIPPED, Costs, HopDelay, Link
from stormcut.model.operator import Operator
from stormcut.model.problem import CORE_US, Component, Node, Problem, Stream, Topology

T = TypeVar("T")

#: A slot's first port.
PORT = 6700

#: (cores, memory in MB, slots) of the thesis's machines (section 6.1).
HIGH, LOW = (4, 4096.0, 4), (2, 2048.0, 2)
#: Its clusters (sections 6.1, 8.4 and 9.4): how many of each.
CLUSTERS: Mapping[str, tuple[int, int]] = {
    "8 high": (8, 0),
    "4 high": (4, 0),
    "3 high": (3, 0),
    "2 high, 4 low": (2, 4),
    "2 high, 2 low": (2, 2),
    "1 high, 2 low": (1, 2),
}
#: Executors that the nodes of its cost comparison hold (section 6.2.1).
CAPACITIES: Mapping[str, tuple[int, ...]] = {
    "homogeneous": (4,) * 10,
    "heterogeneous": (6,) * 3 + (4,) * 3 + (2,) * 4,
}

#: (source, target, tuples for each that the source takes, bytes of one).
Edge = tuple[str, str, float, float]


def _nodes(
    count: int, cores: float, memory_mb: float, slots: int, mbit: float, prefix: str = "n"
) -> list[Node]:
    ports = tuple(range(PORT, PORT + slots))
    return [
        Node(
            f"{prefix}{index:02d}",
            ports,
            cpu_percent=100.0 * cores,
            memory_mb=memory_mb,
            link=Link(mbit, mbit),
        )
        for index in range(count)
    ]


def _thesis_nodes(cluster: str, mbit: float) -> tuple[Node, ...]:
    if cluster not in CLUSTERS:
        known = ", ".join(repr(each) for each in CLUSTERS)
        raise InvalidInput(f"must be one of {known}, not {cluster!r}", "parameter cluster")
    high, low = CLUSTERS[cluster]
    return (*_nodes(high, *HIGH, mbit, "high"), *_nodes(low, *LOW, mbit, "low"))


def _costs(transfer: float) -> Costs:
    """Return the shipped costs of tuples between workers, scaled; workers themselves cost as is."""
    return replace(
        SHIPPED,
        send_us_per_tuple=SHIPPED.send_us_per_tuple * transfer,
        receive_us_per_tuple=SHIPPED.receive_us_per_tuple * transfer,
        receive_us_per_kib=SHIPPED.receive_us_per_kib * transfer,
        source="stated",
    )


def _topology(
    name: str,
    executors: Mapping[str, int],
    us: Mapping[str, float],
    edges: Sequence[Edge],
    rates: Mapping[str, float],
    groupings: Mapping[str, str],
    workers: int,
    memory_mb: float,
    window: float = 0.0,
) -> Topology:
    """Return a topology whose rates follow from those of its sources."""
    volume = {component: rates.get(component, 0.0) for component in executors}
    streams = []
    for source, target, factor, size in edges:
        rate = volume[source] * factor
        volume[target] += rate
        grouping = groupings.get(target, "shuffle")
        # Who takes the same tuples subscribes to the same stream.
        stream = f"{factor:g}-{size:g}"
        streams.append(Stream(source, target, rate, grouping, stream, size))
    targets = {target for _, target, _, _ in edges}
    components = tuple(
        replace(
            Component.uniform(
                component,
                count,
                "bolt" if component in targets else "spout",
                memory_mb=memory_mb,
            ),
            cpu_us_per_tuple=us[component],
        )
        for component, count in executors.items()
    )
    pending = int(window) or None
    return Topology(name, components, tuple(streams), workers=workers, max_spout_pending=pending)


def _taken(rate: float, edges: Sequence[Edge], sources: Sequence[str]) -> float:
    """Return the tuples/s that all components take, sources counted by what they emit."""
    volume = dict.fromkeys(sources, rate)
    for source, target, factor, _ in edges:
        volume[target] = volume.get(target, 0.0) + volume[source] * factor
    return sum(volume.values())


def _level(
    executors: Mapping[str, int], rate: float, edges: Sequence[Edge], cores: float
) -> dict[str, float]:
    """Return work for a tuple that is the same everywhere, so that all need so many cores."""
    targets = {target for _, target, _, _ in edges}
    sources = [component for component in executors if component not in targets]
    us = cores * CORE_US / _taken(rate, edges, sources)
    return dict.fromkeys(executors, us)


def load_prediction(
    cluster: str = "8 high",
    cores: float = 11.0,
    rate: float = 10_000.0,
    bytes_per_tuple: float = 100.0,
    predictions: float = 0.05,
    window: float = 6.0,
    transfer: float = 1.0,
    mbit: float = 1000.0,
    workers: float = 8,
) -> Problem:
    """Return the thesis's load prediction (section 6.3.1).

    Printed: the components, 10 tasks each, groupings and cluster. From the nodes used follow 9.6 to
    12.8 cores of work under the default scheduler: work and windows are chosen so. Chosen: all
    else.
    """
    executors = dict.fromkeys(("source", "plug", "house", "sink"), 10)
    edges: list[Edge] = [
        ("source", "plug", 1.0, bytes_per_tuple),
        ("source", "house", 1.0, bytes_per_tuple),
        ("plug", "sink", predictions, bytes_per_tuple),
        ("house", "sink", predictions, bytes_per_tuple),
    ]
    topology = _topology(
        "load_prediction",
        executors,
        _level(executors, rate, edges, cores),
        edges,
        {"source": rate},
        {"sink": "fields"},
        int(workers),
        64.0,
        window,
    )
    return Problem(_thesis_nodes(cluster, mbit), (topology,), costs=_costs(transfer))


def taxi(
    cluster: str = "8 high",
    cores: float = 8.0,
    rate: float = 10_000.0,
    bytes_per_tuple: float = 150.0,
    rankings: float = 0.1,
    window: float = 7.0,
    transfer: float = 1.0,
    mbit: float = 1000.0,
    workers: float = 8,
) -> Problem:
    """Return the thesis's frequent routes of taxis (section 6.3.2).

    Printed: the components, 16, 16, 8, 4 and 1 tasks, groupings and cluster. From the nodes used
    follow 6.4 to 9.6 cores of work under the default scheduler: work and windows are chosen so.
    Chosen: all else.
    """
    executors = {"source": 16, "preprocess": 16, "count": 8, "rank": 4, "total": 1}
    edges: list[Edge] = [
        ("source", "preprocess", 1.0, bytes_per_tuple),
        ("preprocess", "count", 1.0, bytes_per_tuple),
        ("count", "rank", rankings, bytes_per_tuple),
        ("rank", "total", rankings, bytes_per_tuple),
    ]
    topology = _topology(
        "taxi",
        executors,
        _level(executors, rate, edges, cores),
        edges,
        {"source": rate},
        {"rank": "fields", "total": "global"},
        int(workers),
        32.0,
        window,
    )
    return Problem(_thesis_nodes(cluster, mbit), (topology,), costs=_costs(transfer))


#: (tasks of each component, edges) of the thesis's layouts (section 6.2.2); how many components
#: there are is drawn with dots.
_LAYOUTS: Mapping[str, tuple[Mapping[str, int], Sequence[tuple[str, str]]]] = {
    "linear": ({"s": 8, "a": 8, "b": 8, "c": 8}, [("s", "a"), ("a", "b"), ("b", "c")]),
    "diamond": (
        {"s": 8, "a": 8, "b": 8, "c": 8, "t": 8},
        [*(("s", each) for each in "abc"), *((each, "t") for each in "abc")],
    ),
    "star": (
        {"s1": 4, "s2": 4, "hub": 8, "t1": 8, "t2": 8},
        [("s1", "hub"), ("s2", "hub"), ("hub", "t1"), ("hub", "t2")],
    ),
}
#: (cores that all executors need, bytes of a tuple): I/O is limited by what travels.
_INTENSITIES: Mapping[str, tuple[float, float]] = {"io": (1.0, 10_000.0), "cpu": (8.0, 100.0)}


def micro(
    layout: str = "linear",
    intensity: str = "cpu",
    cluster: str = "2 high, 4 low",
    rate: float = 4_000.0,
    window: float = 100.0,
    transfer: float = 1.0,
    mbit: float = 1000.0,
    workers: float = 6,
) -> Problem:
    """Return a micro-benchmark of the thesis's throughput comparison (section 6.2.2).

    Printed: the layouts, 8 tasks for a component (a star's spouts: 4), clusters, and that I/O is
    limited by the network and bolts of the others by their CPU. Chosen: all else.
    """
    executors, pairs = _choice(_LAYOUTS, layout, "layout")
    cores, size = _choice(_INTENSITIES, intensity, "intensity")
    edges = [(source, target, 1.0, size) for source, target in pairs]
    targets = {target for _, target in pairs}
    sources = {name: rate for name in executors if name not in targets}
    topology = _topology(
        layout,
        executors,
        _level(executors, rate, edges, cores),
        edges,
        sources,
        {},
        int(workers),
        32.0,
        window,
    )
    return Problem(_thesis_nodes(cluster, mbit), (topology,), costs=_costs(transfer))


def micro_cost(
    layout: str = "linear", executors: float = 10, cluster: str = "homogeneous"
) -> Problem:
    """Return an instance of the thesis's cost comparison (section 6.2.1), all of it printed."""
    return cost_instance(layout, int(executors), _choice(CAPACITIES, cluster, "cluster"))


def cost_instance(layout: str, executors: int, capacities: Sequence[int]) -> Problem:
    """Return one on nodes for so many executors each; every pair exchanges 1 tuple/s."""
    sizes, edges = _cost_layout(layout, executors)
    components = tuple(
        Component.uniform(f"c{index:02d}", size, "bolt" if index else "spout")
        for index, size in enumerate(sizes)
    )
    streams = tuple(Stream(f"c{a:02d}", f"c{b:02d}", float(sizes[a] * sizes[b])) for a, b in edges)
    ports = tuple(range(PORT, PORT + 4))
    nodes = tuple(
        Node(f"n{index:02d}", ports, max_executors=capacity)
        for index, capacity in enumerate(capacities)
    )
    return Problem(nodes, (Topology(f"{layout}-{executors}", components, streams),))


def _cost_layout(layout: str, tasks: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Return tasks of each component and the edges between components."""
    if layout == "linear":
        return [2] * (tasks // 2), [(index, index + 1) for index in range(tasks // 2 - 1)]
    if layout == "diamond":
        middle = range(1, (tasks - 8) // 2 + 1)
        sizes = [4] + [2] * len(middle) + [4]
        last = len(sizes) - 1
        return sizes, [(0, index) for index in middle] + [(index, last) for index in middle]
    if layout == "star":
        outer = (tasks - 4) // 2
        sources = (outer + 1) // 2
        sizes = [2] * sources + [4] + [2] * (outer - sources)
        inward = [(index, sources) for index in range(sources)]
        return sizes, inward + [(sources, index) for index in range(sources + 1, outer + 1)]
    raise InvalidInput(f"must be linear, diamond or star, not {layout!r}", "parameter layout")


#: StroMAX's cores run at 2.8 GHz (section 5.1): GHz ms to microseconds of one.
_GHZ = 2.8e-3

#: Its topologies (section 5.1, figure 4): executors in turn are sources, then bolts; edges; work
#: for a tuple in GHz ms; components that group by a key, or to one task. The work and sizes are not
#: printed, but for TT's 10 KB.
_STROMAX: Mapping[str, tuple[Sequence[Edge], Mapping[str, float], Mapping[str, str]]] = {
    "WC": (
        [("sp", "split", 1.0, 150.0), ("split", "count", 20.0, 30.0)],
        {"sp": 0.05, "split": 0.15, "count": 0.02},
        {"count": "fields"},
    ),
    "TT": (
        [("sp", "id", 1.0, 10_240.0), ("id", "anchor", 1.0, 10_240.0)],
        {"sp": 0.2, "id": 0.05, "anchor": 0.05},
        {},
    ),
    "TWTT": (
        [("sp", "prep", 1.0, 400.0), ("prep", "rank", 1.0, 40.0), ("rank", "merge", 0.01, 400.0)],
        {"sp": 0.1, "prep": 0.2, "rank": 0.1, "merge": 0.3},
        {"rank": "fields"},
    ),
    "LP": (
        [
            ("sp", "rules", 1.0, 200.0),
            ("rules", "index", 1.0, 250.0),
            ("rules", "counter", 1.0, 250.0),
        ],
        {"sp": 0.1, "rules": 0.5, "index": 0.8, "counter": 0.05},
        {"counter": "fields"},
    ),
    "TSSA": (
        [
            ("sp", "sensitize", 1.0, 750.0),
            ("sensitize", "clean", 1.0, 250.0),
            ("clean", "positive", 1.0, 200.0),
            ("clean", "negative", 1.0, 200.0),
            ("positive", "join", 1.0, 60.0),
            ("negative", "join", 1.0, 60.0),
            ("join", "score", 1.0, 80.0),
        ],
        {
            "sp": 0.6,
            "sensitize": 0.15,
            "clean": 0.3,
            "positive": 0.8,
            "negative": 0.8,
            "join": 0.15,
            "score": 0.05,
        },
        {"join": "fields"},
    ),
    "SC": (
        [("sp", "c1", 1.0, 150.0), ("c1", "c2", 1.0, 300.0), ("c2", "c3", 1.0, 600.0)],
        {"sp": 0.05, "c1": 0.1, "c2": 0.1, "c3": 0.1},
        {},
    ),
}
#: Parallelism by experiment (sections 5.2 and 5.3): of the sources, of bolts, of some bolts.
_PARALLELISM: Mapping[str, tuple[int, int, Mapping[str, int]]] = {
    "5.2": (8, 20, {}),
    "5.2 LP": (10, 30, {"rules": 50}),
    "5.3 GTGP": (5, 20, {}),
    "5.3 DTR": (3, 10, {}),
}


def stromax(
    topologies: str = "TSSA",
    parallelism: str = "5.2",
    grouping: str = "shuffle",
    rate: float = 2_000.0,
    nodes: float = 40,
    slots: float = 10,
    window: float = 100.0,
    transfer: float = 1.0,
    mbit: float = 1000.0,
) -> Problem:
    """Return StroMAX's topologies (names parted by ``+``) on its workers (section 5.1).

    Printed: components, parallelism, 40 workers of two cores at 2.8 GHz, 10 task slots, 1 Gbit/s.
    Chosen: work and size of tuples, groupings (``shuffle`` or ``local_or_shuffle``; a join and
    counters always group by a key), rates.
    """
    spouts, bolts, some = _choice(_PARALLELISM, parallelism, "parallelism")
    placed = []
    for name in topologies.split("+"):
        edges, ghz_ms, fixed = _choice(_STROMAX, name, "topologies")
        executors = {each: some.get(each, bolts) for each in ghz_ms} | {"sp": spouts}
        placed.append(
            _topology(
                name,
                executors,
                {each: work / _GHZ for each, work in ghz_ms.items()},
                edges,
                {"sp": rate},
                dict.fromkeys(ghz_ms, grouping) | dict(fixed),
                int(nodes),
                0.0,
                window,
            )
        )
    cluster = tuple(_nodes(int(nodes), 2, 2048.0, int(slots), mbit))
    return Problem(cluster, tuple(placed), costs=_costs(transfer))


#: Shapes of Bframework's queries (section 5.1): operators from one to the next.
_SHAPES: Mapping[str, Sequence[tuple[str, str]]] = {
    "star": [
        *((f"s{index}", "hub") for index in range(3)),
        *(("hub", f"k{index}") for index in range(3)),
    ],
    "diamond": [
        *(("s0", f"m{index}") for index in range(3)),
        *((f"m{index}", "j") for index in range(3)),
        ("j", "k"),
    ],
    "mixed": [
        *(("s0", f"a{index}") for index in range(4)),
        *((f"a{index}", f"b{index}") for index in range(4)),
        *((f"b{index}", "j") for index in range(4)),
        *(("j", f"d{index}") for index in range(3)),
        *((f"d{index}", "k") for index in range(3)),
    ],
}
_SELECTIVITIES, _SIZES, _WORK = (
    (0.3, 0.5, 1.0, 1.0),
    (50.0, 200.0, 1000.0, 5000.0),
    (50.0, 100.0, 200.0, 400.0),
)
#: What System R guesses of a predicate, and its author declares, by what it lets through in fact.
_DECLARED: Mapping[float, Operator] = {
    0.3: Operator("filter", predicate={"above": None}),
    0.5: Operator("filter", predicate={"between": None}),
    1.0: Operator("map"),
}
#: Of 17 queries of Linear Road and 27 of BigBench; the seed is the query's number.
LINEAR_ROAD, BIG_BENCH = 17, 27


def _query(
    name: str, shape: str, number: int, layers: int, rate: float, workers: int, unknown: float
) -> Topology:
    chance = random.Random(f"{name}-{number}")
    if shape == "linear":
        length = chance.randint(3, 7)
        pairs: Sequence[tuple[str, str]] = [
            (f"{'s' if index == 0 else 'o'}{index}", f"o{index + 1}") for index in range(length - 1)
        ]
    else:
        pairs = _choice(_SHAPES, shape, "shape")
    operators = list(dict.fromkeys(each for pair in pairs for each in pair))
    targets = {target for _, target in pairs}
    chosen = {
        each: (chance.choice(_SELECTIVITIES), chance.choice(_SIZES), chance.choice(_WORK))
        for each in operators
    }
    edges = [
        (source, target, chosen[source][0] if source in targets else 1.0, chosen[source][1])
        for source, target in pairs
    ]
    topology = _topology(
        name,
        dict.fromkeys(operators, layers),
        {each: chosen[each][2] for each in operators},
        edges,
        {each: rate for each in operators if each not in targets},
        {},
        workers,
        0.0,
        100.0,
    )
    declared = _declared(edges, {each: chosen[each][0] for each in operators}, rate)
    chance = random.Random(f"{name}-{number}-schema")
    return _with_operators(
        topology, {each: its for each, its in declared.items() if chance.random() >= unknown}
    )


def _declared(
    edges: Sequence[Edge], selectivities: Mapping[str, float], rate: float
) -> dict[str, Operator]:
    """Return what the author of a query declares: schemas as they are, selectivities guessed."""
    sizes = {source: size for source, _, _, size in edges}
    inputs = {target: size for _, target, _, size in reversed(edges)}
    declared = {}
    for name, selectivity in selectivities.items():
        if name not in inputs:
            operator = Operator("source", rate=rate)
        elif name not in sizes:
            operator = Operator("end")
        else:
            operator = _DECLARED[selectivity]
        # What ends a query writes as much as it reads.
        size = sizes[name] if name in sizes else inputs[name]
        declared[name] = structs.replace(operator, schema={"tuple": size})
    return declared


def _with_operators(topology: Topology, operators: Mapping[str, Operator]) -> Topology:
    components = (replace(c, operator=operators.get(c.name)) for c in topology.components)
    return replace(topology, components=tuple(components))


#: Queries without a schema: executors of each component are ``layers``; edges, bytes of a tuple.
_WITHOUT_SCHEMA: Mapping[str, Sequence[Edge]] = {
    "wordcount": (("sentences", "split", 1.0, 60.0), ("split", "count", 9.0, 12.0)),
    "page load": (
        ("events", "transform", 1.0, 500.0),
        ("transform", "filter", 1.0, 300.0),
        ("filter", "join", 0.3, 300.0),
        ("join", "filter2", 1.0, 120.0),
        ("filter2", "aggregate", 0.5, 120.0),
        ("aggregate", "sink", 0.05, 60.0),
    ),
}


def without_schema(
    query: str = "wordcount", layers: float = 4, rate: float = 1_000.0, workers: float = 13
) -> Problem:
    """Return a query of Bframework that declares nothing (section 5.1).

    Printed: which two there are. The stages of the page load are those of public versions of
    R-Storm's benchmark; bytes and selectivities are chosen.
    """
    edges = _choice(_WITHOUT_SCHEMA, query, "query")
    parts = dict.fromkeys((edges[0][0], *(target for _, target, _, _ in edges)), int(layers))
    us, sources = dict.fromkeys(parts, 100.0), {edges[0][0]: rate}
    topology = _topology(query, parts, us, edges, sources, {}, int(workers), 0.0, 100.0)
    declared = _with_operators(topology, {edges[0][0]: Operator("user_defined")})
    return Problem(tuple(_nodes(13, 4, 16_384.0, 4, 1000.0)), (declared,), costs=_costs(1.0))


def bframework(
    queries: str = "linear",
    number: float = 1,
    layers: float = 4,
    rate: float = 1_000.0,
    workers: float = 13,
    transfer: float = 1.0,
    mbit: float = 1000.0,
    unknown: float = 0.0,
) -> Problem:
    """Return queries of Bframework (shapes parted by ``+``) on its 13 workers (section 5.1).

    Printed: the number of workers, and of which shapes its queries are. The queries themselves, the
    machines and the rates are lost: sizes, selectivities and work are drawn at random, by
    ``number``. Authors declare schemas, and selectivities as System R guesses them; a share
    ``unknown`` of the operators is user-defined, and declared by nobody.
    """
    shapes = queries.split("+")
    topologies = tuple(
        _query(
            f"{shape}{index}" if len(shapes) > 1 else shape,
            shape,
            int(number) + index,
            int(layers),
            rate,
            int(workers),
            unknown,
        )
        for index, shape in enumerate(shapes)
    )
    nodes = tuple(_nodes(13, 4, 16_384.0, 4, mbit))
    return Problem(nodes, topologies, costs=_costs(transfer))


#: The applications of pipeline-linear scheduling: tasks of each component, edges, nodes
#: (figures 2, 6 and 16).
PIPELINES: Mapping[str, tuple[Sequence[int], Sequence[tuple[int, int]], int]] = {
    "random": ((6, 5, 4, 4, 5), ((0, 1), (1, 2), (1, 3), (2, 4), (3, 4)), 9),
    "linear": ((3, 4, 3, 4), ((0, 1), (1, 2), (2, 3)), 8),
    "diamond": ((10, 10, 10, 10), ((0, 1), (0, 2), (1, 3), (2, 3)), 8),
    "linear-R": ((16, 16, 8, 4, 1), ((0, 1), (1, 2), (2, 3), (3, 4)), 8),
}


def pipeline(
    application: str = "random",
    service_us: float = 5_000.0,
    bytes_per_tuple: float = 8_192.0,
    load: float = 0.9,
    window: float = 100.0,
    mbit: float = 100.0,
    distance_us: float = 200.0,
    buffer: float = 4_096.0,
    resend_ms: float = 50.0,
    loss: float = 0.0,
) -> Problem:
    """Return an application of pipeline-linear scheduling (sections V.A and V.E).

    Printed: tasks, edges, nodes of four slots, 100 Mbit/s, 8 KB for a tuple, buffers of 32 Mbit,
    and that tuples are late by the distance of nodes and come again where they find no room.
    Chosen: the time that a tuple takes, that of a place between nodes, and when it comes again.
    ``load`` is the sources' rate over what the busiest component carries.
    """
    tasks, pairs, count = _choice(PIPELINES, application, "application")
    volume = [1.0] + [0.0] * (len(tasks) - 1)
    for source, target in pairs:
        volume[target] += volume[source]
    bound = min(
        size * CORE_US / service_us / each
        for size, each in list(zip(tasks, volume, strict=True))[1:]
    )
    names = [f"c{index}" for index in range(len(tasks))]
    topology = _topology(
        application,
        dict(zip(names, tasks, strict=True)),
        dict.fromkeys(names, service_us) | {"c0": 1.0},
        [(names[a], names[b], 1.0, bytes_per_tuple) for a, b in pairs],
        {"c0": load * bound},
        {},
        count,
        0.0,
        window,
    )
    bolts = (
        component if component.kind == "spout" else replace(component, buffer=int(buffer))
        for component in topology.components
    )
    topology = replace(topology, components=tuple(bolts), loss=loss, resend_ms=resend_ms)
    nodes = tuple(_nodes(count, 4, 1024.0, 4, mbit))
    free = Costs(0.0, 0.0, 0.0, 0.0, 0.0)
    return Problem(nodes, (topology,), costs=free, hop=HopDelay(0.0, distance_us))


def _choice(known: Mapping[str, T], name: str, parameter: str) -> T:
    if name not in known:
        listed = ", ".join(known)
        raise InvalidInput(f"must be one of {listed}, not {name!r}", f"parameter {parameter}")
    return known[name]


WORKLOADS: Mapping[str, Callable[..., Problem]] = {
    "load-prediction": load_prediction,
    "taxi": taxi,
    "micro": micro,
    "micro-cost": micro_cost,
    "stromax": stromax,
    "bframework": bframework,
    "without schema": without_schema,
    "pipeline": pipeline,
}


def defaults_of(function: Callable[..., Any]) -> dict[str, Value]:
    """Return the parameters of a workload or a measure with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}
