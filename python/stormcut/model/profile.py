"""What was measured of one running topology: the brain's evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ExecutorLoad:
    """One executor's mean load while it was measured.

    ``cpu_percent`` counts the executor's threads and, for multilang components, its subprocess,
    in points (100 = one core); ``memory_mb`` is the resident memory of the subprocess, None for a
    component inside the JVM, whose memory cannot be told apart. Of a multilang executor,
    ``busiest_percent`` is the CPU of the busiest of its processes - its threads in the JVM, or one
    subprocess -, each of which has one core at most; None if it was not told apart.
    """

    component: str
    start_task: int
    end_task: int
    cpu_percent: float
    memory_mb: float | None
    busiest_percent: float | None = None

    def scaled(self, factor: float) -> ExecutorLoad:
        """Return the load of so many times the tuples; memory does not follow it."""
        busiest = self.busiest_percent
        return replace(
            self,
            cpu_percent=factor * self.cpu_percent,
            busiest_percent=None if busiest is None else factor * busiest,
        )


@dataclass(frozen=True)
class WorkerLoad:
    """What a worker used of its machine, what that has, and what everything on it used.

    Parameters
    ----------
    host, port : str, int
    machine : str
        The same for workers of one machine; empty if this one has a part of a machine for itself,
        such as a container with a quota, which then counts as the machine.
    cpu_percent : float
        Of the worker's process and its subprocesses, in points.
    cores : float
        Of the machine, those that the worker may use.
    machine_percent : float
        Of all processes, in points.
    in_mbit, out_mbit : float
        What the machine's links carried.
    """

    host: str
    port: int
    machine: str
    cpu_percent: float
    cores: float
    machine_percent: float
    in_mbit: float
    out_mbit: float


@dataclass(frozen=True)
class TaskTraffic:
    """Tuples/s from one task to another; bytes per tuple are sampled, None without a sample."""

    source_task: int
    target_task: int
    tuples_per_second: float
    bytes_per_tuple: float | None


@dataclass(frozen=True)
class Profile:
    """Loads and traffic of one topology over a window of ``seconds`` from ``from_epoch_s``."""

    topology: str
    from_epoch_s: int
    to_epoch_s: int
    executors: tuple[ExecutorLoad, ...]
    traffic: tuple[TaskTraffic, ...]
    workers: tuple[WorkerLoad, ...] = ()

    @property
    def seconds(self) -> int:
        """Length of the window in seconds."""
        return self.to_epoch_s - self.from_epoch_s

    def scaled(self, factor: float) -> Profile:
        """Return the profile of so many times the load; memory does not follow it."""
        if factor == 1.0:
            return self
        executors = tuple(executor.scaled(factor) for executor in self.executors)
        traffic = tuple(
            replace(t, tuples_per_second=factor * t.tuples_per_second) for t in self.traffic
        )
        workers = tuple(
            replace(w, machine_percent=w.machine_percent + (factor - 1) * w.cpu_percent)
            for w in self.workers
        )
        return replace(self, executors=executors, traffic=traffic, workers=workers)

    @property
    def cpu_percent(self) -> float:
        """CPU of all measured executors together, in points."""
        return sum(executor.cpu_percent for executor in self.executors)
