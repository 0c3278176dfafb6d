"""`stormcut simulate`: what a placement would do over time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.cli.numbers import Finite
from stormcut.cli.score import bottleneck_document
from stormcut.cli.steps import waiting
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.resources import costs_of
from stormcut.objective.verify import violations
from stormcut.simulator.events import simulate as simulate_events
from stormcut.simulator.fluid import fluid
from stormcut.simulator.simulation import EVENTS, FLUID, Simulation

FORMAT = "stormcut-simulation/1"

#: Too much CPU on a node is what a simulation shows; nothing else that is not allowed can run.
RUNS_ALL_THE_SAME = "cpu"

#: Resources that a table shows.
ROWS = 8


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("placement", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    type=click.Choice([EVENTS, FLUID]),
    default=EVENTS,
    show_default=True,
    help="Every tuple, or the steady state of the same model.",
)
@click.option(
    "--closed",
    is_flag=True,
    help="Sources send as fast as max_spout_pending allows, not at their rates.",
)
@click.option(
    "--seconds",
    type=Finite(min=0, min_open=True),
    help="Simulated time; left out: until two million tuples are executed.",
)
@click.option(
    "--warm-up", type=Finite(min=0), help="Seconds before, not counted; left out: a fifth."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option(
    "--flush-ms",
    type=Finite(min=0),
    help="How often workers flush their queues; left out: 1 where a topology names Storm's own "
    "executors, such as __acker, else 0: at once.",
)
@click.option(
    "--containers",
    is_flag=True,
    help="Nodes' CPU is a quota of 100 ms, links are token buckets, as `stormcut docker` has them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def simulate(
    problem: Path,
    placement: Path,
    engine: str,
    closed: bool,
    seconds: float | None,
    warm_up: float | None,
    seed: int,
    flush_ms: float | None,
    containers: bool,
    as_json: bool,
) -> None:
    """Simulate a placement: rates, latencies, what is full.

    The same seed gives the same result on every machine.

    \b
    Examples:
      stormcut simulate problem.json placement.json
      stormcut simulate problem.json placement.json --closed --seconds 60 --json
    """
    document = read_placement(placement, read_problem(problem))
    _check(document.problem, document.placement, str(placement))
    if engine == FLUID:
        found = fluid(document.problem, document.placement, closed=closed)
    else:
        with waiting(Console(stderr=True), "simulating") as update:
            found = simulate_events(
                document.problem,
                document.placement,
                closed=closed,
                seconds=seconds,
                warm_up=warm_up,
                seed=seed,
                flush_ms=flush_ms,
                containers=containers,
                progress=lambda done, wanted: update(f"{done:,.1f} of {wanted:,.1f} s"),
            )
    if as_json:
        click.echo(json.dumps(simulation_document(found), indent=2))
    else:
        for table in _tables(found, costs_of(document.problem).source):
            Console().print(table)
        click.echo(verdict(found))


def _check(problem: Problem, placement: Placement, where: str) -> None:
    """Refuse what no cluster could run."""
    wrong = [
        each for each in violations(problem, placement) if each.constraint != RUNS_ALL_THE_SAME
    ]
    if wrong:
        more = f" (and {len(wrong) - 1} more: see stormcut check)" if wrong[1:] else ""
        raise InvalidInput(f"this placement cannot run: {wrong[0].message}{more}", where)


def simulation_document(found: Simulation) -> dict[str, Any]:
    """Return a simulation as JSON says it."""
    return {
        "format": FORMAT,
        "engine": found.engine,
        "seconds": found.seconds,
        "sources_per_second": dict(found.sources),
        "executed_per_second": {name: dict(own) for name, own in found.executed.items()},
        "latency_ms": {
            name: {"mean": own.mean, "p50": own.p50, "p95": own.p95, "p99": own.p99}
            for name, own in found.latency.items()
        },
        "utilisation": [
            {**(bottleneck_document(use.resource) or {}), "value": use.value} for use in found.uses
        ],
        "bottleneck": bottleneck_document(found.bottleneck),
        "saturated": found.saturated,
    }


def verdict(found: Simulation) -> str:
    """Say in one sentence what is full, or how full the fullest is."""
    if not found.uses:
        return "No resource has a capacity: nothing limits the rates."
    first = found.uses[0]
    if found.saturated:
        return f"Saturated at the {first.resource} ({first.value:.0%} in use)."
    return f"Nothing is full; the {first.resource} is used most ({first.value:.0%})."


def _tables(found: Simulation, costs: str) -> Iterator[Table]:
    simulated = f"{found.seconds:,.1f} s, {found.events:,} events" if found.seconds else "steady"
    rates = Table(
        "topology", title=f"{found.engine}: {simulated}; costs: {costs}", title_justify="left"
    )
    for head in ("tuples/s emitted", "mean ms", "p50 ms", "p95 ms", "p99 ms"):
        rates.add_column(head, justify="right")
    for name, rate in found.sources.items():
        own = found.latency.get(name)
        told = (own.mean, own.p50, own.p95, own.p99) if own else ()
        rates.add_row(name, f"{rate:,.1f}", *(f"{each:,.2f}" for each in told))
    yield rates
    executed = Table("topology", "component")
    executed.add_column("tuples/s executed", justify="right")
    executed.add_column("tuples there", justify="right")
    for name, components in found.executed.items():
        for component, rate in components.items():
            held = found.held.get(name, {}).get(component)
            executed.add_row(
                name, component, f"{rate:,.1f}", "" if held is None else f"{held:,.2f}"
            )
    yield executed
    used = Table("resource")
    used.add_column("in use", justify="right")
    for use in found.uses[:ROWS]:
        used.add_row(str(use.resource), f"{use.value:.1%}")
    if len(found.uses) > ROWS:
        used.add_row(f"and {len(found.uses) - ROWS:,} less", "")
    yield used
