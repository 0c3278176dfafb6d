r"""A day of the controller on simulated time, under several policies: what moved, what was late.

Takes some minutes. Run by hand:

    python -m benchmarks.simulator.simulated_day --output docs/results/simulated-day.md
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import made_by
from benchmarks.simulator.rehearsed import Flow, controller, profile, running
from stormcut.arrays import Floats
from stormcut.lab.rehearsal.rehearsal import RehearsalStep, rehearse
from stormcut.lab.rehearsal.world import Offered, Outage, TopologyTally, World
from stormcut.model.cluster import RunningTopology, Supervisor
from stormcut.model.profile import Profile
from stormcut.report.figures import drawn, empty

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S

#: Eight nodes of four slots and two cores, on links of so many Mbit/s.
NODES, SLOTS, CPU_PERCENT, LINK_MBIT = 8, 4, 200.0, 20.0

#: Of each component's tuples, those that go to the executor beside it.
BESIDE = 0.8

#: Documents of `stormcut operate`, over what all have.
POLICIES: Mapping[str, Mapping[str, Any]] = {
    "never": {"policy": {"name": "never"}},
    "worth": {},
    "periodic": {"policy": {"name": "periodic", "period": "30 min"}},
    "stromax": {
        "placement": {"algorithm": "stromax", "options": {"steps": "reassign"}},
        "policy": {"name": "own"},
    },
    "ols": {"placement": {"algorithm": "ols"}, "policy": {"name": "own"}},
    "bframework": {"placement": {"algorithm": "bframework"}, "policy": {"name": "own"}},
}

PAGE = """\
# A day of the controller, simulated

{nodes} nodes of {slots} slots, {cpu:g} points of CPU and a link of {link:g} Mbit/s; three
topologies of 12 to 16 executors, first placed as Storm would. Their load is a wave with its low at
4 and its peak at 16 o'clock, with ten bursts of half as much again for three minutes and noise of
5 %; each shifts its keys twice a day, so that other executors talk to each other; two nodes are
away for 20 minutes each. The controller is the real one (observer, brain, gate, review), as
`stormcut operate` configures it in mode automatic; nodes, rates and metrics are simulated
([how](../simulator.md#the-controller-on-simulated-time)).

| policy | served | late | lost | behind | moves | workers restarted | took s |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

Served, late (after more than 5 s) and lost (after 30 s), of all tuples that were offered. Behind:
time in which tuples of a topology wait, mean over topologies. Moves: of running topologies by
plans, but for those that a lost node forced.

![Tuples/s that were offered and not served, by policy](simulated-day.svg)

{made}
"""


def truth_of(
    topology: RunningTopology, sizes: Sequence[int], cpu_us: Sequence[float], size: float
) -> Callable[[int], Profile]:
    """Return what the topology does for 1 tuple/s of its sources, by how its keys are shifted."""

    @lru_cache
    def truth(shift: int) -> Profile:
        cpu = {f"c{at}": [cpu_us[at] / n / 1e4] * n for at, n in enumerate(sizes)}
        flows = [
            Flow(f"c{at}", f"c{at + 1}", _beside(*pair, shift), size)
            for at, pair in enumerate(pairwise(sizes))
        ]
        return profile(topology, cpu, flows)

    return truth


def _beside(sources: int, targets: int, shift: int) -> Floats:
    """Return the share of tuples from executor to executor: most to the one beside it."""
    rates = np.full((sources, targets), (1 - BESIDE) / (sources * targets))
    rates[np.arange(sources), (np.arange(sources) + shift) % targets] += BESIDE / sources
    return rates


def wave(peak: float, phase_h: float, random: np.random.Generator) -> Callable[[float], float]:
    """Return tuples/s over a day: a sine, ten bursts, noise that is the same in every run."""
    bursts = np.sort(random.uniform(0, DAY_S, 10))
    noise = 1.0 + 0.05 * random.standard_normal(int(DAY_S / 10) + 1)

    def rate(second: float) -> float:
        angle = 2 * math.pi * (second / HOUR_S - 10.0 - phase_h) / 24.0
        share = 0.6 + 0.4 * math.sin(angle)
        burst = 1.5 if ((bursts <= second) & (second < bursts + 180.0)).any() else 1.0
        return float(peak * share * burst * max(noise[int(second / 10)], 0.0))

    return rate


def world() -> World:
    """Return the cluster of the day, the same for every policy."""
    random = np.random.default_rng(24)
    shapes = (
        ("orders", (4, 4, 4, 4), (100.0, 250.0, 400.0, 150.0), 300.0, 5200.0),
        ("clicks", (4, 4, 4), (60.0, 200.0, 200.0), 400.0, 5200.0),
        ("sensors", (3, 6, 3), (80.0, 500.0, 120.0), 250.0, 3000.0),
    )
    offered = []
    for at, (name, sizes, cpu_us, size, peak) in enumerate(shapes):
        parts = {f"c{at}": count for at, count in enumerate(sizes)}
        topology = running(name, parts, list(pairwise(parts)), workers=4)
        truth = truth_of(topology, sizes, cpu_us, size)
        shifts = np.sort(random.uniform(0, DAY_S, 2))

        def now(
            second: float,
            truth: Callable[[int], Profile] = truth,
            shifts: Sequence[float] = tuple(shifts),
        ) -> Profile:
            return truth(sum(second >= each for each in shifts))

        offered.append(Offered(topology, wave(peak, float(at), random), now))
    nodes = tuple(
        Supervisor(
            f"n{at}",
            f"h{at}",
            tuple(range(6700, 6700 + SLOTS)),
            CPU_PERCENT,
            8192.0,
            {"stormcut.link.mbit": str(LINK_MBIT)},
        )
        for at in range(NODES)
    )
    outages = (
        Outage("n1", 9.0 * HOUR_S, 9.0 * HOUR_S + 1200),
        Outage("n4", 18.5 * HOUR_S, 18.5 * HOUR_S + 1200),
    )
    return World(nodes, offered, outages)


def row(policy: str, tallies: Mapping[str, TopologyTally], seconds: float, took: float) -> str:
    """Return a line of the table."""
    every = list(tallies.values())
    offered = sum(each.offered for each in every)
    shares = (sum(getattr(each, what) for each in every) for what in ("served", "late", "lost"))
    behind = sum(each.behind_s for each in every) / len(every) / seconds
    moves, restarts = (sum(getattr(each, what) for each in every) for what in ("moves", "restarts"))
    told = " | ".join(f"{100 * each / offered:.2f} %" for each in shares)
    return f"| {policy} | {told} | {100 * behind:.2f} % | {moves} | {restarts} | {took:.0f} |"


def picture(runs: Mapping[str, Sequence[RehearsalStep]], path: Path) -> None:
    """Draw what was offered, and what each policy did not serve, in means of five minutes."""
    figure = empty(9, 1.4 * (len(runs) + 1))
    axes = figure.subplots(len(runs) + 1, 1, sharex=True)

    def means(moments: Sequence[RehearsalStep], value: Callable[[RehearsalStep], float]) -> Any:
        every = np.array([value(each) for each in moments])
        return every[: len(every) // 30 * 30].reshape(-1, 30).mean(axis=1)

    def unserved(moment: RehearsalStep) -> float:
        return max(0.0, sum(moment.offered.values()) - sum(moment.served.values()))

    first = next(iter(runs.values()))
    axes[0].plot(means(first, lambda each: sum(each.offered.values())), color="black")
    axes[0].set_ylabel("offered", rotation=0, ha="right")
    for own, (policy, moments) in zip(axes[1:], runs.items(), strict=True):
        missing = means(moments, unserved)
        own.fill_between(range(len(missing)), missing, color="#d55e00")
        moved = [at // 30 for at, (a, b) in enumerate(pairwise(moments)) if b.moves > a.moves]
        own.plot(moved, [0.0] * len(moved), "|", color="#0072b2", markersize=10)
        own.set_ylabel(policy, rotation=0, ha="right")
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xticks(range(0, 289, 36), [f"{3 * at}:00" for at in range(9)])
    axes[-1].set_xlabel("tuples/s not served, and moves, over the day")
    path.write_bytes(drawn(figure))


def day(policy: str, seconds: float) -> tuple[str, tuple[RehearsalStep, ...]]:
    """Run a policy; return its line of the table, and what happened."""
    logging.getLogger("stormcut").setLevel(logging.ERROR)
    begin, own = time.perf_counter(), world()
    with tempfile.TemporaryDirectory() as folder:
        moments = rehearse(own, controller(POLICIES[policy], Path(folder)), seconds)
    return row(policy, own.tallies, seconds, time.perf_counter() - begin), moments


def main() -> None:
    """Run all policies, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--policy", action="append", choices=list(POLICIES), default=None)
    parser.add_argument("--hours", type=float, default=24.0)
    options = parser.parse_args()
    rows, runs = [], {}
    wanted = options.policy or list(POLICIES)
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        days = processes.map(day, wanted, [options.hours * HOUR_S] * len(wanted))
        for policy, (line, moments) in zip(wanted, days, strict=True):
            rows.append(line)
            runs[policy] = moments
            print(line, file=sys.stderr, flush=True)
    picture(runs, options.output.with_suffix(".svg"))
    options.output.write_text(
        PAGE.format(
            nodes=NODES,
            slots=SLOTS,
            cpu=CPU_PERCENT,
            link=LINK_MBIT,
            rows="\n".join(rows),
            made=made_by("numpy"),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
