"""What a scheduler's placements sustain beside others', over all starts in which it was measured.

Takes seconds. Run by hand when benches are added:

    python -m benchmarks.cluster.pooled_ratios --group NAME BENCH... --output PAGE

Windows of one start share a profile, placements and clusters; starts share none. So the noise of a
ratio has two parts, between windows and between starts, which all groups and topologies tell
together. A start counts by the inverse of its variance (R. DerSimonian and N. Laird, "Meta-analysis
in clinical trials", Controlled Clinical Trials 7, 1986).
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.machine import made_by
from stormcut.arrays import Floats
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.experiment.bench.windows import OTHER_CORES, crowded

SCHEDULER, RIVALS = "cut", ("caps", "even", "stromax", "ols")
#: Standard errors each way: 95 of 100 intervals hold the true value.
WIDE = 1.96

PAGE = """\
# `{scheduler}` beside others, over all starts

Tuples/s under `{scheduler}` over those under another scheduler, in windows of one repetition:
geometric means over starts, with intervals of 95 %, and in brackets starts and windows. Windows
count by [today's rules](../bench.md#what-is-measured), and where CPU binds, only beside at most
{others:g} cores of other work.

{settings}

{made}
"""

SETTING = """\
## Where {binds}
A ratio varies by {window:.1f} % between windows of a start, and by {start:.1f} % between starts."""


class Contest(NamedTuple):
    """What was measured of one ratio: the logarithms of each start's windows."""

    of_cpu: bool
    topology: str
    rival: str
    starts: list[Floats]


class Noise(NamedTuple):
    """Variances of the logarithm of a ratio, between windows of a start and between starts."""

    window: float
    start: float


class Estimate(NamedTuple):
    """The logarithm of a ratio, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        ends = np.exp([self.value, self.value - WIDE * self.error, self.value + WIDE * self.error])
        return "{:.2f} ({:.2f} to {:.2f})".format(*ends)


def contests(benches: Sequence[Path]) -> list[Contest]:
    """Return all ratios that benches measured."""
    found: dict[tuple[bool, str, str], list[Floats]] = defaultdict(list)
    for bench in benches:
        for key, logs in _ratios(bench):
            found[key].append(logs)
    return [Contest(*key, starts) for key, starts in sorted(found.items())]


def _ratios(bench: Path) -> Iterator[tuple[tuple[bool, str, str], Floats]]:
    journal = FileJournal(bench)
    cores = int(re.findall(r"(\d+) cores", journal.run.facts["machine"])[0])
    of_cpu = "cpu" in journal.run.setting
    steady = {
        each.cell: each.tuples_per_10s
        for each in journal.measurements()
        if not each.unsteady
        # Older benches counted windows beside other work that today's rule does not.
        and not crowded(sum(each.node_cores), each.other_cores, cores)
        and not (of_cpu and each.other_cores > OTHER_CORES)
    }
    for topology in journal.run.topologies:
        mine = [cell for cell in steady if (cell.topology, cell.scheduler) == (topology, SCHEDULER)]
        for rival in RIVALS:
            pairs = [(steady[cell], steady.get(replace(cell, scheduler=rival))) for cell in mine]
            if logs := [np.log(own / its) for own, its in pairs if own and its]:
                yield (of_cpu, topology, rival), np.array(logs)


def noise(found: Sequence[Contest]) -> Noise | None:
    """Return the noise that all ratios have together, None if nothing was measured twice."""
    many = [logs for each in found for logs in each.starts if len(logs) > 1]
    if not many or all(len(each.starts) < 2 for each in found):
        return None
    window = sum(((logs - logs.mean()) ** 2).sum() for logs in many) / sum(
        len(logs) - 1 for logs in many
    )
    excess = scale = 0.0
    for each in found:
        weight = np.array([len(logs) / window for logs in each.starts])
        means = np.array([logs.mean() for logs in each.starts])
        apart = means - (weight @ means) / weight.sum()
        excess += weight @ apart**2 - (len(means) - 1)
        scale += weight.sum() - (weight @ weight) / weight.sum()
    return Noise(float(window), max(0.0, float(excess / scale)))


def estimate(starts: Sequence[Floats], of: Noise) -> Estimate:
    """Return a ratio over several starts."""
    weight = np.array([1.0 / (of.start + of.window / len(logs)) for logs in starts])
    means = np.array([logs.mean() for logs in starts])
    return Estimate(float(weight @ means / weight.sum()), float(weight.sum() ** -0.5))


def table(found: Sequence[Contest], of: Noise) -> str:
    """Return a table in Markdown, a topology a row, and their mean."""
    rivals = [name for name in RIVALS if any(each.rival == name for each in found)]
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    means: dict[str, list[Estimate]] = defaultdict(list)
    for each in found:
        ratio = estimate(each.starts, of)
        counts = f"{len(each.starts)}, {sum(map(len, each.starts))}"
        cells[each.topology][each.rival] = f"{ratio} [{counts}]"
        means[each.rival].append(ratio)
    rows = [
        [f"`{name}`", *(row.get(rival, "not measured") for rival in rivals)]
        for name, row in cells.items()
    ]
    mean = [
        Estimate(
            float(np.mean([each.value for each in means[rival]])),
            float(np.sqrt(sum(each.error**2 for each in means[rival])) / len(means[rival])),
        )
        for rival in rivals
    ]
    header = ["topology", *(f"over `{rival}`" for rival in rivals)]
    lines = [header, ["---"] * len(header), *rows, ["all, geometric mean", *map(str, mean)]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", nargs="+", action="append", required=True, metavar="NAME BENCH")
    parser.add_argument("--output", required=True, type=Path)
    given = parser.parse_args()
    groups = {name: contests([Path(each) for each in benches]) for name, *benches in given.group}
    parts = []
    for of_cpu, binds in ((True, "CPU binds"), (False, "links bind")):
        tables = {
            name: part
            for name, found in groups.items()
            if (part := [each for each in found if each.of_cpu == of_cpu])
        }
        if not tables:
            continue
        of = noise([each for part in tables.values() for each in part])
        if of is None:
            parser.error(
                f"where {binds}, no noise can be told: name benches with several windows, and "
                "several benches of a topology"
            )
        window, start = (100 * np.sqrt(each) for each in of)
        parts.append(SETTING.format(binds=binds, window=window, start=start))
        parts += [f"### {name}\n{table(part, of)}" for name, part in tables.items()]
    page = PAGE.format(
        scheduler=SCHEDULER,
        others=OTHER_CORES,
        settings="\n\n".join(parts),
        made=made_by("numpy"),
    )
    given.output.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
