"""CPU that a controller takes, idle and busy: its own process, and Spark's.

Run by hand, on a machine that does nothing else (45 minutes, half of it with one `--every`):

    python -m benchmarks.speed.controller_cpu --output docs/results/controller-cpu.md
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from benchmarks.machine import made_by
from stormcut.application.waiting import wait_until
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.reports import newest_of_processes
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.processes.controller import (
    ControllerProcess,
    controller_process,
    write_configuration,
)
from stormcut.lab.adapters.storm.topology_site import local_site

SUPERVISORS, SLOTS = 2, 4
EVERY = ("10 s", "3 s")
#: After its start, and after topologies have begun: what happens once is no load.
SETTLE_S = 60.0
TOPOLOGIES: Mapping[str, Mapping[str, object]] = {
    "linear": {"language": "java", "bolts": 2, "tasks": 6, "rate": 500},
    "diamond": {"language": "java", "middles": 2, "tasks": 3, "ends": 3, "rate": 300},
}

PAGE = """\
# CPU of a controller

`stormcut operate` in its shipped configuration, in mode `automatic`, on a cluster of {supervisors}
supervisors on this machine: without any topology, and with {sources},
which send {rate:,.0f} tuples/s. In points: 100 are one core.

| `observe.every` | | minutes | all | Python | Spark | resident |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
{rows}

{made}
"""


@dataclass(frozen=True)
class Used:
    """CPU seconds of a controller's own process and of Spark's, at a moment, and bytes of both."""

    at_s: float
    python_s: float
    java_s: float
    resident: int


def used(controller: ControllerProcess) -> Used:
    """Return what a controller has used so far."""
    root = psutil.Process(controller.process.pid)
    own, children = root.cpu_times(), root.children(recursive=True)
    java = [child.cpu_times() for child in children]
    resident = sum(each.memory_info().rss for each in (root, *children))
    return Used(
        time.monotonic(),
        own.user + own.system,
        sum(each.user + each.system for each in java),
        resident,
    )


def row(every: str, load: str, controller: ControllerProcess, minutes: float) -> str:
    """Watch a controller for some minutes."""
    before = used(controller)
    time.sleep(60 * minutes)
    controller.check()
    after = used(controller)
    seconds = after.at_s - before.at_s
    python = 100 * (after.python_s - before.python_s) / seconds
    java = 100 * (after.java_s - before.java_s) / seconds
    cells = (every, load, f"{minutes:g}", f"{python + java:.1f}", f"{python:.1f}", f"{java:.1f}")
    return f"| {' | '.join(cells)} | {after.resident / 2**20:,.0f} MiB |"


def rows(every: str, minutes: float, steps: Steps) -> list[str]:
    """Watch a controller on a cluster of its own, idle and busy."""
    with LocalCluster.up(f"cpu-{every[0]}", SUPERVISORS, SLOTS) as cluster:
        config = write_configuration(cluster, observe={"every": every})
        with controller_process(cluster, config) as controller:
            time.sleep(SETTLE_S)
            with steps.step(f"every {every}, idle"):
                idle = row(every, "idle", controller, minutes)
            for name, options in TOPOLOGIES.items():
                reports = local_site(cluster).submit(name, name, options)
                sent = partial(newest_of_processes, reports.folders, {"source"})
                wait_until(sent, 120, f"{name} sends")
            time.sleep(SETTLE_S)
            with steps.step(f"every {every}, busy"):
                busy = row(every, "busy", controller, minutes)
    return [idle, busy]


def main() -> None:
    """Watch controllers and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="The page to write.")
    parser.add_argument("--minutes", type=float, default=10.0, help="Of each row.")
    parser.add_argument("--every", choices=EVERY, help="Only this interval.")
    arguments = parser.parse_args()
    steps = Steps("controller-cpu")
    chosen = [arguments.every] if arguments.every else EVERY
    found = [line for every in chosen for line in rows(every, arguments.minutes, steps)]
    page = PAGE.format(
        supervisors=SUPERVISORS,
        rate=sum(float(str(options["rate"])) for options in TOPOLOGIES.values()),
        sources=" and ".join(f"`{name}`" for name in TOPOLOGIES),
        rows="\n".join(found),
        made=made_by("pyspark"),
    )
    arguments.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
