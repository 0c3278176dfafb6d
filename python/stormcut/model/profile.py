"""What was measured of one running topology: the brain's evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ExecutorLoad:
    """One executor's mean load while it was measured.

    ``cpu_percent`` counts the executor's threads and, for multilang components, its subprocess,
    in points (100 = one core); ``memory_mb`` is the resident memory of the subprocess, None for a
    component inside the JVM, whose memory cannot be told apart.
    """

    component: str
    start_task: int
    end_task: int
    cpu_percent: float
    memory_mb: float | None


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

    @property
    def seconds(self) -> int:
        """Length of the window in seconds."""
        return self.to_epoch_s - self.from_epoch_s

    def scaled(self, factor: float) -> Profile:
        """Return the profile of so many times the load; memory does not follow it."""
        if factor == 1.0:
            return self
        executors = tuple(replace(e, cpu_percent=factor * e.cpu_percent) for e in self.executors)
        traffic = tuple(
            replace(t, tuples_per_second=factor * t.tuples_per_second) for t in self.traffic
        )
        return replace(self, executors=executors, traffic=traffic)

    @property
    def cpu_percent(self) -> float:
        """CPU of all measured executors together, in points."""
        return sum(executor.cpu_percent for executor in self.executors)
