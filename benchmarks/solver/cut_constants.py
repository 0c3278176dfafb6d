"""What `cut`'s constants are worth: each one lower and higher, all else as shipped.

Run by hand (it counts processor time, so other work may run beside it; a quarter of an hour):

    python -m benchmarks.solver.cut_constants --output docs/results/cut-constants.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from keyed_problems import by_keys

from benchmarks.machine import made_by
from benchmarks.solver import fischer
from benchmarks.speed import growth
from stormcut.arrays import Floats
from stormcut.lab.adapters.bench.kept_benches import journal, roomy
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.cut import (
    balance,
    construction,
    judges,
    node_choice,
    place,
    prepare,
    resource_annealing,
    search,
)
from stormcut.placement.algorithms.cut.options import Options
from stormcut.placement.solve import Certificate, Solution, solve

#: Starts whose problems are asked again.
STARTS = ("bench-again-network-2", "bench-network-both-ways", "bench-again-cpu-2")
SEEDS = (1, 2)
#: Tuples/s that a move must save for every worker that it restarts.
RESTART_PRICE = 1.0

PAGE = """\
# What `cut`'s constants are worth

Each constant lower and higher, all else as shipped. Cost: the geometric mean over problems of the
cost over that with the shipped value; worst: of the problem where that is largest; seeds
{seeds}, the same on both sides. Below 100 % is better. CPU: processor time of this process
over that with the shipped value.

Between seeds the mean cost differs by {noise}.
What is no more than that is noise.

{families}

{table}

{made}
"""


@dataclass(frozen=True)
class Family:
    """Problems of one kind, what of a solution is its cost, and how `cut` is asked."""

    name: str
    what: str
    problems: Sequence[Problem]
    cost: Callable[[Problem, Solution], float]
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """A constant's name and module, the values tried instead, and the families it matters to."""

    module: ModuleType
    name: str
    values: tuple[Any, ...]
    families: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """Costs of shape (problems, seeds), and seconds of processor time."""

    costs: Floats
    seconds: float


TRIALS = (
    Trial(search, "POPULATION", (1, 2, 8), ("traffic", "congestion")),
    Trial(search, "CHILDREN", (0, 1, 4), ("traffic", "congestion")),
    Trial(balance, "BALANCES", ((), (1.2,), (1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0)), ("congestion",)),
    Trial(balance, "HASTY", ((1.05,), (1.5,), (2.0,)), ("congestion, effort 0",)),
    Trial(balance, "LARGE", ((1.2,), (1.02, 1.2)), ("by keys",)),
    Trial(judges, "MIN_EFFORT", (0.0, 0.01, 0.1), ("congestion, effort 0",)),
    Trial(prepare, "MAX_COUNTS", (10_000, 1_000_000), ("by keys",)),
    Trial(resource_annealing, "STEPS", (1000, 16_000), ("congestion",)),
    Trial(construction, "SPARE", (0.25, 1.0), ("large",)),
    Trial(construction, "ATTEMPTS", (10, 160), ("large",)),
    Trial(construction, "SLACK", (0.0, 0.1), ("large",)),
    Trial(node_choice, "COARSE", (0.1, 0.5), ("large",)),
    Trial(place, "HASTY", (0.1, 1.0), ("restarts",)),
)


def families() -> tuple[Family, ...]:
    """Return the problems, read or made."""
    of_benches = [
        roomy(start, topology)
        for start in STARTS
        for topology in sorted(journal(start).run.topologies)
    ]
    captured = [fischer.problem(sizes) for sizes in fischer.CLUSTERS.values()]
    small = growth.problem(1000)
    return (
        Family(
            "congestion",
            "what the scheduler was asked for each topology in " + ", ".join(STARTS),
            of_benches,
            congestion,
            {"objective": "congestion"},
        ),
        Family(
            "congestion, effort 0",
            "the same in haste",
            of_benches,
            congestion,
            {"objective": "congestion", "effort": "0"},
        ),
        Family(
            "by keys",
            "sources and bolts that exchange tuples in sixteen clusters, every pair measured: "
            "480 executors on 50 nodes, 800 in four topologies on 30 and on 50, 400 on 100",
            [by_keys(*each) for each in ((480, 1, 50), (800, 4, 30), (800, 4, 50), (400, 1, 100))],
            congestion,
            {"objective": "congestion", "effort": "0.3"},
        ),
        Family(
            "traffic",
            "a captured traffic graph on four clusters, and 1,000 executors in topologies of 200; "
            "tuples/s between nodes",
            [*captured, small],
            traffic,
            {"objective": "cut"},
        ),
        Family(
            "large",
            "10,000 and 20,000 executors in topologies of 200; tuples/s between nodes",
            [growth.problem(10_000), growth.problem(20_000)],
            traffic,
            {"objective": "cut"},
        ),
        Family(
            "restarts",
            "1,000 executors, a tenth of which runs nowhere, with a price of "
            f"{RESTART_PRICE:g} for a restart; tuples/s between nodes over what is proven least",
            [partly_running(small)],
            unproven,
            {"restart_price": f"{RESTART_PRICE:g}"},
        ),
    )


def partly_running(problem: Problem) -> Problem:
    """Return a problem whose first tenth of executors runs nowhere, the rest as `cut` has it."""
    now = solve(problem, "cut").placement
    slots = now.slots.copy()
    slots[: len(slots) // 10] = UNASSIGNED
    return replace(problem, current=Placement(slots))


def congestion(problem: Problem, solution: Solution) -> float:
    """Return what ``objective=congestion`` minimises."""
    judge = judges.LeastCongestion(prepare.prepare(problem, Options()))
    at = judge.candidate(problem.slot_node[solution.placement.slots])
    return 1.0 / judge.worth(at)[0]


def traffic(problem: Problem, solution: Solution) -> float:
    """Return tuples/s between nodes."""
    return solution.metrics.inter_node_tuples_per_second


def unproven(problem: Problem, solution: Solution) -> float:
    """Return tuples/s between nodes over what is proven to be least."""
    assert isinstance(solution.certificate, Certificate)
    return traffic(problem, solution) / solution.certificate.lower_bound


@contextmanager
def changed(trial: Trial, value: Any) -> Iterator[None]:
    """Give a constant another value meanwhile."""
    shipped = getattr(trial.module, trial.name)
    setattr(trial.module, trial.name, value)
    try:
        yield
    finally:
        setattr(trial.module, trial.name, shipped)


def measured(family: Family) -> Measured:
    """Solve all problems of a family with all seeds."""
    start = time.process_time()
    costs = [
        [family.cost(each, solve(each, "cut", seed, family.options)) for seed in SEEDS]
        for each in family.problems
    ]
    return Measured(np.array(costs), time.process_time() - start)


def percent(logarithm: float) -> str:
    """Return a ratio, given as its logarithm."""
    return f"{100 * np.exp(logarithm):.2f} %"


def line(trial: Trial, value: Any, family: str, shipped: Measured, found: Measured) -> str:
    """Return what a value did to a family's problems."""
    over = np.log(found.costs / shipped.costs).mean(axis=1)
    module = trial.module.__name__.rpartition(".")[2]
    was = getattr(trial.module, trial.name)
    return (
        f"| `{module}.{trial.name}` = {was} | {value} | {family} | {percent(over.mean())} "
        f"| {percent(over.max())} | {found.seconds / shipped.seconds:.2f} |"
    )


def noise(name: str, shipped: Measured) -> str:
    """Say by how much the mean over problems differs between seeds."""
    means = np.log(shipped.costs).mean(axis=0)
    return f"{100 * (np.exp(np.ptp(means)) - 1):.2f} % ({name})"


def main() -> None:
    """Parse the command line, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    known = {each.name: each for each in families()}
    shipped = {name: measured(each) for name, each in known.items()}
    lines = [
        "| constant | instead | problems | cost | worst | CPU |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for trial in TRIALS:
        for value in trial.values:
            for name in trial.families:
                with changed(trial, value):
                    found = measured(known[name])
                lines.append(line(trial, value, name, shipped[name], found))
                print(lines[-1], file=sys.stderr)
    page = PAGE.format(
        seeds=" and ".join(map(str, SEEDS)),
        noise=", ".join(noise(name, each) for name, each in shipped.items()),
        families="\n".join(f"- **{each.name}**: {each.what}." for each in known.values()),
        table="\n".join(lines),
        made=made_by("numpy", "scipy"),
    )
    options.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
