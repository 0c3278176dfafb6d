"""Made-up measurements of a bench: no run stands behind them."""

import random
from collections.abc import Sequence

from stormcut.lab.adapters.bench.yardsticks import read_yardsticks
from stormcut.lab.experiment.bench.cells import (
    LINK_FACT,
    BenchRun,
    Cell,
    Measurement,
    Placed,
    Start,
)
from stormcut.lab.report.bench_figures import BenchResults

YARDSTICKS = read_yardsticks()
SCHEDULERS = (
    "even",
    "r-storm",
    "ols",
    "p-scheduler",
    "t3-scheduler",
    "i-scheduler",
    "stromax",
    "cut",
)
TOPOLOGIES = ("linear", "diamond", "star", "load_prediction", "taxi", "log_processing")
#: Throughput of each scheduler as multiples of even's.
SPEED = dict(zip(SCHEDULERS, (1.0, 1.5, 1.4, 1.9, 1.8, 2.0, 1.3, 2.2), strict=True))


def run(setting: str = "network-bound", **changes: object) -> BenchRun:
    fields = {
        "setting": setting,
        "summary": "Nodes may send 5 Mbit/s each; CPU is plenty. (Made-up figures.)",
        "schedulers": SCHEDULERS,
        "topologies": TOPOLOGIES,
        "repetitions": 5,
        "options": {name: {"payload": 1000, "rate": 0} for name in TOPOLOGIES},
        "facts": {
            "cluster": "10 nodes, 0.3 cores and 5 Mbit/s each, 2 slots",
            LINK_FACT: "5",
            "command": "stormcut bench --topologies linear,diamond | tee log",
        },
        "refused": {},
    }
    return BenchRun(**{**fields, **changes})  # type: ignore[arg-type]


def measurement(
    topology: str, repetition: int, scheduler: str, rate: float, unsteady: str = ""
) -> Measurement:
    return Measurement(
        cell=Cell(topology, repetition, scheduler),
        begin=0.0,
        end=20.0,
        tuples_per_10s=rate,
        mean_ms=400_000 / rate,
        p50_ms=300_000 / rate,
        p95_ms=900_000 / rate,
        p99_ms=1_500_000 / rate,
        sent_mbit_s=60_000 / rate,
        node_cores=(0.2, 0.1, 0.15),
        other_cores=0.31,
        replayed=0,
        unsteady=unsteady,
    )


def placed(topology: str, scheduler: str, refusal: str = "") -> Placed:
    nodes = ("node-1", "node-2", "node-1")
    if refusal:
        return Placed(topology, scheduler, refusal, (), 0.0, 0.0)
    reachable = 100 * SPEED.get(scheduler, 1.0)
    remote = 900 / SPEED.get(scheduler, 1.0)
    return Placed(
        topology, scheduler, "", nodes, remote, 1000.0, 0.01 + 1 - remote / 1000, reachable
    )


def bench(setting: str = "network-bound", noise: float = 0.04, **changes: object) -> BenchResults:
    """Return a whole run in which every scheduler has its speed, with some noise."""
    shape, source = run(setting, **changes), random.Random(7)
    measurements = [
        measurement(
            topology,
            repetition,
            scheduler,
            3000 * (1 + at) * SPEED[scheduler] * source.uniform(1 - noise, 1 + noise),
        )
        for at, topology in enumerate(shape.topologies)
        for repetition in range(1, shape.repetitions + 1)
        for scheduler in shape.schedulers
    ]
    pairs = [(t, s) for t in shape.topologies for s in shape.schedulers]
    return held(shape, measurements, [placed(*pair) for pair in pairs])


def held(
    shape: BenchRun,
    measurements: Sequence[Measurement],
    placements: Sequence[Placed],
    starts: Sequence[Start] = (),
) -> BenchResults:
    """Return a run held against the papers' figures and the goals."""
    return BenchResults(shape, measurements, placements, starts, YARDSTICKS)
