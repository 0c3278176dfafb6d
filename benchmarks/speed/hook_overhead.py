"""What the hook costs: throughput with and without it, workers side by side, in alternation.

    python -m benchmarks.speed.hook_overhead --output docs/results/hook.md

All workers live at once in one cluster and all but one are stopped (SIGSTOP), so that a window
lasts seconds, and what else the machine does strikes both sides alike. Workers differ for good by
what their compilers happened to do: there are several of each kind, started in mixed order, and
the interval is taken over them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.machine import made_by
from benchmarks.page import write_page
from stormcut.adapters.machine import home
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.bench.workers import (
    CLUSTER_PATIENCE,
    PATIENCE_S,
    hold,
    let_go,
    processes,
)
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.storm.sparse_submit import submit

Options = Mapping[str, object]

#: What a task writes each interval is written in each window, though a user's interval is longer.
INTERVAL_S = 4
NO_HOOK: Options = {
    "topology.auto.task.hooks": [],
    "topology.multilang.serializer": "org.apache.storm.multilang.JsonSerializer",
}
NO_CONSUMER: Options = {"topology.metrics.consumer.register": []}
#: The last kind is what the others are compared with.
KINDS: Mapping[str, Options] = {
    "hook and metrics consumer": {},
    "the same, measuring always": {"stormcut.hook.busy.per.sec": 2**31 - 1},
    "an empty hook": {
        **NO_HOOK,
        **NO_CONSUMER,
        "topology.auto.task.hooks": ["org.apache.storm.hooks.BaseTaskHook"],
    },
    "none": {**NO_HOOK, **NO_CONSUMER},
}
#: The fastest shape: every further bolt or task shares the same cores.
SHAPE: Options = {
    "rig.bolts": 1,
    "rig.tasks": 1,
    "rig.payload": 0,
    "topology.acker.executors": 1,
    # With the topologies' usual 100 and 10 ms a source mostly waits, and hides what the hook costs.
    "topology.max.spout.pending": 5000,
    "topology.sleep.spout.wait.strategy.time.ms": 1,
}
STORM: Options = {
    "stormcut.hook.interval.secs": INTERVAL_S,
    "topology.builtin.metrics.bucket.size.secs": INTERVAL_S,
    # A stopped worker loses no tuples.
    "topology.message.timeout.secs": PATIENCE_S,
}

PAGE = """\
# The hook

Tuples acked by the fastest topology there is here: `linear` in {language}, a source and a bolt of
one task each, no payload, one acker, all in one worker, {pending} tuples pending, as fast as it
goes. Each worker has the hook and Storm's `LoggingMetricsConsumer` (what a user pays: tasks as busy
as these are measured a fortieth of the time), the same measuring always, Storm's own empty hook
(what Storm asks for any hook), or none (then also with Storm's own multilang serializer). What
tasks write each interval they write every {interval} s, so that each window has its share of it; by
default it is 60 s.

| with | tuples a second, ratio to none | tuples a CPU second, ratio to none |
| --- | --- | --- |
{summary}

Medians over {groups} groups of one worker of each kind, with bootstrap 95 % intervals over the
groups; the ratio of a group is the median over {rounds} rounds ({pairs} pairs of windows). All
workers live at once and all but one are stopped (SIGSTOP): {seconds:g} s each in turn, in
alternating order, after {settle:g} s to settle; before, each ran {warm_up:g} s to get warm.
Counts are exact: those of the source. CPU is that of all processes of the worker; it tells what
the hook costs also while other programs compete for the cores, when tuples a second tell less.

Medians of each group, tuples a second and, in brackets, a CPU second, in thousands:

| group | {kinds} |
| ---: | {dashes} |
{rows}

{made_by} {day}.
"""


@dataclass(frozen=True)
class Worker:
    """A topology with a worker of its own, stopped unless it is measured."""

    topology_id: str
    results: Path

    def acked(self) -> tuple[float, int]:
        """Return the newest report of the source: its moment (s) and the tuples acked so far."""
        for path in self.results.glob("source-*.json"):
            with path.open() as report:
                moment = os.fstat(report.fileno()).st_mtime_ns / 1e9
                return moment, json.load(report)["acked"]
        return 0.0, 0

    def cpu_seconds(self) -> float:
        """Return the CPU time spent so far."""
        return sum(sum(process.cpu_times()[:2]) for process in processes(self.topology_id))


@dataclass(frozen=True)
class Plan:
    """How much is measured; times in seconds."""

    language: str
    groups: int
    rounds: int
    warm_up: float
    settle: float
    seconds: float


def started(cluster: LocalCluster, name: str, options: Options, plan: Plan) -> Worker:
    """Return a new worker, warm and stopped."""
    results = cluster.folder / "results" / name
    java = plan.language == "java"
    own = {"rig.results": str(results), "rig.language": plan.language}
    submit(
        project=home.topologies(),
        topology="linear",
        name=name,
        nimbus=cluster.nimbus_address,
        workers=1,
        options={**SHAPE, **STORM, **own, **options},
        environment={},
        virtualenv=Path(sys.prefix),
        work_folder=cluster.folder / "sparse",
        jar=home.topologies_jar() if java else None,
    )
    known = wait_until(lambda: cluster.nimbus.topology_id(name), 60, "Nimbus answers")
    worker = Worker(known, results)
    wait_until(lambda: worker.acked()[1], 150, f"{name} acks")
    time.sleep(plan.warm_up)  # compilers finish after a while, not on a condition
    hold(worker.topology_id)
    return worker


def window(worker: Worker, plan: Plan) -> tuple[float, float]:
    """Continue a worker for one window, and return what it acked."""
    let_go(worker.topology_id)
    rates = acked(worker, plan)
    hold(worker.topology_id)
    return rates


def acked(worker: Worker, plan: Plan) -> tuple[float, float]:
    """Return the tuples acked in one window (exact counts), per second and per CPU second."""
    time.sleep(plan.settle)
    begin, first = _next_report(worker)
    cpu_before = worker.cpu_seconds()
    time.sleep(plan.seconds - 1)
    end, last = _next_report(worker)
    cpu = worker.cpu_seconds() - cpu_before
    return (last - first) / (end - begin), (last - first) / cpu


def _next_report(worker: Worker) -> tuple[float, int]:
    before = worker.acked()

    def newer() -> tuple[float, int] | None:
        report = worker.acked()
        return report if report != before else None

    return wait_until(newer, 30, "the source reports", poll_s=0.05)


def measure(plan: Plan) -> np.ndarray:
    """Return the rates, by group, round and kind; which kind comes first changes."""
    kinds = list(KINDS)
    rates = np.empty((plan.groups, plan.rounds, len(kinds), 2))
    slots = plan.groups * len(kinds)
    name = f"hook-overhead-{os.getpid()}"
    with LocalCluster.up(name, supervisors=1, slots=slots, config=CLUSTER_PATIENCE) as cluster:
        workers: dict[tuple[int, int], Worker] = {}
        for group in range(plan.groups):
            for kind in order(len(kinds), group):
                options = KINDS[kinds[kind]]
                workers[group, kind] = started(cluster, f"run-{group}-{kind}", options, plan)
            print(f"group {group + 1} of {plan.groups} started", file=sys.stderr)
        for turn in range(plan.rounds):
            for group in range(plan.groups):
                for kind in order(len(kinds), turn + group):
                    rates[group, turn, kind] = window(workers[group, kind], plan)
                print(turn + 1, group + 1, rates[group, turn].round(), file=sys.stderr)
    return rates


def order(kinds: int, turn: int) -> Sequence[int]:
    """Return which kind comes when in a turn: forth and back in alternation."""
    return range(kinds) if turn % 2 == 0 else range(kinds)[::-1]


def ratios(rates: np.ndarray) -> np.ndarray:
    """Return each group's median ratio to its bare worker, by kind."""
    return np.asarray(np.median(rates[..., :-1] / rates[..., -1:], axis=1))


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the median and its bootstrap 95 % interval."""
    draws = np.random.default_rng(0).choice(values, (10_000, len(values)))
    low, high = np.quantile(np.median(draws, axis=1), (0.025, 0.975))
    return float(np.median(values)), float(low), float(high)


def page(plan: Plan, rates: np.ndarray, per_cpu: np.ndarray) -> str:
    """Return the Markdown page."""
    by_second, by_cpu = ratios(rates), ratios(per_cpu)
    kinds = list(KINDS)
    summary = [
        f"| {kind} | {_in_words(by_second[:, at])} | {_in_words(by_cpu[:, at])} |"
        for at, kind in enumerate(kinds[:-1])
    ]
    rows = [
        f"| {group + 1} | {' | '.join(cells)} |"
        for group, cells in enumerate(_cells(rates, per_cpu))
    ]
    return PAGE.format(
        language=plan.language.capitalize(),
        groups=plan.groups,
        rounds=plan.rounds,
        pairs=plan.groups * plan.rounds,
        warm_up=plan.warm_up,
        settle=plan.settle,
        seconds=plan.seconds,
        interval=INTERVAL_S,
        pending=SHAPE["topology.max.spout.pending"],
        summary="\n".join(summary),
        kinds=" | ".join(kinds),
        dashes=" | ".join("---:" for _ in kinds),
        rows="\n".join(rows),
        made_by=made_by("numpy"),
        day=time.strftime("%Y-%m-%d"),
    )


def _cells(rates: np.ndarray, per_cpu: np.ndarray) -> list[list[str]]:
    medians = zip(np.median(rates, axis=1) / 1000, np.median(per_cpu, axis=1) / 1000, strict=True)
    return [
        [f"{rate:,.1f} ({cpu:,.1f})" for rate, cpu in zip(*each, strict=True)] for each in medians
    ]


def _in_words(values: np.ndarray) -> str:
    median, low, high = interval(values)
    cost, least, most = (100 * (1 - ratio) for ratio in (median, high, low))
    return f"{median:.3f} ({low:.3f} to {high:.3f}): {cost:.1f} % ({least:.1f} to {most:.1f})"


def main() -> None:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", choices=["java", "python"], default="java")
    parser.add_argument("--groups", type=int, default=6, help="workers of each kind")
    parser.add_argument("--rounds", type=int, default=6, help="windows of each worker")
    parser.add_argument("--warm-up", type=float, default=20, help="seconds")
    parser.add_argument("--settle", type=float, default=1, help="seconds before each window")
    parser.add_argument("--seconds", type=float, default=4, help="length of a window")
    parser.add_argument("--output", type=Path, required=True, help="the page")
    given = vars(parser.parse_args())
    output = given.pop("output")
    plan = Plan(**given)
    windows = measure(plan)
    write_page(output, page(plan, windows[..., 0], windows[..., 1]))


if __name__ == "__main__":
    main()
