"""Is any algorithm ahead of `cut` by the order of placements? Random problems by kind.

Takes about 40 minutes for 500 problems; an interrupted run goes on where it was. Run by hand:

    python -m benchmarks.solver.dominance --output docs/results/dominance.md
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from random_clusters import KINDS, problem_of

from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.raw_data import DATA
from stormcut.model.errors import Infeasible
from stormcut.objective.order import TOLERANCE, PlacementValue, advantage, is_ahead
from stormcut.placement.registry import ALGORITHMS
from stormcut.placement.solve import solve

#: Algorithms that take seconds and more run on smaller problems only: maximum executors x nodes.
MOST = {"exact": 600, "ols": 3_000, "i-scheduler": 20_000, "p-scheduler": 20_000, "sam": 20_000}
OPTIONS = {
    "exact": {"time_limit": "5"},
    "p-scheduler": {"capacity": "smallest"},
    "r-storm": {"max_heap_mb": "131072"},
}
#: Shares by which a rival may be ahead, between which the real one is sought.
STEPS = np.geomspace(TOLERANCE, 100, 121)

PAGE = """\
# Is any algorithm ahead of `cut`?

{count} random problems of {kinds} kinds (made by `python/tests/random_clusters.py`). `cut` with its
default options beside every other algorithm of the registry that answers at that size, compared by
[the order of placements](../model.md#which-of-two-placements-is-better).

- behind: problems on which some algorithm is ahead of `cut` by more than 1 %
- worst: by how much at most, in what comes first in the order
- refused: problems for which `cut` finds no placement; nor does any other
- seconds: of `cut`, others' placements included; median and largest

{rows}

{behind}

{made}
"""


def measure(kind: str, seed: int) -> dict[str, Any]:
    """Return how `cut` fared on a problem, and by how much each rival is ahead."""
    problem = problem_of(kind, seed)
    start = time.perf_counter()
    row: dict[str, Any] = {"kind": kind, "seed": seed}
    row |= {"executors": problem.executor_count, "nodes": len(problem.nodes)}
    try:
        found = PlacementValue(problem, solve(problem, "cut").placement)
    except Infeasible as error:
        found, row["refusal"] = None, str(error)
    row["seconds"] = time.perf_counter() - start
    size, ahead = problem.executor_count * len(problem.nodes), {}
    for name in ALGORITHMS:
        if name == "cut" or size > MOST.get(name, np.inf):
            continue
        try:
            placement = solve(problem, name, options=OPTIONS.get(name, {})).placement
        except Infeasible:
            continue
        rival = PlacementValue(problem, placement)
        if found is None:
            ahead[name] = [float(STEPS[-1]), "cut finds none"]
        elif why := advantage(rival, found):
            ahead[name] = [lead(rival, found), why]
    return {**row, "room": None if found is None else min(found.room, 1e9), "ahead": ahead}


def lead(rival: PlacementValue, found: PlacementValue) -> float:
    """Return up to which tolerance a rival is ahead."""
    ahead = itertools.takewhile(lambda step: is_ahead(rival, found, step), STEPS)
    return float(max(ahead, default=0.0))


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page of all rows."""
    by: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by[row["kind"]].append(row)
    lines = [
        "| kind | problems | executors | nodes | behind | worst | refused | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, own in by.items():
        worst = [max((each[0] for each in row["ahead"].values()), default=0.0) for row in own]
        took = [row["seconds"] for row in own]
        size, nodes = ([row[key] for row in own] for key in ("executors", "nodes"))
        lines.append(
            f"| {kind} | {len(own)} | {min(size)}-{max(size)} | {min(nodes)}-{max(nodes)} "
            f"| {sum(each > 0 for each in worst)} | {max(worst):.1%} "
            f"| {sum('refusal' in row for row in own)} "
            f"| {np.median(took):.1f}, {max(took):.1f} |"
        )
    behind = [
        f"- {row['kind']} {row['seed']}: `{name}`, {why}, {share:.1%}"
        for row in rows
        for name, (share, why) in row["ahead"].items()
    ]
    section = "Behind by more than 1 %:\n\n" + "\n".join(behind) if behind else "Behind on none."
    return PAGE.format(
        count=len(rows),
        kinds=len(by),
        rows="\n".join(lines),
        behind=section,
        made=made_by(),
    )


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="the page")
    parser.add_argument("--journal", type=Path, default=DATA / "dominance.jsonl")
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="Seed of the first of each kind.")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--minutes", type=float, default=35.0, help="Stop after this long.")
    given = parser.parse_args()
    journal, until = given.journal, time.monotonic() + 60 * given.minutes
    rows = (
        [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    )
    done = {(row["kind"], row["seed"]) for row in rows}
    wanted = [
        (given.kinds[at % len(given.kinds)], given.first + at // len(given.kinds))
        for at in range(given.problems)
    ]
    for kind, seed in wanted:
        if (kind, seed) in done or time.monotonic() > until:
            continue
        row = measure(kind, seed)
        rows.append(row)
        with journal.open("a") as file:
            file.write(json.dumps(row) + "\n")
        worst = max(row["ahead"].items(), key=lambda each: each[1][0], default=("none", [0.0, ""]))
        print(
            f"{kind} {seed}: {row['seconds']:.1f} s, {worst[0]} {worst[1][0]:.2%} {worst[1][1]}",
            flush=True,
        )
    write_page(given.output, page(rows))


if __name__ == "__main__":
    main()
