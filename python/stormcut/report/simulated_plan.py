"""What changes would do, as simulated: rates and latencies, now and then."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from stormcut.application.plan_simulation import SimulatedPlan
from stormcut.report.terminal import Grid
from stormcut.simulator.simulation import Simulation


def simulated_plan_document(simulated: SimulatedPlan) -> dict[str, Any]:
    """Return both simulations as JSON values."""
    return {
        "now": None if simulated.now is None else _document(simulated.now),
        "then": _document(simulated.then),
    }


def _document(of: Simulation) -> dict[str, Any]:
    return {
        "sources_per_second": dict(of.sources),
        "latency_ms": {name: asdict(each) for name, each in of.latency.items()},
        "saturated": of.saturated,
        "bottleneck": str(of.bottleneck) if of.bottleneck else None,
    }


def print_simulated_plan(console: Console, simulated: SimulatedPlan) -> None:
    """Print each topology's rate and latencies, now and after the changes."""
    table = (
        Grid("Simulated at the measured rates")
        .name("topology")
        .labels("")
        .figures("tuples/s\nsent")
    )
    table.figures("mean\nms", "p50", "p95", "p99")
    for name in simulated.then.sources:
        runs = simulated.now is not None and name in simulated.now.sources
        if simulated.now is not None and runs:
            table.row(name, "now", *_figures(simulated.now, name))
        table.row("" if runs else name, "then", *_figures(simulated.then, name))
    table.print(console)
    for when, of in (("now", simulated.now), ("then", simulated.then)):
        if of is not None and of.saturated:
            console.print(f"{when}: saturated, {of.bottleneck} is full; queues grow")


def _figures(of: Simulation, name: str) -> tuple[str, ...]:
    sent = f"{of.sources[name]:,.0f}"
    if name not in of.latency:
        return (sent, "-", "-", "-", "-")
    each = of.latency[name]
    return (sent, *(f"{ms:,.1f}" for ms in (each.mean, each.p50, each.p95, each.p99)))
