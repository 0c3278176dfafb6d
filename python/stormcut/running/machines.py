"""What machines really have: their cores, and what else than Storm's tuples uses them.

`supervisor.cpu.capacity` is what somebody has written down, mostly nobody: Storm's 400 points stand
for any machine. The hook tells the cores that a worker may use, and the CPU and the bytes of
everything on its machine. What the model does not explain of these - other programs, garbage
collection, a bolt's own threads, what a crawler fetches - is taken to stay wherever executors go.
What is left counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stormcut.model.cluster import ClusterState, RunningTopology, Supervisor, Worker
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT, Problem
from stormcut.model.profile import Profile, WorkerLoad
from stormcut.objective.resources import CPU, LINK_IN, LINK_OUT, costs_of, uses
from stormcut.running.declared import LINK_KEY, link
from stormcut.running.situation import fitting, situation
from stormcut.running.usage import Usage
from stormcut.running.workload import Workload, misfit, workload

#: Points, and Mbit/s, to which what is left is rounded: a decision must not hang on noise.
STEP_PERCENT, STEP_MBIT = 5.0, 0.1

#: What others use counts as changed if it has by so much of the machine's CPU, or so many Mbit/s,
#: and of what it was; it is looked at once no worker has come or gone for so many seconds.
MIN_CHANGE, MIN_MBIT, QUIET_S = 0.05, 0.5, 180.0
#: Part of a machine's CPU that others use of which people are told.
MUCH = 0.1
#: Part of a shared machine's CPU in use of which people are told, and how many nodes are named.
NEARLY_FULL, SHOWN = 0.9, 2

LoadOf = Callable[[RunningTopology], Workload]


@dataclass(frozen=True)
class Machine:
    """A node as it is: points of CPU that it has, and what is used of it by nobody's tuples.

    ``declared_percent`` is `supervisor.cpu.capacity`, None without one; ``other_percent``,
    ``other_in_mbit`` and ``other_out_mbit`` are what the model does not explain.
    """

    host: str
    declared_percent: float | None
    real_percent: float
    used_percent: float
    other_percent: float
    other_in_mbit: float
    other_out_mbit: float

    @property
    def left_percent(self) -> float:
        """Points that Storm's executors and their transfer may use."""
        left = self.real_percent - self.other_percent
        return left if self.declared_percent is None else min(left, self.declared_percent)

    def __str__(self) -> str:
        declared, cores = self.declared_percent, self.real_percent / CORE_PERCENT
        capacity = "no capacity" if declared is None else f"{declared:g} points"
        return (
            f"{self.host} declares {capacity} and has {self.real_percent:g} ({cores:g} cores); "
            f"{self.used_percent:.0f} are used, {self.other_percent:.0f} of them not for tuples"
        )

    @property
    def is_news(self) -> bool:
        """Whether it has less than was declared, or others use much of it."""
        declared, most = self.declared_percent, MUCH * self.real_percent
        has_less = declared is None or declared > self.real_percent + STEP_PERCENT
        return has_less or self.other_percent > most


@dataclass(frozen=True)
class SharedMachine:
    """A machine without quotas on which several nodes are: its points, and who uses them.

    ``explained_percent`` is what the model explains of ``used_percent``, all nodes together.
    """

    hosts: tuple[str, ...]
    real_percent: float
    used_percent: float
    explained_percent: float

    @property
    def headroom(self) -> float:
        """Times the rates at which the machine is full; infinite if no tuple uses any of it."""
        others = max(0.0, self.used_percent - self.explained_percent)
        its = self.explained_percent
        return max(0.0, self.real_percent - others) / its if its > 0 else math.inf

    @property
    def name(self) -> str:
        """Whose machine it is."""
        more = len(self.hosts) - SHOWN
        named = ", ".join(self.hosts[:SHOWN]) + (f" and {more} more" if more > 0 else "")
        return f"the machine of {named}"

    @property
    def is_news(self) -> bool:
        """Whether it is nearly full."""
        return self.used_percent >= NEARLY_FULL * self.real_percent

    def __str__(self) -> str:
        return f"{self.name} has {self.real_percent:g} points; {self.used_percent:.0f} are used"


@dataclass(frozen=True)
class Machines:
    """What is known of nodes' machines from round to round.

    What other programs use is learned while workers stay where they are, and only if it has changed
    by much: a decision must not hang on noise, nor on what a worker used that has just left.

    Parameters
    ----------
    known : mapping of str to Machine
        By supervisor.
    workers : frozenset of (str, Worker)
        Those that ran when a state was seen last, with their topologies.
    since : float
        When they last changed, in seconds of a clock that never runs back.
    shared : mapping of str to SharedMachine
        By supervisor, as workers report them now: of several nodes nobody knows which may use what.
    """

    known: Mapping[str, Machine] = field(default_factory=dict)
    workers: frozenset[tuple[str, Worker]] = frozenset()
    since: float = 0.0
    shared: Mapping[str, SharedMachine] = field(default_factory=dict)

    def observe(
        self,
        state: ClusterState,
        read: Mapping[str, Machine],
        now: float,
        shared: Mapping[str, SharedMachine] | None = None,
    ) -> Machines:
        """Return what is known once a state, and what was read of its machines, was seen."""
        workers = frozenset((t.id, worker) for t in state.topologies for worker in t.assignment)
        since = self.since if workers == self.workers else now
        is_quiet = now - since >= QUIET_S
        known = {
            each.id: machine
            for each in state.supervisors
            if (machine := self._learn(each.id, read.get(each.id), is_quiet))
        }
        return Machines(known, workers, since, shared or {})

    def _learn(self, node: str, read: Machine | None, is_quiet: bool) -> Machine | None:
        before = self.known.get(node)
        if read is None:
            return before
        least = {
            "other_percent": MIN_CHANGE * read.real_percent,
            "other_in_mbit": MIN_MBIT,
            "other_out_mbit": MIN_MBIT,
        }
        others: dict[str, Any] = {}
        for name, change in least.items():
            old, new = getattr(before, name, 0.0), getattr(read, name)
            has_changed = abs(new - old) > max(change, MIN_CHANGE * old)
            others[name] = new if is_quiet and has_changed else old
        return replace(read, **others)

    def limited(self, state: ClusterState, load_of: LoadOf) -> ClusterState:
        """Return a state in which nodes have no more than their machines leave.

        Never less than what runs there is measured to use: nobody has to leave for a measurement.
        """
        if not self.known:
            return state
        runs: dict[str, float] = defaultdict(float)
        for topology in state.topologies:
            cpu = load_of(topology).cpu_percent if topology.executors else {}
            for worker in topology.assignment:
                runs[worker.slot.node] += sum(cpu.get(task, 0.0) for task in worker.executors)
        supervisors = tuple(
            _limit(each, self.known[each.id], runs[each.id]) if each.id in self.known else each
            for each in state.supervisors
        )
        return replace(state, supervisors=supervisors)


def read_machines(
    state: ClusterState, profiles: Mapping[str, Profile], costs: Costs | None, load_of: LoadOf
) -> dict[str, Machine]:
    """Return what workers report of their machines now, by supervisor.

    Only where all workers of a node have reported since they run there, and no other supervisor
    shares its machine. Takes as long as `uses`.
    """
    reports = _reports(state, profiles)
    shared = set(_shared(state, reports))
    own = {node: its for node, its in reports.items() if node not in shared}
    if not own:
        return {}
    explained = _explained(state, own, costs, load_of)
    hosts = {each.id: each for each in state.supervisors}

    def unexplained(node: str, name: str, kind: str) -> float:
        return max(0.0, _mean(own[node], name) - explained[node][kind])

    return {
        node: Machine(
            hosts[node].host,
            hosts[node].cpu_percent,
            CORE_PERCENT * min(each.cores for each in its),
            _mean(its, "machine_percent"),
            unexplained(node, "machine_percent", CPU),
            unexplained(node, "in_mbit", LINK_IN),
            unexplained(node, "out_mbit", LINK_OUT),
        )
        for node, its in own.items()
    }


def read_shared_machines(
    state: ClusterState, profiles: Mapping[str, Profile], costs: Costs | None, load_of: LoadOf
) -> dict[str, SharedMachine]:
    """Return what workers report of machines on which several nodes are, by supervisor."""
    reports = _reports(state, profiles)
    on_machine = {m: n for m, n in _by_machine(reports).items() if len(n) > 1}
    if not on_machine:
        return {}
    every = {node: reports[node] for nodes in on_machine.values() for node in nodes}
    explained = _explained(state, every, costs, load_of)
    hosts = {each.id: each.host for each in state.supervisors}
    machines = {}
    for nodes in on_machine.values():
        its = [each for node in nodes for each in reports[node]]
        machine = SharedMachine(
            tuple(sorted(hosts[node] for node in nodes)),
            CORE_PERCENT * min(each.cores for each in its),
            _mean(its, "machine_percent"),
            sum(explained[node][CPU] for node in nodes),
        )
        machines.update(dict.fromkeys(nodes, machine))
    return machines


def _explained(
    state: ClusterState, nodes: Iterable[str], costs: Costs | None, load_of: LoadOf
) -> dict[str, dict[str, float]]:
    """Return what the model explains of the use of each node given, by kind of resource."""
    topologies = [each for each in state.topologies if each.executors]
    loads = [load_of(each) for each in topologies]
    presents = [tuple(sorted(each.assignment)) for each in topologies]
    problem = situation(loads, Usage(state, costs).left(), presents, costs).problem
    placement = Placement(problem.current_slots())
    used = {use.kind: use.load for use in uses(problem, placement)}
    used[CPU] = used[CPU] + _of_workers(problem, placement)
    ordinal_of = {node.id: ordinal for ordinal, node in enumerate(problem.nodes)}
    kinds = (CPU, LINK_IN, LINK_OUT)
    return {node: {kind: float(used[kind][ordinal_of[node]]) for kind in kinds} for node in nodes}


def with_real_capacity(
    state: ClusterState, profiles: Mapping[str, Profile], costs: Costs | None = None
) -> ClusterState:
    """Return a state in which nodes have what their machines leave, as workers report it now."""
    loads = {
        t.id: workload(t, fitting(profiles, t), costs) for t in state.topologies if t.executors
    }

    def load_of(topology: RunningTopology) -> Workload:
        return loads[topology.id]

    return Machines(read_machines(state, profiles, costs, load_of)).limited(state, load_of)


def _mean(its: Sequence[WorkerLoad], name: str) -> float:
    values: list[float] = [getattr(each, name) for each in its]
    return sum(values) / len(values)


def _limit(supervisor: Supervisor, machine: Machine, runs: float) -> Supervisor:
    left = max(_round_to(machine.left_percent, STEP_PERCENT), runs)
    if supervisor.cpu_percent is not None:
        left = min(left, supervisor.cpu_percent)
    its, meta = link(supervisor), dict(supervisor.meta)
    ways = {
        way: max(_round_to(most - other, STEP_MBIT), STEP_MBIT)
        for way, most, other in (
            ("out", its.out, machine.other_out_mbit),
            ("in", its.into, machine.other_in_mbit),
        )
        if most is not None
    }
    if ways:
        meta[LINK_KEY] = ",".join(f"{way}={most:g}" for way, most in ways.items())
    return replace(supervisor, cpu_percent=left, meta=meta)


def _round_to(value: float, step: float) -> float:
    return step * round(value / step)


def _of_workers(problem: Problem, placement: Placement) -> npt.NDArray[np.float64]:
    """Return the CPU in points that idle workers take of each node."""
    slots = np.unique(placement.slots[placement.slots >= 0])
    count = np.bincount(problem.slot_hosts[slots], minlength=len(problem.nodes))
    return np.asarray(costs_of(problem).worker_percent * count, dtype=np.float64)


def _reports(
    state: ClusterState, profiles: Mapping[str, Profile]
) -> dict[str, tuple[WorkerLoad, ...]]:
    """Return what all workers of a node report of it, by supervisor."""
    loads = {
        (topology.id, worker.host, worker.port): worker
        for topology in state.topologies
        if (profile := profiles.get(topology.id)) and not misfit(profile, topology)
        for worker in profile.workers
    }
    hosts = {supervisor.id: supervisor.host for supervisor in state.supervisors}
    of: dict[str, list[WorkerLoad | None]] = defaultdict(list)
    for topology in state.topologies:
        for worker in topology.assignment:
            host = hosts.get(worker.slot.node, "")
            of[worker.slot.node].append(loads.get((topology.id, host, worker.slot.port)))
    return {
        node: tuple(each for each in its if each is not None)
        for node, its in of.items()
        if node in hosts and None not in its
    }


def _by_machine(reports: Mapping[str, tuple[WorkerLoad, ...]]) -> dict[str, set[str]]:
    """Return the nodes on each machine that has a name."""
    on_machine: dict[str, set[str]] = defaultdict(set)
    for node, its in reports.items():
        for worker in its:
            if worker.machine:
                on_machine[worker.machine].add(node)
    return on_machine


def _shared(state: ClusterState, reports: Mapping[str, tuple[WorkerLoad, ...]]) -> Iterator[str]:
    """Yield the nodes whose machine is another one's, too, or whose host another one names."""
    on_host: dict[str, set[str]] = defaultdict(set)
    for supervisor in state.supervisors:
        on_host[supervisor.host].add(supervisor.id)
    for nodes in (*_by_machine(reports).values(), *on_host.values()):
        if len(nodes) > 1:
            yield from nodes
