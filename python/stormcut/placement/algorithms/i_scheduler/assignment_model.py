"""The thesis's exact problem (Eqs. 4.1 to 4.5) for CP-SAT: vertices with loads onto nodes.

With Booleans x[i,u], "vertex i is on node u", and z[e,u], "both ends of edge e are on node u":

    maximise  sum_e R_e sum_u z[e,u]        the traffic that stays, for a given total that is all of
    s.t.      sum_u x[i,u] = 1              Eq. 4.5
              sum_i L_i x[i,u] <= C_u       Eq. 4.4, which prints <; for each resource
              z[e,u] <= x[i,u], x[j,u]      instead of the quadratic Eq. 4.2
              sum_{e=(i,j)} L_j z[e,u] <= (C_u - L_i) x[i,u]

The last line follows from the others but makes the linear relaxation much tighter: without it one
half of every vertex on each of two nodes keeps all traffic local.

Symmetry is broken by taking, of all equivalent assignments, the one whose matrix x is first when
read row by row: of equal nodes the one with the earlier first vertex comes first, and of
interchangeable vertices the earlier is not on a later node. Both hold for that matrix at once.

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, section 4.3.
P. Flener et al., "Breaking row and column symmetries in matrix models", CP 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from stormcut.arrays import Bools, Floats, Ints
from stormcut.native.process import call
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.graph.partition import integer_weights

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel


#: CP-SAT's deterministic time runs about as fast as a clock; a call so many times longer hangs.
PATIENCE = 10.0
START_SECONDS = 30.0

#: Loads that are no decimal fractions are rounded up to this share of the largest capacity.
LOAD_UNITS = 10**6


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """Vertices to be placed on nodes so that as little traffic as possible crosses.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Symmetric traffic without a diagonal.
    loads : array of shape (n, resources)
    tenants : array of shape (n, topologies)
        Topologies with executors in each vertex.
    limits : array of shape (nodes, resources)
    slots : array of shape (nodes,)
        Most topologies on each node.
    """

    graph: csr_array
    loads: Floats
    tenants: Bools
    limits: Floats
    slots: Ints


@dataclass(frozen=True, eq=False)
class Assignment:
    """Node of each vertex, shape (n,), and whether it is proven that none is better."""

    nodes: Ints
    proven: bool


def assign(problem: AssignmentProblem, seconds: float, seed: int) -> Assignment | None:
    """Return the best assignment found, None if none was.

    Deterministic: ``seconds`` are CP-SAT's deterministic time, and it searches in one thread.

    Raises
    ------
    NativeFailure
        The solver crashed or hangs.
    """
    kept = _enough_nodes(problem)
    smaller = AssignmentProblem(
        problem.graph, problem.loads, problem.tenants, problem.limits[kept], problem.slots[kept]
    )
    solved = call(solve_model, START_SECONDS + PATIENCE * seconds, smaller, seconds, seed)
    return None if solved is None else Assignment(kept[solved[0]], solved[1])


def _enough_nodes(problem: AssignmentProblem) -> Ints:
    """Return nodes ordered by kind, of each kind no more than there are vertices."""
    features = np.column_stack((-problem.limits, -problem.slots))
    kinds = np.unique(features, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(kinds, kind="stable")
    rank = np.arange(len(order)) - np.searchsorted(kinds[order], kinds[order])
    kept: Ints = order[rank < len(problem.loads)]
    return kept


def solve_model(problem: AssignmentProblem, seconds: float, seed: int) -> tuple[Ints, bool] | None:
    """Return (node of each vertex, whether it is optimal). For the native server."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    count, nodes = len(problem.loads), len(problem.limits)
    x = [[model.new_bool_var(f"x{i},{u}") for u in range(nodes)] for i in range(count)]
    for row in x:
        model.add_exactly_one(row)
    loads, limits = integer_loads(problem.loads, problem.limits)
    _add_capacity(model, x, loads, limits)
    _add_slots(model, x, problem)
    _add_traffic(model, x, problem.graph, loads, limits)
    _break_symmetry(model, x, problem)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed % 2**31
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.linearization_level = 2
    solver.parameters.symmetry_level = 0  # the model breaks its symmetries itself
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    chosen = [[solver.boolean_value(var) for var in row].index(True) for row in x]
    return np.array(chosen, dtype=np.int64), status == cp_model.OPTIMAL


def integer_loads(loads: Floats, limits: Floats) -> tuple[Ints, Ints]:
    """Return loads and limits in integers, such that what fits in them fits in truth.

    Decimal fractions of up to three places stay exact; other loads are rounded up. A limit that is
    infinite, or above all loads together, becomes those.
    """
    total = loads.sum(axis=0)
    bound = np.minimum(limits, total)
    scaled_loads, scaled_limits = np.zeros(loads.shape), np.zeros(bound.shape)
    for column in range(loads.shape[1]):
        exact = _decimal_scale(loads[:, column])
        scale = exact or LOAD_UNITS / max(bound[:, column].max(), TOLERANCE)
        rounded = np.rint if exact else np.ceil
        scaled_loads[:, column] = rounded(loads[:, column] * scale)
        slack = TOLERANCE * np.maximum(1.0, bound[:, column])
        scaled_limits[:, column] = np.floor((bound[:, column] + slack) * scale)
    whole = scaled_loads.astype(np.int64)
    divisor = np.maximum(1, np.gcd.reduce(whole, axis=0))
    return whole // divisor, scaled_limits.astype(np.int64) // divisor


def _decimal_scale(values: Floats) -> float:
    """Return the least power of ten up to 1000 that makes all values whole, 0 if none does."""
    for scale in (1.0, 10.0, 100.0, 1000.0):
        if np.allclose(values * scale, np.rint(values * scale), rtol=0, atol=1e-9 * scale):
            return scale
    return 0.0


def _add_capacity(model: CpModel, x: list[list[Any]], loads: Ints, limits: Ints) -> None:
    for resource, weights in enumerate(loads.T.tolist()):
        for u, limit in enumerate(limits[:, resource].tolist()):
            if sum(weights) > limit:
                model.add(sum(w * row[u] for w, row in zip(weights, x, strict=True)) <= limit)


def _add_slots(model: CpModel, x: list[list[Any]], problem: AssignmentProblem) -> None:
    held = problem.tenants[:, problem.tenants.any(axis=0)]
    for u in np.flatnonzero(problem.slots < held.shape[1]).tolist():
        present = [model.new_bool_var(f"y{t},{u}") for t in range(held.shape[1])]
        for i, t in np.argwhere(held).tolist():
            model.add_implication(x[i][u], present[t])
        model.add(sum(present) <= int(problem.slots[u]))


def _add_traffic(
    model: CpModel, x: list[list[Any]], graph: csr_array, loads: Ints, limits: Ints
) -> None:
    edges = graph.tocoo()
    upper = edges.row < edges.col
    ends = list(zip(edges.row[upper].tolist(), edges.col[upper].tolist(), strict=True))
    rates = np.maximum(1, integer_weights(edges.data[upper])).tolist() if ends else []
    kept = []
    for u in range(len(limits)):
        beside: list[list[tuple[Any, int]]] = [[] for _ in x]
        for (i, j), rate in zip(ends, rates, strict=True):
            both = model.new_bool_var(f"z{i},{j},{u}")
            model.add_implication(both, x[i][u])
            model.add_implication(both, x[j][u])
            kept.append(rate * both)
            beside[i].append((both, j))
            beside[j].append((both, i))
        for i, neighbours in enumerate(beside):
            _tighten(model, x[i][u], loads[i], neighbours, loads, limits[u])
    model.maximize(sum(kept))


def _tighten(
    model: CpModel,
    here: Any,
    own: Ints,
    neighbours: list[tuple[Any, int]],
    loads: Ints,
    limit: Ints,
) -> None:
    """Allow no more neighbours beside a vertex than its node then has room for."""
    for resource in range(loads.shape[1]):
        weights = [int(loads[j, resource]) for _, j in neighbours]
        room = int(limit[resource] - own[resource])
        if room >= 0 and sum(weights) > room:
            terms = (w * both for w, (both, _) in zip(weights, neighbours, strict=True))
            model.add(sum(terms) <= room * here)


def _break_symmetry(model: CpModel, x: list[list[Any]], problem: AssignmentProblem) -> None:
    features = np.column_stack((problem.limits, problem.slots))
    for u in range(1, len(features)):
        if (features[u] == features[u - 1]).all():
            for i in range(len(x)):  # vertex i is on u only if an earlier one is on u - 1
                model.add_bool_or([row[u - 1] for row in x[:i]] + [~x[i][u]])
    for earlier, later in interchangeable(problem):
        for u in range(len(features)):  # later on a node up to u means earlier too
            model.add(sum(x[later][: u + 1]) <= sum(x[earlier][: u + 1]))


def interchangeable(problem: AssignmentProblem) -> list[tuple[int, int]]:
    """Return pairs of vertices that may change places without effect: each with the one before."""
    dense = problem.graph.toarray()
    pairs = []
    for later in range(len(dense)):
        for earlier in reversed(range(later)):
            apart = np.ones(len(dense), dtype=bool)
            apart[[earlier, later]] = False
            if (
                np.array_equal(problem.loads[earlier], problem.loads[later])
                and np.array_equal(problem.tenants[earlier], problem.tenants[later])
                and np.array_equal(dense[earlier, apart], dense[later, apart])
            ):
                pairs.append((earlier, later))
                break
    return pairs
