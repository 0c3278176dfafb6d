"""A captured traffic graph divided by `cut` and by METIS, KaHIP and Mt-KaHyPar, side by side.

Run by hand, on a machine that does nothing else (some ten minutes):

    python -m benchmarks.solver.fischer --output docs/results/cut-fischer.md

Needs the optional partitioners (`pip install stormcut[partitioners]`).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import CHECKOUT
from benchmarks.machine import made_by
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.native.process import NativeFailure, call
from stormcut.objective.metrics import measure
from stormcut.objective.verify import violations
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.graph.partitioners import kahip, metis, mt_kahypar
from stormcut.placement.graph.partitioners.task import PartitionTask
from stormcut.placement.solve import solve

GRAPH = CHECKOUT / "benchmarks" / "data" / "fischer-traffic" / "graph.json"
TASKS = 268

#: Sizes of the nodes.
CLUSTERS = {
    "4 equal nodes": (1,) * 4,
    "10 equal nodes": (1,) * 10,
    "20 equal nodes": (1,) * 20,
    "4 nodes of sizes 1:1:2:4": (1, 1, 2, 4),
}

#: A node may hold this part of its share more.
IMBALANCE = 0.05

#: Imbalances that partitioners are asked for: with less than allowed they keep it more often.
ASKED = (0.05, 0.03, 0.01, 0.0)

RIVALS: tuple[tuple[str, str, Callable[[PartitionTask], npt.NDArray[np.int64]]], ...] = (
    ("METIS", "recursive", metis.divide),
    ("METIS", "kway", metis.divide),
    ("KaHIP", "strong", kahip.divide),
    ("Mt-KaHyPar", "highest-quality", mt_kahypar.divide),
)

#: A partitioner that takes this long hangs.
SECONDS = 300.0

PAGE = """\
# A captured traffic graph: `cut` and graph partitioners

The task-to-task traffic of a Storm topology, 268 tasks, 4,962,160 tuples, published with
L. Fischer and A. Bernstein's work on scheduling by graph partitioning
(benchmarks/data/fischer-traffic). What is counted are tuples between nodes; the smaller the better.

- A node may hold 5 % more than its share, which is counted in whole tasks: at most
  floor(1.05 x ceil(268 x share)).
- `cut`: seeds {seeds}, default options, verification and certificate included.
- Partitioners: {rival_seeds} seeds for each imbalance asked for ({asked}), as some keep within the
  limits only when asked for less. Results over a limit do not count ("within" says how many do).
  KaHIP makes parts of equal weight only; for other sizes it makes equal units, which are put
  together (see `partitioners/kahip.py`).
- `s`: median seconds of one run; `all s`: of all runs of that row together.

{verdict}

{tables}

{longer}

{made}
"""


@dataclass(frozen=True)
class Row:
    """What all runs of one method on one cluster came to; ``values`` are those within limits."""

    method: str
    values: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """Fewest tuples between nodes, infinite if no run kept within the limits."""
        return min(self.values, default=math.inf)


def most(sizes: Sequence[int]) -> list[int]:
    """Return the most tasks that each node may hold."""
    shares = [TASKS * size / sum(sizes) for size in sizes]
    return [math.floor((1 + IMBALANCE) * math.ceil(share - 1e-9)) for share in shares]


def problem(sizes: Sequence[int]) -> Problem:
    """Return the graph as one component, measured task by task, on nodes of these sizes."""
    links = json.loads(GRAPH.read_text(encoding="utf-8"))["links"]
    pairs = tuple(
        MeasuredPair(("task", e["source"] - 1), ("task", e["target"] - 1), float(e["value"]))
        for e in links
    )
    nodes = tuple(
        Node(f"n{at:02d}", (6700,), max_executors=limit) for at, limit in enumerate(most(sizes))
    )
    topology = Topology("fischer", (Component.uniform("task", TASKS),), (), pairs)
    return Problem(nodes, (topology,))


def by_cut(sizes: Sequence[int], seeds: Sequence[int], effort: float = 1.0) -> Row:
    """Place with every seed."""
    asked, values, seconds = problem(sizes), [], []
    for seed in seeds:
        start = time.perf_counter()
        solution = solve(asked, "cut", seed, {"objective": "cut", "effort": str(effort)})
        seconds.append(time.perf_counter() - start)
        values.append(solution.metrics.inter_node_tuples_per_second)
    return Row("cut" if effort == 1 else f"cut, effort {effort:g}", tuple(values), tuple(seconds))


def by_rivals(sizes: Sequence[int], seeds: Sequence[int]) -> list[Row]:
    """Divide with every partitioner, imbalance and seed."""
    asked, rows = problem(sizes), []
    for name, preset, divide in RIVALS:
        values, seconds = [], []
        for imbalance in ASKED:
            for seed in seeds:
                start = time.perf_counter()
                try:
                    parts = call(divide, SECONDS, _task(asked, sizes, imbalance, preset, seed))
                except NativeFailure as error:
                    print(name, imbalance, seed, error, file=sys.stderr)
                    continue
                seconds.append(time.perf_counter() - start)
                placement = Placement(parts)
                if not violations(asked, placement):
                    values.append(measure(asked, placement).inter_node_tuples_per_second)
        rows.append(Row(f"{name} {preset}", tuple(values), tuple(seconds)))
    return rows


def _task(
    asked: Problem, sizes: Sequence[int], imbalance: float, preset: str, seed: int
) -> PartitionTask:
    graph = traffic_graph(asked.traffic, TASKS)
    return PartitionTask(
        graph.indptr.astype(np.int64),
        graph.indices.astype(np.int64),
        graph.data.astype(np.int64),
        np.ones(TASKS, dtype=np.int64),
        np.array(sizes) / sum(sizes),
        imbalance,
        preset,
        seed,
    )


def table(name: str, rows: Sequence[Row]) -> str:
    """Return one cluster's table."""
    lines = [
        f"## {name[0].upper()}{name[1:]}: at most {_limits(CLUSTERS[name])} tasks",
        "",
        "| method | best | median | worst | within | s | all s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    least = min(row.best for row in rows)
    for row in rows:
        numbers = ["-"] * 3
        if row.values:
            numbers = [f"{f(row.values):,.0f}" for f in (min, statistics.median, max)]
        if row.best == least:
            numbers[0] = f"**{numbers[0]}**"
        lines.append(
            f"| {row.method} | {' | '.join(numbers)} | {len(row.values)}/{len(row.seconds)} "
            f"| {statistics.median(row.seconds):.2f} | {sum(row.seconds):.1f} |"
        )
    return "\n".join(lines)


def _limits(sizes: Sequence[int]) -> str:
    limits = most(sizes)
    return str(limits[0]) if len(set(limits)) == 1 else ", ".join(map(str, limits))


def verdict(results: dict[str, list[Row]]) -> str:
    """Say where every seed of `cut` beats the best of all other runs."""
    lines = []
    for name, (ours, *others) in results.items():
        rival = min(others, key=lambda row: row.best)
        better = sum(value < rival.best for value in ours.values)
        equal = sum(value == rival.best for value in ours.values)
        lines.append(
            f"- {name}: {ours.best:,.0f} against {rival.best:,.0f} of {rival.method}. Of "
            f"{len(ours.values)} seeds {better} are below that, {equal} equal."
        )
    return "\n".join(lines)


def longer(results: dict[str, list[Row]], seeds: Sequence[int], effort: float) -> str:
    """Return what a longer search adds to each cluster."""
    lines = [
        f"## With effort {effort:g}",
        "",
        f"Seeds {seeds[0]} to {seeds[-1]}, to see what the default leaves.",
        "",
        "| cluster | best | worst | default's best | s |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, (ours, *_) in results.items():
        row = by_cut(CLUSTERS[name], seeds, effort)
        lines.append(
            f"| {name} | {row.best:,.0f} | {max(row.values):,.0f} | {ours.best:,.0f} "
            f"| {statistics.median(row.seconds):.1f} |"
        )
        print(name, row.best, file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10, help="seeds of `cut`")
    parser.add_argument("--rival-seeds", type=int, default=20, help="seeds of each partitioner")
    parser.add_argument("--effort", type=float, default=10.0, help="of the longer search")
    options = parser.parse_args()
    seeds, rival_seeds = range(1, options.seeds + 1), range(1, options.rival_seeds + 1)
    by_cut(CLUSTERS["4 equal nodes"], [1], 0.0)  # loads what is compiled
    results: dict[str, list[Row]] = {}
    for name, sizes in CLUSTERS.items():
        results[name] = [by_cut(sizes, seeds), *by_rivals(sizes, rival_seeds)]
        print(name, [row.best for row in results[name]], file=sys.stderr)
    text = PAGE.format(
        seeds=f"1 to {options.seeds}",
        rival_seeds=options.rival_seeds,
        asked=", ".join(f"{each:g}" for each in ASKED),
        verdict=verdict(results),
        tables="\n\n".join(table(name, rows) for name, rows in results.items()),
        longer=longer(results, range(1, 4), options.effort),
        made=made_by("pymetis", "kahip", "mtkahypar", "numpy"),
    )
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
