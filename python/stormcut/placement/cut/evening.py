"""Evens out the busiest node: what it sends, what it receives, its CPU. Compiled.

Where links bind, a topology is as fast as its busiest link lets it be: what a node sends and what
it receives are separate (links are full duplex). Total traffic between nodes, which the papers
minimise, says nothing of how it is spread; many placements share the least.

Annealing over moves and exchanges of executors. The energy is the busiest share of a link or CPU,
smoothed by a norm of high power so that the second busiest counts too; a price on traffic beyond
what is allowed, or a small one on all traffic, is added.

References
----------
S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by Simulated Annealing", Science 1983.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stormcut.model.problem import Problem
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.capacity import CPU, loads
from stormcut.placement.cut.kernels import Floats, Ints, compiled, inlined

#: The matrix of rates between executors is dense.
MOST_EXECUTORS = 500

#: Moves and exchanges tried: for each executor, and at most.
STEPS = 4000
MOST_STEPS = 300_000

#: Power of the norm that stands for the maximum; see `_power`.
POWER = 12.0

#: Temperatures from first to last, as shares of the energy at the start.
HOT, COLD = 0.3, 0.002

#: Price of traffic beyond what is allowed, and of all traffic: so many times its share of that.
PRICE = 20.0
LIGHT = 0.02


@dataclass(frozen=True)
class Scales:
    """What counts as busy.

    Parameters
    ----------
    link : float
        Tuples/s that a link carries each way; infinite: links do not count.
    cpu : array of shape (nodes,)
        Points of each node; infinite where CPU does not count.
    tuple_cost : float
        CPU points for each tuple/s that a node sends to or receives from another.
    relief : float
        Share by which traffic between nodes may rise; infinite: it may rise as it likes.
    """

    link: float
    cpu: Floats
    tuple_cost: float
    relief: float


def evened(
    problem: Problem,
    nodes: Ints,
    limits: Floats,
    slots: Ints,
    scales: Scales,
    effort: float,
    rng: np.random.Generator,
) -> Ints:
    """Return nodes of executors of which the busiest is less busy, or the same ones.

    Parameters
    ----------
    nodes : array of shape (executors,)
        A feasible placement.
    limits : array of shape (nodes, 3)
        CPU, executors and memory of every node.
    slots : array of shape (nodes,)
        Most topologies of every node.
    scales : Scales
        What counts as busy.

    Notes
    -----
    Takes O(executors) for each of O(executors x effort) steps, O(executors^2) memory.
    """
    if not 1 < problem.executor_count <= MOST_EXECUTORS:
        return nodes
    rates = rate_matrix(problem)
    steps = int(min(STEPS * len(nodes), MOST_STEPS) * effort)
    found: Ints = _annealed(
        rates,
        loads(problem),
        problem.executor_topology,
        len(problem.topologies),
        limits + TOLERANCE,
        slots,
        nodes.copy(),
        scales.link,
        scales.cpu,
        scales.tuple_cost,
        scales.relief,
        steps,
        int(rng.integers(2**31)),
    )
    return found


def rate_matrix(problem: Problem) -> Floats:
    """Return the tuples/s from each executor to each other, shape (executors, executors)."""
    sources, targets, rate = problem.traffic.unfolded()
    rates: Floats = np.zeros((problem.executor_count, problem.executor_count))
    np.add.at(rates, (sources, targets), rate)
    np.fill_diagonal(rates, 0.0)
    return rates


def links(rates: Floats, nodes: Ints, count: int) -> Floats:
    """Return what each node sends to others and receives from them, shape (2, nodes)."""
    crossing = rates * (nodes[:, None] != nodes)
    result: Floats = np.zeros((2, count))
    np.add.at(result[0], nodes, crossing.sum(axis=1))
    np.add.at(result[1], nodes, crossing.sum(axis=0))
    return result


@compiled
def _annealed(
    rates,
    load,
    topology,
    topologies,
    limits,
    slots,
    nodes,
    link,
    cpu,
    tuple_cost,
    relief,
    steps,
    seed,
):
    np.random.seed(seed)
    executors, count = len(nodes), len(slots)
    sent, got = _flows(rates, nodes, count)
    used, tenants = _occupied(load, topology, topologies, nodes, count)
    out, come = _links(sent, nodes, count), _links(got, nodes, count)
    total = out.sum()
    if total <= 0.0:
        return nodes
    allowed = total * (1.0 + relief) * (1.0 + 1e-9)
    points = used[:, CPU].copy()
    energy = _energy(out, come, points, link, cpu, tuple_cost, total, allowed)
    best, best_energy = nodes.copy(), energy
    hot, cold = HOT * energy, COLD * energy
    new_out, new_come = out.copy(), come.copy()
    for step in range(steps):
        heat = hot * (cold / hot) ** (step / steps)
        e, f = np.random.randint(executors), np.random.randint(executors)
        a = nodes[e]
        # An exchange with an executor, or a move to a node.
        swap = np.random.random() < 0.7
        b = nodes[f] if swap else np.random.randint(count)
        if a == b or not _fits(load, topology, limits, slots, used, tenants, e, f, a, b, swap):
            continue
        new_out[:], new_come[:] = out, come
        _shift(rates, sent, got, new_out, new_come, e, a, b, f, swap)
        more = load[e, CPU] - (load[f, CPU] if swap else 0.0)
        points[a] -= more
        points[b] += more
        changed = _energy(new_out, new_come, points, link, cpu, tuple_cost, total, allowed)
        if changed <= energy or np.random.random() < np.exp((energy - changed) / heat):
            _put(rates, sent, got, load, topology, used, tenants, nodes, e, a, b)
            if swap:
                _put(rates, sent, got, load, topology, used, tenants, nodes, f, b, a)
            out[:], come[:] = new_out, new_come
            energy = changed
            if energy < best_energy * (1.0 - 1e-9) and out.sum() <= allowed:
                best[:], best_energy = nodes, energy
        else:
            points[a] += more
            points[b] -= more
    return best


@compiled
def _flows(rates, nodes, count):
    """Return what each executor sends to and receives from each node, shape (executors, nodes)."""
    executors = len(nodes)
    sent, got = np.zeros((executors, count)), np.zeros((executors, count))
    for e in range(executors):
        for f in range(executors):
            sent[e, nodes[f]] += rates[e, f]
            got[e, nodes[f]] += rates[f, e]
    return sent, got


@compiled
def _occupied(load, topology, topologies, nodes, count):
    used = np.zeros((count, load.shape[1]))
    tenants = np.zeros((count, topologies), dtype=np.int64)
    for e in range(len(nodes)):
        used[nodes[e]] += load[e]
        tenants[nodes[e], topology[e]] += 1
    return used, tenants


@compiled
def _links(flow, nodes, count):
    """Return the tuples/s of each node's executors with other nodes, one way."""
    result = np.zeros(count)
    for e in range(len(nodes)):
        result[nodes[e]] += flow[e].sum() - flow[e, nodes[e]]
    return result


@inlined
def _power(share):
    fourth = share * share * share * share
    return fourth * fourth * fourth


@compiled
def _energy(out, come, points, link, cpu, tuple_cost, total, allowed):
    most = max(out.max(), come.max()) / link
    for n in range(len(out)):
        most = max(most, (points[n] + tuple_cost * (out[n] + come[n])) / cpu[n])
    if most <= 0.0:
        return 0.0
    powers = 0.0
    for n in range(len(out)):
        busy = (points[n] + tuple_cost * (out[n] + come[n])) / cpu[n]
        powers += _power(out[n] / link / most) + _power(come[n] / link / most) + _power(busy / most)
    smooth = most * powers ** (1.0 / POWER)
    now = out.sum()
    if np.isinf(allowed):
        return smooth * (1.0 + LIGHT * now / total)
    return smooth * (1.0 + PRICE * max(0.0, now / allowed - 1.0))


@compiled
def _fits(load, topology, limits, slots, used, tenants, e, f, a, b, swap):
    for r in range(load.shape[1]):
        back = load[f, r] if swap else 0.0
        if used[b, r] + load[e, r] - back > limits[b, r]:
            return False
        if swap and used[a, r] - load[e, r] + back > limits[a, r]:
            return False
    if swap and topology[e] == topology[f]:
        return True
    leaves_b = swap and tenants[b, topology[f]] == 1
    leaves_a = tenants[a, topology[e]] == 1
    if not _room(tenants[b], topology[e], slots[b], leaves_b):
        return False
    return not swap or _room(tenants[a], topology[f], slots[a], leaves_a)


@compiled
def _room(tenants, topology, slots, one_leaves):
    if tenants[topology]:
        return True
    return (tenants > 0).sum() - (1 if one_leaves else 0) < slots


@compiled
def _shift(rates, sent, got, out, come, e, a, b, f, swap):
    """Change the links for e moving from a to b and, in an exchange, f from b to a."""
    _shift_one(sent, got, out, come, e, a, b)
    if swap:
        _shift_one(sent, got, out, come, f, b, a)
        # Each was counted as if the other stayed: the two remain on different nodes.
        both = rates[e, f] + rates[f, e]
        out[a] += both
        out[b] += both
        come[a] += both
        come[b] += both


@compiled
def _shift_one(sent, got, out, come, e, a, b):
    """Change the links for e moving from a to b while all others stay."""
    total_sent, total_got = sent[e].sum(), got[e].sum()
    out[a] -= total_sent - sent[e, a]
    come[a] -= total_got - got[e, a]
    out[b] += total_sent - sent[e, b]
    come[b] += total_got - got[e, b]
    # What stayed on a now comes to b, and what went to b stays.
    come[a] += sent[e, a]
    out[a] += got[e, a]
    come[b] -= sent[e, b]
    out[b] -= got[e, b]


@compiled
def _put(rates, sent, got, load, topology, used, tenants, nodes, e, a, b):
    nodes[e] = b
    used[a] -= load[e]
    used[b] += load[e]
    tenants[a, topology[e]] -= 1
    tenants[b, topology[e]] += 1
    for f in range(len(nodes)):
        sent[f, a] -= rates[f, e]
        sent[f, b] += rates[f, e]
        got[f, a] -= rates[e, f]
        got[f, b] += rates[e, f]
