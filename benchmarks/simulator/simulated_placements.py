r"""The simulator beside every measured placement: throughput over `even`'s, and tuple times.

Constants are fitted to `even` of the *other* topologies. Takes ten minutes. Run by hand:

    python -m benchmarks.simulator.simulated_placements BENCH... \
      --output docs/results/simulator-placements.md
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.machine import made_by
from benchmarks.simulator.prediction_picture import prediction_picture, save
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.cli.calibrate import observed
from stormcut.lab.experiment.bench.contest import WINDOW, windowed
from stormcut.lab.experiment.bench.summary import ratio
from stormcut.lab.experiment.calibrate import calibrate
from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.throughput import predict_throughput
from stormcut.placement.registry import BASELINE
from stormcut.simulator.events import simulate
from stormcut.simulator.simulation import Latency

#: Simulated seconds, and those before that are not counted.
SECONDS, WARM_UP = 10.0, 4.0

#: Errors that nine tenths of the placements are to be within.
WITHIN = 0.12

PAGE = """\
# The simulator beside measured placements

Every placement whose problem was kept, in closed loop, with the topology's window, quotas and token
buckets (`--containers`). What transfer costs is fitted to the windows of `even` of all *other*
topologies. Throughput is over `even`'s of the same bench: simulated, and the median measured.

{quality}

![Throughput over that of even, simulated and measured](simulator-placements.svg)

Error: of a ratio, without sign. Rank: mean over topologies of the rank correlation within one.
Tuple time: the mean of all trees, over what was measured; the tails are over the mean of the same
run, simulated and measured, medians.

{tails}

{cells}

{made}
"""


@dataclass(frozen=True)
class Predicted:
    """A placement: throughput over the baseline's by the events, the fluid twin, and as measured.

    ``times`` are measured and simulated tuple times, where both are known.
    """

    setting: str
    topology: str
    scheduler: str
    events: float
    fluid: float
    measured: float
    times: tuple[Latency, Latency] | None


@dataclass(frozen=True)
class Reached:
    """Tuples/s of all sources by both engines, and the tuple times of the events."""

    events: float
    fluid: float
    latency: Latency | None


def reached(problem: Problem, placement: Placement, costs: Costs, window: object) -> Reached | None:
    """Return what a placement does in closed loop, None where that cannot be told."""
    asked = windowed(replace(problem, costs=costs), window)
    steady = predict_throughput(asked, placement)
    if steady is None:
        return None
    try:
        found = simulate(
            asked, placement, closed=True, seconds=SECONDS, warm_up=WARM_UP, containers=True
        )
    except InvalidInput as error:
        print(f"left out: {error}", file=sys.stderr)
        return None
    latency = next(iter(found.latency.values()), None)
    return Reached(sum(found.sources.values()), steady.total, latency)


def predictions(journal: FileJournal, costs: Callable[[str], Costs | None]) -> Iterator[Predicted]:
    """Yield every placement of a bench whose topology's costs are known."""
    run, cells = journal.run, journal.measurements()
    for topology in run.topologies:
        window = run.options.get(topology, {}).get(WINDOW)
        known = costs(topology)
        base = journal.solution(topology, BASELINE)
        if known is None or base is None:
            continue
        even = reached(*base, known, window)
        for scheduler in run.schedulers:
            kept = journal.solution(topology, scheduler)
            here = ratio(cells, topology, scheduler, BASELINE)
            if scheduler == BASELINE or kept is None or here is None or even is None:
                continue
            if found := reached(*kept, known, window):
                yield Predicted(
                    run.setting,
                    topology,
                    scheduler,
                    found.events / even.events,
                    found.fluid / even.fluid,
                    here.spread.median,
                    _times(journal, topology, scheduler, found.latency),
                )


def _times(
    journal: FileJournal, topology: str, scheduler: str, simulated: Latency | None
) -> tuple[Latency, Latency] | None:
    windows = [
        (each.mean_ms, each.p50_ms, each.p95_ms, each.p99_ms)
        for each in journal.measurements()
        if (each.cell.topology, each.cell.scheduler) == (topology, scheduler) and not each.unsteady
    ]
    known = [[float(value) for value in each if value is not None] for each in windows]
    whole = [each for each in known if len(each) == 4]
    if simulated is None or not whole:
        return None
    return Latency(*(statistics.median(column) for column in zip(*whole, strict=True))), simulated


def quality(found: Sequence[Predicted], of: Callable[[Predicted], float]) -> tuple[str, ...]:
    """Return median error, share of placements within `WITHIN`, and rank correlation, as text."""
    errors = [abs(of(each) / each.measured - 1) for each in found]
    ranks = []
    for topology in dict.fromkeys(each.topology for each in found):
        own = [each for each in found if each.topology == topology]
        pairs = np.array([(1.0, 1.0), *((of(each), each.measured) for each in own)])
        if len(pairs) >= 3:
            ranks.append(float(spearmanr(*pairs.T).statistic))
    within = sum(error <= WITHIN for error in errors) / len(errors)
    return (
        f"{100 * statistics.median(errors):.1f} %",
        f"{100 * within:.0f} %",
        f"{statistics.mean(rank for rank in ranks if not math.isnan(rank)):.2f}",
    )


def qualities(found: Sequence[Predicted]) -> str:
    """Return the table of how well both engines foretell."""
    lines = [
        "| setting | placements | engine | median error | within 12 % | rank |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for setting in dict.fromkeys(each.setting for each in found):
        own = [each for each in found if each.setting == setting]
        ways: Mapping[str, Callable[[Predicted], float]] = {
            "events": lambda each: each.events,
            "fluid": lambda each: each.fluid,
        }
        for name, of in ways.items():
            lines.append(f"| {setting} | {len(own)} | {name} | {' | '.join(quality(own, of))} |")
    return "\n".join(lines)


def tails(found: Sequence[Predicted]) -> str:
    """Return the table of tuple times."""
    lines = [
        "| setting | mean, simulated / measured | p95 / mean | measured | p99 / mean | measured |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for setting in dict.fromkeys(each.setting for each in found):
        both = [each.times for each in found if each.setting == setting and each.times]
        if not both:
            continue
        ratios = [simulated.mean / measured.mean for measured, simulated in both]
        columns = [
            statistics.median(getattr(times[which], name) / times[which].mean for times in both)
            for name in ("p95", "p99")
            for which in (1, 0)
        ]
        low, high = (float(np.quantile(ratios, share)) for share in (0.1, 0.9))
        lines.append(
            f"| {setting} | {statistics.median(ratios):.2f} ({low:.2f}-{high:.2f}) | "
            + " | ".join(f"{value:.2f}" for value in columns)
            + " |"
        )
    return "\n".join(lines)


def cells(found: Sequence[Predicted]) -> str:
    """Return a table of all placements."""
    lines = [
        "| setting | topology | scheduler | measured | events | error | fluid | error |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in found:
        lines.append(
            f"| {each.setting} | {each.topology} | {each.scheduler} | {each.measured:.2f} "
            f"| {each.events:.2f} | {100 * (each.events / each.measured - 1):+.0f} % "
            f"| {each.fluid:.2f} | {100 * (each.fluid / each.measured - 1):+.0f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    """Simulate every placement, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("benches", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    journals = [FileJournal(folder) for folder in options.benches]
    without = calibrate(observed(journals, [BASELINE]), "even of other topologies").without
    found = []
    for journal in journals:
        for each in predictions(journal, without.get):
            found.append(each)
            print(each, file=sys.stderr, flush=True)
    groups = {
        setting: [(each.measured, each.events) for each in found if each.setting == setting]
        for setting in dict.fromkeys(each.setting for each in found)
    }
    save(prediction_picture(groups, WITHIN, "throughput over even's"), options.output)
    options.output.write_text(
        PAGE.format(
            quality=qualities(found),
            tails=tails(found),
            cells=cells(found),
            made=made_by("numpy", "scipy"),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
