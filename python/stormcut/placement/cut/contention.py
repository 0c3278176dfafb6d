"""Evens out the busiest node: CPU with what sending and receiving costs, or its link. Compiled.

How busy node n is: the larger of (its CPU + tuple_cost x its link) / its CPU limit and its link /
link capacity, where its link is the tuples/s into and out of it. An executor's move or exchange
changes that of two nodes only, O(1) each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stormcut.placement.capacity import CPU
from stormcut.placement.cut.instance import Instance
from stormcut.placement.cut.kernels import (
    Floats,
    Ints,
    Model,
    State,
    compiled,
    inlined,
    pair_rate,
    put,
    replaceable,
    welcome,
)
from stormcut.placement.cut.state import model_of, state_of

#: Points of a node that names no CPU limit: one core.
NOMINAL_CPU = 100.0

#: Most moves and exchanges of one improvement.
STEPS = 5000

#: A busiest node less busy by this share is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Costs:
    """What traffic costs a node.

    Parameters
    ----------
    tuple_cost : float
        CPU points for each tuple/s that it sends to or receives from another node.
    link : float
        Tuples/s that its link carries, both ways together; infinite if that never binds.
    """

    tuple_cost: float
    link: float


def busiest(instance: Instance, counts: Ints, costs: Costs) -> float:
    """Return how busy the busiest node is; 1 is all that it has."""
    model = model_of(instance, (1.0, 0.0, 0.0))
    state = state_of(instance, model, counts)
    busy = _all_busy(
        state, _links(model, state), nominal_cpu(instance), costs.tuple_cost, costs.link
    )
    return float(busy.max(initial=0.0))


def relieved(instance: Instance, counts: Ints, costs: Costs) -> Ints:
    """Return counts whose busiest node is less busy, or the same ones.

    Executors of the busiest node move, or change places with others, as long as the busier of the
    two nodes is then less busy. Takes O(groups of two nodes) for each of at most `STEPS` steps and
    nodes looked at.
    """
    model = model_of(instance, (1.0, 0.0, 0.0))
    state = state_of(instance, model, counts)
    _relieve(
        model, state, _links(model, state), nominal_cpu(instance), costs.tuple_cost, costs.link
    )
    return state.counts


def nominal_cpu(instance: Instance) -> Floats:
    """Return each node's CPU limit in points, one core where it names none, shape (nodes,)."""
    limits = instance.limits[:, CPU]
    return np.where(np.isfinite(limits) & (limits > 0), limits, NOMINAL_CPU)


@compiled
def _links(model: Model, state: State) -> Floats:
    """Return the tuples/s into and out of every node."""
    links = np.zeros(state.counts.shape[1])
    for g in range(state.counts.shape[0]):
        total = state.traffic[g].sum() - model.own[g]
        for n in range(len(links)):
            if state.counts[g, n]:
                links[n] += state.counts[g, n] * (total - state.traffic[g, n] + model.own[g])
    return links


@inlined
def _busy(used, link, cpu, tuple_cost, most):
    return max((used + tuple_cost * link) / cpu, link / most)


@compiled
def _all_busy(state: State, links: Floats, cpu: Floats, tuple_cost: float, most: float) -> Floats:
    """Return how busy each node is, shape (nodes,)."""
    result = np.zeros(len(links))
    for n in range(len(links)):
        result[n] = _busy(state.used[n, CPU], links[n], cpu[n], tuple_cost, most)
    return result


@compiled
def _relieve(model, state, links, cpu, tuple_cost, most):
    groups = state.counts.shape[0]
    totals = np.zeros(groups)
    for g in range(groups):
        totals[g] = state.traffic[g].sum() - model.own[g]
    change = np.zeros(4, dtype=np.int64)
    after = np.zeros(2)
    for _ in range(STEPS):
        busy = _all_busy(state, links, cpu, tuple_cost, most)
        a = np.argmax(busy)
        if not _best_change(
            model, state, links, cpu, tuple_cost, most, busy, totals, a, change, after
        ):
            break
        g, b, h = change[0], change[1], change[2]
        put(model, state, g, a, -1)
        if h >= 0:
            put(model, state, h, b, -1)
            put(model, state, h, a, 1)
        put(model, state, g, b, 1)
        links[a], links[b] = after[0], after[1]


@compiled
def _best_change(model, state, links, cpu, tuple_cost, most, busy, totals, a, change, after):
    """Find the move or exchange that leaves the busier of its two nodes least busy.

    Writes (group to leave ``a``, its target, group to come for it or -1) to ``change`` and the
    links of both nodes to ``after``; returns whether there is one that relieves ``a``.
    """
    groups, nodes = state.counts.shape
    best, found = busy[a] * (1.0 - ROUNDING), False
    for g in range(groups):
        if state.counts[g, a] == 0:
            continue
        left = links[a] - totals[g] + 2.0 * (state.traffic[g, a] - model.own[g])
        for b in range(nodes):
            if b == a or model.slots[b] == 0 or busy[b] >= best:
                continue
            came = links[b] + totals[g] - 2.0 * state.traffic[g, b]
            here = _busy(state.used[a, CPU] - model.load[g, CPU], left, cpu[a], tuple_cost, most)
            there = _busy(state.used[b, CPU] + model.load[g, CPU], came, cpu[b], tuple_cost, most)
            if max(here, there) < best and welcome(model, state, g, b):
                best, found = max(here, there), True
                change[0], change[1], change[2] = g, b, -1
                after[0], after[1] = left, came
            for h in range(groups):
                if state.counts[h, b] == 0 or h == g:
                    continue
                both = 2.0 * pair_rate(model, g, h)
                to_a = left + totals[h] - 2.0 * state.traffic[h, a] + both
                to_b = came - totals[h] + 2.0 * (state.traffic[h, b] - model.own[h]) + both
                more = model.load[h, CPU] - model.load[g, CPU]
                here = _busy(state.used[a, CPU] + more, to_a, cpu[a], tuple_cost, most)
                there = _busy(state.used[b, CPU] - more, to_b, cpu[b], tuple_cost, most)
                if max(here, there) >= best:
                    continue
                if replaceable(model, state, g, h, b) and replaceable(model, state, h, g, a):
                    best, found = max(here, there), True
                    change[0], change[1], change[2] = g, b, h
                    after[0], after[1] = to_a, to_b
    return found
