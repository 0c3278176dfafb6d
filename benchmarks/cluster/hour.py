r"""The controller for an hour under a load that changes, beside other policies on the same load.

Run by hand, on a machine that does nothing else, as root, with a Docker engine (an hour each):

    scripts/with-docker python -m benchmarks.cluster.hour \
      --policy automatic --policy never --measure hour --output docs/results/hour
    python -m benchmarks.raw_data hour

Each run is a file in the folder to measure as soon as it ends; one that is there is not repeated,
and the page is made of all that are there. Without `--measure` it is made of what was kept.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from benchmarks import CHECKOUT
from benchmarks.cluster.hour_load import LOADS
from benchmarks.cluster.hour_page import write_pages
from benchmarks.cluster.hour_run import POLICIES, Wanted, run
from benchmarks.raw_data import DATA, open_data
from stormcut.adapters.files.json_document import write_text
from stormcut.cli.steps import Steps
from stormcut.model.errors import StormcutError


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--policy", action="append", choices=list(POLICIES), default=None)
    parser.add_argument("--minutes", type=int, default=60, help="of each run")
    parser.add_argument("--load", choices=list(LOADS), default="changing")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each policy, in turns")
    parser.add_argument("--output", type=Path, required=True, help="the page's folder")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="run what it lacks")
    given = parser.parse_args()
    if given.minutes < 1 or given.repeat < 1:
        parser.error("--minutes and --repeat must be 1 or more")
    return given


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return all runs in a folder, in the order of their names."""
    return [json.loads(path.read_text()) for path in sorted((folder / "runs").glob("*.json"))]


def main() -> None:
    """Make what is missing, then the pages."""
    given = arguments()
    # Also without a terminal what was started ends with this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    steps = Steps("hour")
    if given.measure:
        measure(given, steps)
    with open_data(given.measure or DATA / "hour.zip") as data:
        write_pages(given.output, stored(data))


def measure(given: argparse.Namespace, steps: Steps) -> None:
    """Run what the folder lacks."""
    runs: Path = given.measure / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    wanted = given.policy or list(POLICIES)
    for number in range(1, given.repeat + 1):
        for policy in wanted:
            path = runs / f"{given.load}-{policy}-{given.minutes}min-{number}.json"
            if path.exists():
                continue
            made = run(
                Wanted(policy, LOADS[given.load], given.minutes), f"hour-{os.getpid()}", steps
            )
            told = json.dumps(made, separators=(",", ":"))
            # What is kept is for other machines, too.
            write_text(path, told.replace(f"{CHECKOUT}/", "") + "\n")


if __name__ == "__main__":
    try:
        main()
    except StormcutError as error:
        sys.exit(f"hour: {error}")
