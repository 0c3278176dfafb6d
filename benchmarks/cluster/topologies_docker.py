"""Every topology once on a cluster in containers: nothing lost, the answer Spark's.

    stormcut docker up --name all --nodes 2 --cpus 0.9
    python -m benchmarks.cluster.topologies_docker all

prints a page for docs/results. It takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import made_by

STORMCUT = Path(sys.executable).with_name("stormcut")

PAGE = """\
# Every topology on a cluster in containers

`stormcut topologies run NAME --docker`, one after another on one cluster of two nodes with 0.9
cores each, at the size and with the data that the command takes by default. Whole: every tuple
sent was acknowledged, and every hop received what was sent to it.

| topology | tasks | sent | acked | replayed | whole | answer |
| --- | ---: | ---: | ---: | ---: | --- | --- |
{rows}

{made_by} {day}.
"""


def outcome(*arguments: str) -> Any:
    """Return what a command of stormcut prints with ``--json``."""
    done = subprocess.run(
        [str(STORMCUT), "topologies", *arguments, "--json"], stdout=subprocess.PIPE, check=False
    )
    if done.returncode > 1:
        sys.exit(f"stormcut topologies {' '.join(arguments)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def row(found: Mapping[str, Any]) -> str:
    """Return a topology's line of the table."""
    totals = found["totals"]
    answer = found["answer"].split(":")[0]
    return (
        f"| {found['topology']} | {found['tasks']} | {totals['sent']:,} | {totals['acked']:,} | "
        f"{totals['replayed']:,} | {'yes' if found['whole'] else 'NO'} | {answer} |"
    )


def main() -> None:
    """Parse the command line, run the topologies, print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cluster", help="of `stormcut docker up --name`")
    cluster = parser.parse_args().cluster
    names = [each["name"] for each in outcome("list")]
    rows = [row(outcome("run", name, "--docker", cluster)) for name in names]
    day = time.strftime("%Y-%m-%d")
    print(PAGE.format(rows="\n".join(rows), made_by=made_by(), day=day), end="")


if __name__ == "__main__":
    main()
