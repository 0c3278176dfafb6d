"""From sums over a task's measured intervals to the loads and the traffic of a profile."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import reduce
from operator import add

from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic, WorkerLoad

BYTES_PER_MB = 2**20
MS_PER_S = 1000.0


@dataclass(frozen=True)
class ProfileSpan:
    """Epoch seconds from the start of the first interval used to the end of the last."""

    from_epoch_s: int
    to_epoch_s: int

    @property
    def seconds(self) -> int:
        """Length in seconds."""
        return self.to_epoch_s - self.from_epoch_s


@dataclass(frozen=True)
class ChildTotals:
    """Sums over the intervals in which a multilang task's subprocess was sampled.

    ``rss_byte_ms`` is resident bytes times milliseconds: divided by ``ms``, the mean.
    """

    ms: float
    cpu_ms: float
    rss_byte_ms: float

    def scaled(self, factor: float) -> ChildTotals:
        """Return sums that count ``factor`` times."""
        return ChildTotals(*(factor * value for value in astuple(self)))

    def plus(self, other: ChildTotals) -> ChildTotals:
        """Return the sums of both."""
        return ChildTotals(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class WorkerTotals:
    """Sums over the intervals in which a task told of its worker, and of the machine it is on.

    Parameters
    ----------
    host, port : str, int
    machine : str
        A name that it has in common with other workers of the same machine; empty if the worker has
        a part of a machine for itself, such as a container with a quota, which counts as one.
    ms : float
    cpu_ms : float
        CPU time of the worker's process, without its subprocesses'.
    core_ms : float
        Cores of the machine times milliseconds.
    machine_cpu_ms : float
        CPU time of all processes of the machine.
    in_bytes, out_bytes : float
        What the machine's links carried.
    """

    host: str
    port: int
    machine: str
    ms: float
    cpu_ms: float
    core_ms: float
    machine_cpu_ms: float
    in_bytes: float
    out_bytes: float

    def scaled(self, factor: float) -> WorkerTotals:
        """Return sums that count ``factor`` times."""
        sums = (factor * getattr(self, name) for name in _WORKER_SUMS)
        return WorkerTotals(self.host, self.port, self.machine, *sums)

    def plus(self, later: WorkerTotals) -> WorkerTotals:
        """Return the sums of both; the later ones alone if they are of another worker."""
        if (self.host, self.port) != (later.host, later.port):
            return later
        sums = (getattr(self, name) + getattr(later, name) for name in _WORKER_SUMS)
        return WorkerTotals(later.host, later.port, later.machine, *sums)


_WORKER_SUMS = ("ms", "cpu_ms", "core_ms", "machine_cpu_ms", "in_bytes", "out_bytes")


@dataclass(frozen=True)
class TaskTotals:
    """Sums of one task's intervals inside the window; ``ms`` is 0 for a task without any.

    Parameters
    ----------
    component : str or None
        None for a task that is known only because others sent tuples to it.
    executor : (int, int) or None
        First and last task of its executor, None if the hook never reported it.
    between_nodes, between_workers, unplaced : int
        Of the tuples ``sent``: those whose target ran on another node; in another worker, on any
        node; and those of whose target no place is known.
    local : int
        Of the tuples sent, those that the hook itself counted as staying in the worker.
    executed : int
        Tuples a bolt executed.
    thread_ms, thread_cpu_ms : float
        Length of the intervals that carried the executor's CPU time, and that time.
    workers : tuple of (host, port)
        Where the task ran.
    """

    task: int
    component: str | None
    executor: tuple[int, int] | None = None
    ms: float = 0.0
    sent: float = 0
    local: float = 0
    executed: float = 0
    between_nodes: float = 0
    between_workers: float = 0
    unplaced: float = 0
    acked: float = 0
    failed: float = 0
    complete_ms: float = 0.0
    completed: float = 0
    thread_ms: float = 0.0
    thread_cpu_ms: float = 0.0
    child: ChildTotals | None = None
    worker: WorkerTotals | None = None
    workers: tuple[tuple[str, int], ...] = ()

    def per_second(self, count: float) -> float:
        """Return ``count`` per second of this task's measured time, 0 if it has none."""
        return count * MS_PER_S / self.ms if self.ms else 0.0

    @property
    def handled(self) -> float:
        """Tuples executed or, of a spout, sent."""
        return self.executed or self.sent

    @property
    def cpu_percent(self) -> float:
        """CPU in points of its executor's threads, if it is the first task there, and subprocess.

        What was not measured counts nothing.
        """
        threads = self.thread_cpu_ms / self.thread_ms if self.thread_ms else 0.0
        child = self.child.cpu_ms / self.child.ms if self.child and self.child.ms else 0.0
        return 100 * (threads + child)

    def scaled(self, factor: float) -> TaskTotals:
        """Return sums that count ``factor`` times."""
        child = self.child.scaled(factor) if self.child else None
        worker = self.worker.scaled(factor) if self.worker else None
        sums = {name: factor * getattr(self, name) for name in _SUMS}
        return replace(self, child=child, worker=worker, **sums)

    def plus(self, later: TaskTotals) -> TaskTotals:
        """Return the sums of both; who and where it is, as the ``later`` ones say if they do."""
        children = [each.child for each in (self, later) if each.child]
        measured = [each.worker for each in (self, later) if each.worker]
        return replace(
            later if later.ms else self,
            component=later.component or self.component,
            executor=later.executor or self.executor,
            child=reduce(ChildTotals.plus, children) if children else None,
            worker=reduce(WorkerTotals.plus, measured) if measured else None,
            **{n: getattr(self, n) + getattr(later, n) for n in _SUMS},
        )


#: What adds up over intervals, and is a number.
_SUMS = tuple(f.name for f in fields(TaskTotals) if f.type == "float")


@dataclass(frozen=True)
class PairTotals:
    """Tuples from one task to another, and how many of them were sampled with how many bytes."""

    source_task: int
    target_task: int
    tuples: float
    sampled_tuples: float
    sampled_bytes: float

    def scaled(self, factor: float) -> PairTotals:
        """Return sums that count ``factor`` times."""
        counts = (self.tuples, self.sampled_tuples, self.sampled_bytes)
        return PairTotals(self.source_task, self.target_task, *(factor * n for n in counts))

    def plus(self, other: PairTotals) -> PairTotals:
        """Return the sums of both."""
        return PairTotals(
            self.source_task,
            self.target_task,
            self.tuples + other.tuples,
            self.sampled_tuples + other.sampled_tuples,
            self.sampled_bytes + other.sampled_bytes,
        )


def window_of(begin_s: float, end_s: int) -> ProfileSpan:
    """Return the whole seconds that contain the time from ``begin_s`` to ``end_s``."""
    return ProfileSpan(math.floor(begin_s), end_s)


def profile_of(
    topology: str, window: ProfileSpan, tasks: Sequence[TaskTotals], pairs: Iterable[PairTotals]
) -> tuple[Profile, tuple[str, ...]]:
    """Return the mean loads and rates of a window, and the executors that it lacks.

    An executor counts only if every one of its tasks was measured, its threads' CPU time too, and
    its subprocesses where the component has any; otherwise it is named, not set to zero.

    Parameters
    ----------
    tasks : sequence of TaskTotals
        All tasks known of the topology, with one entry each.

    Returns
    -------
    profile : Profile
    missing : tuple of str
        Such as ``count[5-6]``, by first task.
    """
    measured = {task.task: task for task in tasks if task.ms > 0}
    multilang = {task.component for task in measured.values() if task.child}
    executors, missing = [], []
    for first, last, component in _executors(tasks):
        members = [measured.get(task) for task in range(first, last + 1)]
        load = _load(first, last, members, component in multilang)
        if load is None:
            missing.append(f"{component or 'unknown component'}[{first}-{last}]")
        else:
            executors.append(load)
    traffic = tuple(
        TaskTraffic(
            pair.source_task,
            pair.target_task,
            measured[pair.source_task].per_second(pair.tuples),
            pair.sampled_bytes / pair.sampled_tuples if pair.sampled_tuples else None,
        )
        for pair in sorted(pairs, key=lambda pair: (pair.source_task, pair.target_task))
        if pair.source_task in measured
    )
    profile = Profile(
        topology,
        window.from_epoch_s,
        window.to_epoch_s,
        tuple(executors),
        traffic,
        tuple(_workers(tasks)),
    )
    return profile, tuple(missing)


def _workers(tasks: Sequence[TaskTotals]) -> Iterator[WorkerLoad]:
    """Yield what workers and their subprocesses take, and all on their machines."""
    of_children: dict[tuple[str, int], float] = defaultdict(float)
    for task in tasks:
        if task.child and task.child.ms and task.workers:
            of_children[task.workers[-1]] += 100 * task.child.cpu_ms / task.child.ms
    workers = {(w.host, w.port): w for task in tasks if (w := task.worker) and w.ms}
    for place, its in sorted(workers.items()):
        mbit = [8 * count / its.ms / 1000 for count in (its.in_bytes, its.out_bytes)]
        yield WorkerLoad(
            *place,
            its.machine,
            100 * its.cpu_ms / its.ms + of_children[place],
            its.core_ms / its.ms,
            100 * its.machine_cpu_ms / its.ms,
            *mbit,
        )


def _executors(tasks: Sequence[TaskTotals]) -> list[tuple[int, int, str | None]]:
    """Return (first task, last task, component) in order, one-task executors for unknown ones.

    A task that is known only as a target is left out: Storm never reports a metrics consumer's own
    metrics, so that there is always one.
    """
    reported = {task.executor: task.component for task in tasks if task.executor}
    covered = {task for first, last in reported for task in range(first, last + 1)}
    known = [task for task in tasks if task.task not in covered and task.component]
    silent = {(task.task, task.task): task.component for task in known}
    return sorted((*executor, component) for executor, component in (reported | silent).items())


def _load(
    first: int, last: int, members: Sequence[TaskTotals | None], multilang: bool
) -> ExecutorLoad | None:
    tasks = [task for task in members if task is not None]
    leader = members[0]
    if len(tasks) < len(members) or leader is None or not leader.thread_ms:
        return None
    children = [task.child for task in tasks if task.child and task.child.ms]
    if multilang and len(children) < len(members):
        return None
    parts = [100.0 * leader.thread_cpu_ms / leader.thread_ms]
    parts += [100.0 * child.cpu_ms / child.ms for child in children]
    memory = sum(c.rss_byte_ms / c.ms for c in children) / BYTES_PER_MB if children else None
    busiest = max(parts) if children else None
    return ExecutorLoad(leader.component or "", first, last, sum(parts), memory, busiest)
