"""`stormcut score`: what a placement is worth."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.application.shortfall import shortfall
from stormcut.cli.outputs import wide
from stormcut.objective.crossing import ComponentTraffic, component_traffic
from stormcut.objective.headroom import Bottleneck, Headroom, headroom
from stormcut.objective.metrics import Metrics, measure
from stormcut.objective.throughput import Throughput, predict_throughput
from stormcut.report.terminal import Grid, print_all, terminal
from stormcut.simulator.simulation import Latency
from stormcut.simulator.tuple_times import slowest, tuple_times


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("placement", type=click.Path(path_type=Path))
@click.option("--streams", is_flag=True, help="Also show what components send each other.")
@wide
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def score(problem: Path, placement: Path, streams: bool, is_wide: bool, as_json: bool) -> None:
    """Measure a placement, feasible or not.

    Tuple times, from a source's emission until all that follows from it is done, are simulated at
    PROBLEM's rates.

    \b
    Example:
      stormcut score problem.json placement.json --streams
    """
    document = read_placement(placement, read_problem(problem))
    metrics = measure(document.problem, document.placement)
    room = headroom(document.problem, document.placement)
    reached = predict_throughput(document.problem, document.placement)
    times = tuple_times(document.problem, document.placement)
    warning = shortfall(document.problem, document.placement, room)
    sent = component_traffic(document.problem, document.placement) if streams else []
    if as_json:
        values = {
            **asdict(metrics),
            "headroom": headroom_document(room),
            "throughput": throughput_document(reached),
            "latency_ms": None if times is None else latencies_document(times),
            **({"streams": [asdict(each) for each in sent]} if streams else {}),
            **({} if warning is None else {"warning": warning}),
        }
        click.echo(json.dumps(values, indent=2))
    else:
        table = metrics_table(metrics, room, document.problem.traffic.total)
        for row in (*_throughput_rows(reached), *_time_rows(times)):
            table.row(*row)
        print_all(terminal(), [table, *([_streams_table(sent)] if streams else [])], is_wide)
        if warning is not None:
            click.echo(f"warning: {warning}", err=True)


def headroom_document(room: Headroom) -> dict[str, Any]:
    """Return a head-room as JSON says it: what binds is named by the key of its sort."""
    bottleneck = bottleneck_document(room.bottleneck)
    return {"value": room.value, "bottleneck": bottleneck, "costs": room.costs}


def throughput_document(reached: Throughput | None) -> dict[str, Any] | None:
    """Return what sources reach as JSON says it, in tuples/s; None where that cannot be told."""
    if reached is None:
        return None
    return {
        "acked": reached.total,
        "sustained": reached.sustained,
        "bottleneck": bottleneck_document(reached.bottleneck),
    }


def latencies_document(times: Mapping[str, Latency]) -> dict[str, dict[str, float]]:
    """Return tuple times by topology as JSON says them, in ms."""
    return {name: asdict(own) for name, own in times.items()}


def bottleneck_document(bottleneck: Bottleneck | None) -> dict[str, str] | None:
    """Return a resource as JSON says it, None for none."""
    if bottleneck is None:
        return None
    kind = bottleneck.kind
    key = {"executor": "executor", "uplink_out": "rack", "uplink_in": "rack"}.get(kind, "node")
    topology = {} if bottleneck.topology is None else {"topology": bottleneck.topology}
    return {"kind": kind, key: bottleneck.name, **topology}


def _streams_table(sent: Sequence[ComponentTraffic]) -> Grid:
    """Return what components send each other, most traffic between nodes first."""
    names = {each.topology for each in sent}
    table = Grid(min(names)) if len(names) == 1 else Grid().name("topology")
    table.name("source").name("target").figures("tuples/s")
    table.figures("between\nworkers", rank=1).figures("between\nnodes")
    table.figures("of all", rank=2).figures("Mbit/s")
    for each in sorted(sent, key=lambda each: -each.between_nodes):
        mbit = each.mbit_between_nodes
        table.row(
            *([each.topology] if len(names) > 1 else []),
            each.source,
            each.target,
            f"{each.tuples_per_second:,.1f}",
            f"{each.between_workers:,.1f}",
            f"{each.between_nodes:,.1f}",
            f"{each.between_nodes / each.tuples_per_second:.0%}",
            "" if mbit is None else f"{mbit:,.2f}",
        )
    return table


def _throughput_rows(reached: Throughput | None) -> Iterator[tuple[str, str, str]]:
    if reached is not None:
        limit = f"{reached.bottleneck} is used most"
        yield "tuples/s acked, at full speed", f"{reached.total:,.1f}", limit
        if reached.carried < 1:
            why = "beyond it unanchored tuples pile up"
            yield "tuples/s sustained", f"{reached.sustained:,.1f}", why


def _time_rows(times: Mapping[str, Latency] | None) -> Iterator[tuple[str, str, str]]:
    if times and (slow := slowest(times)):
        name, own = slow
        what = f"{own.p50:,.1f}, {own.p95:,.1f}, {own.p99:,.1f}"
        yield "tuple time p50, p95, p99, ms", what, f"of {name}, simulated"


def _headroom_row(room: Headroom) -> tuple[str, str, str]:
    if room.value is None:
        return "head-room", "no limit", "nothing known limits it"
    return "head-room", f"{room.value:,.2f}", f"{room.bottleneck} is full first"


def metrics_table(metrics: Metrics, room: Headroom, total: float) -> Grid:
    """Return what a placement is worth as a table; ``total`` is all traffic in tuples/s."""
    table = Grid(shows_header=False).labels("").figures("").words()
    for label, rate in (
        ("tuples/s between nodes", metrics.inter_node_tuples_per_second),
        ("tuples/s between workers", metrics.inter_worker_tuples_per_second),
    ):
        table.row(label, f"{rate:,.1f}", f"{rate / total:.1%} of all" if total > 0 else "")
    for label, count in (
        ("nodes used", metrics.nodes_used),
        ("workers used", metrics.workers_used),
        ("workers restarted", metrics.workers_restarted),
    ):
        table.row(label, f"{count:,}")
    table.row(*_headroom_row(room))
    return table
