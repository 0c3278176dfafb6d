"""The state of controller and cluster, as JSON values and on one screen."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stormcut.model.cluster import Described

STATUS_VERSION = 1


def document(
    brain: str, started_ms: int, described: Described, outlook: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what there is to say, as JSON values; ages in seconds."""
    now_ms = time.time() * 1000
    workers: dict[str, int] = defaultdict(int)
    executors: dict[str, int] = defaultdict(int)
    for topology in described.state.topologies:
        for worker in topology.assignment:
            workers[worker.slot.node] += 1
            executors[worker.slot.node] += len(worker.executors)
    said = {line["topology"]: line for line in (*outlook["topologies"], *outlook["declined"])}
    return {
        "version": STATUS_VERSION,
        "brain": brain,
        "up_s": round((now_ms - started_ms) / 1000),
        "nimbus_asked_s": round((now_ms - described.moment_ms) / 1000),
        **{key: outlook[key] for key in ("mode", "paused", "plan", "proposal", "drained")},
        "topologies": [
            {
                "topology": topology.id,
                "workers": len(topology.assignment),
                "nodes": len({worker.slot.node for worker in topology.assignment}),
                "executors": len(topology.executors),
                "unassigned": len(topology.unassigned),
                "between_nodes": _between(said.get(topology.id, {})),
                "decision": said.get(topology.id, {}).get("reason", "none yet"),
            }
            for topology in sorted(described.state.topologies, key=lambda t: t.id)
        ],
        "nodes": [
            {
                "node": node.id,
                "host": node.host,
                "slots": len(node.ports),
                "workers": workers[node.id],
                "executors": executors[node.id],
                "drained": bool({node.id, node.host} & set(outlook["drained"])),
            }
            for node in sorted(described.state.supervisors, key=lambda node: node.host)
        ],
    }


def _between(line: Mapping[str, Any]) -> float | None:
    value = line.get("after")
    return value["inter_node_tuples_per_second"] if value and line.get("measured") else None


def print_status(console: Console, found: Mapping[str, Any]) -> None:
    """Print it; what people shall notice comes first and in colour."""
    state = "[bold yellow]paused[/]" if found["paused"] else f"mode {found['mode']}"
    plan = f"plan {found['plan'][:8]}" if found["plan"] else "no plan yet"
    _say(console, f"controller {escape(found['brain'])} leads, up {_age(found['up_s'])}, {state}")
    _say(console, f"Nimbus asked {_age(found['nimbus_asked_s'])} ago; {plan}")
    if found["proposal"]:
        _say(console, f"[bold]waits[/]: {found['proposal']}, see `stormcut plan`")
    console.print(_topologies(found))
    console.print(_nodes(found))


def _topologies(found: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("topology", overflow="fold", max_width=26)
    for title in ("workers", "nodes", "tuples/s\nbetween nodes"):
        table.add_column(title, justify="right")
    table.add_column("last decision", overflow="fold")
    for line in found["topologies"]:
        between = line["between_nodes"]
        lacks = (
            f"\n[red]{line['unassigned']} executors run nowhere[/]" if line["unassigned"] else ""
        )
        table.add_row(
            f"{escape(line['topology'])}{lacks}",
            str(line["workers"]),
            str(line["nodes"]),
            "?" if between is None else f"{between:,.0f}",
            escape(line["decision"]),
        )
    return table


def _nodes(found: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("node", overflow="fold")
    for title in ("workers", "of slots", "executors"):
        table.add_column(title, justify="right")
    table.add_column("")
    for line in found["nodes"]:
        note = "drained" if line["drained"] else "" if line["slots"] else "offers no slots now"
        counts = (line["workers"], line["slots"], line["executors"])
        table.add_row(escape(line["host"]), *map(str, counts), note)
    return table


def _age(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _say(console: Console, text: str) -> None:
    console.print(text)
