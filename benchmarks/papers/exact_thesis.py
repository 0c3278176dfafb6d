"""The proven optimum of the thesis's 42 micro-benchmarks: value, bound, proof, and seconds.

Run by hand, on a machine that does nothing else (some minutes):

    python -m benchmarks.papers.exact_thesis --output docs/results/thesis-micro.md

Every instance is solved twice: by `stormcut place`, a process of its own, and in a process in which
all is imported.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from small_problems import SIZES

from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.papers.thesis_instances import INSTANCES, Instance, by_command, problem
from benchmarks.papers.thesis_micro import PUBLISHED
from stormcut.placement.solve import Certificate, solve

#: Each must be proven in so many seconds.
MAX_SECONDS = 60

#: Seconds of the thesis's solver by (layout, cluster, executors), section 8.4.
PUBLISHED_SECONDS = {
    ("linear", "heterogeneous", 32): 1_114_257,
    ("diamond", "homogeneous", 32): 2_471,
    ("diamond", "heterogeneous", 32): 393,
    ("star", "homogeneous", 32): 6,
    ("star", "heterogeneous", 32): 7,
}

PAGE = """\
# The proven optimum

`exact` on the 42 instances of L. Eskandari's thesis on task scheduling in data stream processing
systems (section 6.2.1): linear, diamond and star layouts on ten nodes for 4 executors each
("homogeneous") and on 3 nodes for 6, 3 for 4 and 4 for 2 ("heterogeneous").

- `value` and `bound`: tuples/s between nodes of the placement, and at least in any placement.
- `command`: seconds of `stormcut place --algorithm exact` from start to end, in a process of its
  own: imports, reading and writing files included. `solve`: seconds of the same call in a process
  where all is imported, verification included; solvers run in a fork of it.
- Thesis: the optimum where the text prints it ("." is a point of a plot without a number; [1], [2]:
  misprints, see [every algorithm](#every-algorithm)), and the seconds of its solver, CPLEX on 64
  cores and 512 GiB, where given. It publishes neither bounds nor whether they were reached.

{verdict}

{table}

## When time is short

`time_limit` ends the search; what comes back is the best placement, the bound and the gap. The
instances that took longest, and what `took` all in all:

{anytime}

{made}

Load average of the machine when it began: {load:.1f}.
"""


@dataclass(frozen=True)
class Row:
    """What became of one instance."""

    instance: Instance
    value: float
    bound: float
    method: str
    command_seconds: float
    solve_seconds: float

    @property
    def proven(self) -> bool:
        """Whether no placement is better."""
        return self.bound >= self.value * (1 - 1e-9)


def measure(instances: Sequence[Instance]) -> list[Row]:
    """Solve each instance both ways."""
    solve(problem(instances[0]), "exact")  # imports
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for instance in instances:
            command_seconds, found = by_command(instance, "exact", Path(folder), 10 * MAX_SECONDS)
            start = time.perf_counter()
            solution = solve(problem(instance), "exact")
            took = time.perf_counter() - start
            value = found["metrics"]["inter_node_tuples_per_second"]
            assert value == solution.metrics.inter_node_tuples_per_second, instance
            bound, method = found["certificate"]["lower_bound"], found["certificate"]["method"]
            rows.append(Row(instance, value, bound, method, command_seconds, took))
            print(*instance, f"{took:.2f} s", file=sys.stderr)
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return one line for each instance."""
    lines = [
        "| instance | value | bound | proven | command s | solve s | thesis | thesis s |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        layout, cluster, executors = row.instance
        printed = PUBLISHED.get(("optimum", layout, cluster), ("",) * len(SIZES))
        seconds = PUBLISHED_SECONDS.get(row.instance)
        lines.append(
            f"| {layout} {executors} {cluster} | {row.value:g} | {row.bound:g} "
            f"| {'yes' if row.proven else 'no'} "
            f"| {row.command_seconds:.2f} | {row.solve_seconds:.2f} "
            f"| {printed[SIZES.index(executors)]} | {'' if seconds is None else f'{seconds:,}'} |"
        )
    return "\n".join(lines)


def verdict(rows: Sequence[Row]) -> str:
    """Say how many are proven, how fast, and by what."""
    proven = sum(row.proven for row in rows)
    slowest = max(rows, key=lambda row: row.command_seconds)
    ways = {method: sum(row.method == method for row in rows) for method in _methods(rows)}
    listed = "\n".join(f"- {count} of {len(rows)} {method}" for method, count in ways.items())
    return (
        f"**{proven} of {len(rows)} are proven.** The slowest command took "
        f"{slowest.command_seconds:.1f} s ({' '.join(map(str, slowest.instance))}), all together\n"
        f"{sum(row.command_seconds for row in rows):.0f} s; {MAX_SECONDS} s each were allowed.\n"
        f"\n{listed}"
    )


def _methods(rows: Sequence[Row]) -> list[str]:
    return sorted({row.method for row in rows})


def anytime(rows: Sequence[Row]) -> str:
    """Return what short time limits give on the three instances that took longest."""
    lines = [
        "| instance | limit s | took s | value | bound | gap |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in sorted(rows, key=lambda row: -row.solve_seconds)[:3]:
        for limit in (0.05, 0.2, 1.0):
            start = time.perf_counter()
            solution = solve(problem(row.instance), "exact", options={"time_limit": str(limit)})
            took = time.perf_counter() - start
            assert isinstance(solution.certificate, Certificate)
            lines.append(
                f"| {' '.join(map(str, row.instance))} | {limit:g} | {took:.2f} "
                f"| {solution.metrics.inter_node_tuples_per_second:g} "
                f"| {solution.certificate.lower_bound:.1f} | {solution.certificate.gap:.1%} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    rows = measure(INSTANCES)
    text = PAGE.format(
        verdict=verdict(rows),
        table=table(rows),
        anytime=anytime(rows),
        made=made_by("ortools", "scipy", "numpy"),
        load=load,
    )
    write_page(options.output, text)


if __name__ == "__main__":
    main()
