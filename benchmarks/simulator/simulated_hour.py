r"""The hour of the controller on simated time, beside what was measured in containers.

Takes minutes. Run by hand:

    python -m benchmarks.simulator.simulated_hour --output docs/results/simulated-hour.md
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.cluster.hour_figures import answers
from benchmarks.cluster.hour_load import FULL, LOADS, SHIFTING, START_STEPS, STEP_S, Load
from benchmarks.cluster.hour_run import JAVA, MAX_EXECUTORS, MBIT, NODES, POLICIES, TOPOLOGIES
from benchmarks.machine import made_by
from benchmarks.raw_data import DATA, open_data
from benchmarks.simulator.rehearsed import Flow, controller, profile, running
from stormcut.arrays import Floats
from stormcut.lab.rehearsal.rehearsal import RehearsalStep, rehearse
from stormcut.lab.rehearsal.world import Offered, World
from stormcut.model.cluster import RunningTopology, Supervisor
from stormcut.model.profile import Profile
from stormcut.report.figures import drawn, empty

#: What `sparse submit` asks for, unless told; slots of a node.
WORKERS, ACKERS, SLOTS = 4, 2, 2
ACK_BYTES = 23.0
#: Points of CPU of an executor for each tuple/s that it sends, and takes: it is busy serialising.
SEND_CPU, TAKE_CPU = 0.02, 0.002
#: Policies may differ by so many points of what is acked.
NEAR = 5.0

#: The hour begins so much later than its topologies.
BEFORE_S = START_STEPS * STEP_S

Runs = Mapping[str, Sequence[Mapping[str, Any]]]

PAGE = """\
# The hour of the controller, simulated

The first {minutes} minutes of [the hour](hour/README.md), in which two topologies share four nodes
with links of {mbit} Mbit/s, and the load changes: measured there, on Storm in containers, and
simulated ([how](../simulator.md#the-controller-on-simulated-time)). The controller is the same,
with the same files. What the topologies do is told to the simulation from their options alone:
executors, bytes, the share of tuples whose key stays. No constant was fitted.

{policies}

Acked: of what was offered. Measured, where there are several runs: the mean. Within {near:g} points
in {within} of {count} policies; the rank correlation of the policies is {rank:.2f}.

Acked by phase, in percent: measured / simulated

{phases}

Seconds from the shift of the keys to the next plan that moved something

{answers}

![Tuples/s that were acknowledged, measured and simulated](simulated-hour.svg)

[What this shows](findings.md#an-hour-of-the-controller-simulated).

{made}
"""


#: What the figures say; to be edited when they are made again.
def behaviour(name: str) -> tuple[RunningTopology, Callable[[int], Profile]]:
    """Return a topology of the hour, and what it does for 1 tuple/s, by how often keys shifted."""
    options = TOPOLOGIES[name]
    if name == "linear":
        parts = ["source", *(f"bolt_{at}" for at in range(int(str(options["bolts"]))))]
        joined = list(pairwise(parts))
        sizes = dict.fromkeys(parts, int(str(options["tasks"])))
    else:
        middles = [f"middle_{at}" for at in range(int(str(options["middles"])))]
        joined = [("source", each) for each in middles] + [(each, "sink") for each in middles]
        sizes = {"source": int(str(options["ends"])), "sink": int(str(options["ends"]))}
        sizes |= dict.fromkeys(middles, int(str(options["tasks"])))
    acked = [(part, "__acker") for part in sizes]
    # Storm numbers tasks in this order, and deals them out by their numbers.
    ordered = dict(sorted({**sizes, "__acker": ACKERS}.items()))
    topology = running(name, ordered, joined + acked, WORKERS)

    @lru_cache
    def truth(shifts: int) -> Profile:
        flows = list(_flows(sizes, joined, shifts))
        return profile(topology, _cpu(sizes, flows), flows)

    return topology, truth


def window_of(name: str) -> float:
    """Return how many tuples of a topology may be under way."""
    options = TOPOLOGIES[name]
    sources = options["tasks" if name == "linear" else "ends"]
    return float(str(sources)) * float(str(JAVA["topology.max.spout.pending"]))


def _flows(
    sizes: Mapping[str, int], joined: Sequence[tuple[str, str]], shifts: int
) -> Iterator[Flow]:
    """Yield the flows of a topology whose keys lead on as `Keys.java` says.

    Each source begins with the key of its own number; Storm's hash leads to the task one further.
    """
    comes = {"source": np.full(sizes["source"], 1.0 / sizes["source"])}
    for source, target in joined:
        onward = np.roll(_next(sizes[source], shifts), 1, axis=1)
        own = onward if source == "source" else np.roll(onward, 1, axis=0)
        rates = comes[source][:, None] * own
        comes[target] = comes.get(target, 0.0) + rates.sum(axis=0)
        yield Flow(source, target, rates, float(str(JAVA["payload"])))
    for part, rate in comes.items():
        yield Flow(part, "__acker", np.outer(rate, np.full(ACKERS, 1.0 / ACKERS)), ACK_BYTES)


def _cpu(sizes: Mapping[str, int], flows: Sequence[Flow]) -> dict[str, list[float]]:
    """Return the CPU of each executor, by component."""
    cpu = {part: np.zeros(count) for part, count in sizes.items()}
    for flow in flows:
        if flow.target in cpu:
            cpu[flow.source] += SEND_CPU * flow.rates.sum(axis=1)
            cpu[flow.target] += TAKE_CPU * flow.rates.sum(axis=0)
    return {part: own.tolist() for part, own in cpu.items()}


def _next(keys: int, shifts: int) -> Floats:
    """Return the share of tuples of each key that have each next key."""
    stays = float(str(JAVA["local.share"]))
    found = np.full((keys, keys), (1.0 - stays) / keys)
    for key in range(keys):
        leads = key if not shifts else ((key + 1) | 1 if shifts % 2 else (key + 2) & ~1)
        found[key, leads % keys] += stays
    return found


def world(load: Load, minutes: int) -> World:
    """Return the cluster of the hour, and its load."""
    shares = load.shares(minutes)
    shifts = [BEFORE_S + each for each in load.shifts(minutes)]
    offered = []
    for name, full in FULL.items():
        topology, truth = behaviour(name)

        def rate(second: float, full: float = full) -> float:
            return full * shares[int(second / STEP_S)]

        def now(
            second: float,
            truth: Callable[[int], Profile] = truth,
            moved: bool = name == SHIFTING,
        ) -> Profile:
            return truth(sum(second >= each for each in shifts) if moved else 0)

        offered.append(Offered(topology, rate, now, window_of(name)))
    meta = {"stormcut.link.mbit": str(MBIT), "stormcut.max.executors": str(MAX_EXECUTORS)}
    nodes = tuple(
        Supervisor(f"n{at}", f"h{at}", tuple(range(6700, 6700 + SLOTS)), None, None, meta)
        for at in range(NODES)
    )
    return World(nodes, offered)


def simulated(policy: str, minutes: int) -> tuple[RehearsalStep, ...]:
    """Return what happens under a policy, every ten seconds."""
    logging.getLogger("stormcut").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        own = controller(POLICIES[policy], Path(folder))
        seconds = BEFORE_S + 60.0 * minutes
        moments = rehearse(world(LOADS["changing"], minutes), own, seconds, paused_s=BEFORE_S)
    return tuple(
        replace(each, second=each.second - BEFORE_S) for each in moments if each.second >= BEFORE_S
    )


def acked(points: Sequence[tuple[float, float, float]], begin: float, end: float) -> float:
    """Return what was acked of what was offered in a time, in percent.

    Parameters
    ----------
    points : sequence of (end in seconds, offered, acked)
    """
    own = [(offered, got) for at, offered, got in points if begin < at <= end]
    return 100 * sum(got for _, got in own) / sum(offered for offered, _ in own)


def measured_points(run: Mapping[str, Any]) -> list[tuple[float, float, float]]:
    """Return a run's points."""
    return [(at, offered, got) for at, offered, got, *_ in run["points"]]


def simulated_points(moments: Sequence[RehearsalStep]) -> list[tuple[float, float, float]]:
    """Return a simulation's points."""
    return [(m.second, sum(m.offered.values()), sum(m.served.values())) for m in moments]


def moved_at(moments: Sequence[RehearsalStep]) -> list[float]:
    """Return when plans moved something that ran."""
    return [after.second for before, after in pairwise(moments) if after.moves > before.moves]


def rows(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is text."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *lines))


def page(runs: Runs, found: Mapping[str, Sequence[RehearsalStep]], minutes: int) -> str:
    """Return the page of what was measured and simulated, by policy."""
    load, end = LOADS["changing"], 60.0 * minutes
    phases, shifts = load.phases(minutes), load.shifts(minutes)
    both: dict[str, tuple[float, float]] = {}
    lines, by_phase, waits = [], [], []
    for policy, own in runs.items():
        seen, told = [measured_points(run) for run in own], simulated_points(found[policy])

        def share(begin: float, until: float) -> tuple[float, float]:
            measured = mean(acked(each, begin, until) for each in seen)  # noqa: B023
            return measured, acked(told, begin, until)  # noqa: B023

        both[policy] = share(0.0, end)
        moves = mean(len({m["at_s"] for m in run["moves"] if m["at_s"] <= end}) for run in own)
        later = len(moved_at(found[policy]))
        lines.append(
            [policy, str(len(own)), *(f"{x:.1f}" for x in both[policy]), f"{moves:g}", str(later)]
        )
        pairs = (share(phase.begin_s, phase.end_s) for phase in phases)
        by_phase.append([policy, *(f"{a:.0f} / {b:.0f}" for a, b in pairs)])
        waited = [
            [seconds for _, seconds in answers(shifts, at, end)]
            for at in (*([m["at_s"] for m in run["moves"]] for run in own), moved_at(found[policy]))
        ]
        texts = ["-" if s is None else f"{s:.0f}" for run in waited for s in run]
        waits.append([policy, ", ".join(texts[:-1]), texts[-1]])
    off = [abs(a - b) for a, b in both.values()]
    order = spearmanr(*zip(*both.values(), strict=True)).statistic
    heads = ["policy", "runs", "acked %, measured", "simulated", "moves, measured", "simulated"]
    names = [f"{phase.name} {phase.begin_s / 60:.0f}-{phase.end_s / 60:.0f}" for phase in phases]
    return PAGE.format(
        minutes=minutes,
        mbit=MBIT,
        policies=rows(heads, lines),
        near=NEAR,
        within=sum(each <= NEAR for each in off),
        count=len(off),
        rank=order,
        phases=rows(["policy", *names], by_phase),
        answers=rows(["policy", "measured, each run", "simulated"], waits),
        made=made_by("numpy", "scipy"),
    )


def picture(runs: Runs, found: Mapping[str, Sequence[RehearsalStep]], path: Path) -> None:
    """Draw what was offered, measured and simulated, policy by policy."""
    figure = empty(9, 1.5 * len(runs))
    every = figure.subplots(len(runs), 1, sharex=True, sharey=True)
    for axes, (policy, own) in zip(every, runs.items(), strict=True):
        told = simulated_points(found[policy])
        for run in own:
            points = measured_points(run)
            axes.plot([p[0] for p in points], [p[2] for p in points], "#0072b2", lw=0.6, zorder=3)
        axes.step([p[0] for p in told], [p[1] for p in told], color="lightgray", zorder=0)
        axes.step([p[0] for p in told], [p[2] for p in told], color="#d55e00")
        axes.set_ylabel(policy, rotation=0, ha="right")
        axes.set(xlim=(0, told[-1][0]), ylim=(0, 260))
        axes.spines[["top", "right"]].set_visible(False)
    every[-1].set_xlabel("seconds; tuples/s: gray offered, blue measured, orange simulated")
    path.write_bytes(drawn(figure))


def stored(folder: Path, minutes: int) -> Runs:
    """Return the runs under a changing load, as long as that at least, by policy."""
    paths = sorted((folder / "runs").glob("changing-*.json"))
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    every = [run for run in found if run["minutes"] >= minutes]
    by = {policy: [run for run in every if run["policy"] == policy] for policy in POLICIES}
    return {policy: own for policy, own in by.items() if own}


def main() -> None:
    """Simulate every policy that was measured, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--measured", type=Path, default=DATA / "hour.zip")
    parser.add_argument("--minutes", type=int, default=15)
    options = parser.parse_args()
    with open_data(options.measured) as measured:
        runs = stored(measured, options.minutes)
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        moments = processes.map(simulated, runs, [options.minutes] * len(runs))
        found = dict(zip(runs, moments, strict=True))
    picture(runs, found, options.output.with_suffix(".svg"))
    options.output.write_text(page(runs, found, options.minutes), encoding="utf-8")
    print(f"wrote {options.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
