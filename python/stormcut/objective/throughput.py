"""Closed loop: the rates that sources settle at which send as fast as tuples are acknowledged.

Each source task has a window, `topology.max.spout.pending`: so many of its tuples are on their way.
That is a closed network of queues, a class of customers for each source and a station for each
resource; mean value analysis gives its rates. As windows grow, these settle at proportional
fairness: they maximise the sum of ``log rate`` subject to every resource's load being within its
capacity, which is what holds where no window is known. A resource's load is linear in the sources'
rates, with factors that follow from the placement, the selectivities that were measured, and the
costs. Tuples of one tree are taken to pass their resources one after the other.

References
----------
P. Schweitzer, "Approximate analysis of multiclass closed networks of queues" (1979);
E. Lazowska et al., "Quantitative System Performance" (1984), chapter 7.
F. Kelly, A. Maulloo and D. Tan, "Rate control for communication networks: shadow prices,
proportional fairness and stability", J. Oper. Res. Soc. 49 (1998).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, CORE_US, Problem
from stormcut.model.traffic import Traffic
from stormcut.objective.cut import executor_nodes
from stormcut.objective.headroom import Bottleneck, named
from stormcut.objective.resources import (
    CPU,
    DEFAULT_BYTES,
    EXECUTOR,
    KIB,
    LINK_IN,
    LINK_OUT,
    MBIT_BYTES,
    UPLINK_IN,
    UPLINK_OUT,
    costs_of,
    rack_ordinals,
    uses,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Steps of the shadow prices, and by which power of its use a resource's price changes in one.
STEPS, PACE = 4000, 0.2

#: Rounds of the mean value analysis, and the change of queues, as part of a window, that ends them.
ROUNDS, STILL = 5000, 1e-7

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
        None where nothing limits: rates are infinite.
    """

    sources: Ints
    rates: Floats
    bottleneck: Bottleneck | None

    @property
    def total(self) -> float:
        """Tuples/s of all sources."""
        return float(self.rates.sum())


def throughput(problem: Problem, placement: Placement) -> Throughput:
    """Return what sources reach that send as fast as tuples are acknowledged.

    Every source task counts alike. Of a local-or-shuffle stream no target counts as local.

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
    factors, capacity, names = _factors(problem, placement, sources)
    binding = np.isfinite(capacity) & (factors.sum(axis=1) > 0)
    factors, capacity = factors[binding] * rate[sources], capacity[binding]
    names = [name for name, binds in zip(names, binding.tolist(), strict=True) if binds]
    if not len(names):
        return Throughput(sources, np.full(len(sources), np.inf), None)
    if (capacity <= 0).any():
        kind, at = names[int(np.argmin(capacity))]
        return Throughput(sources, np.zeros(len(sources)), named(problem, kind, at))
    windows = _windows(problem)[sources]
    if np.isnan(windows).any():
        growth, weight = _fair(factors / capacity[:, None])
        rates = rate[sources] * growth
    else:
        busy = factors / capacity[:, None] / rate[sources]
        rates = _windowed(busy, windows)
        weight = busy @ rates
    kind, at = names[int(np.argmax(weight))]
    return Throughput(sources, rates, named(problem, kind, at))


def _windows(problem: Problem) -> Floats:
    """Return how many tuples of each executor may be on their way, (executors,); NaN: unknown."""
    topologies = problem.topologies
    counts = [topology.executor_count for topology in topologies]
    return np.repeat(np.array([t.max_spout_pending or np.nan for t in topologies]), counts)


def _windowed(busy: Floats, windows: Floats) -> Floats:
    """Return the rates of sources with so many tuples on their way, by Schweitzer's approximation.

    A tuple waits at each resource for those that it finds there: of its own source's queue, all but
    the part that is itself.

    Parameters
    ----------
    busy : array of shape (resources, sources)
        Seconds that a tuple of each source keeps a resource to itself.
    windows : array of shape (sources,)
    """
    queue = np.tile(windows / len(busy), (len(busy), 1))
    rates = np.zeros(len(windows))
    for _ in range(ROUNDS):
        stay = busy * (1 + queue.sum(axis=1, keepdims=True) - queue / windows)
        rates = windows / np.maximum(stay.sum(axis=0), 1e-300)
        change = rates * stay - queue
        if np.abs(change / windows).max() < STILL:
            break
        queue += change / 2
    return rates


def _fair(loads: Floats) -> tuple[Floats, Floats]:
    """Return the x that maximises sum(log x) with loads @ x <= 1, and the shadow prices.

    Prices rise and fall with the use of their resources; x follows from them in closed form, and is
    as good as the optimum to half a percent.
    """
    prices = np.ones(len(loads))
    for step in range(STEPS):
        x = 1.0 / np.maximum(prices @ loads, 1e-300)
        pace = PACE if step < STEPS // 2 else PACE / 4
        prices = np.maximum(prices * (loads @ x) ** pace, prices.max() * NOTHING)
    x = 1.0 / np.maximum(prices @ loads, 1e-300)
    return x / (loads @ x).max(), prices


def _factors(
    problem: Problem, placement: Placement, sources: Ints
) -> tuple[Floats, Floats, list[tuple[str, int]]]:
    """Return loads per tuple/s of each source, capacities, and kind and ordinal of resources.

    The first has shape (resources, sources).
    """
    traffic = problem.traffic.sized(DEFAULT_BYTES)
    part = _parts(problem, traffic, sources)
    source, target, rate, size = traffic.unfolded_sizes()
    costs, nodes = costs_of(problem), executor_nodes(problem, placement)
    racks, _ = rack_ordinals(problem)
    placed = nodes >= 0
    both = placed[source] & placed[target]
    points = rate * CORE_PERCENT / CORE_US
    sending = points * (costs.send_us_per_tuple + costs.send_us_per_kib / KIB * size)
    taking = points * (costs.receive_us_per_tuple + costs.receive_us_per_kib / KIB * size)
    carried = rate * (size + costs.link_bytes_per_tuple) / MBIT_BYTES
    used = {use.kind: use for use in uses(problem, placement)}
    loads = {kind: np.zeros((len(use.load), len(sources))) for kind, use in used.items()}
    # A pair's load is due to the sources whose tuples led to what its sender sends.
    due = part[source] / problem.executor_rate[sources]
    own = problem.executor_cpu[:, None] * part / problem.executor_rate[sources]
    loads[EXECUTOR] = own * placed[:, None]
    np.add.at(loads[CPU], nodes[placed], own[placed])
    apart = both & (placement.slots[source] != placement.slots[target])
    np.add.at(loads[CPU], nodes[source[apart]], sending[apart, None] * due[apart])
    np.add.at(loads[CPU], nodes[target[apart]], taking[apart, None] * due[apart])
    away = both & (nodes[source] != nodes[target])
    np.add.at(loads[LINK_OUT], nodes[source[away]], carried[away, None] * due[away])
    np.add.at(loads[LINK_IN], nodes[target[away]], carried[away, None] * due[away])
    far = away & (racks[nodes[source]] != racks[nodes[target]])
    np.add.at(loads[UPLINK_OUT], racks[nodes[source[far]]], carried[far, None] * due[far])
    np.add.at(loads[UPLINK_IN], racks[nodes[target[far]]], carried[far, None] * due[far])
    names = [(kind, at) for kind in loads for at in range(len(loads[kind]))]
    capacity = np.concatenate([used[kind].capacity for kind in loads])
    return np.concatenate([loads[kind] for kind in loads]), capacity, names


def _parts(problem: Problem, traffic: Traffic, sources: Ints) -> Floats:
    """Return which part of what each executor does is due to each source, (executors, sources).

    Tuples mix in every executor: what it sends is due to the sources as what it takes is. Where
    traffic goes round in circles the parts are those that settle.
    """
    source, target, rate, _ = traffic.unfolded_sizes()
    count = problem.executor_count
    taken = np.zeros(count)
    np.add.at(taken, target, rate)
    flow = np.zeros((count, count))
    np.add.at(flow, (target, source), rate / np.maximum(taken[target], 1e-300))
    flow[problem.executor_is_spout] = 0.0
    start = np.zeros((count, len(sources)))
    start[sources, np.arange(len(sources))] = 1.0
    # Slightly less than all is handed on, so that circles nothing enters come to an end.
    settled = np.linalg.solve(np.eye(count) - (1 - 1e-9) * flow, start)
    return np.asarray(settled, dtype=np.float64)
