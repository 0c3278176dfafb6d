"""What one topology did in a measured window: the numbers shown before and after a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stormcut.model.profile import Profile
from stormcut.profile.totals import TaskTotals


@dataclass(frozen=True)
class Measured:
    """Means over a window, all from the hook's own counts.

    Parameters
    ----------
    window_s : int
        Length of the window in seconds.
    emitted_per_s : float
        Tuples/s sent from task to task, system streams included.
    between_nodes_per_s, between_workers_per_s : float
        Of those, the ones whose target ran on another node, and in another worker on any node.
    between_workers_by_hook_per_s : float
        The latter once more, from the hook's own counter of tuples that stayed in the worker.
    unplaced_per_s : float
        Tuples/s whose target's place is unknown: in neither of the two above.
    acked_per_10_s : float
        Tuples acked at the spouts in 10 s.
    failed : int
        Tuples failed at the spouts in the whole window.
    complete_latency_ms : float or None
        Mean complete latency, None if no tuple was sampled.
    nodes_used, workers_used : int
        Hosts, and host:port pairs, where measured tasks ran.
    cpu_percent : float
        CPU of all measured executors together, in points (100 = one core).
    missing_executors : tuple of str
        Executors without a full sample: what they did is in none of the numbers.
    carried : float or None
        Of the tuples sent to bolts, the share that they executed; lower where queues grew. None if
        no bolt executed any.
    """

    topology: str
    from_epoch_s: int
    to_epoch_s: int
    window_s: int
    emitted_per_s: float
    between_nodes_per_s: float
    between_workers_per_s: float
    between_workers_by_hook_per_s: float
    unplaced_per_s: float
    acked_per_10_s: float
    failed: int
    complete_latency_ms: float | None
    nodes_used: int
    workers_used: int
    cpu_percent: float
    missing_executors: tuple[str, ...]
    carried: float | None = None


def measure(
    profile: Profile,
    missing: tuple[str, ...],
    tasks: Sequence[TaskTotals],
    builtin_latency_ms: float | None = None,
) -> Measured:
    """Return the summary of a profiled window.

    Each task's counts are divided by the time for which that task was measured, then added up:
    a late or missing interval does not bend the sum.

    Parameters
    ----------
    builtin_latency_ms : float, optional
        Storm's own complete latency, used when the hook sampled none.
    """
    completed = sum(task.completed for task in tasks)
    latency = sum(task.complete_ms for task in tasks) / completed if completed else None
    workers = {worker for task in tasks for worker in task.workers}
    return Measured(
        topology=profile.topology,
        from_epoch_s=profile.from_epoch_s,
        to_epoch_s=profile.to_epoch_s,
        window_s=profile.seconds,
        emitted_per_s=sum(t.per_second(t.sent) for t in tasks),
        between_nodes_per_s=sum(t.per_second(t.between_nodes) for t in tasks),
        between_workers_per_s=sum(t.per_second(t.between_workers) for t in tasks),
        between_workers_by_hook_per_s=sum(t.per_second(t.sent - t.local) for t in tasks),
        unplaced_per_s=sum(t.per_second(t.unplaced) for t in tasks),
        acked_per_10_s=10 * sum(t.per_second(t.acked) for t in tasks),
        failed=round(sum(task.failed for task in tasks)),
        complete_latency_ms=builtin_latency_ms if latency is None else latency,
        nodes_used=len({host for host, _ in workers}),
        workers_used=len(workers),
        cpu_percent=profile.cpu_percent,
        missing_executors=missing,
        carried=_carried(profile, tasks),
    )


def _carried(profile: Profile, tasks: Sequence[TaskTotals]) -> float | None:
    executed = {task.task: task.per_second(task.executed) for task in tasks if task.executed}
    sent = sum(p.tuples_per_second for p in profile.traffic if p.target_task in executed)
    return sum(executed.values()) / sent if sent else None
