"""Which value of a placement says most of its throughput: compared with every measured placement.

Takes seconds. Run by hand when benches are added:

    .stormcut/venv/bin/python benchmarks/objective_values.py BENCH... --output PAGE
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine import made_by

from stormcut.adapters.bench.journal import Journal
from stormcut.application.experiment.bench.contest import WINDOW, windowed
from stormcut.application.experiment.bench.summary import ratio
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.congestion import congestion
from stormcut.objective.headroom import fullest
from stormcut.objective.resources import LINK_OUT, uses
from stormcut.objective.throughput import throughput

BASELINE = "even"
VALUES = ("head-room", "congestion", "throughput", "traffic")

PAGE = """\
# Which value of a placement says most of its throughput

Every placement whose problem was kept, its values over `even`'s by the cost model with the shipped
costs, and the throughput that was measured, over `even`'s (median of a bench's windows): head-room;
1 over congestion; closed-loop throughput, with the topology's window; 1 over the bytes between
nodes. {count} placements of {benches} benches. By all of them, the size of the error (a value over
what was measured, as a logarithm):

{errors}

{rows}

{made}
"""


def values(problem: Problem, placement: Placement) -> list[float]:
    """Return the `VALUES` of a placement."""
    used = uses(problem, placement)
    sent = next(use for use in used if use.kind == LINK_OUT)
    return [
        fullest(problem, used).value or np.inf,
        1 / congestion(used),
        throughput(problem, placement).total,
        1 / float(sent.load.sum()),
    ]


def rows(journal: Journal) -> Iterator[tuple[str, str, float, list[float]]]:
    """Yield topology, scheduler, measured ratio, and ratios of `VALUES`."""
    cells = list(journal.measurements())
    for topology in journal.run.topologies:
        window = journal.run.options.get(topology, {}).get(WINDOW)
        base = journal.solution(topology, BASELINE)
        for scheduler in journal.run.schedulers:
            kept = journal.solution(topology, scheduler)
            measured = ratio(cells, topology, scheduler, BASELINE)
            if scheduler != BASELINE and base and kept and measured:
                mine, its = (values(windowed(each[0], window), each[1]) for each in (kept, base))
                over = [a / b for a, b in zip(mine, its, strict=True)]
                yield topology, scheduler, measured.spread.median, over


def table(header: tuple[str, ...], lines: list[list[str]]) -> str:
    """Return a table in Markdown, the first column left-aligned."""
    rules = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rules, *lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benches", nargs="+", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    given = parser.parse_args()
    found = [row for bench in given.benches for row in rows(Journal(bench))]
    off = np.log([row[3] for row in found]) - np.log([row[2] for row in found])[:, None]
    errors = [
        [name, *(f"{100 * np.expm1(each):.1f} %" for each in (np.median(size), rms))]
        for name, column in zip(VALUES, off.T, strict=True)
        for size, rms in [(np.abs(column), np.sqrt((column**2).mean()))]
    ]
    lines = [
        [topology, scheduler, f"{measured:.2f}", *(f"{value:.2f}" for value in over)]
        for topology, scheduler, measured, over in found
    ]
    page = PAGE.format(
        count=len(found),
        benches=len(given.benches),
        errors=table(("value", "median", "root mean square"), errors),
        rows=table(("topology", "scheduler", "measured", *VALUES), lines),
        made=made_by("numpy"),
    )
    given.output.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
