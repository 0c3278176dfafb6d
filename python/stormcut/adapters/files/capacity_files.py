"""Reads what capacity is planned by: tasks' models, dataflows, and shapes of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stormcut.adapters.files.json_document import JsonValue, optional, read_json
from stormcut.adapters.files.problem_file import check_format, link_of, within
from stormcut.capacity.plan import MAX_NODES, NodeShape
from stormcut.model.errors import InvalidInput
from stormcut.placement.algorithms.model_driven.allocation import Dag, Edge, PerformanceModel

MODELS, DAG = "stormcut-models/1", "stormcut-dag/1"

#: Slots of a node; more is a slip of the keyboard.
MAX_PORTS = 1000


@dataclass(frozen=True)
class DagFile:
    """A dataflow, and the name of the model of each of its tasks."""

    dag: Dag
    model_of: Mapping[str, str]

    def models(self, known: Mapping[str, PerformanceModel]) -> dict[str, PerformanceModel]:
        """Return the model of each task.

        Raises
        ------
        InvalidInput
            One is not known.
        """
        for task, name in self.model_of.items():
            if name not in known:
                raise InvalidInput(
                    f"task {task!r} has the model {name!r}, of which nothing is known; there are "
                    f"{', '.join(sorted(known))}",
                    "--models",
                )
        return {task: known[name] for task, name in self.model_of.items()}


def read_models(path: Path) -> dict[str, PerformanceModel]:
    """Read performance models by name.

    Raises
    ------
    InvalidInput
        It cannot be read or is no such file; names file and place.
    """
    root = read_json(path)
    try:
        check_format(root, MODELS)
        keys = root.keys(("format", "models"), ("taken_on", "slot"))
        return {name: _model(each) for name, each in keys["models"].members().items()}
    except InvalidInput as error:
        raise within(path, error) from None


def _model(value: JsonValue) -> PerformanceModel:
    keys = value.keys(("threads", "rate", "cpu_percent", "memory_percent"))
    columns = {
        name: tuple(each.amount() for each in keys[name].items())
        for name in ("rate", "cpu_percent", "memory_percent")
    }
    threads = tuple(each.integer(1, 10**6) for each in keys["threads"].items())
    try:
        return PerformanceModel(threads, **columns)
    except InvalidInput as error:
        value.fail(error.what)


def read_dag(path: Path) -> DagFile:
    """Read a dataflow.

    Raises
    ------
    InvalidInput
        It cannot be read, is no such file, or has a cycle; names file and place.
    """
    root = read_json(path)
    try:
        check_format(root, DAG)
        keys = root.keys(("format", "tasks", "edges"))
        tasks = {name: each.name() for name, each in keys["tasks"].members().items()}
        if not tasks:
            keys["tasks"].fail("names no task")
        dag = Dag(tuple(tasks), tuple(_edge(each, tasks) for each in keys["edges"].items()))
        if cycle := _cycle(dag):
            keys["edges"].fail(f"has a cycle: {' -> '.join(cycle)}")
        return DagFile(dag, tasks)
    except InvalidInput as error:
        raise within(path, error) from None


def read_shapes(path: Path) -> tuple[NodeShape, ...]:
    """Read the shapes of nodes that can be had.

    Raises
    ------
    InvalidInput
        It cannot be read or is no list of shapes; names file and place.
    """
    root = read_json(path)
    try:
        shapes = tuple(_shape(each) for each in root.items())
        if not shapes:
            root.fail("names no shape")
        root.distinct([each.name for each in shapes], "shape")
        return shapes
    except InvalidInput as error:
        raise within(path, error) from None


def _shape(value: JsonValue) -> NodeShape:
    required = ("name", "cpu_percent", "memory_mb", "ports")
    keys = value.keys(required, ("link_mbit", "price_per_hour", "at_most"))
    cpu, memory = keys["cpu_percent"].amount(), keys["memory_mb"].amount()
    for name, size in (("cpu_percent", cpu), ("memory_mb", memory)):
        if not size:
            keys[name].fail("must be above 0: nothing runs on such a node")
    most = optional(keys.get("at_most"), lambda each: each.integer(1, MAX_NODES))
    return NodeShape(
        keys["name"].name(),
        cpu,
        memory,
        keys["ports"].integer(1, MAX_PORTS),
        link_of(keys.get("link_mbit")),
        optional(keys.get("price_per_hour"), JsonValue.amount),
        MAX_NODES if most is None else most,
    )


def _cycle(dag: Dag) -> list[str]:
    """Return the tasks of a cycle, the first again at the end; none without one."""
    # Takes a tenth of a second to load: not for help.
    import networkx as nx

    graph = nx.DiGraph((edge.source, edge.target) for edge in dag.edges)
    try:
        cycle = nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return []
    return [*(source for source, _ in cycle), cycle[0][0]]


def _edge(value: JsonValue, tasks: Mapping[str, str]) -> Edge:
    parts = list(value.items())
    if len(parts) not in (2, 3):
        value.mismatch("a list of source, target and selectivity")
    for end in parts[:2]:
        if end.name() not in tasks:
            end.fail(f"no task is named {end.raw!r}")
    return Edge(parts[0].raw, parts[1].raw, parts[2].amount() if len(parts) == 3 else 1.0)
