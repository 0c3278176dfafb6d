"""Storm's own ResourceAwareScheduler with DefaultResourceAwareStrategy, executor for executor.

Topology by topology, all or nothing, executors that run nowhere are put one by one: those of the
best connected component first, each together with one of every neighbour. Racks, and nodes within
them, are tried in an order fixed when a topology's turn comes: most executors of this topology
first, then the largest share of what is free (of the scarcer resource; then of the mean). A node
takes an executor if its free CPU and memory suffice and one of its free slots has heap left.

The numbers of workers that topologies ask for are ignored, and so is traffic. What runs stays; a
slot that holds executors takes no further ones. What cannot be placed stays unassigned.

Decisions

- Users, priorities, ages: the format knows none, so all topologies are one user's, of one priority
  and one age. Storm then takes them in the order of their ids (as Java sorts strings), and evicts
  nothing: it only evicts for users with a guaranteed share or for topologies of higher priority.
- A topology without a spout, which Storm refuses, is placed like any other.
- Neighbours are components joined by a stream; a measured pair without a stream counts as one.
- Loads are per executor here, per component in Storm.
- No limit on CPU or memory means more than all topologies together ask for.
- ``max_executors``, unknown to Storm 1.2.4, is a third resource if any node limits it, of which an
  executor needs 1; shares then cover three resources, as those of Storm 2 do.
- Executors on slots that no node offers any more run nowhere.
- Where what runs exceeds a node, if only in the last digit of a sum, Storm throws and Nimbus exits;
  here the node takes nothing more.
- Storm adds loads up in the order of its hash maps, and so does this module, because ties between
  nodes hang on the last bit. Maps of executors are taken as filled in the order of their ids.
- Storm chooses by sums made again for each topology, and then counts its own sums down. Where these
  differ in the last digit and a node is full, it gives the topology up, and so does this module.

References
----------
Apache Storm 1.2.4, ``org.apache.storm.scheduler.resource.ResourceAwareScheduler``, ``RAS_Node`` and
``strategies.scheduling.DefaultResourceAwareStrategy``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem, Topology
from stormcut.placement.algorithms.storm.even import (
    executors_of,
    living_slots,
    storm_executor_order,
)
from stormcut.placement.algorithms.storm.java_order import (
    DEFAULT_CAPACITY,
    bucket_order,
    copied_capacity,
    executor_map_order,
    hash_map_order,
    hash_set_order,
    slot_hash,
    sort_key,
    string_hash,
    string_map_order,
)
from stormcut.placement.graph.component_graph import SYSTEM_PREFIX
from stormcut.placement.options import POSITIVE, Bounded

#: Column of loads that is memory.
MEMORY = 1
#: Rack of nodes that name none (Storm's ``DNSToSwitchMapping.DEFAULT_RACK``).
DEFAULT_RACK = "/default-rack"

_ROUNDING = "by Storm's rounding, a node that is full to the last digit has less left than needed"


@dataclass(frozen=True)
class Options(Bounded):
    """Options of Storm's ResourceAwareScheduler."""

    max_heap_mb: float = field(
        default=768.0,
        metadata={
            "help": "memory of all executors of a worker at most, in MB "
            "(Storm's topology.worker.max.heap.size.mb)",
            "bounds": POSITIVE,
        },
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return what Storm 1.2.4's ResourceAwareScheduler would do in this state.

    Executors of topologies that cannot be placed whole stay unassigned, and a note names each.
    Takes O(executors * nodes), vectorised over nodes.

    Examples
    --------
    >>> from stormcut.model.problem import Component, Node, Topology
    >>> nodes = (Node("a", (6700,), None, 20.0, 999.0), Node("b", (6700,), None, 40.0, 999.0))
    >>> words = Topology("t", (Component.uniform("words", 5),))
    >>> place(Problem(nodes, (words,)), np.random.default_rng(0), Options()).slots.tolist()
    [1, 1, 1, 1, 0]
    """
    slots = living_slots(problem)
    loads, capacity = _resources(problem)
    ledger = _Reservations(problem, loads, capacity, slots)
    racks = _Racks(problem)
    ids = [topology.id for topology in problem.topologies]
    notes = []
    for topology in sorted(range(len(ids)), key=lambda t: sort_key(ids[t])):
        executors = _executors_to_place(problem, topology, slots)
        if not executors:
            continue
        held = slots[executors_of(problem, topology)]
        existing = np.bincount(problem.slot_node[held[held >= 0]], minlength=len(problem.nodes))
        nodes = racks.ranked(ledger.free, existing)
        round_ = _Turn(problem, slots, ledger.free, nodes, options.max_heap_mb)
        missing = next((each for each in executors if not round_.put(each, loads[each])), None)
        if missing is None and ledger.assign(topology, round_.workers):
            for slot, members in round_.workers.items():
                slots[members] = slot
            continue
        ledger.restore()
        why = _ROUNDING if missing is None else _refusal(problem, missing)
        notes.append(f"topology {ids[topology]} is not placed: {why}")
    return Placement(slots, tuple(notes))


def _refusal(problem: Problem, executor: int) -> str:
    _, component, index = next(islice(problem.executor_names(), executor, None))
    cpu, memory = problem.executor_cpu[executor], problem.executor_memory[executor]
    return f"no worker for executor {component}[{index}] ({cpu:g} % CPU, {memory:g} MB)"


def _resources(problem: Problem) -> tuple[Floats, Floats]:
    """Return loads, shape (executors, resources), and capacities, shape (nodes, resources).

    Columns are CPU, memory and, if any node limits them, executors.
    """
    columns: list[tuple[Floats, list[float | None]]] = [
        (problem.executor_cpu, [node.cpu_percent for node in problem.nodes]),
        (problem.executor_memory, [node.memory_mb for node in problem.nodes]),
    ]
    if any(node.max_executors is not None for node in problem.nodes):
        ones = np.ones(problem.executor_count)
        columns.append((ones, [node.max_executors for node in problem.nodes]))
    capacity = np.empty((len(problem.nodes), len(columns)))
    for index, (load, limits) in enumerate(columns):
        plenty = load.sum() + max((limit for limit in limits if limit is not None), default=0.0)
        capacity[:, index] = [plenty if limit is None else limit for limit in limits]
    return np.stack([load for load, _ in columns], axis=1), capacity


def _by_task(problem: Problem, topology: int) -> Ints:
    """Return the executors of a topology in the order of their task ids, which are from 1."""
    first: int = executors_of(problem, topology).start
    return storm_executor_order(problem, topology) + first


def _executors_to_place(problem: Problem, topology: int, slots: Ints) -> list[int]:
    """Return the executors of a topology that run nowhere, in the order in which Storm puts them.

    Component by component, best connected first: one of its executors, one of each neighbour's,
    and again until all these are placed. At last the executors of system components.
    """
    spec = problem.topologies[topology]
    waiting: dict[str, deque[int]] = {}
    first = executors_of(problem, topology).start
    for part in spec.components:
        if not part.name.startswith(SYSTEM_PREFIX):
            own = np.arange(part.executors) + first + spec.offsets[part.name]
            waiting[part.name] = deque(own[slots[own] < 0].tolist())
    size = {part.name: part.executors for part in spec.components}
    neighbours = _neighbours(spec, waiting)
    degree = {name: sum(size[other] for other in neighbours[name]) for name in waiting}
    result: list[int] = []
    for name in sorted(waiting, key=lambda c: (-degree[c] * size[c], sort_key(c))):
        others = sorted(set(neighbours[name]), key=lambda c: (-size[c], sort_key(c)))
        queues = [waiting[name], *(waiting[other] for other in others)]
        while any(queues):
            result.extend(queue.popleft() for queue in queues if queue)
    placed = set(result)
    return result + [e for e in _set_order(problem, topology, slots) if e not in placed]


def _neighbours(topology: Topology, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the components at the other ends of each one's inputs and outputs.

    A component occurs once per stream between the two, one that hears itself twice.
    """
    links = dict.fromkeys((s.source, s.target, s.stream) for s in topology.streams)
    declared = {(source, target) for source, target, _ in links}
    for pair in topology.measured:
        if (pair.source[0], pair.target[0]) not in declared:
            links[pair.source[0], pair.target[0], ""] = None
    result: dict[str, list[str]] = {name: [] for name in names}
    for source, target, _ in links:
        if source in result and target in result:
            result[source].append(target)
            result[target].append(source)
    return result


def _set_order(problem: Problem, topology: int, slots: Ints) -> list[int]:
    """Return a topology's executors that run nowhere in the order of Storm's set of them."""
    executors = _by_task(problem, topology)
    tasks = executor_map_order(range(1, len(executors) + 1), _set_capacity(len(executors)))
    idle = [task for task in tasks if slots[executors[task - 1]] < 0]
    return [int(executors[t - 1]) for t in executor_map_order(idle, _set_capacity(len(idle)))]


def _set_capacity(count: int) -> int:
    """Return the capacity of ``new HashSet<>(collection)`` of that many elements."""
    return max(DEFAULT_CAPACITY, copied_capacity(count))


class _Racks:
    """Racks and their nodes, and the order in which Storm tries them."""

    def __init__(self, problem: Problem) -> None:
        nodes = {node.id: index for index, node in enumerate(problem.nodes)}
        hosts = string_map_order(hash_map_order(nodes))
        rack_of = {host: problem.nodes[nodes[host]].rack or DEFAULT_RACK for host in hosts}
        names = string_map_order(dict.fromkeys(rack_of.values()))
        hosts.sort(key=lambda host: names.index(rack_of[host]))
        #: Nodes in the order in which Storm adds up what they have left, and the rack of each.
        self._nodes = np.array([nodes[host] for host in hosts], dtype=np.int64)
        self._rack = np.array([names.index(rack_of[host]) for host in hosts], dtype=np.int64)
        self._host_names = _name_ranks(hosts)
        self._rack_names = _name_ranks(names)

    def ranked(self, free: Floats, existing: Ints) -> Ints:
        """Return all nodes in the order in which Storm tries them for a topology.

        Parameters
        ----------
        free : array of shape (nodes, resources)
        existing : array of shape (nodes,)
            Executors of the topology that run there.
        """
        if not len(self._nodes):
            return self._nodes
        free, existing = free[self._nodes], existing[self._nodes]
        # add.at and cumsum add in this order, one by one, as Storm does; sum does not.
        in_rack = np.zeros((len(self._rack_names), free.shape[1]))
        np.add.at(in_rack, self._rack, free)
        present = np.bincount(self._rack, existing).astype(np.int64)
        racks = _best_first(present, in_rack, np.cumsum(free, axis=0)[-1], self._rack_names)
        turn = np.argsort(racks)[self._rack]
        best = _best_first(existing, free, in_rack[self._rack], self._host_names, turn)
        return self._nodes[best]


def _name_ranks(names: Sequence[str]) -> Ints:
    order = sorted(range(len(names)), key=lambda index: sort_key(names[index]))
    return np.argsort(np.array(order, dtype=np.int64))


def _best_first(existing: Ints, free: Floats, total: Floats, names: Ints, *major: Ints) -> Ints:
    """Return the order of racks, or of nodes within racks, best first.

    Parameters
    ----------
    free, total : arrays of shape (n, resources)
        What each has left, and what all that it is compared with have.
    names : array of shape (n,)
        Decides ties.
    major : array of shape (n,)
        Comes before everything else.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = free / total * 100.0
        mean = share.sum(axis=1) / share.shape[1]
    scarcest = np.where((total > 0.0).all(axis=-1), share.min(axis=1), 0.0)
    # Where a total is 0, Storm compares NaN with NaN, which are neither less nor greater.
    mean = np.where(np.isfinite(mean), mean, 0.0)
    return np.lexsort((names, -mean, -scarcest, -existing, *major))


def _worker_order(problem: Problem, slots: Sequence[int]) -> list[int]:
    """Return slots of a node in the order of a hash table of Storm's names of them."""
    names = ("{}:{}".format(*problem.slot_ids[slot]) for slot in slots)
    return bucket_order(slots, map(string_hash, names))


class _Turn:
    """One topology's turn.

    Parameters
    ----------
    slots : array of shape (executors,)
        What runs where when it begins; only slots without executors are used.
    free : array of shape (nodes, resources)
        What nodes have left when it begins.
    nodes : array of shape (nodes,)
        Nodes in the order in which to try them.

    Attributes
    ----------
    workers : dict of int to list of int
        Executors put so far by slot, slots in the order of first use.
    """

    def __init__(
        self, problem: Problem, slots: Ints, free: Floats, nodes: Ints, max_heap_mb: float
    ) -> None:
        self.workers: dict[int, list[int]] = {}
        self._problem = problem
        self._nodes = nodes
        self._max_heap = max_heap_mb
        self._free = free[nodes].T.copy()
        self._idle = np.ones(problem.slot_count, dtype=bool)
        self._idle[slots[slots >= 0]] = False
        offered = np.bincount(problem.slot_node[self._idle], minlength=len(problem.nodes))
        #: The largest memory that a slot of each node, in the order of ``nodes``, can still take.
        self._heap = np.where(offered[nodes] > 0, max_heap_mb, -np.inf)
        self._slots: dict[int, list[int]] = {}
        self._used: dict[int, float] = {}

    def put(self, executor: int, load: Floats) -> bool:
        """Put an executor into the first worker that takes it; return whether there is one."""
        memory = float(load[MEMORY])
        fits = self._heap >= memory
        for free, need in zip(self._free, load, strict=True):
            fits &= free >= need
        index = int(fits.argmax()) if len(fits) else 0
        if not fits[index : index + 1].any():
            return False
        slots = self._slots_of(int(self._nodes[index]))
        slot = next(slot for slot in slots if self._room(slot) >= memory)
        self._free[:, index] -= load
        self._used[slot] = self._used.get(slot, 0.0) + memory
        self._heap[index] = max(self._room(slot) for slot in slots)
        self.workers.setdefault(slot, []).append(executor)
        return True

    def _room(self, slot: int) -> float:
        return self._max_heap - self._used.get(slot, 0.0)

    def _slots_of(self, node: int) -> list[int]:
        """Return a node's slots without executors in the order of Storm's set of them."""
        if node not in self._slots:
            name = self._problem.nodes[node].id
            ports = hash_set_order(self._problem.nodes[node].ports)
            slots = _worker_order(
                self._problem, [self._problem.slot_ordinals[name, port] for port in ports]
            )
            self._slots[node] = [slot for slot in slots if self._idle[slot]]
        return self._slots[node]


class _Reservations:
    """What nodes have left, loads subtracted one by one in the order in which Storm does.

    Parameters
    ----------
    loads : array of shape (executors, resources)
    capacity : array of shape (nodes, resources)
    slots : array of shape (executors,)
        What runs where at first.

    Attributes
    ----------
    free : array of shape (nodes, resources)
    """

    def __init__(self, problem: Problem, loads: Floats, capacity: Floats, slots: Ints) -> None:
        self.free = capacity.copy()
        self._problem = problem
        self._loads = loads
        self._capacity = capacity
        self._ordinal = {topology.id: index for index, topology in enumerate(problem.topologies)}
        #: Slot of every task that runs, topologies and tasks in the order of Storm's maps.
        self._slot_of: dict[int, dict[int, int]] = {}
        #: Per node, executors by topology in the order in which Storm visits them.
        self._held: list[dict[int, list[int]]] = [{} for _ in problem.nodes]
        for topology in range(len(problem.topologies)):
            task_slots = slots[_by_task(problem, topology)].tolist()
            tasks = executor_map_order(t for t, slot in enumerate(task_slots, start=1) if slot >= 0)
            if tasks:
                self._record(topology, {task: task_slots[task - 1] for task in tasks})
        #: What nodes have left as counted down since a topology failed last.
        self._counted = self.free.copy()

    def restore(self) -> None:
        """Forget what was counted down, as Storm does after a topology that it did not place."""
        self._counted = self.free.copy()

    def assign(self, topology: int, workers: Mapping[int, Sequence[int]]) -> bool:
        """Take in new workers: executors by slot, slots in the order of first use.

        Returns False, and takes in none, if what was counted down does not suffice.
        """
        for slot in self._by_hash(workers):
            node, loads = self._problem.slot_node[slot], self._loads[workers[slot]]
            left = np.subtract.accumulate(np.vstack((self._counted[node], loads)), axis=0)
            if (loads > left[:-1]).any():
                return False
            self._counted[node] = left[-1]
        executors = _by_task(self._problem, topology)
        task_of = dict(zip(executors.tolist(), range(1, len(executors) + 1), strict=True))
        new = {task_of[e]: slot for slot in self._by_hash(workers) for e in workers[slot]}
        self._record(topology, new)
        return True

    def _by_hash(self, slots: Iterable[int]) -> list[int]:
        """Return slots in the order of a hash map with Storm's ``WorkerSlot`` as keys."""
        slots = list(slots)
        return bucket_order(slots, (slot_hash(*self._problem.slot_ids[slot]) for slot in slots))

    def _record(self, topology: int, new: dict[int, int]) -> None:
        slot_of = self._slot_of.get(topology, {}) | new
        tasks = executor_map_order(slot_of, copied_capacity(len(slot_of)))
        before = self._topology_order()
        self._slot_of[topology] = {task: slot_of[task] for task in tasks}
        after = self._topology_order()
        nodes = self._hold(topology)
        if [t for t in after if t != topology] != before:
            nodes = list(range(len(self._held)))
        for node in nodes:
            self._subtract(node, after)

    def _topology_order(self) -> list[int]:
        """Return the topologies that run in the order of Storm's map of assignments."""
        return self._by_id(self._slot_of, 1)

    def _by_id(self, topologies: Iterable[int], capacity: int) -> list[int]:
        """Return topologies in the order of a hash table of their ids."""
        ids = [self._problem.topologies[topology].id for topology in topologies]
        return [self._ordinal[each] for each in string_map_order(ids, capacity)]

    def _hold(self, topology: int) -> list[int]:
        """Note the executors of a topology on each node, and return these nodes."""
        executors = _by_task(self._problem, topology).tolist()
        workers: dict[int, list[int]] = {}
        for task, slot in self._slot_of[topology].items():
            workers.setdefault(slot, []).append(executors[task - 1])
        slots: dict[int, list[int]] = {}
        for slot in self._by_hash(workers):
            slots.setdefault(int(self._problem.slot_node[slot]), []).append(slot)
        for node, own in slots.items():
            order = _worker_order(self._problem, own)
            self._held[node][topology] = [e for slot in order for e in workers[slot]]
        return list(slots)

    def _subtract(self, node: int, topologies: Sequence[int]) -> None:
        here = [topology for topology in topologies if topology in self._held[node]]
        order = self._by_id(here, DEFAULT_CAPACITY)
        executors = [e for topology in order for e in self._held[node][topology]]
        rows = np.vstack((self._capacity[node], self._loads[executors]))
        self.free[node] = np.subtract.reduce(rows, axis=0)
