"""From Storm's ids to a problem and back: one topology against what the others leave.

Everything Storm-shaped (task ids, supervisors' meta, defaults) ends here, in `workload` and in
`usage`; algorithms see `stormcut.model.problem` only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stormcut.application.control.usage import Usage
from stormcut.application.control.workload import Workload, misfit, workload
from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Node, Problem
from stormcut.model.profile import Profile
from stormcut.objective.cut import inter_node_tuples_per_second


@dataclass(frozen=True, eq=False)
class Situation:
    """One topology on the nodes that the others leave to it."""

    load: Workload
    problem: Problem

    def placement(self, workers: Iterable[Worker]) -> Placement:
        """Return workers as a placement in this problem's ordinals."""
        return self.load.placement(workers, self.problem.slot_ordinals)

    def workers(self, placement: Placement) -> tuple[Worker, ...]:
        """Return a placement as workers in Storm's ids, ascending by slot."""
        content: dict[Slot, list[int]] = defaultdict(list)
        for task, ordinal in zip(self.load.tasks, placement.slots.tolist(), strict=True):
            if ordinal != UNASSIGNED:
                content[Slot(*self.problem.slot_ids[ordinal])].append(task)
        return tuple(sorted(Worker(slot, tuple(sorted(of))) for slot, of in content.items()))

    def bytes_between_nodes(self, placement: Placement) -> float | None:
        """Return the bytes/s between nodes, None where no tuple's size was measured."""
        if self.load.by_size is None:
            return None
        weighty, mean = self.load.by_size
        resized = replace(self.problem, topologies=weighty.topologies)
        vars(resized)["traffic"] = weighty.traffic
        return mean * inter_node_tuples_per_second(resized, placement)

    def narrowed(self, nodes: tuple[Node, ...]) -> Situation:
        """Return the same situation with only these nodes to choose from."""
        present = self.workers(Placement(self.problem.current_slots()))
        return Situation(self.load, _problem_alone(self.load, nodes, present))


def situation(load: Workload, nodes: tuple[Node, ...], present: tuple[Worker, ...]) -> Situation:
    """Return a topology's situation on nodes that are left to it.

    Parameters
    ----------
    nodes : tuple of Node
        See `Usage.left`.
    present : tuple of Worker
        What runs of this topology now; its slots are its own.
    """
    return Situation(load, _problem_alone(load, nodes, present))


def running_problem(
    state: ClusterState, profiles: Mapping[str, Profile], only: str | None = None
) -> Problem:
    """Return the problem of placing what runs, each topology as in `workload`.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By topology id; those that do not fit are not used, see `unmeasured`.
    only : str, optional
        Id or name of a topology: only this one, on what the others leave.

    Raises
    ------
    InvalidInput
        No topology of this id or name runs.
    """
    topologies = sorted((t for t in state.topologies if t.executors), key=lambda t: t.id)
    loads = {t.id: workload(t, _fitting(profiles, t)) for t in topologies}
    if only is None:
        present = [tuple(sorted(t.assignment)) for t in topologies]
        return _problem(list(loads.values()), Usage(state).left(), present)
    chosen = next((t for t in topologies if only in (t.id, t.name)), None)
    if chosen is None:
        running = ", ".join(t.id for t in topologies) or "none"
        raise InvalidInput(f"no such topology runs (running: {running})", only)
    usage = Usage(state)
    for each in topologies:
        usage.put(loads[each.id], each.assignment)
    present_alone = tuple(sorted(chosen.assignment))
    return situation(loads[chosen.id], usage.left(chosen.id), present_alone).problem


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


def _fitting(profiles: Mapping[str, Profile], running: RunningTopology) -> Profile | None:
    """Return a topology's profile if there is one that fits."""
    profile = profiles.get(running.id)
    return profile if profile and not misfit(profile, running) else None


def _problem(
    loads: Sequence[Workload], nodes: tuple[Node, ...], present: Sequence[tuple[Worker, ...]]
) -> Problem:
    topologies = tuple(load.topology for load in loads)
    bare = Problem(nodes, topologies)
    used = {worker.slot for workers in present for worker in workers}
    lost = sorted(used - {Slot(*slot) for slot in bare.slot_ids})
    lost_slots = tuple((slot.node, slot.port) for slot in lost)
    ordinals = {slot: at for at, slot in enumerate((*bare.slot_ids, *lost_slots))}
    current = [
        load.placement(workers, ordinals).slots
        for load, workers in zip(loads, present, strict=True)
    ]
    none: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    return Problem(nodes, topologies, Placement(np.concatenate((none, *current))), lost_slots)


def _problem_alone(load: Workload, nodes: tuple[Node, ...], present: tuple[Worker, ...]) -> Problem:
    problem = _problem((load,), nodes, (present,))
    # The same whatever the nodes are; to fold it anew for every set of nodes takes most of a round.
    vars(problem)["traffic"] = load.traffic
    return problem
