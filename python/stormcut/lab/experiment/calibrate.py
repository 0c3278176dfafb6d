"""Fits what transfer costs to measured runs: the constants of the cost model, with intervals.

At a measured rate, everything that a placement loads follows from the problem; what nodes really
used is linear in the constants but one. CPU of a node is that of its executors, as profiled, what
its workers take beside them, and what tuples cost that enter or leave its workers, in at most so
many batches/s; what its link carries are the bytes of tuples and ``link_bytes_per_tuple`` for each.
Both are fitted by non-negative least squares, for each of `BATCHES`, of which the best is taken;
the intervals are of a bootstrap over cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from stormcut.arrays import Floats
from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.objective.batching import batches, connections
from stormcut.objective.cut import executor_nodes
from stormcut.objective.relaying import relay
from stormcut.objective.resources import (
    DEFAULT_BYTES,
    KIB,
    MBIT_BYTES,
    executor_loads,
    flow,
)

RESAMPLES = 400
#: Batches/s from worker to worker that are tried; the last are as good as one for each tuple.
BATCHES = (10.0, 15.0, 25.0, 40.0, 60.0, 100.0, 160.0, 250.0, 1e6)
#: Of the bootstrap's values, what lies in an interval.
COVERAGE = 0.9
#: Storm's own component that counts what is acknowledged.
ACKER = "__acker"


@dataclass(frozen=True, eq=False)
class ObservedWindow:
    """One measured window of one placement.

    Parameters
    ----------
    trees_per_s : float
        Tuple trees acknowledged in a second.
    cpu : array of shape (nodes,)
        Points that each node took, 100 = a core.
    sent, received : array of shape (nodes,)
        Mbit/s of each node's link.
    of : str
        The topology, whatever the name under which it ran.
    """

    problem: Problem
    placement: Placement
    trees_per_s: float
    cpu: Floats
    sent: Floats
    received: Floats
    of: str = ""


@dataclass(frozen=True)
class FittedConstant:
    """A fitted constant and where it lies with 90 % confidence."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """Fitted costs.

    Attributes
    ----------
    costs : Costs
        ``source`` says what they were fitted to.
    intervals : mapping of str to Interval
        By the names of `Costs`.
    cpu_r2, link_r2 : float
        Share of the variance between nodes and cells that the fit explains.
    cells : int
        Windows behind it.
    without : mapping of str to Costs
        What the windows of all other topologies say, by the topology that is left out; none where
        those are too few.
    """

    costs: Costs
    intervals: dict[str, FittedConstant]
    cpu_r2: float
    link_r2: float
    cells: int
    without: dict[str, Costs]


def calibrate(cells: Sequence[ObservedWindow], source: str) -> Calibration:
    """Fit the costs to measured windows.

    Parameters
    ----------
    source : str
        Names the data, for whoever reads a prediction.

    Raises
    ------
    InvalidInput
        There are too few windows, or nothing crosses nodes in them.

    Notes
    -----
    Takes O(cells x (pairs + nodes)), and O(cells x nodes) for each of `RESAMPLES`.
    """
    if len(cells) < 2:
        raise InvalidInput(f"costs need at least 2 measured windows, not {len(cells)}", source)
    rows = [_rows(each) for each in cells]
    if not _crosses(rows):
        raise InvalidInput("nothing crosses nodes in them: what transfer costs is unseen", source)
    values, cpu_r2, link_r2 = _fit(rows)
    rng = np.random.default_rng(len(rows))
    draws = rng.integers(0, len(rows), (RESAMPLES, len(rows)))
    drawn = np.array([_fit([rows[index] for index in draw])[0] for draw in draws])
    low, high = np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)
    intervals = {
        name: FittedConstant(float(value), float(at_least), float(at_most))
        for name, value, at_least, at_most in zip(NAMES, values, low, high, strict=True)
    }
    without = _without([each.of for each in cells], rows, source)
    return Calibration(_costs(values, source), intervals, cpu_r2, link_r2, len(rows), without)


def _crosses(rows: Sequence[_Equations]) -> bool:
    return any(each.link.any() for each in rows)


def _without(
    topologies: Sequence[str], rows: Sequence[_Equations], source: str
) -> dict[str, Costs]:
    left_out = {}
    for topology in dict.fromkeys(topologies):
        others = [row for of, row in zip(topologies, rows, strict=True) if of != topology]
        if len(others) > 1 and _crosses(others):
            left_out[topology] = _costs(_fit(others)[0], f"{source} without {topology}")
    return left_out


def _costs(values: Floats, source: str) -> Costs:
    return Costs(**dict(zip(NAMES, values.tolist(), strict=True)), source=source)


#: Of the vector that `_fit` returns.
NAMES = (
    "worker_percent",
    "send_us_per_tuple",
    "send_us_per_kib",
    "receive_us_per_tuple",
    "receive_us_per_kib",
    "link_bytes_per_tuple",
    "batches_per_s",
)


@dataclass(frozen=True, eq=False)
class _Equations:
    """Equations of one window: ``cpu @ constants = cpu_left``, ``link * constant = link_left``.

    ``cpu`` has one matrix for each of `BATCHES`; shape (nodes, batches, constants).
    """

    cpu: Floats
    cpu_left: Floats
    cpu_seen: Floats
    link: Floats
    link_left: Floats
    link_seen: Floats


def _rows(cell: ObservedWindow) -> _Equations:
    """Return a window's equations: a row for each node, or for each node and direction."""
    problem, placement = cell.problem, cell.placement
    nodes, count = executor_nodes(problem, placement), len(problem.nodes)
    growth = cell.trees_per_s / trees_per_s(problem)
    traffic = relay(problem, placement.slots)[0].sized(DEFAULT_BYTES)
    across = flow(traffic, placement.slots, placement.slots, nodes, count)
    away = flow(traffic, placement.slots, nodes, nodes, count)
    own = np.bincount(nodes, executor_loads(problem, placement), count)
    workers = np.bincount(problem.slot_node[np.unique(placement.slots)], minlength=count)
    met = connections(traffic, placement.slots)
    points = CORE_PERCENT / CORE_US
    bytes_out, bytes_into = (growth / KIB * each for each in (across.bytes_out, across.bytes_into))

    def columns(most: float) -> Floats:
        many = batches(growth * met.rate, most)
        sent, taken = (
            np.bincount(problem.slot_hosts[ends], many, count) for ends in (met.source, met.target)
        )
        transfer = points * np.column_stack([sent, bytes_out, taken, bytes_into])
        return np.column_stack([workers, transfer])

    cpu = np.stack([columns(most) for most in BATCHES], axis=1)
    link = np.concatenate([away.out, away.into]) * growth / MBIT_BYTES
    carried = np.concatenate([away.bytes_out, away.bytes_into]) * growth / MBIT_BYTES
    seen = np.concatenate([cell.sent, cell.received])
    return _Equations(cpu, cell.cpu - growth * own, cell.cpu, link, seen - carried, seen)


def trees_per_s(problem: Problem) -> float:
    """Return the tuple trees that sources start in a second: what they announce to ackers.

    Raises
    ------
    InvalidInput
        Nothing is acknowledged in it.
    """
    spout = problem.executor_is_spout
    acker = np.repeat(
        [c.name == ACKER for t in problem.topologies for c in t.components],
        [c.executors for t in problem.topologies for c in t.components],
    )
    source, target, rate, _ = problem.traffic.sized(DEFAULT_BYTES).unfolded_sizes()
    trees = float(rate[spout[source] & acker[target]].sum())
    if trees <= 0:
        names = ", ".join(topology.id for topology in problem.topologies)
        raise InvalidInput("its sources announce nothing to ackers", f"problem of {names}")
    return trees


def _fit(rows: Sequence[_Equations]) -> tuple[Floats, float, float]:
    cpu, cpu_left, cpu_seen, link, link_left, link_seen = (
        np.concatenate([getattr(row, field.name) for row in rows]) for field in fields(_Equations)
    )
    tried = [_least_squares(cpu[:, batch], cpu_left) for batch in range(len(BATCHES))]
    left = [cpu_left - cpu[:, batch] @ each for batch, each in enumerate(tried)]
    best = int(np.argmin([float(each @ each) for each in left]))
    framing = max(0.0, float(link @ link_left) / max(float(link @ link), 1e-300))
    values = np.array([*tried[best], framing, BATCHES[best]])
    return (
        values,
        _r2(left[best], cpu_seen),
        _r2(link_left - link * framing, link_seen),
    )


def _least_squares(terms: Floats, seen: Floats) -> Floats:
    """Return constants of at least 0; scaled, the solver's tolerance means the same for all."""
    # Takes a tenth of a second to load: not for help.
    from scipy.optimize import nnls

    scale = np.maximum(np.linalg.norm(terms, axis=0), 1e-300)
    result: Floats = nnls(terms / scale, seen)[0] / scale
    return result


def _r2(left: Floats, seen: Floats) -> float:
    spread = float(((seen - seen.mean()) ** 2).sum())
    return 1 - float((left**2).sum()) / spread if spread > 0 else 1.0
