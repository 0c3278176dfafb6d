"""I-Scheduler's "previous experiments": how many vertices its optimiser solves in a given time.

Run by hand (an hour; the optimiser's time is deterministic, so that other work does not matter):

    python -m benchmarks.papers.i_scheduler_threshold --output PAGE

Its table is `THRESHOLDS` of `stormcut.placement.algorithms.i_scheduler.threshold`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from small_problems import LAYOUTS, microbenchmark

from benchmarks.machine import made_by
from benchmarks.papers.thesis_micro import CLUSTERS
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.i_scheduler.assignment_model import AssignmentProblem, assign
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.packing.capacity import hosts, loads
from stormcut.placement.solve import solve

THETAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
SIZES = range(8, 34, 2)
SEEDS = (1, 2, 3, 4, 5)

PAGE = """\
# How many vertices I-Scheduler's optimiser solves in time

I-Scheduler fuses executors until an optimiser can place what is left within `theta` seconds; the
thesis takes that number of vertices, phi, "from previous experiments" and prints neither. These
are ours, for CP-SAT in one thread: its problem (`assignment_model.py`), nothing fused, for linear,
diamond and star layouts on both clusters of the thesis's micro-benchmarks (section 6.2.1).

A size counts as solved in `theta` if in every layout on both clusters most of {seeds} seeds end
with an optimum, proven or not, and all smaller sizes do. Seconds are CP-SAT's deterministic ones.

| theta | phi | first not solved | seeds with the optimum there | seeds with its proof at phi |
| ---: | ---: | --- | --- | --- |
{rows}

`stormcut place --algorithm i-scheduler --option theta=S` takes the phi of the largest `theta` of
the table that is not above S; below the first it leaves the optimiser out. `--option phi=N` gives
another.

{made}
"""


def unreduced(problem: Problem) -> AssignmentProblem:
    """Return the optimiser's problem with every executor a vertex."""
    graph = traffic_graph(problem.traffic, problem.executor_count)
    able = hosts(problem)
    tenants = np.ones((problem.executor_count, 1), dtype=bool)
    return AssignmentProblem(graph, loads(problem), tenants, able.limits, able.slots)


def solved(layout: str, cluster: str, size: int, theta: float) -> tuple[int, int]:
    """Return how many seeds end with an optimum, and how many prove it."""
    problem = microbenchmark(layout, size, CLUSTERS[cluster])
    best = solve(problem, "exact").metrics.inter_node_tuples_per_second
    reduced = unreduced(problem)
    edges = reduced.graph.tocoo()
    optimal = proven = 0
    for seed in SEEDS:
        found = assign(reduced, theta, seed)
        if found is not None:
            apart = found.nodes[edges.row] != found.nodes[edges.col]
            optimal += bool(edges.data[apart].sum() / 2 <= best)
            proven += found.proven
    return optimal, proven


def row(theta: float, sizes: Sequence[int]) -> tuple[int, str]:
    """Return the largest size solved in ``theta``, and its line of the table."""
    last, proofs = 0, "-"
    for size in sizes:
        fewest = len(SEEDS)
        for layout in LAYOUTS:
            for cluster in CLUSTERS if size >= 10 or layout == "linear" else ():
                optimal, proven = solved(layout, cluster, size, theta)
                fewest = min(fewest, proven)
                if 2 * optimal <= len(SEEDS):
                    missed = f"{layout} {size} {cluster} | {optimal} of {len(SEEDS)}"
                    return last, f"| {theta:g} | {last} | {missed} | {proofs} |"
        last, proofs = size, f"at least {fewest} of {len(SEEDS)}"
    return last, f"| {theta:g} | {last} | - | - | {proofs} |"


def main() -> None:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--thetas", type=float, nargs="+", default=THETAS)
    options = parser.parse_args()
    lines: list[str] = []
    sizes: Sequence[int] = SIZES
    for theta in options.thetas:
        phi, line = row(theta, sizes)
        print(line, flush=True)
        lines.append(line)
        sizes = [size for size in SIZES if size >= phi]  # what less time solves, more does, too
    text = PAGE.format(seeds=len(SEEDS), rows="\n".join(lines), made=made_by("ortools"))
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
