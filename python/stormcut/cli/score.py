"""`stormcut score`: what a placement is worth."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.objective.headroom import Headroom, headroom
from stormcut.objective.metrics import Metrics, measure


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("placement", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def score(problem: Path, placement: Path, as_json: bool) -> None:
    """Measure a placement, feasible or not.

    \b
    Example:
      stormcut score problem.json placement.json --json
    """
    document = read_placement(placement, read_problem(problem))
    metrics = measure(document.problem, document.placement)
    room = headroom(document.problem, document.placement)
    if as_json:
        click.echo(json.dumps({**asdict(metrics), "headroom": headroom_document(room)}, indent=2))
    else:
        Console().print(metrics_table(metrics, room, document.problem.traffic.total))


def headroom_document(room: Headroom) -> dict[str, Any]:
    """Return a head-room as JSON says it: what binds is named by the key of its sort."""
    bottleneck = None
    if room.bottleneck is not None:
        kind, name = room.bottleneck.kind, room.bottleneck.name
        key = {"executor": "executor", "uplink_out": "rack", "uplink_in": "rack"}.get(kind, "node")
        bottleneck = {"kind": kind, key: name}
        if room.bottleneck.topology is not None:
            bottleneck["topology"] = room.bottleneck.topology
    return {"value": room.value, "bottleneck": bottleneck, "costs": room.costs}


def _headroom_row(room: Headroom) -> tuple[str, str, str]:
    if room.value is None:
        return "head-room", "no limit", "nothing known limits it"
    return "head-room", f"{room.value:,.2f}", f"{room.bottleneck} is full first"


def metrics_table(metrics: Metrics, room: Headroom, total: float) -> Table:
    """Return what a placement is worth as a table; ``total`` is all traffic in tuples/s."""
    table = Table("metric", show_header=False)
    table.add_column(justify="right")
    table.add_column(justify="right")
    for label, rate in (
        ("tuples/s between nodes", metrics.inter_node_tuples_per_second),
        ("tuples/s between workers", metrics.inter_worker_tuples_per_second),
    ):
        table.add_row(label, f"{rate:,.1f}", f"{rate / total:.1%} of all" if total > 0 else "")
    for label, count in (
        ("nodes used", metrics.nodes_used),
        ("workers used", metrics.workers_used),
        ("workers restarted", metrics.workers_restarted),
    ):
        table.add_row(label, f"{count:,}", "")
    table.add_row(*_headroom_row(room))
    return table
