"""Maps an allocation to slots by what binds: parts of tasks, spread as far as that raises the rate.

Starts with full bundles and the rest of each task, and splits the task that binds: because its
threads on a slot sustain too little, because a slot's CPU is full, or because it finds no room.
It is split into parts as even as can be, as Storm's shuffle deals each thread the same. Each part
has a slot for itself among its task's, the one with most CPU left; of those about as empty, the one
that it exchanges most tuples with.

Unlike SAM it sets no slot aside for a full bundle: on measured dataflows that leaves one slot to
all other tasks, whose CPU is then full long before the models say so
(docs/results/capacity-runs.md). What CPU and memory threads take is read from the models, or
is what was allocated, if the allocator scaled one thread (`lsa`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.errors import Infeasible
from stormcut.objective.verify import exceeds
from stormcut.placement.algorithms.model_driven.allocation import (
    Allocation,
    Dag,
    PerformanceModel,
    TaskAllocation,
)
from stormcut.placement.algorithms.model_driven.prediction import cpu_by_slot, predict

#: Splitting a task costs tuples between slots: it must raise the rate by this share.
WORTH = 0.01
#: Slots whose CPU differs by no more than this, in percent of a slot, are as empty.
AS_EMPTY = 5.0


@dataclass(frozen=True)
class _ThreadPart:
    """Threads of a task, by its place in the order, on a slot; CPU and memory in percent of it."""

    task: int
    threads: int
    load: tuple[float, float]


def map_allocation(
    models: Mapping[str, PerformanceModel],
    dag: Dag,
    rate: float,
    allocation: Allocation,
    machines: Sequence[int],
) -> Ints:
    """Return the threads of each task on each slot, shape (tasks, slots).

    Takes O(tasks x slots) packings, each O(parts x slots x tasks).

    Parameters
    ----------
    rate : float
        Input of the dataflow, tuples/s.
    machines : sequence of int
        Slots of each machine.

    Raises
    ------
    Infeasible
        A task finds no room, or sustains too little on these slots.
    """
    tasks = allocation.tasks
    packing = _SlotPacking(models, dag, rate, tasks, machines)
    sizes = [_whole(each) for each in tasks]
    best, carried = None, 0.0
    while True:
        threads, binding = packing.of(sizes)
        if threads is not None:
            reached, binding = packing.rate(threads)
            if packing.suffices(threads) and (best is None or reached > carried * (1 + WORTH)):
                best, carried = threads, reached
        if binding is None:
            break
        total, parts = tasks[binding].total.threads, len(sizes[binding])
        more = parts + (sizes[binding] == _even(total, parts))
        # What scales linearly may have several parts on a slot.
        if more > (total if tasks[binding].full_bundle is None else min(total, sum(machines))):
            break
        sizes[binding] = _even(total, more)
    if best is None:
        name = "" if binding is None else f" for task {tasks[binding].task}"
        raise Infeasible(f"cut found none: insufficient resources{name}", "slots")
    return best


def _whole(task: TaskAllocation) -> list[int]:
    """Return the threads of a task's full bundles and those left."""
    rest = task.residual.threads
    return [task.full_bundle or 0] * task.bundles + [rest] * (rest > 0)


def _even(total: int, parts: int) -> list[int]:
    less, more = divmod(total, parts)
    return [less + 1] * more + [less] * (parts - more)


class _SlotPacking:
    """Puts parts on slots.

    Parameters
    ----------
    tasks : sequence of TaskAllocation
        In the order of ``dag``.
    """

    def __init__(
        self,
        models: Mapping[str, PerformanceModel],
        dag: Dag,
        rate: float,
        tasks: Sequence[TaskAllocation],
        machines: Sequence[int],
    ) -> None:
        self._models = models
        self._dag = dag
        self._asked = rate
        self._tasks = tasks
        self._machine = np.repeat(np.arange(len(machines)), machines)
        self._arriving = dag.input_rates(rate)
        self._exchanged = self._exchange()

    def _exchange(self) -> Floats:
        """Return the tuples/s between each two tasks, both ways, shape (tasks, tasks)."""
        position = {task: place for place, task in enumerate(self._dag.order)}
        sums = np.zeros((len(position), len(position)))
        for edge in self._dag.edges:
            sent = self._arriving[edge.source] * edge.selectivity
            sums[position[edge.source], position[edge.target]] += sent
            sums[position[edge.target], position[edge.source]] += sent
        return sums

    def rate(self, threads: Ints) -> tuple[float, int | None]:
        """Return the rate that threads on slots carry, and the task that binds; None: none does."""
        by_threads = predict(self._models, self._dag, threads, shuffle=True)
        cpu = cpu_by_slot(self._models, self._dag, threads, self._asked)
        fullest = int(cpu.sum(axis=0).argmax())
        full = float(cpu[:, fullest].sum())
        by_cpu = self._asked * 100.0 / full if full > 0 else np.inf
        if by_cpu < by_threads.rate:
            return by_cpu, int(cpu[:, fullest].argmax())
        task = by_threads.task
        return by_threads.rate, None if task is None else self._dag.order.index(task)

    def suffices(self, threads: Ints) -> bool:
        """Tell whether slots sustain what is asked, as far as the allocator knew (section 8.5)."""
        if any(each.full_bundle is None for each in self._tasks):
            return True
        return predict(self._models, self._dag, threads).rate >= self._asked * (1 - WORTH)

    def of(self, sizes: Sequence[Sequence[int]]) -> tuple[Ints | None, int | None]:
        """Return parts of such sizes on slots; or None, and the task that finds no room."""
        slots = len(self._machine)
        threads = np.zeros((len(sizes), slots), dtype=np.int64)
        used = np.zeros((slots, 2))
        shares = np.zeros((len(sizes), slots))
        for part in self._parts(sizes):
            room = ~exceeds(used + part.load, np.array([100.0, 100.0])).any(axis=1)
            if len(sizes[part.task]) <= slots:
                room &= threads[part.task] == 0
            options = np.flatnonzero(room)
            if not len(options):
                return None, part.task
            least = used[options, 0].min()
            options = options[used[options, 0] <= least + AS_EMPTY]
            near = self._exchanged[part.task] @ shares
            by_machine = np.bincount(self._machine, near)[self._machine]
            order = np.lexsort((used[options, 0], -by_machine[options], -near[options]))
            slot = options[order[0]]
            used[slot] += part.load
            threads[part.task, slot] += part.threads
            shares[part.task, slot] += part.threads / self._tasks[part.task].total.threads
        return threads, None

    def _parts(self, sizes: Sequence[Sequence[int]]) -> list[_ThreadPart]:
        """Return the parts, those that take most of a slot first."""
        sets = [
            _ThreadPart(task, size, self._load(task, size))
            for task, parts in enumerate(sizes)
            for size in parts
        ]
        return sorted(sets, key=lambda each: -max(each.load))

    def _load(self, task: int, threads: int) -> tuple[float, float]:
        """Return the CPU and memory of some of a task's threads at the asked rate."""
        given = self._tasks[task]
        share = threads / given.total.threads
        if given.full_bundle is None:
            return share * given.total.cpu_percent, share * given.total.memory_percent
        model = self._models[given.task]
        cpu, memory = model.resources(threads)
        busy = share * self._arriving[given.task] / model.peak_rate(threads)
        return cpu * min(1.0, busy), memory
