"""`stormcut simulate`: what a placement would do over time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from stormcut.adapters.files.changes_file import read_changes, read_load_trace
from stormcut.adapters.files.json_document import write_bytes
from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.cli.numbers import Finite, Whole
from stormcut.cli.outputs import OutputFile, csv, csv_text, picture_form, wide
from stormcut.cli.score import bottleneck_document, latencies_document
from stormcut.cli.steps import waiting
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.resources import costs_of
from stormcut.report.simulation_picture import draw_simulation
from stormcut.report.terminal import Grid, print_all, terminal
from stormcut.simulator.changes import Change, describe
from stormcut.simulator.events import MAX_TUPLES, MIN_S
from stormcut.simulator.events import simulate as simulate_events
from stormcut.simulator.fluid import fluid
from stormcut.simulator.simulation import EVENTS, FLUID, Simulation, obstacles
from stormcut.simulator.timeline import KILLED, RESTART_S, TimelineInterval, over_time

FORMAT = "stormcut-simulation/1"

T = TypeVar("T")

#: Resources that a table shows.
ROWS = 8


#: What a table over time tells of the slowest topology.
_SLOWEST = ("p50", "p99")


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
@click.option(
    "--seed",
    type=Whole(min=0),
    default=1,
    show_default=True,
    help="Seed of random choices: the same seed, the same answer.",
)
@click.option(
    "--flush-ms",
    type=Finite(min=0),
    help="How often workers flush their queues; left out: 2.15 where a topology names Storm's own "
    "executors, such as __acker, else 0: at once. Storm's own period is 1.15 more than its "
    "topology.disruptor.batch.timeout.millis.",
)
@click.option(
    "--containers",
    is_flag=True,
    help="Nodes' CPU is a quota of 100 ms, links are token buckets, as `stormcut docker` has them.",
)
@click.option(
    "--events",
    "events_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What happens meanwhile: loads, slow or lost nodes, kills, moves (stormcut-events/1).",
)
@click.option(
    "--load-trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="How the rates change: lines of seconds,factor.",
)
@click.option(
    "--every",
    type=Finite(min=0, min_open=True),
    help="Seconds of an interval over time; left out: a sixtieth of all.",
)
@click.option(
    "--restart-s",
    type=Finite(min=0),
    default=RESTART_S,
    show_default=True,
    help=f"Seconds until a moved worker runs again; a killed one takes {KILLED:g} of that.",
)
@click.option(
    "--plot",
    type=OutputFile(),
    metavar="FILE",
    help="Draw rates, latencies and tuples under way over time, FILE.svg, .png or .pdf.",
)
@wide
@csv
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
    events_file: Path | None,
    load_trace: Path | None,
    every: float | None,
    restart_s: float,
    plot: Path | None,
    is_wide: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Simulate a placement: rates, latencies, what is full.

    The same seed gives the same result on every machine. With --events, --load-trace, --every or
    --plot it tells what happens over time, from second 0 on, without a warm-up.

    \b
    Examples:
      stormcut simulate problem.json placement.json
      stormcut simulate problem.json placement.json --closed --seconds 60 --json
      stormcut simulate problem.json placement.json --load-trace day.csv --plot day.svg
    """
    form = picture_form(plot, "--plot")
    document = read_placement(placement, read_problem(problem))
    _check(document.problem, document.placement, str(placement))
    changes = _changes(events_file, load_trace, document.problem)
    run = partial(
        _with_progress,
        problem=document.problem,
        placement=document.placement,
        closed=closed,
        seed=seed,
        flush_ms=flush_ms,
        containers=containers,
    )
    if not (events_file or load_trace or every or plot):
        if engine == FLUID:
            result = fluid(document.problem, document.placement, closed=closed)
        else:
            result = run(simulate_events, seconds=seconds, warm_up=warm_up)
        if as_csv:
            click.echo(csv_text(list(_executed(result))))
        else:
            _print_steady(result, costs_of(document.problem).source, is_wide, as_json)
        return
    if engine == FLUID:
        raise InvalidInput("the fluid engine has no time: use --engine events", "--engine")
    whole = seconds or max(2.0 * (changes[-1].second if changes else 0.0), MIN_S)
    intervals = run(over_time, changes=changes, seconds=whole, every=every, restart_s=restart_s)
    if plot is not None:
        title = f"{problem.name}, {placement.name}"
        write_bytes(plot, draw_simulation(intervals, changes, title, form))
    if as_csv:
        click.echo(csv_text(timeline_document(intervals)["timeline"]))
    else:
        _print_timeline(intervals, changes, whole, is_wide, as_json)


def _with_progress(engine: Callable[..., T], **arguments: Any) -> T:
    """Return what an engine finds, and say meanwhile how far it is."""
    with waiting(Console(stderr=True), "simulating") as update:
        return engine(
            **arguments,
            progress=lambda done, wanted: update(f"{done:,.1f} of {wanted:,.1f} s"),
        )


def _print_steady(result: Simulation, costs: str, is_wide: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(simulation_document(result), indent=2))
        return
    print_all(terminal(), _tables(result, costs), is_wide)
    click.echo(verdict(result))


def _executed(result: Simulation) -> Iterator[dict[str, Any]]:
    """Yield what each component does."""
    for topology, components in result.executed.items():
        for component, rate in components.items():
            head = {"topology": topology, "component": component}
            held = result.held.get(topology, {}).get(component)
            stay = result.stays.get(topology, {}).get(component)
            yield {**head, "executed_per_second": rate, "held": held, "stay_ms": stay}


def _changes(events: Path | None, trace: Path | None, problem: Problem) -> tuple[Change, ...]:
    listed = read_changes(events, problem) if events else ()
    loads = read_load_trace(trace) if trace else ()
    if not (events and trace):
        return (*listed, *loads)
    return tuple(sorted((*listed, *loads), key=lambda each: each.second))


def _print_timeline(
    intervals: Sequence[TimelineInterval],
    changes: Sequence[Change],
    wanted: float,
    is_wide: bool,
    as_json: bool,
) -> None:
    if as_json:
        click.echo(json.dumps(timeline_document(intervals), indent=2))
        return
    spans = [f"{each.begin:,g}-{each.end:,g}" for each in intervals]
    table = Grid().labels("seconds").figures("emitted/s").figures("executed/s", rank=2)
    table.figures("p50\nms", rank=3).figures("p99\nms").figures("under way", rank=1)
    table.figures("lost", "failed").words("what happened")
    for span, each in zip(spans, intervals, strict=True):
        own = [*each.latency.values()]
        quantiles = (max((getattr(one, name) for one in own), default=None) for name in _SLOWEST)
        table.row(
            span,
            f"{sum(each.sources.values()):,.0f}",
            f"{sum(each.executed.values()):,.0f}",
            *("" if value is None else f"{value:,.1f}" for value in quantiles),
            f"{each.under_way:,}",
            f"{each.lost:,}",
            f"{each.failed:,}",
            "; ".join(describe(c) for c in changes if each.begin <= c.second < each.end),
        )
    table.print(terminal(), is_wide)
    if not intervals or intervals[-1].end < wanted:
        end = intervals[-1].end if intervals else 0.0
        click.echo(f"Ended after second {end:,.1f}: more than {MAX_TUPLES:,} tuples are under way.")


def timeline_document(intervals: Sequence[TimelineInterval]) -> dict[str, Any]:
    """Return what happened over time as JSON says it."""
    return {
        "format": FORMAT,
        "engine": EVENTS,
        "timeline": [
            {
                "begin": each.begin,
                "end": each.end,
                "sources_per_second": dict(each.sources),
                "executed_per_second": dict(each.executed),
                "latency_ms": latencies_document(each.latency),
                "under_way": each.under_way,
                "lost": each.lost,
                "failed": each.failed,
            }
            for each in intervals
        ],
    }


def _check(problem: Problem, placement: Placement, where: str) -> None:
    """Refuse what no cluster could run."""
    if wrong := obstacles(problem, placement):
        more = f" (and {len(wrong) - 1} more: see stormcut check)" if wrong[1:] else ""
        raise InvalidInput(f"this placement cannot run: {wrong[0].message}{more}", where)


def simulation_document(result: Simulation) -> dict[str, Any]:
    """Return a simulation as JSON says it."""
    return {
        "format": FORMAT,
        "engine": result.engine,
        "seconds": result.seconds,
        "sources_per_second": dict(result.sources),
        "executed_per_second": {name: dict(own) for name, own in result.executed.items()},
        "latency_ms": latencies_document(result.latency),
        "utilisation": [
            {**(bottleneck_document(use.resource) or {}), "value": use.value} for use in result.uses
        ],
        "bottleneck": bottleneck_document(result.bottleneck),
        "saturated": result.saturated,
        **({"refused_per_second": dict(result.refused)} if any(result.refused.values()) else {}),
    }


def verdict(result: Simulation) -> str:
    """Say in one sentence what is full, or how full the fullest is."""
    if not result.uses:
        return "No resource has a capacity: nothing limits the rates."
    first = result.uses[0]
    if result.saturated:
        return f"Saturated at the {first.resource} ({first.value:.0%} in use)."
    return f"Nothing is full; the {first.resource} is used most ({first.value:.0%})."


def _tables(result: Simulation, costs: str) -> Iterator[Grid]:
    simulated = f"{result.seconds:,.1f} s, {result.events:,} events" if result.seconds else "steady"
    rates = Grid(f"{result.engine}: {simulated}; costs: {costs}").name("topology")
    rates.figures("tuples/s\nemitted").figures("mean\nms", rank=2)
    rates.figures("p50\nms", "p95\nms", "p99\nms")
    some_refused = any(result.refused.values())
    if some_refused:
        rates.figures("tuples/s\nrefused")
    for name, rate in result.sources.items():
        own = result.latency.get(name)
        figures = (own.mean, own.p50, own.p95, own.p99) if own else (None,) * 4
        times = ("" if each is None else f"{each:,.2f}" for each in figures)
        refused = (f"{result.refused[name]:,.1f}",) if some_refused else ()
        rates.row(name, f"{rate:,.1f}", *times, *refused)
    yield rates
    executed = Grid().name("topology").name("component")
    executed.figures("tuples/s\nexecuted").figures("tuples\nthere", rank=1).figures("ms\nthere")
    for name, components in result.executed.items():
        for component, rate in components.items():
            held = result.held.get(name, {}).get(component)
            stay = result.stays.get(name, {}).get(component)
            there = ("" if each is None else f"{each:,.2f}" for each in (held, stay))
            executed.row(name, component, f"{rate:,.1f}", *there)
    yield executed
    used = Grid().name("resource").figures("in use")
    for use in result.uses[:ROWS]:
        used.row(str(use.resource), f"{use.value:.1%}")
    if len(result.uses) > ROWS:
        used.row(f"and {len(result.uses) - ROWS:,} less")
    yield used
