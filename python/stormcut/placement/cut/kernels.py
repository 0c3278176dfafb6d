"""Compiled steps of the search: what a move gains, whether it fits, and long walks of moves.

Everything works on a matrix of counts (groups, nodes) and what is kept beside it: the traffic of
one executor of a group with each node, so that a move's gain is a subtraction, and a move costs
O(neighbours of the group).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Candidates remembered for each ordered pair of nodes when exchanges are looked for.
TOPS = 3

#: Gains below this share of all traffic are rounding.
ROUNDING = 1e-11


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile into the callers, for what is called at every candidate."""
    return numba.njit(inline="always")(function)  # type: ignore[no-any-return]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile once and keep the result on disk; where no folder can be written, in memory."""
    try:
        return numba.njit(cache=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(function)  # type: ignore[no-any-return]


class Model(NamedTuple):
    """What does not change during a search.

    ``starts``, ``neighbours`` and ``rates`` are the rows of the traffic between groups without the
    diagonal, which is ``own``. ``scale`` turns loads into shares of an average node. ``allowed``
    and ``start`` are (0, 0) if there is none. ``prices``: of a tuple that leaves a node, of one
    that leaves a rack (beyond that), of a restarted worker.
    """

    size: Ints

    starts: Ints
    neighbours: Ints
    rates: Floats
    own: Floats
    load: Floats
    scale: Floats
    bounds: Floats
    slots: Ints
    topology: Ints
    rack: Ints
    allowed: Bools
    start: Ints
    prices: Floats


class State(NamedTuple):
    """A placement and what follows from it.

    ``counts``, ``traffic`` (of one executor of a group with a node, itself included if it is
    there): (groups, nodes); ``near``: the same with a rack; ``used``: (nodes, resources);
    ``held``: executors (nodes, topologies); ``tenants``: topologies (nodes,); ``changed``: groups
    whose count differs from the start (topologies, nodes).
    """

    counts: Ints
    traffic: Floats
    near: Floats
    used: Floats
    held: Ints
    tenants: Ints
    changed: Ints


@compiled
def state_at(model: Model, counts: Ints) -> State:
    """Return the state of a placement given by its counts, which are copied."""
    groups, nodes = counts.shape
    topologies, racks = 0, 1
    for g in range(groups):
        topologies = max(topologies, model.topology[g] + 1)
    if model.prices[1] > 0:
        for n in range(nodes):
            racks = max(racks, model.rack[n] + 1)
    state = State(
        counts.copy(),
        np.zeros((groups, nodes)),
        np.zeros((groups, racks)),
        np.zeros((nodes, model.load.shape[1])),
        np.zeros((nodes, topologies), dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros((topologies, nodes), dtype=np.int64),
    )
    for g in range(groups):
        t = model.topology[g]
        for n in range(nodes):
            count = counts[g, n]
            if model.start.shape[0] and count != model.start[g, n]:
                state.changed[t, n] += 1
            if count == 0:
                continue
            for r in range(model.load.shape[1]):
                state.used[n, r] += count * model.load[g, r]
            state.held[n, t] += count
            state.traffic[g, n] += count * model.own[g]
            state.near[g, model.rack[n] % racks] += count * model.own[g]
            for e in range(model.starts[g], model.starts[g + 1]):
                h = model.neighbours[e]
                state.traffic[h, n] += count * model.rates[e]
                state.near[h, model.rack[n] % racks] += count * model.rates[e]
    for n in range(nodes):
        for t in range(topologies):
            state.tenants[n] += state.held[n, t] > 0
    return state


@compiled
def put(model: Model, state: State, g: int, n: int, sign: int) -> None:
    """Add (sign 1) an executor of group ``g`` to node ``n``, or take one away (sign -1)."""
    t = model.topology[g]
    if model.start.shape[0]:
        before = state.counts[g, n] != model.start[g, n]
        after = state.counts[g, n] + sign != model.start[g, n]
        state.changed[t, n] += np.int64(after) - np.int64(before)
    state.counts[g, n] += sign
    for r in range(model.load.shape[1]):
        state.used[n, r] += sign * model.load[g, r]
    if sign > 0 and state.held[n, t] == 0:
        state.tenants[n] += 1
    state.held[n, t] += sign
    if sign < 0 and state.held[n, t] == 0:
        state.tenants[n] -= 1
    state.traffic[g, n] += sign * model.own[g]
    for e in range(model.starts[g], model.starts[g + 1]):
        state.traffic[model.neighbours[e], n] += sign * model.rates[e]
    if state.near.shape[1] > 1:
        k = model.rack[n]
        state.near[g, k] += sign * model.own[g]
        for e in range(model.starts[g], model.starts[g + 1]):
            state.near[model.neighbours[e], k] += sign * model.rates[e]


@inlined
def welcome(model: Model, state: State, g: int, n: int) -> bool:
    """Return whether one more executor of ``g`` fits on ``n``."""
    if model.slots[n] == 0 or (model.allowed.shape[0] and not model.allowed[g, n]):
        return False
    if state.held[n, model.topology[g]] == 0 and state.tenants[n] >= model.slots[n]:
        return False
    for r in range(model.load.shape[1]):
        if state.used[n, r] + model.load[g, r] > model.bounds[n, r]:
            return False
    return True


@inlined
def replaceable(model: Model, state: State, g: int, h: int, n: int) -> bool:
    """Return whether an executor of ``g`` fits on ``n`` once one of ``h`` has left it."""
    if model.allowed.shape[0] and not model.allowed[g, n]:
        return False
    t, u = model.topology[g], model.topology[h]
    if t != u and state.held[n, t] == 0:
        leaves = 1 if state.held[n, u] == 1 else 0
        if state.tenants[n] - leaves >= model.slots[n]:
            return False
    for r in range(model.load.shape[1]):
        more = model.load[g, r] - model.load[h, r]
        if more > 0 and state.used[n, r] + more > model.bounds[n, r]:
            return False
    return True


@inlined
def restarts(model: Model, state: State, g: int, n: int, sign: int) -> int:
    """Return how many more workers restart if an executor of ``g`` comes to or leaves ``n``."""
    before = state.changed[model.topology[g], n]
    now = np.int64(state.counts[g, n] != model.start[g, n])
    then = np.int64(state.counts[g, n] + sign != model.start[g, n])
    return int(before - now + then > 0) - int(before > 0)


@inlined
def restart_cost(model: Model, state: State, g: int, a: int, b: int) -> float:
    """Return the price of the workers that restart if ``g`` goes from ``a`` to ``b``."""
    more = restarts(model, state, g, a, -1) + restarts(model, state, g, b, 1)
    return model.prices[2] * more


@inlined
def gain(model: Model, state: State, g: int, a: int, b: int) -> float:
    """Return by how much moving an executor of ``g`` from ``a`` to ``b`` lowers the cost."""
    result = model.prices[0] * (state.traffic[g, b] - state.traffic[g, a] + model.own[g])
    if state.near.shape[1] > 1:
        j, k = model.rack[a], model.rack[b]
        if j != k:
            result += model.prices[1] * (state.near[g, k] - state.near[g, j] + model.own[g])
    if model.start.shape[0]:
        result -= restart_cost(model, state, g, a, b)
    return result


@inlined
def pair_rate(model: Model, g: int, h: int) -> float:
    """Return the traffic between one executor of ``g`` and another of ``h``."""
    if g == h:
        return model.own[g]
    low, high = model.starts[g], model.starts[g + 1]
    while low < high:
        middle = (low + high) // 2
        if model.neighbours[middle] < h:
            low = middle + 1
        else:
            high = middle
    if low < model.starts[g + 1] and model.neighbours[low] == h:
        return model.rates[low]
    return 0.0


@inlined
def swap_correction(model: Model, g: int, h: int, a: int, b: int) -> float:
    """Return what the sum of both moves' gains overstates when ``g`` and ``h`` change places."""
    rate = pair_rate(model, g, h)
    if model.rack[a] != model.rack[b]:
        return 2.0 * rate * (model.prices[0] + model.prices[1])
    return 2.0 * rate * model.prices[0]


@compiled
def cost(model: Model, state: State) -> float:
    """Return the cost of a placement less that of all traffic crossing racks (so, negative)."""
    local = 0.0
    for g in range(state.counts.shape[0]):
        for n in range(state.counts.shape[1]):
            if state.counts[g, n]:
                local += model.prices[0] * state.counts[g, n] * (state.traffic[g, n] - model.own[g])
        if state.near.shape[1] > 1:
            for n in range(state.counts.shape[1]):
                if state.counts[g, n]:
                    here = state.near[g, model.rack[n]] - model.own[g]
                    local += model.prices[1] * state.counts[g, n] * here
    result = -local / 2.0
    if model.start.shape[0]:
        for t in range(state.changed.shape[0]):
            for n in range(state.changed.shape[1]):
                if state.changed[t, n]:
                    result += model.prices[2]
    return result


@compiled
def cost_at(model: Model, counts: Ints) -> float:
    """Return the cost of a placement less that of all traffic crossing racks."""
    return cost(model, state_at(model, counts))


@inlined
def random_below(seed: Any, limit: int) -> np.int64:
    """Return a number from 0 to ``limit - 1``; ``seed`` (uint64, shape (1,)) moves on."""
    x = seed[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    seed[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(limit))


@compiled
def shared(one: Ints, other: Ints) -> Ints:
    """Return how many executors of each node of one placement are on each node of the other."""
    groups, nodes = one.shape
    result = np.zeros((nodes, nodes), dtype=np.int64)
    for g in range(groups):
        for a in range(nodes):
            if one[g, a]:
                for b in range(nodes):
                    result[a, b] += min(one[g, a], other[g, b])
    return result


@compiled
def traffic_with(model: Model, counts: Ints, n: int) -> Floats:
    """Return the tuples/s between one node and every node, shape (nodes,)."""
    groups, nodes = counts.shape
    result = np.zeros(nodes)
    for g in range(groups):
        if counts[g, n]:
            result += counts[g, n] * model.own[g] * counts[g]
            for e in range(model.starts[g], model.starts[g + 1]):
                result += counts[g, n] * model.rates[e] * counts[model.neighbours[e]]
    return result


def noise(total: float) -> float:
    """Return the gain that is no more than rounding for that much traffic."""
    return max(total, 1.0) * ROUNDING
