"""From Storm's ids to a problem and back: topologies against what the others leave.

Everything Storm-shaped (task ids, supervisors' meta, defaults) ends here, in `workload` and in
`usage`; algorithms see `stormcut.model.problem` only.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker
from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Node, Problem
from stormcut.model.profile import Profile
from stormcut.model.traffic import Traffic
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.headroom import headroom
from stormcut.objective.order import is_predicted
from stormcut.objective.resources import CPU, LINK_IN, LINK_OUT
from stormcut.running.usage import Usage
from stormcut.running.workload import Workload, misfit, workload

Workers = tuple[Worker, ...]

#: A full node holds sources back if they send this part less than others, on average.
HELD_BACK = 0.1


@dataclass(frozen=True, eq=False)
class Situation:
    """One or more topologies on the nodes that the others leave to them."""

    loads: tuple[Workload, ...]
    problem: Problem

    def placement(self, workers: Sequence[Iterable[Worker]]) -> Placement:
        """Return the workers of each topology as a placement in this problem's ordinals."""
        return _joined(self.loads, workers, self.problem.slot_ordinals)

    def workers(self, placement: Placement) -> tuple[Workers, ...]:
        """Return a placement as each topology's workers in Storm's ids, ascending by slot."""
        return tuple(
            self._workers(load, placement.slots[own])
            for load, own in zip(self.loads, self.executors, strict=True)
        )

    def _workers(self, load: Workload, slots: npt.NDArray[np.int64]) -> Workers:
        content: dict[Slot, list[int]] = defaultdict(list)
        for task, ordinal in zip(load.tasks, slots.tolist(), strict=True):
            if ordinal != UNASSIGNED:
                content[Slot(*self.problem.slot_ids[ordinal])].append(task)
        return tuple(sorted(Worker(slot, tuple(sorted(of))) for slot, of in content.items()))

    @property
    def executors(self) -> Iterator[slice]:
        """The executor ordinals of each topology."""
        offsets = self.problem.topology_offsets.tolist()
        return (slice(*ends) for ends in pairwise(offsets))

    @property
    def has_sizes(self) -> bool:
        """Whether any tuple's size was measured, so that bytes count."""
        return any(load.content is not None for load in self.loads)

    @cached_property
    def is_held_back(self) -> bool:
        """Whether a full node holds sources back, so that others send more in their place.

        Its sources send a part `HELD_BACK` less than others of their component: they wait for acks.
        Sources that are fed from outside send what they are fed.
        """
        full = self._full_node()
        if full is None:
            return False
        problem = self.problem
        rates, component = problem.executor_rate, problem.executor_component
        means = np.bincount(component, rates) / np.bincount(component)
        sources = np.flatnonzero(problem.executor_is_spout & (rates > 0))
        part = rates[sources] / means[component[sources]]
        here = problem.current_nodes()[sources] == full
        if not here.any() or here.all():
            return False
        return bool(part[here].mean() < (1 - HELD_BACK) * part[~here].mean())

    def _full_node(self) -> int | None:
        """Return the node whose CPU or link is overloaded most, None if none is.

        None, too, if not all executors run, or are too many to predict what sources reach.
        """
        problem = self.problem
        if (problem.current_nodes() < 0).any() or not is_predicted(problem):
            return None
        room = headroom(problem, Placement(problem.current_slots()))
        if room.value is None or room.bottleneck is None or room.value >= 1:
            return None
        if room.bottleneck.kind not in (CPU, LINK_IN, LINK_OUT):
            return None
        return [node.id for node in problem.nodes].index(room.bottleneck.name)

    def travels(self, placement: Placement) -> float:
        """Return the bytes/s between nodes, tuples/s where no size was measured."""
        return self._crossing(self._units, placement)

    def deviation(self, placement: Placement) -> float:
        """Return the standard deviation of `travels`, as what comes by chance was measured."""
        return math.sqrt(self._crossing(self._variance, placement))

    def _crossing(self, parts: Traffic, placement: Placement) -> float:
        return inter_node_tuples_per_second(self.problem.with_traffic(parts), placement)

    @cached_property
    def _units(self) -> Traffic:
        return _traffic(self._parts)

    @cached_property
    def _variance(self) -> Traffic:
        pairs = zip(self.loads, self._parts, strict=True)
        return _traffic([load.variance(part) for load, part in pairs])

    @cached_property
    def _parts(self) -> list[Traffic]:
        """What each topology sends; without sizes beside others, tuples of their mean size."""
        known = [(load.content, load.traffic) for load in self.loads if load.content is not None]
        if not known:
            return [load.traffic for load in self.loads]
        mean = sum(c.total for c, _ in known) / max(sum(t.total for _, t in known), 1e-9)
        return [load.content or load.traffic.times(mean) for load in self.loads]

    def narrowed(self, nodes: tuple[Node, ...]) -> Situation:
        """Return the same situation with only these nodes to choose from."""
        present = self.workers(Placement(self.problem.current_slots()))
        return situation(self.loads, nodes, present, self.problem.costs)


def situation(
    loads: Sequence[Workload],
    nodes: tuple[Node, ...],
    presents: Sequence[Workers],
    costs: Costs | None = None,
) -> Situation:
    """Return the situation of topologies on nodes that are left to them.

    Parameters
    ----------
    nodes : tuple of Node
        See `Usage.left`.
    presents : sequence of tuple of Worker
        What runs of each topology now; its slots are its own.
    costs : Costs, optional
        Of transfer; None: those that are shipped.
    """
    problem = _problem(loads, nodes, presents, costs)
    # The same whatever the nodes are; folding it for every set of nodes takes most of a round.
    known = problem.with_traffic(_traffic([load.traffic for load in loads]))
    return Situation(tuple(loads), known)


def _traffic(parts: Sequence[Traffic]) -> Traffic:
    """Return the traffic of several topologies from each one's."""
    if len(parts) == 1:
        return parts[0]
    shifted, begin = [], 0
    for part in parts:
        shifted.append(part.shifted(begin))
        begin += part.executors
    return Traffic.join(shifted, begin)


def running_problem(
    state: ClusterState,
    profiles: Mapping[str, Profile],
    only: str | None = None,
    costs: Costs | None = None,
) -> Problem:
    """Return the problem of placing what runs, each topology as in `workload`.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By topology id; those that do not fit are not used, see `unmeasured`.
    only : str, optional
        Id or name of a topology: only this one, on what the others leave.
    costs : Costs, optional
        Of transfer; None: those that are shipped.

    Raises
    ------
    InvalidInput
        No topology of this id or name runs.
    """
    topologies = sorted((t for t in state.topologies if t.executors), key=lambda t: t.id)
    loads = {t.id: workload(t, fitting(profiles, t), costs) for t in topologies}
    usage = Usage(state, costs)
    if only is None:
        present = [tuple(sorted(t.assignment)) for t in topologies]
        return situation(tuple(loads.values()), usage.left(), present, costs).problem
    chosen = next((t for t in topologies if only in (t.id, t.name)), None)
    if chosen is None:
        running = ", ".join(t.id for t in topologies) or "none"
        raise InvalidInput(f"no such topology runs (running: {running})", only)
    for each in topologies:
        usage.put(loads[each.id], each.assignment)
    nodes, alone = usage.left({chosen.id}), tuple(sorted(chosen.assignment))
    return situation((loads[chosen.id],), nodes, (alone,), costs).problem


def named_by_host(problem: Problem, state: ClusterState) -> Problem:
    """Return a problem whose nodes have their hosts' names, if every supervisor has its own host.

    Storm's ids of supervisors are random and tell people nothing.
    """
    hosts = {supervisor.id: supervisor.host for supervisor in state.supervisors}
    if len(set(hosts.values())) < len(hosts):
        return problem
    nodes = tuple(replace(node, id=hosts[node.id]) for node in problem.nodes)
    lost = tuple((hosts.get(node, node), port) for node, port in problem.lost_slots)
    return replace(problem, nodes=nodes, lost_slots=lost)


def unmeasured(
    state: ClusterState, profiles: Mapping[str, Profile], topologies: Iterable[str]
) -> Iterator[str]:
    """Yield a line for each of the topologies that has no profile that fits."""
    running = {t.id: t for t in state.topologies}
    for name in topologies:
        profile = profiles.get(name)
        reason = misfit(profile, running[name]) if profile else "no profile"
        if reason:
            yield f"{name} counts as declared, 1 tuple/s from each executor on a stream: {reason}"


def fitting(profiles: Mapping[str, Profile], running: RunningTopology) -> Profile | None:
    """Return a topology's profile if there is one that fits."""
    profile = profiles.get(running.id)
    return profile if profile and not misfit(profile, running) else None


def _problem(
    loads: Sequence[Workload],
    nodes: tuple[Node, ...],
    presents: Sequence[Workers],
    costs: Costs | None,
) -> Problem:
    topologies = tuple(load.topology for load in loads)
    used = {worker.slot for workers in presents for worker in workers}
    offered = {node.id: node.ports for node in nodes}
    lost = sorted(slot for slot in used if slot.port not in offered.get(slot.node, ()))
    lost_slots = tuple((slot.node, slot.port) for slot in lost)
    problem = Problem(nodes, topologies, lost_slots=lost_slots, costs=costs)
    return replace(problem, current=_joined(loads, presents, problem.slot_ordinals))


def _joined(
    loads: Sequence[Workload],
    workers: Sequence[Iterable[Worker]],
    ordinals: Mapping[tuple[str, int], int],
) -> Placement:
    none: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    parts = [load.placement(its, ordinals).slots for load, its in zip(loads, workers, strict=True)]
    return Placement(np.concatenate((none, *parts)))
