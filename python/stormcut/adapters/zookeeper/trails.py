"""Where topologies ran, move by move, a blob each: docs/protocol.md."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kazoo.exceptions import NoAuthError

from stormcut.adapters.zookeeper.blob import delete_blob, read_blob, write_blob
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.undos import workers_in
from stormcut.control.gate.change import Initiator
from stormcut.control.review.trail import Step, appended
from stormcut.model.cluster import worker_rows
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

TRAIL_VERSION = 1
_KIND = "trails"


def append_step(nodes: StormcutNodes, topology: str, step: Step) -> None:
    """Add a step to a topology's trail; one that cannot be read begins again.

    Where it belongs to others the move is made all the same, and cannot be undone.
    """
    try:
        write_trail(nodes, topology, appended(read_trail(nodes, topology), step))
    except NoAuthError:
        message = "ZooKeeper node %s belongs to others: the move of %s is not kept, for any undo"
        log.warning(message, nodes.topology_path(_KIND, topology), topology)


def write_trail(nodes: StormcutNodes, topology: str, trail: Sequence[Step]) -> None:
    """Put a trail in the place of what is there."""
    document = {"version": TRAIL_VERSION, "steps": [_row(each) for each in trail]}
    path = nodes.topology_path(_KIND, topology)
    content = json.dumps(document).encode()
    write_blob(nodes.client, path, content, nodes.set_data)


def read_trail(nodes: StormcutNodes, topology: str) -> tuple[Step, ...]:
    """Return a topology's steps, oldest first; one that cannot be read is logged, and empty."""
    path = nodes.topology_path(_KIND, topology)
    where = f"ZooKeeper node {path}"
    try:
        content = read_blob(nodes.client, path)
        return () if content is None else _steps(content, where)
    except InvalidInput as error:
        log.warning("trail of %s not used: %s", topology, error)
        return ()


def delete_trail(nodes: StormcutNodes, topology: str) -> None:
    """Forget where a topology ran."""
    delete_blob(nodes.client, nodes.topology_path(_KIND, topology))


def topologies_with_trail(nodes: StormcutNodes) -> list[str]:
    """Return the ids of all topologies that plans have moved."""
    return sorted(nodes.children(_KIND))


def _row(step: Step) -> Mapping[str, Any]:
    return {
        "plan": step.plan,
        "at_s": step.at_s,
        "initiator": step.initiator.value,
        "before": worker_rows(step.before),
        "after": worker_rows(step.after),
        "between_nodes_per_s": step.between_nodes_per_s,
        "hosts": dict(step.hosts),
    }


def _steps(content: bytes, where: str) -> tuple[Step, ...]:
    try:
        document = json.loads(content)
        if document["version"] != TRAIL_VERSION:
            raise InvalidInput(f"is of version {document['version']}: upgrade stormcut", where)
        return tuple(_step(row, where) for row in document["steps"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"is no trail: {error!r}", where) from error


def _step(row: Mapping[str, Any], where: str) -> Step:
    predicted = row["between_nodes_per_s"]
    return Step(
        str(row["plan"]),
        float(row["at_s"]),
        Initiator(row["initiator"]),
        workers_in(row["before"], where),
        workers_in(row["after"], where),
        None if predicted is None else float(predicted),
        {str(node): str(host) for node, host in row["hosts"].items()},
    )
