"""`cut` on the thesis's 42 micro-benchmarks: values against the proven optimum, and its seconds.

Run by hand, on a machine that does nothing else (some minutes):

    python -m benchmarks.papers.cut_thesis --output docs/results/thesis-micro.md
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.papers.thesis_instances import INSTANCES, Instance, by_command, problem
from stormcut.placement.solve import Certificate, solve

#: Each call is to take less.
MAX_SECONDS = 1.0

PAGE = """\
# `cut` and the optimum

Tuples/s between nodes on the 42 instances of L. Eskandari's thesis on task scheduling in data
stream processing systems (section 6.2.1), default options, seeds 1 to {seeds}.

- `optimum`: of `exact`, proven by it ("?": not proven).
- `best`, `worst`: of the seeds. `bound`: of the certificate that comes with every answer of `cut`.
- `median s`, `most s`: one call of `solve` in a process that has placed something else before,
  verification and certificate included. `command s`: `stormcut place` from start to end, a process
  of its own, imports, loading of compiled code, reading and writing of files included.

{verdict}

{table}

{made}
"""


@dataclass(frozen=True)
class Row:
    """What became of one instance; ``values`` and ``seconds`` are one for each seed."""

    instance: Instance
    optimum: float
    proven: bool
    values: tuple[float, ...]
    bound: float
    seconds: tuple[float, ...]
    command_seconds: float

    @property
    def reached(self) -> bool:
        """Whether every seed gave the proven optimum."""
        return self.proven and max(self.values) <= self.optimum * (1 + 1e-9)


def measure(instance: Instance, seeds: Sequence[int]) -> Row:
    """Solve one instance with every seed, and to the end."""
    proof = solve(problem(instance), "exact")
    optimum = proof.metrics.inter_node_tuples_per_second
    values, bounds, seconds = [], [0.0], []
    for seed in seeds:
        start = time.perf_counter()
        solution = solve(problem(instance), "cut", seed)
        seconds.append(time.perf_counter() - start)
        values.append(solution.metrics.inter_node_tuples_per_second)
        if isinstance(solution.certificate, Certificate):
            bounds.append(solution.certificate.lower_bound)
    proven = proof.certificate is not None and proof.certificate.gap <= 1e-9
    with tempfile.TemporaryDirectory() as folder:
        took, _ = by_command(instance, "cut", Path(folder))
    return Row(instance, optimum, proven, tuple(values), max(bounds), tuple(seconds), took)


def table(rows: Sequence[Row]) -> str:
    """Return one line for each instance."""
    lines = [
        "| instance | optimum | best | worst | bound | median s | most s | command s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        layout, cluster, executors = row.instance
        lines.append(
            f"| {layout} {executors} {cluster} | {row.optimum:g}{'' if row.proven else '?'} "
            f"| {min(row.values):g} | {max(row.values):g} | {row.bound:.4g} "
            f"| {statistics.median(row.seconds):.2f} | {max(row.seconds):.2f} "
            f"| {row.command_seconds:.2f} |"
        )
    return "\n".join(lines)


def verdict(rows: Sequence[Row]) -> str:
    """Say how often the optimum was reached, and how fast."""
    reached = sum(row.reached for row in rows)
    calls = [seconds for row in rows for seconds in row.seconds]
    slow = sum(seconds >= MAX_SECONDS for seconds in calls)
    commands = [row.command_seconds for row in rows]
    return (
        f"**Every seed gave the proven optimum on {reached} of {len(rows)} instances.** Of "
        f"{len(calls)} calls {slow} took {MAX_SECONDS:g} s\nor more; the median is "
        f"{statistics.median(calls):.2f} s, the longest {max(calls):.2f} s. Commands took "
        f"{min(commands):.2f} to {max(commands):.2f} s."
    )


def main() -> None:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    options = parser.parse_args()
    solve(problem(INSTANCES[0]), "cut")  # imports, and loads what is compiled
    rows = []
    for instance in INSTANCES:
        rows.append(measure(instance, range(1, options.seeds + 1)))
        print(*instance, rows[-1].values, f"{max(rows[-1].seconds):.2f} s", file=sys.stderr)
    text = PAGE.format(
        seeds=options.seeds,
        verdict=verdict(rows),
        table=table(rows),
        made=made_by("scipy", "numpy"),
    )
    write_page(options.output, text)


if __name__ == "__main__":
    main()
