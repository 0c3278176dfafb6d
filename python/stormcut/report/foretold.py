"""What changes would do, as simulated: rates and latencies, now and then."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from stormcut.application.foretelling import Foretold
from stormcut.report.terminal import Grid
from stormcut.simulator.simulation import Simulation


def foretold_document(foretold: Foretold) -> dict[str, Any]:
    """Return both simulations as JSON values."""
    return {
        "now": None if foretold.now is None else _document(foretold.now),
        "then": _document(foretold.then),
    }


def _document(of: Simulation) -> dict[str, Any]:
    return {
        "sources_per_second": dict(of.sources),
        "latency_ms": {name: asdict(each) for name, each in of.latency.items()},
        "saturated": of.saturated,
        "bottleneck": str(of.bottleneck) if of.bottleneck else None,
    }


def print_foretold(console: Console, foretold: Foretold) -> None:
    """Print each topology's rate and latencies, now and after the changes."""
    table = (
        Grid("Simulated at the measured rates")
        .name("topology")
        .labels("")
        .figures("tuples/s\nsent")
    )
    table.figures("mean\nms", "p50", "p95", "p99")
    for name in foretold.then.sources:
        runs = foretold.now is not None and name in foretold.now.sources
        if foretold.now is not None and runs:
            table.row(name, "now", *_figures(foretold.now, name))
        table.row("" if runs else name, "then", *_figures(foretold.then, name))
    table.print(console)
    for when, of in (("now", foretold.now), ("then", foretold.then)):
        if of is not None and of.saturated:
            console.print(f"{when}: saturated, {of.bottleneck} is full; queues grow")


def _figures(of: Simulation, name: str) -> tuple[str, ...]:
    sent = f"{of.sources[name]:,.0f}"
    if name not in of.latency:
        return (sent, "-", "-", "-", "-")
    each = of.latency[name]
    return (sent, *(f"{ms:,.1f}" for ms in (each.mean, each.p50, each.p95, each.p99)))
