"""What measuring a busy task now and then costs, seen within one worker.

    python -m benchmarks.speed.hook_duty_cycle --output docs/results/hook.md

Workers of one kind differ by 10 % for good (`hook_overhead.py`), so that no comparison of workers
resolves 1 %. Here one worker is compared with itself: the thread that puts the hook in and takes it
out again is frozen and thawed in alternation, and nothing else changes. Needs root and the freezer
of cgroup v1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.speed.hook_overhead import Plan, Worker, acked, interval, order, started
from stormcut.lab.adapters.bench.workers import CLUSTER_PATIENCE, hold, let_go, processes
from stormcut.lab.adapters.clusters.local import LocalCluster

FREEZER = Path("/sys/fs/cgroup/freezer")
#: As the hook names it.
THREAD = "stormcut-hook"

PAGE = """\
# Busy tasks, measured now and then

Tuples acked by the fastest topology there is here, with the hook and Storm's
`LoggingMetricsConsumer`, as in [the hook](#the-hook): its tasks are so busy that
a thread of the worker takes the hook out and puts it back. Each worker is compared with itself,
with that thread at work and frozen (cgroup freezer): {pairs} pairs of {seconds:g} s each, after
{settle:g} s to settle, in alternating order. A ratio of 1 is no cost.

| worker | tuples a second, frozen | at work / frozen: tuples a second | tuples a CPU second |
| ---: | ---: | ---: | ---: |
{rows}
| all | | {all_rates} | {all_cpu} |

Medians over the pairs, with bootstrap 95 % intervals. If the thread is frozen while the hook is in,
the hook stays in: that is one pair in forty, which a median ignores. Not in these ratios: one line
a task each interval (60 s by default).

{made_by} {day}.
"""


@dataclass(frozen=True)
class Freezer:
    """A cgroup of threads that are frozen or thawed together."""

    folder: Path

    @classmethod
    @contextmanager
    def made(cls) -> Iterator[Freezer]:
        """Make one; it is thawed and gone at the end, when its threads are."""
        folder = FREEZER / f"stormcut-{os.getpid()}"
        folder.mkdir()
        try:
            yield cls(folder)
        finally:
            folder.rmdir()

    @contextmanager
    def around(self, worker: Worker) -> Iterator[None]:
        """Have the threads of a worker, thawed at the end so that it can be ended."""
        for thread in threads(worker):
            (self.folder / "tasks").write_text(thread)
        try:
            yield
        finally:
            self.freeze(False)
            for thread in threads(worker):
                (FREEZER / "tasks").write_text(thread)

    def freeze(self, frozen: bool) -> None:
        """Freeze or thaw the threads."""
        (self.folder / "freezer.state").write_text("FROZEN" if frozen else "THAWED")


def threads(worker: Worker) -> list[str]:
    """Return the ids of a worker's threads that switch its hooks."""
    found = [
        task.name
        for process in processes(worker.topology_id)
        for task in Path(f"/proc/{process.pid}/task").iterdir()
        if (task / "comm").read_text().strip() == THREAD
    ]
    assert found, f"{worker.topology_id} has no thread {THREAD}"
    return found


def measure(plan: Plan) -> np.ndarray:
    """Return the rates, by worker, pair, and whether the thread is frozen."""
    rates = np.empty((plan.groups, plan.rounds, 2, 2))
    name = f"hook-duty-cycle-{os.getpid()}"
    with (
        Freezer.made() as freezer,
        LocalCluster.up(name, supervisors=1, slots=plan.groups, config=CLUSTER_PATIENCE) as cluster,
    ):
        for at in range(plan.groups):
            worker = started(cluster, f"run-{at}", {}, plan)
            let_go(worker.topology_id)
            with freezer.around(worker):
                for pair in range(plan.rounds):
                    for frozen in order(2, pair):
                        freezer.freeze(bool(frozen))
                        rates[at, pair, frozen] = acked(worker, plan)
                    print(at + 1, pair + 1, rates[at, pair].round(), file=sys.stderr)
            hold(worker.topology_id)
    return rates


def page(plan: Plan, rates: np.ndarray) -> str:
    """Return the Markdown page."""
    ratios = rates[:, :, 0] / rates[:, :, 1]
    rows = [
        f"| {at + 1} | {np.median(rates[at, :, 1, 0]):,.0f} | {_in_words(ratios[at, :, 0])} | "
        f"{_in_words(ratios[at, :, 1])} |"
        for at in range(plan.groups)
    ]
    return PAGE.format(
        pairs=plan.rounds,
        seconds=plan.seconds,
        settle=plan.settle,
        rows="\n".join(rows),
        all_rates=_in_words(ratios[..., 0].ravel()),
        all_cpu=_in_words(ratios[..., 1].ravel()),
        made_by=made_by("numpy"),
        day=time.strftime("%Y-%m-%d"),
    )


def _in_words(values: np.ndarray) -> str:
    return "{:.4f} ({:.4f} to {:.4f})".format(*interval(values))


def main() -> None:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", dest="groups", type=int, default=4)
    parser.add_argument("--pairs", dest="rounds", type=int, default=24)
    parser.add_argument("--warm-up", type=float, default=20, help="seconds")
    parser.add_argument("--settle", type=float, default=1, help="seconds before each window")
    parser.add_argument("--seconds", type=float, default=4, help="length of a window")
    parser.add_argument("--output", type=Path, required=True, help="the page")
    given = vars(parser.parse_args())
    output = given.pop("output")
    plan = Plan(language="java", **given)
    write_page(output, page(plan, measure(plan)))


if __name__ == "__main__":
    main()
