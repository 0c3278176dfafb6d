r"""The simulator's latencies beside those of a cluster in containers, at part of the load.

Run by hand, after benches of the settings cpu-half and cpu-most:

    python -m benchmarks.simulator.simulator_latency BENCH... \
      --output docs/results/simulator-latency.md
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from benchmarks.machine import made_by
from benchmarks.simulator.prediction_picture import prediction_picture, save
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.model.problem import Problem
from stormcut.simulator.events import simulate
from stormcut.simulator.simulation import Latency
from stormcut.simulator.system import BATCH_TIMEOUT_MS, ROUND_MS

QUANTILES = tuple(field.name for field in fields(Latency))
BATCH_TIMEOUT = "topology.disruptor.batch.timeout.millis"
#: What errors are to be within.
WITHIN = 0.25

PAGE = """\
# The simulator's latencies at part of the load

Sources at a rate, below what the nodes carry: what a tuple and all that follows from it take, in
ms. Measured: medians of a bench's windows, by the sources' own clocks. Simulated: events, in open
loop at the rate that was acked, with quotas and token buckets, shipped costs, and the profile and
placement of the bench. *cpu-*: five nodes of a quarter core; *large-*: two of 0.8 cores; *half* and
*most*: at 50 and 80 % of what they carry; *flush*: as half, with queues flushed every 10 ms.

{table}

Errors, medians; in brackets how many are within {within:.0%}:

{errors}

[What this shows](findings.md#tuple-times-simulated).

![Means, p50, p95 and p99 of tuple times, simulated and measured](simulator-latency.svg)

{made}
"""


#: What the figures say; to be edited when they are measured again.
@dataclass(frozen=True)
class Compared:
    """A placement at a load: tuples/s, and tuple times measured and simulated."""

    setting: str
    topology: str
    scheduler: str
    rate: float
    measured: Latency
    simulated: Latency


def times(problem: Problem, factor: float) -> Problem:
    """Return a problem with all rates, and the CPU that follows from them, times a factor."""
    topologies = tuple(
        replace(
            topology,
            components=tuple(
                replace(each, cpu_percent=each.cpu_percent * factor) for each in topology.components
            ),
            streams=tuple(
                replace(each, tuples_per_second=each.tuples_per_second * factor)
                for each in topology.streams
            ),
            measured=tuple(
                each._replace(tuples_per_second=each.tuples_per_second * factor)
                for each in topology.measured
            ),
        )
        for topology in problem.topologies
    )
    return replace(problem, topologies=topologies)


def at_rate(problem: Problem, rate: float) -> Problem:
    """Return a problem whose sources emit so many tuples/s in all."""
    emitted = float(problem.executor_rate[problem.executor_is_spout].sum())
    return times(problem, rate / emitted)


def compared(journal: FileJournal) -> Iterator[Compared]:
    """Yield every placement of a bench whose tuple times were measured."""
    run, cells = journal.run, journal.measurements()
    for topology in run.topologies:
        for scheduler in run.schedulers:
            kept = journal.solution(topology, scheduler)
            own = [
                each
                for each in cells
                if (each.cell.topology, each.cell.scheduler) == (topology, scheduler)
                and not each.unsteady
                and None not in (each.mean_ms, each.p50_ms, each.p95_ms, each.p99_ms)
            ]
            if kept is None or not own:
                continue
            rate = statistics.median(each.tuples_per_10s for each in own) / 10
            timeout = float(str(run.options[topology].get(BATCH_TIMEOUT, BATCH_TIMEOUT_MS)))
            found = simulate(
                at_rate(kept[0], rate), kept[1], containers=True, flush_ms=timeout + ROUND_MS
            )
            measured = Latency(
                *(
                    statistics.median(float(getattr(each, f"{name}_ms")) for each in own)
                    for name in QUANTILES
                )
            )
            simulated = next(iter(found.latency.values()))
            yield Compared(run.setting, topology, scheduler, rate, measured, simulated)


def table(found: Sequence[Compared]) -> str:
    """Return a line for each placement: measured and simulated, side by side."""
    heads = " | ".join(f"{name}, measured | simulated" for name in QUANTILES)
    lines = [
        f"| setting | topology | scheduler | tuples/s | {heads} |",
        "| --- | --- | --- | ---: |" + " ---: | ---: |" * len(QUANTILES),
    ]
    for each in found:
        values = " | ".join(
            f"{getattr(each.measured, name):.1f} | {getattr(each.simulated, name):.1f}"
            for name in QUANTILES
        )
        lines.append(
            f"| {each.setting} | {each.topology} | {each.scheduler} | {each.rate:,.0f} | {values} |"
        )
    return "\n".join(lines)


def errors(found: Sequence[Compared]) -> str:
    """Return by how much each quantile is wrong, and how often by no more than `WITHIN`."""
    lines = [
        f"| setting | cases | {' | '.join(QUANTILES)} |",
        "| --- | ---: |" + " ---: |" * len(QUANTILES),
    ]
    for setting in dict.fromkeys(each.setting for each in found):
        own = [each for each in found if each.setting == setting]
        cells = []
        for name in QUANTILES:
            off = [getattr(each.simulated, name) / getattr(each.measured, name) - 1 for each in own]
            near = sum(abs(each) <= WITHIN for each in off)
            cells.append(f"{100 * statistics.median(off):+.0f} % ({near})")
        lines.append(f"| {setting} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Simulate, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("benches", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    found = [each for folder in options.benches for each in compared(FileJournal(folder))]
    groups = {
        setting: [
            (getattr(each.measured, name), getattr(each.simulated, name))
            for each in found
            if each.setting == setting
            for name in QUANTILES
        ]
        for setting in dict.fromkeys(each.setting for each in found)
    }
    save(prediction_picture(groups, WITHIN, "ms"), options.output)
    options.output.write_text(
        PAGE.format(
            table=table(found),
            within=WITHIN,
            errors=errors(found),
            made=made_by("numpy"),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
