r"""The simulator beside systems whose answer is known in closed form.

Run by hand (a minute):

    .stormcut/venv/bin/python benchmarks/simulator_theory.py \
      --output docs/results/simulator-theory.md
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from machine import made_by
from theory_cases import CASES, REPLICATIONS, Case, Found, replicated

PAGE = """\
# The simulator beside theory

`exact` is known in closed form, by the formula named. `simulated` is the mean of {replications}
replications, each with a seed of its own, and `+-` half the width of its 99 % interval: one exact
value in a hundred lies outside of it by chance. {verdict}

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


def main() -> None:
    """Simulate all cases, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    rows, wrong, events, seconds = [], 0, 0, 0.0
    for case in CASES:
        start = time.perf_counter()
        runs = [case.run(1 + at) for at in range(REPLICATIONS)]
        seconds += time.perf_counter() - start
        events += sum(run.events for run in runs)
        for found in replicated(case, runs):
            rows.append(row(case, found))
            wrong += not found.agrees
        print(rows[-1], file=sys.stderr)
    verdict = f"{len(rows) - wrong} of {len(rows)} agree."
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
