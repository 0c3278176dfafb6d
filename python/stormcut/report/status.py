"""The state of controller and cluster, as JSON values and on one screen."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from stormcut.model.cluster import Described
from stormcut.report.preview import drain_progress, pending_words, progress_words
from stormcut.report.terminal import Grid, print_all

STATUS_VERSION = 1
#: Nimbus asks every 10 s.
NIMBUS_LATE_S = 60
#: Of the last moves.
SHOWN = 3


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
    hosts = {node.id: node.host for node in described.state.supervisors}
    # Of what would move, were it allowed to, it is known what it does now.
    would = {line["topology"]: {**line, "after": line["before"]} for line in outlook["withheld"]}
    said = {
        line["topology"]: {**would.get(line["topology"], {}), **line}
        for line in (*outlook["topologies"], *outlook["declined"])
    }
    return {
        "version": STATUS_VERSION,
        "brain": brain,
        "up_s": round((now_ms - started_ms) / 1000),
        "nimbus_asked_s": round((now_ms - described.moment_ms) / 1000),
        **{key: outlook[key] for key in ("mode", "paused", "plan", "proposal", "drained")},
        # Of brains that are older than this command there are none.
        "left_on_drained": outlook.get("left_on_drained", {}),
        "why_paused": outlook.get("why_paused", ""),
        "approved": outlook.get("approved", []),
        "pending": outlook.get("pending", []),
        "moving": outlook.get("moving", []),
        "drained_nowhere": outlook.get("drained_nowhere", []),
        "parts": outlook.get("parts", {}),
        "reviews": outlook.get("reviews", []),
        "topologies": [
            {
                "topology": topology.id,
                "workers": len(topology.assignment),
                "nodes": len({worker.slot.node for worker in topology.assignment}),
                "executors": len(topology.executors),
                "unassigned": len(topology.unassigned),
                "between_nodes": _between(said.get(topology.id, {})),
                **_room(said.get(topology.id, {}), hosts),
                "decision": with_hosts(said.get(topology.id, {}).get("reason", "none yet"), hosts),
                "unmeasured": outlook.get("unmeasured", {}).get(topology.id, ""),
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
                "drained": node.id in outlook.get("drained_nodes", ()),
                "silent": node.id in outlook.get("silent", ()),
                "machine": outlook.get("machines", {}).get(node.id, ""),
                "on_probation": node.id in outlook.get("on_probation", ()),
            }
            for node in sorted(described.state.supervisors, key=lambda node: node.host)
        ],
    }


def _between(line: Mapping[str, Any]) -> float | None:
    value = line.get("after")
    return value["inter_node_tuples_per_second"] if value and line.get("measured") else None


def _room(line: Mapping[str, Any], hosts: Mapping[str, str]) -> dict[str, Any]:
    """Return the head-room of what a topology does now, and which resource is full first."""
    value = line.get("after") or {}
    fullest = value.get("fullest")
    named = None if fullest is None else with_hosts(fullest, hosts).replace("node ", "")
    if named is not None:
        named = named.removesuffix(f" of {line['topology']}")
    return {"headroom": value.get("headroom"), "fullest": named}


def with_hosts(text: str, hosts: Mapping[str, str]) -> str:
    """Return a text that names nodes by their hosts: people do not know ids of supervisors."""
    for node, host in hosts.items():
        text = text.replace(node, host)
    return text


def print_status(console: Console, status: Mapping[str, Any], is_wide: bool = False) -> None:
    """Print it; what people shall notice comes first and in colour."""
    state = "[bold yellow]paused[/]" if status["paused"] else f"mode {status['mode']}"
    plan = f"plan {status['plan'][:8]}" if status["plan"] else "no plan yet"
    _say(console, f"controller {escape(status['brain'])} leads, up {_age(status['up_s'])}, {state}")
    late = status["nimbus_asked_s"] > NIMBUS_LATE_S
    nimbus = f"Nimbus: asked {_age(status['nimbus_asked_s'])} ago; {plan}"
    _say(console, f"[red]{nimbus}[/]" if late else nimbus)
    for name, part in status["parts"].items():
        words = escape(f"{name}: {part['words']}")
        _say(console, words if part["is_well"] else f"[red]{words}[/]")
    if status["why_paused"]:
        _say(console, f"[yellow]paused[/]: {escape(status['why_paused'])}")
    if status["proposal"]:
        is_approved = status["proposal"] in status["approved"]
        waits = "is approved, but waits" if is_approved else "waits"
        _say(console, f"plan [bold]{status['proposal']}[/] {waits}: see `stormcut plan`")
    for move in status["moving"]:
        _say(console, escape(progress_words(move)))
    for order in status["pending"]:
        _say(console, escape(pending_words(order)))
    for name in status["drained_nowhere"]:
        _say(console, f"[yellow]drained: {escape(name)}[/], but no supervisor has this id or host")
    left = status["left_on_drained"]
    for text in drain_progress(left, len(left) == len(status["nodes"])):
        _say(console, escape(text))
    for line in status["topologies"]:
        if line["unassigned"]:
            lacks = f"{escape(line['topology'])}: {line['unassigned']} executors run nowhere"
            _say(console, f"[red]{lacks}[/]")
    grids = [_topologies(status), _decisions(status), _nodes(status)]
    reviews = [_reviews(status["reviews"][-SHOWN:])] if status["reviews"] else []
    print_all(console, [*grids, *reviews], is_wide)


def _reviews(reviews: Sequence[Mapping[str, Any]]) -> Grid:
    table = Grid().labels("last moves").name("topology").words("turned out")
    for each in reversed(reviews):
        moment = datetime.fromtimestamp(each["at_s"]).strftime("%m-%d %H:%M")
        table.row(moment, each["topology"], each["words"])
    return table


def _topologies(status: Mapping[str, Any]) -> Grid:
    table = Grid().name("topology").figures("workers", rank=2).figures("nodes", rank=1)
    table.figures("tuples/s\nbetween nodes", "head-room").words("full first")
    for line in status["topologies"]:
        between = line["between_nodes"]
        table.row(
            line["topology"],
            str(line["workers"]),
            str(line["nodes"]),
            "?" if between is None else f"{between:,.0f}",
            _headroom(line["headroom"]),
            line["fullest"] or "",
        )
    return table


def _decisions(status: Mapping[str, Any]) -> Grid:
    table = Grid().name("topology").words("last decision")
    for line in status["topologies"]:
        why = f" ({line['unmeasured']})" if line["unmeasured"] else ""
        table.row(line["topology"], line["decision"] + why)
    return table


def _headroom(value: float | None) -> Text:
    if value is None:
        return Text("?")
    shown = f"{value:,.1f}" if value < 10 else f"{value:,.0f}"
    return Text(shown, "red" if value < 1 else "")


def _nodes(status: Mapping[str, Any]) -> Grid:
    table = Grid().name("node").figures("workers", "of slots").figures("executors", rank=1).words()
    for line in status["nodes"]:
        counts = (line["workers"], line["slots"], line["executors"])
        table.row(line["host"], *map(str, counts), _note(line))
    return table


def _note(line: Mapping[str, Any]) -> str:
    if line["drained"]:
        return "drained"
    if line["silent"]:
        return "silent: nothing is measured there any more"
    if line["on_probation"]:
        return "on probation: was lost twice in a short time"
    return str(line["machine"]) if line["slots"] else "offers no slots now"


def _age(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _say(console: Console, text: str) -> None:
    console.print(text)
