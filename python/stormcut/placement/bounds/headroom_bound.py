"""How much head-room is possible at most, whatever the placement: a proof at any size.

A thread carries what it carries wherever it is; nodes together have only so much CPU; of the
largest executors some node must hold several. And room forces transfer: let every placement with
head-room k or more send at least B(k) Mbit/s between nodes and spend T(k) points on that, by
`lower_bound` with the CPU that k leaves of each node. Then no head-room is above the larger of k
and f(k), where f(k) is what all links, and all CPU, carry of B(k) and T(k). f falls as k grows, so
that bisection finds the best k; every k proves a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats
from stormcut.model.placement import UpperBound
from stormcut.model.problem import CORE_PERCENT, CORE_US, Component, Problem, Topology
from stormcut.model.traffic import declared_sizes
from stormcut.objective.resources import DEFAULT_BYTES, KIB, MBIT_BYTES, costs_of, left_by_workers
from stormcut.objective.verify import TOLERANCE
from stormcut.placement.bounds.lower_bound import lower_bound

#: Times that what transfer costs at least is computed again.
ROUNDS = 4

METHOD = "threads, CPU and links in all, and the least transfer that room forces"


def headroom_bound(problem: Problem, effort: float = 1.0) -> UpperBound | None:
    """Return a proven upper bound on the head-room of every feasible placement.

    Parameters
    ----------
    problem : Problem
    effort : float
        As of `lower_bound`, which shares it among up to `ROUNDS` calls.

    Returns
    -------
    UpperBound or None
        None if nothing limits.
    """
    problem = _with_workers(problem)
    loads, flexible = _least_loads(problem)
    most = min(_threads(problem, loads, flexible), _packed(problem, loads))
    cpu, out, into = _capacities(problem)
    total = float(problem.executor_cpu.sum())
    if total > 0:
        most = min(most, cpu / total)
    links = min(out, into)
    if np.isfinite(min(cpu, links)):
        most = _by_transfer(problem, loads, most, cpu, links, effort / ROUNDS)
    return UpperBound(most, METHOD) if np.isfinite(most) else None


def _with_workers(problem: Problem) -> Problem:
    """Return the problem with the CPU that one worker leaves of each node: of use, it has one."""
    costs = costs_of(problem)
    nodes = tuple(
        node
        if node.cpu_percent is None
        else replace(node, cpu_percent=float(left_by_workers(node.cpu_percent, 1, costs)))
        for node in problem.nodes
    )
    return replace(problem, nodes=nodes)


def _least_loads(problem: Problem) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return what each executor needs at least, and which ones need more or less by placement."""
    flexible = np.zeros(problem.executor_count, dtype=bool)
    for relay in problem.relays:
        flexible[relay.executors] = relay.is_changed
    flexible &= ~np.isnan(problem.executor_cpu_us) & ~problem.executor_is_spout
    return np.where(flexible, 0.0, problem.executor_cpu), flexible


def _threads(problem: Problem, loads: Floats, flexible: npt.NDArray[np.bool_]) -> float:
    """Return the head-room that threads leave; executors that share work may share it evenly."""
    room = CORE_PERCENT * problem.executor_threads
    busy = loads > 0
    bounds = [float((room[busy] / loads[busy]).min(initial=np.inf))]
    begin = 0
    for topology in problem.topologies:
        for component in topology.components:
            of = slice(begin, begin + component.executors)
            begin += component.executors
            total = problem.executor_cpu[of].sum()
            if flexible[of].any() and total > 0:
                bounds.append(float(room[of].sum() / total))
    return min(bounds)


def _packed(problem: Problem, loads: Floats) -> float:
    """Return the head-room that some node has at most which must hold several large executors."""
    usable = [node.cpu_percent for node in problem.nodes if node.ports]
    if not usable or any(limit is None for limit in usable):
        return np.inf
    largest, nodes = max(limit or 0.0 for limit in usable), len(usable)
    falling = np.sort(loads)[::-1]
    sums = np.concatenate(([0.0], np.cumsum(falling)))
    held = np.arange(2, (len(loads) - 1) // nodes + 2)
    last = (held - 1) * nodes + 1
    together = (sums[last] - sums[last - held]).max(initial=falling.max(initial=0.0))
    return float(largest / together) if together > 0 else np.inf


def _capacities(problem: Problem) -> tuple[float, float, float]:
    """Return CPU in points and what links carry out and in, Mbit/s, of all nodes together."""
    hosts = [node for node in problem.nodes if node.ports]
    rows = [(node.cpu_percent, node.link.out, node.link.into) for node in hosts]
    values = [[np.inf if value is None else value for value in row] for row in rows]
    cpu, out, into = np.array(values, dtype=np.float64).reshape(-1, 3).sum(axis=0).tolist()
    return cpu, out, into


def _by_transfer(
    problem: Problem, loads: Floats, most: float, cpu: float, links: float, effort: float
) -> float:
    costs, total = costs_of(problem), float(problem.executor_cpu.sum())
    # A batch may hold any number of tuples.
    batched = np.isfinite(costs.batches_per_s)
    per_tuple = 0.0 if batched else costs.send_us_per_tuple + costs.receive_us_per_tuple
    per_byte = (costs.send_us_per_kib + costs.receive_us_per_kib) / KIB
    sized = _without_relays(_with_sizes(_with_loads(problem, loads)))
    mbit = _weighed(sized, lambda size: (size + costs.link_bytes_per_tuple) / MBIT_BYTES)
    points = _weighed(sized, lambda size: (per_tuple + per_byte * size) * CORE_PERCENT / CORE_US)

    def carried(k: float) -> float:
        """Return what links and CPU carry at most of the least transfer at head-room k."""
        result = np.inf
        if np.isfinite(links):
            sent = lower_bound(_with_room(mbit, k), effort).tuples_per_second
            result = links / sent if sent > 0 else np.inf
        if np.isfinite(cpu):
            spent = lower_bound(_with_room(points, k), effort).tuples_per_second
            result = min(result, cpu / (total + spent)) if total + spent > 0 else result
        return result

    k = most if np.isfinite(most) else 1.0
    best, low = most, 0.0
    high = most
    for _ in range(ROUNDS):
        reached = carried(k)
        best = min(best, max(k, reached))
        if reached >= k:
            low = k
        else:
            low, high = max(low, reached), k
        if not np.isfinite(high) or high <= low * 1.001:
            break
        k = (low + high) / 2
    return best


def _with_loads(problem: Problem, loads: Floats) -> Problem:
    """Return the problem with executors that need this CPU, whatever their rates."""
    topologies, begin = [], 0
    for topology in problem.topologies:
        components: list[Component] = []
        for component in topology.components:
            own = loads[begin : begin + component.executors]
            components.append(replace(component, cpu_percent=own, cpu_us_per_tuple=None))
            begin += component.executors
        topologies.append(replace(topology, components=tuple(components)))
    return replace(problem, topologies=tuple(topologies))


def _with_room(problem: Problem, k: float) -> Problem:
    """Return the problem with the CPU that executors may use if all loads are to grow k times."""
    nodes = tuple(
        node
        if node.cpu_percent is None
        else replace(node, cpu_percent=node.cpu_percent / max(k, 1.0) * (1 + TOLERANCE))
        for node in problem.nodes
    )
    return replace(problem, nodes=nodes)


def _with_sizes(problem: Problem) -> Problem:
    """Return the problem with every size known, as `Traffic.sized` has it."""
    mean = problem.traffic.mean_size(DEFAULT_BYTES)

    def sized(topology: Topology) -> Topology:
        declared = declared_sizes(topology)
        return replace(
            topology,
            streams=tuple(
                replace(s, bytes_per_tuple=mean) if s.bytes_per_tuple is None else s
                for s in topology.streams
            ),
            measured=tuple(
                p._replace(bytes_per_tuple=declared.get((p.source[0], p.target[0]), mean))
                if p.bytes_per_tuple is None
                else p
                for p in topology.measured
            ),
        )

    return replace(problem, topologies=tuple(sized(each) for each in problem.topologies))


def _without_relays(problem: Problem) -> Problem:
    """Return the problem without what executors send that take what the placement lets them.

    All that such a component sends may come from those that are beside the targets.
    """
    names = list(problem.executor_names())
    free = {names[relay.executors.start][:2] for relay in problem.relays if not relay.is_steady}
    topologies = tuple(
        replace(
            topology,
            streams=tuple(s for s in topology.streams if (topology.id, s.source) not in free),
            measured=tuple(p for p in topology.measured if (topology.id, p.source[0]) not in free),
        )
        for topology in problem.topologies
    )
    return replace(problem, topologies=topologies)


def _weighed(problem: Problem, weight: Callable[[float], float]) -> Problem:
    """Return the problem with rates times the weight of a tuple of its size."""
    topologies = tuple(
        replace(
            topology,
            streams=tuple(
                replace(s, tuples_per_second=s.tuples_per_second * weight(s.bytes_per_tuple or 0.0))
                for s in topology.streams
            ),
            measured=tuple(
                p._replace(tuples_per_second=p.tuples_per_second * weight(p.bytes_per_tuple or 0.0))
                for p in topology.measured
            ),
        )
        for topology in problem.topologies
    )
    return replace(problem, topologies=topologies)
