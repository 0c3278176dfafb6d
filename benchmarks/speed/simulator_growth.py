r"""Time of both engines of the simulator over the number of executors.

Run by hand (a minute):

    python -m benchmarks.speed.simulator_growth --output docs/results/growth.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
from matplotlib.figure import Figure

from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.simulator.prediction_picture import save
from benchmarks.simulator.simulator_latency import times
from benchmarks.speed.growth import problem
from stormcut.model.problem import Problem
from stormcut.placement.solve import solve
from stormcut.report.figures import COLOURS, empty
from stormcut.simulator.events import simulate
from stormcut.simulator.fluid import fluid
from stormcut.simulator.simulation import Simulation

SIZES = (1_000, 3_000, 10_000, 40_000)

#: Simulated seconds, after as many that are not counted.
SECONDS = 2.0

PAGE = """\
# The simulator

The clusters [of the algorithms](#algorithms), 20 executors a node, placed by `even`, in open loop
at half of the rates that fill the fullest thread, node or link. `events`: {seconds:g} simulated
seconds after {seconds:g} that are not counted, arrays of routes made first. `fluid`: the steady
state of the same placement. Reading files is not in it.

| executors | nodes | pairs | fluid s | events s | events | million/s | peak MiB |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

![Seconds of both engines over executors](growth.svg)

{made}
"""


def timed(asked: Problem) -> tuple[float, float, Simulation]:
    """Return the seconds of fluid and events, and what the events say."""
    placement = solve(asked, "even").placement
    half = 0.5 / max(use.value for use in fluid(asked, placement).uses)
    asked = times(asked, half)
    assert asked.traffic.pair_count
    start = time.perf_counter()
    fluid(asked, placement)
    of_fluid = time.perf_counter() - start
    start = time.perf_counter()
    found = simulate(asked, placement, seconds=SECONDS, warm_up=SECONDS)
    return of_fluid, time.perf_counter() - start, found


def picture(seconds: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the seconds that each engine takes over `SIZES`."""
    figure = empty(6, 4)
    axes = figure.subplots()
    for (name, values), colour in zip(seconds.items(), COLOURS, strict=False):
        axes.plot(SIZES, values, "o-", color=colour, label=name)
    linear = [seconds["events"][-1] * size / SIZES[-1] for size in SIZES]
    axes.plot(SIZES, linear, ":", color="gray", label="linear growth")
    axes.set(xscale="log", yscale="log", xlabel="executors", ylabel="seconds")
    axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES], minor=False)
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure


def main() -> None:
    """Simulate all sizes, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    rows = []
    seconds: dict[str, list[float]] = {"events": [], "fluid": []}
    for size in SIZES:
        asked = problem(size)
        of_fluid, of_events, found = timed(asked)
        peak = psutil.Process().memory_info().rss / 2**20
        rows.append(
            f"| {size:,} | {len(asked.nodes):,} | {asked.traffic.pair_count:,} | {of_fluid:.2f} "
            f"| {of_events:.1f} | {found.events:,} | {found.events / of_events / 1e6:.1f} "
            f"| {peak:,.0f} |"
        )
        seconds["events"].append(of_events)
        seconds["fluid"].append(of_fluid)
        print(rows[-1], file=sys.stderr)
    save(picture(seconds), options.output)
    page = PAGE.format(seconds=SECONDS, rows="\n".join(rows), made=made_by("numpy"))
    write_page(options.output, page)


if __name__ == "__main__":
    main()
