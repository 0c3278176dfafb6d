r"""The simulator beside systems whose answer is known in closed form.

Run by hand (a minute):

    python -m benchmarks.simulator.simulator_theory \
      --output docs/results/simulator-theory.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.machine import made_by
from benchmarks.simulator.prediction_picture import save
from benchmarks.simulator.theory_cases import CASES, REPLICATIONS, Case, Found, replicated
from stormcut.report.figures import COLOURS, empty

PAGE = """\
# The simulator beside theory

`exact` is known in closed form, by the formula named. `simulated` is the mean of {replications}
replications, each with a seed of its own, and `+-` half the width of its 99 % interval: one exact
value in a hundred lies outside of it by chance. {verdict}

![The simulated means and their intervals, in percent of the exact values](simulator-theory.svg)

| case | formula | quantity | exact | simulated | +- |
| --- | --- | --- | ---: | ---: | ---: |
{rows}

Together {events:,} events in {seconds:.0f} s: {speed:.1f} million a second on one core.

{made}
"""


def row(case: Case, found: Found) -> str:
    """Return a line of the table."""
    mark = "" if found.agrees else " (outside)"
    return (
        f"| {case.name} | {case.formula} | {found.name} | {found.exact:,.3f} "
        f"| {found.mean:,.3f}{mark} | {found.half:,.3f} |"
    )


def picture(names: Sequence[str], found: Sequence[Found]) -> Figure:
    """Draw the interval of each quantity, in percent of what is exact."""
    figure = empty(8, 0.22 * len(found) + 0.8)
    axes = figure.subplots()
    off, half = (
        [100 * value / each.exact for value, each in zip(values, found, strict=True)]
        for values in ([f.mean - f.exact for f in found], [f.half for f in found])
    )
    rows = [-at for at in range(len(found))]
    axes.axvline(0, color="gray", lw=0.8)
    axes.errorbar(off, rows, xerr=half, fmt=".", color=COLOURS[0], elinewidth=1)
    labels = [f"{name}: {each.name}" for name, each in zip(names, found, strict=True)]
    axes.set_yticks(rows, labels, fontsize=7)
    axes.set_xlabel("simulated, % off the exact value; 99 % intervals")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Simulate all cases, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    rows, names, every, events, seconds = [], [], [], 0, 0.0
    for case in CASES:
        start = time.perf_counter()
        runs = [case.run(1 + at) for at in range(REPLICATIONS)]
        seconds += time.perf_counter() - start
        events += sum(run.events for run in runs)
        for found in replicated(case, runs):
            rows.append(row(case, found))
            names.append(case.name)
            every.append(found)
        print(rows[-1], file=sys.stderr)
    verdict = f"{sum(each.agrees for each in every)} of {len(rows)} agree."
    save(picture(names, every), options.output)
    options.output.write_text(
        PAGE.format(
            replications=REPLICATIONS,
            verdict=verdict,
            rows="\n".join(rows),
            events=events,
            seconds=seconds,
            speed=events / seconds / 1e6,
            made=made_by("numpy", "scipy"),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
