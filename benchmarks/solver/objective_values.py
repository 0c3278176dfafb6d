"""Which value of a placement says most of its throughput: compared with every measured placement.

Takes seconds. Run by hand when benches are added:

    python -m benchmarks.solver.objective_values BENCH... --output PAGE
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.machine import made_by
from stormcut.arrays import Floats
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.experiment.bench.contest import WINDOW, windowed
from stormcut.lab.experiment.bench.summary import ratio
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.anchoring import anchored_share
from stormcut.objective.congestion import congestion
from stormcut.objective.headroom import fullest
from stormcut.objective.resources import LINK_OUT, uses
from stormcut.objective.throughput import throughput

BASELINE = "even"
#: Placements whose throughput differs by less, in its logarithm, are not told apart.
APART = 0.05
HEADER = (
    *("value", "median", "root mean square"),
    *("ranked right, `network`", "lost", "ranked right, `cpu`", "lost"),
)
VALUES = ("head-room", "congestion", "throughput", "traffic")

PAGE = """\
# Which value of a placement says most of its throughput

Every placement whose problem was kept, its values over `even`'s by the cost model with the shipped
costs, and the throughput that was measured, over `even`'s (median of a bench's windows): head-room;
1 over congestion; closed-loop throughput, with the topology's window; 1 over the bytes between
nodes. {count} placements of {benches} benches. By all of them, the size of the error (a value over
what was measured, as a logarithm). Ranked right: pairs of placements of one topology and bench,
`even`'s included, whose throughput differs by more than {apart:.0f} %. Lost: by how much the best
of them was above the one that the value picks, mean and worst.

{errors}

{rows}

{made}
"""


class Row(NamedTuple):
    """A measured placement: its ratio to the baseline's, and ratios of `VALUES`.

    ``of_cpu``: in a setting where CPU is short, else links are.
    """

    bench: str
    of_cpu: bool
    topology: str
    scheduler: str
    measured: float
    over: list[float]


def percent(size: float) -> str:
    """Return a difference of logarithms as a percentage."""
    return f"{100 * np.expm1(size):.1f} %"


def values(problem: Problem, placement: Placement) -> list[float]:
    """Return the `VALUES` of a placement."""
    used = uses(problem, placement, anchored_share(problem))
    sent = next(use for use in used if use.kind == LINK_OUT)
    return [
        fullest(problem, used).value or np.inf,
        1 / congestion(used),
        throughput(problem, placement).total,
        1 / float(sent.load.sum()),
    ]


def rows(bench: Path) -> Iterator[Row]:
    """Yield every placement of a bench beside the baseline's."""
    journal = FileJournal(bench)
    cells, of_cpu = list(journal.measurements()), "cpu" in journal.run.setting
    for topology in journal.run.topologies:
        window = journal.run.options.get(topology, {}).get(WINDOW)
        base = journal.solution(topology, BASELINE)
        for scheduler in journal.run.schedulers:
            kept = journal.solution(topology, scheduler)
            measured = ratio(cells, topology, scheduler, BASELINE)
            if scheduler != BASELINE and base and kept and measured:
                mine, its = (values(windowed(each[0], window), each[1]) for each in (kept, base))
                over = [a / b for a, b in zip(mine, its, strict=True)]
                yield Row(bench.stem, of_cpu, topology, scheduler, measured.spread.median, over)


def ranking(found: list[Row]) -> Iterator[tuple[int, int, Floats]]:
    """Yield, for each value, pairs that it ranks right, all pairs, and what its picks lost."""
    contests: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in found:
        contests[row.bench, row.topology].append(row)
    for at in range(len(VALUES)):
        right, lost = [], []
        for rivals in contests.values():
            measured = np.log([1.0, *(row.measured for row in rivals)])
            value = np.log([1.0, *(row.over[at] for row in rivals)])
            for one, other in itertools.combinations(range(len(measured)), 2):
                if abs(measured[one] - measured[other]) > APART:
                    more = measured[one] > measured[other]
                    right.append((value[one] > value[other]) == more)
            lost.append(measured.max() - measured[value.argmax()])
        yield sum(right), len(right), np.array(lost)


def table(header: tuple[str, ...], lines: list[list[str]]) -> str:
    """Return a table in Markdown, the first column left-aligned."""
    rules = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rules, *lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benches", nargs="+", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    given = parser.parse_args()
    found = [row for bench in given.benches for row in rows(bench)]
    off = np.log([row.over for row in found]) - np.log([row.measured for row in found])[:, None]
    settings = ([row for row in found if row.of_cpu == of_cpu] for of_cpu in (False, True))
    ranked = [list(ranking(of)) for of in settings]
    errors = []
    for at, name in enumerate(VALUES):
        size = np.abs(off[:, at])
        line = [name, *(percent(each) for each in (np.median(size), np.sqrt((size**2).mean())))]
        for right, pairs, lost in (of[at] for of in ranked):
            line += [f"{right} of {pairs}", f"{percent(lost.mean())}, {percent(lost.max())}"]
        errors.append(line)
    lines = [
        [row.topology, row.scheduler, *(f"{each:.2f}" for each in (row.measured, *row.over))]
        for row in found
    ]
    page = PAGE.format(
        count=len(found),
        benches=len(given.benches),
        apart=100 * APART,
        errors=table(HEADER, errors),
        rows=table(("topology", "scheduler", "measured", *VALUES), lines),
        made=made_by("numpy"),
    )
    given.output.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
