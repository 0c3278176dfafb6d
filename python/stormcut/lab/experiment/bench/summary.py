"""What the cells of a bench say together: medians with their spread, and ratios of pairs.

Unsteady windows are counted and enter no figure. Cells that are missing change nothing else.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from stormcut.lab.experiment.bench.cells import BenchRun, Measurement, Placed

#: So many pairs on one side of 1 come by chance once in 16 times; fewer show nothing.
ENOUGH_PAIRS = 5

Figure = Callable[[Measurement], float | None]


@dataclass(frozen=True)
class Spread:
    """Median, lowest and highest of some values."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """Return the spread of values, None without any."""
        return cls(statistics.median(values), min(values), max(values)) if values else None


@dataclass(frozen=True)
class Summary:
    """One scheduler on one topology over all its repetitions.

    Attributes
    ----------
    refusal : str
        Why it has no placement; empty: it has one, or nothing is known yet.
    used, unsteady : int
        Windows that enter the figures, and windows that do not.
    tuples_per_10s, mean_ms, p50_ms, p95_ms, p99_ms, sent_mbit_s : Spread or None
        As in `Measurement`.
    cores, fullest : Spread or None
        Used by all nodes together, and by the busiest node.
    throttled : Spread or None
        Share of CPU periods in which the node was throttled that was so most often.
    other_cores : float or None
        Used by everything else on the machine in the worst window.
    replayed : int
        Tuples that failed or timed out, in all windows used.
    predicted_remote : float or None
        Share of tuples that cross nodes by the profile.
    kept : float or None
        Share of tuples that stayed on their node, as measured.
    carried : float or None
        Of the tuples sent to bolts, the share that they executed.
    reachable : float or None
        Tuples/s that the cost model has sources send.
    """

    topology: str
    scheduler: str
    refusal: str
    used: int
    unsteady: int
    tuples_per_10s: Spread | None
    mean_ms: Spread | None
    p50_ms: Spread | None
    p95_ms: Spread | None
    p99_ms: Spread | None
    sent_mbit_s: Spread | None
    cores: Spread | None
    fullest: Spread | None
    throttled: Spread | None
    other_cores: float | None
    replayed: int
    predicted_remote: float | None
    kept: float | None
    carried: float | None
    reachable: float | None


@dataclass(frozen=True)
class Ratio:
    """One scheduler's figure over another's, repetition by repetition.

    Attributes
    ----------
    of, to : str
        Schedulers above and below the line.
    pairs : int
        Repetitions in which both have a steady window.
    spread : Spread
        Of the pairs' ratios.
    beyond_noise : bool
        Whether there are at least `ENOUGH_PAIRS`, all of them on the same side of 1.
    """

    of: str
    to: str
    pairs: int
    spread: Spread
    beyond_noise: bool


def tuples_per_10s(measurement: Measurement) -> float | None:
    """Return the throughput of a window."""
    return measurement.tuples_per_10s


def mean_ms(measurement: Measurement) -> float | None:
    """Return the mean tuple time of a window, TPT."""
    return measurement.mean_ms


def summarise(
    run: BenchRun, measurements: Iterable[Measurement], placements: Iterable[Placed]
) -> list[Summary]:
    """Return a summary of every scheduler on every topology, in the order of the run."""
    measured = list(measurements)
    placed = {(each.topology, each.scheduler): each for each in placements}
    return [
        _summary(
            topology,
            scheduler,
            [each for each in measured if _is_of(each, topology, scheduler)],
            placed.get((topology, scheduler)),
        )
        for topology in run.topologies
        for scheduler in run.schedulers
    ]


def ratio(
    measurements: Iterable[Measurement],
    topology: str,
    of: str,
    to: str,
    figure: Figure = tuples_per_10s,
) -> Ratio | None:
    """Return how one scheduler compares with another on a topology, None without a pair.

    Paired by repetition, because the cells of one repetition are measured closest to each other.
    Pairs without a value, or with 0 below the line, are left out.
    """
    steady = [each for each in measurements if not each.unsteady]
    above, below = (
        {each.cell.repetition: figure(each) for each in steady if _is_of(each, topology, scheduler)}
        for scheduler in (of, to)
    )
    values = [
        value / base
        for repetition, value in above.items()
        if value is not None and (base := below.get(repetition))
    ]
    spread = Spread.of(values)
    if spread is None:
        return None
    one_side = spread.lowest > 1 or spread.highest < 1
    return Ratio(of, to, len(values), spread, one_side and len(values) >= ENOUGH_PAIRS)


def _is_of(measurement: Measurement, topology: str, scheduler: str) -> bool:
    return (measurement.cell.topology, measurement.cell.scheduler) == (topology, scheduler)


def _summary(
    topology: str, scheduler: str, measured: Sequence[Measurement], placed: Placed | None
) -> Summary:
    used = [each for each in measured if not each.unsteady]

    def spread(figure: Figure) -> Spread | None:
        return Spread.of([value for each in used if (value := figure(each)) is not None])

    return Summary(
        topology,
        scheduler,
        refusal=placed.refusal if placed else "",
        used=len(used),
        unsteady=len(measured) - len(used),
        tuples_per_10s=spread(tuples_per_10s),
        mean_ms=spread(mean_ms),
        p50_ms=spread(lambda each: each.p50_ms),
        p95_ms=spread(lambda each: each.p95_ms),
        p99_ms=spread(lambda each: each.p99_ms),
        sent_mbit_s=spread(lambda each: each.sent_mbit_s),
        cores=spread(lambda each: sum(each.node_cores)),
        fullest=spread(lambda each: max(each.node_cores, default=None)),
        throttled=spread(lambda each: max(each.node_throttled, default=None)),
        other_cores=max((each.other_cores for each in used), default=None),
        replayed=sum(each.replayed for each in used),
        predicted_remote=_remote(placed),
        kept=placed.kept if placed else None,
        carried=placed.carried if placed else None,
        reachable=placed.reachable if placed else None,
    )


def _remote(placed: Placed | None) -> float | None:
    if placed is None or not placed.predicted_total:
        return None
    return placed.predicted_between / placed.predicted_total
