"""From sums over a task's measured intervals to the loads and the traffic of a profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic

BYTES_PER_MB = 2**20
MS_PER_S = 1000.0


@dataclass(frozen=True)
class Window:
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
    thread_ms, thread_cpu_ms : float
        Length of the intervals that carried the executor's CPU time, and that time.
    workers : tuple of (host, port)
        Where the task ran.
    """

    task: int
    component: str | None
    executor: tuple[int, int] | None = None
    ms: float = 0.0
    sent: int = 0
    local: int = 0
    between_nodes: int = 0
    between_workers: int = 0
    unplaced: int = 0
    acked: int = 0
    failed: int = 0
    complete_ms: float = 0.0
    completed: int = 0
    thread_ms: float = 0.0
    thread_cpu_ms: float = 0.0
    child: ChildTotals | None = None
    workers: tuple[tuple[str, int], ...] = ()

    def per_second(self, count: float) -> float:
        """Return ``count`` per second of this task's measured time, 0 if it has none."""
        return count * MS_PER_S / self.ms if self.ms else 0.0


@dataclass(frozen=True)
class PairTotals:
    """Tuples from one task to another, and how many of them were sampled with how many bytes."""

    source_task: int
    target_task: int
    tuples: int
    sampled_tuples: int
    sampled_bytes: int


def window_of(begin_s: float, end_s: int) -> Window:
    """Return the whole seconds that contain the time from ``begin_s`` to ``end_s``."""
    return Window(math.floor(begin_s), end_s)


def profile_of(
    topology: str, window: Window, tasks: Sequence[TaskTotals], pairs: Iterable[PairTotals]
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
    profile = Profile(topology, window.from_epoch_s, window.to_epoch_s, tuple(executors), traffic)
    return profile, tuple(missing)


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
    cpu = leader.thread_cpu_ms / leader.thread_ms + sum(c.cpu_ms / c.ms for c in children)
    memory = sum(c.rss_byte_ms / c.ms for c in children) / BYTES_PER_MB if children else None
    return ExecutorLoad(leader.component or "", first, last, 100.0 * cpu, memory)
