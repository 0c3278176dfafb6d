"""Closed loop: the rates that sources settle at which send as fast as tuples are acknowledged.

Each source task has a window, `topology.max.spout.pending`: so many of its tuples are on their way.
That is a closed network of queues, a class of customers for each source and a station for each
resource (`stormcut.objective.closed_loop`). Tuples that are not anchored in a tree
(`stormcut.objective.anchoring`) are its background: no window holds them back, and what waits
behind them does. As windows grow, rates settle at proportional fairness: they maximise the sum of
``log rate`` subject to every resource's load being within its capacity, which is what holds where
no window is known. A resource's load is linear in the sources' rates, with factors that follow from
the placement, the selectivities that were measured, and the costs. Tuples of one tree are taken to
pass their resources one after the other.

References
----------
F. Kelly, A. Maulloo and D. Tan, "Rate control for communication networks: shadow prices,
proportional fairness and stability", J. Oper. Res. Soc. 49 (1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.closed_loop import Background, settled
from stormcut.objective.contention import thread_speeds
from stormcut.objective.demands import demands_of
from stormcut.objective.headroom import Bottleneck, named

#: Maximum steps of the shadow prices, and by which power of its use a resource's price changes in
#: one.
STEPS, PACE = 4000, 1.5

#: The mean logarithm of fair rates is within this of the highest.
FAIR_GAP = 1e-4

#: Maximum number of times that rates are found by the batches at the rates before, and the relative
#: change that ends it; each change is about a tenth of the one before.
ROUNDS, SAME = 4, 1e-4

#: Share of the fullest resource in use at the rates from which those that settle are sought.
NEAR = 0.9

#: Of more, nothing is predicted: executors, of which it takes memory for the square, and pairs of
#: executors times sources.
MAX_EXECUTORS, MAX_SHARES = 1000, 2_000_000

#: A price below this part of the largest is that of a resource that does not bind.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Throughput:
    """What closed-loop sources reach.

    Parameters
    ----------
    sources : array of shape (sources,)
        Executor ordinals of the spouts that emit.
    rates : array of shape (sources,)
        Tuples/s of each.
    bottleneck : Bottleneck or None
        The resource that is used most, or without windows the one with the highest shadow price;
        None where nothing limits one of them: rates are infinite.
    carried : float
        Part of these rates at which no queue grows without bound, at most 1: sources do not notice
        where tuples pile up that no window holds back.
    shares : tuple of (str, int, float)
        Kind and ordinal of every resource, and which part of it is in use at these rates.
    """

    sources: Ints
    rates: Floats
    bottleneck: Bottleneck | None
    carried: float = 1.0
    shares: tuple[tuple[str, int, float], ...] = ()

    @property
    def total(self) -> float:
        """Tuples/s of all sources."""
        return float(self.rates.sum())

    @property
    def sustained(self) -> float:
        """Tuples/s of all sources that go on for ever."""
        return self.total * self.carried


def throughput(problem: Problem, placement: Placement, is_open: bool = True) -> Throughput:
    """Return what sources reach that send as fast as tuples are acknowledged.

    Every source task counts alike.

    Parameters
    ----------
    problem : Problem
    placement : Placement
    is_open : bool
        Whether they may send more than their rates; if not, each is a resource, full at its rate.

    Raises
    ------
    ValueError
        No source emits anything, so that nothing is known of what its tuples cost.

    Notes
    -----
    Takes O(pairs x sources) and memory for that: for one topology, not for a cluster of thousands
    of sources.
    """
    rate = problem.executor_rate
    sources = np.flatnonzero(problem.executor_is_spout & (rate > 0) & (placement.slots >= 0))
    if not len(sources):
        raise ValueError("no source emits anything")
    demands = as_measured = demands_of(problem, placement, sources)
    binding = np.isfinite(demands.capacity) & (demands.anchored.sum(axis=1) > 0)
    # Of a source whose tuples cost nothing that is known, any rate will do.
    if is_open and not demands.anchored[binding].any(axis=0).all():
        return Throughput(sources, np.full(len(sources), np.inf), None)
    if not binding.any():
        return Throughput(sources, rate[sources], None)
    empty = binding & (demands.capacity <= 0)
    if empty.any():
        return Throughput(
            sources, np.zeros(len(sources)), named(problem, *demands.names[int(np.argmax(empty))])
        )
    windows = _windows(problem)[sources]
    if np.isnan(windows).any():
        loads = demands.busy[binding] * rate[sources]
        growth, weight = _fair(loads if is_open else np.vstack((loads, np.eye(len(sources)))))
        rates = rate[sources] * growth
    else:
        # The faster they are, the more tuples share a batch.
        rates = rate[sources]
        # Not far from where they settle, if windows are wide.
        near: Floats | None = rates * min(1.0, NEAR / float((demands.busy @ rates).max()))
        for _ in range(ROUNDS):
            demands = as_measured.at(rates)
            busy = demands.thread_use(rates, problem.executor_count)
            demands = demands.slowed(thread_speeds(problem, placement, busy))
            stations, background = demands.stations(binding), demands.background(binding)
            if not is_open:
                stations = stations.beside(1.0 / rate[sources])
                background = partial(_add_background, background)
            before, rates = rates, settled(stations, windows, background, near)
            near = rates
            if np.abs(rates / before - 1.0).max() < SAME:
                break
        weight = demands.busy[binding] @ rates
    fullest = int(np.flatnonzero(binding)[np.argmax(weight[: binding.sum()])])
    used = demands.busy @ rates
    carried = min(1.0, 1.0 / max(float(used.max()), 1.0))
    shares = tuple(
        (kind, ordinal, share)
        for (kind, ordinal), share in zip(demands.names, used.tolist(), strict=True)
    )
    return Throughput(sources, rates, named(problem, *demands.names[fullest]), carried, shares)


def _add_background(background: Callable[[Floats], Background], rates: Floats) -> Background:
    """Return a background with nothing at a station for each source beside the others."""
    shared, none = background(rates), np.zeros_like(rates)
    return Background(np.concatenate((shared.share, none)), np.concatenate((shared.service, none)))


def predict_throughput(
    problem: Problem, placement: Placement, is_open: bool = True
) -> Throughput | None:
    """Return what sources reach, None where the model cannot tell.

    It cannot where no source emits, where nothing that is known limits one, and of more than
    `MAX_EXECUTORS` executors or `MAX_SHARES` pairs times sources.
    """
    emits = problem.executor_is_spout & (problem.executor_rate > 0) & (placement.slots >= 0)
    sources, pairs = int(emits.sum()), problem.traffic.pair_count
    too_many = problem.executor_count > MAX_EXECUTORS or pairs * sources > MAX_SHARES
    if not sources or too_many:
        return None
    predicted = throughput(problem, placement, is_open)
    return predicted if np.isfinite(predicted.total) else None


def _windows(problem: Problem) -> Floats:
    """Return how many tuples of each executor may be on their way, (executors,); NaN: unknown."""
    topologies = problem.topologies
    counts = [topology.executor_count for topology in topologies]
    return np.repeat(np.array([t.max_spout_pending or np.nan for t in topologies]), counts)


def _fair(loads: Floats) -> tuple[Floats, Floats]:
    """Return the x that maximises sum(log x) with loads @ x <= 1, and the shadow prices.

    Prices rise and fall with the use of their resources, and x follows from them in closed form.
    It ends when prices and rates prove each other: at any prices the mean of log x lies below the
    highest by no more than log(largest use * sum of prices / number of x).

    Takes O(resources x sources) a step; 19 steps in the median of 116 placements, 879 at most.
    """
    count = loads.shape[1]
    prices = np.full(len(loads), count / len(loads))
    for _ in range(STEPS):
        x = 1.0 / np.maximum(prices @ loads, 1e-300)
        use = loads @ x
        if use.max() * prices.sum() <= count * (1.0 + FAIR_GAP):
            break
        prices = np.maximum(prices * use**PACE, prices.max() * NOTHING)
    return x / use.max(), prices
