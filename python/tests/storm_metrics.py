"""Writes lines exactly as Storm's LoggingMetricsConsumer and log4j pattern '%d %-8r %m%n' do."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path


def metric_line(
    epoch: int,
    host: str,
    port: int,
    task: int,
    component: str,
    name: str,
    value: str,
    jvm_ms: int = 61_000,
    epoch_head: bool = False,
) -> str:
    time = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d %H:%M:%S,123")
    head = f"{epoch if epoch_head else time} {jvm_ms!s:<8} "
    worker = f"{host:>15}:{port!s:<4}"
    source = f"{task:>3}:{component:<11}"
    return f"{head}{epoch}\t{worker}\t{source}\t{name:<23.23}\t{value}"


@dataclass(frozen=True)
class Task:
    """A task whose every interval is alike."""

    task: int
    component: str
    host: str
    port: int
    to: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    executor: tuple[int, int] | None = None
    local: int = 0
    acked: int = 0
    failed: int = 0
    complete_ms: tuple[float, int] = (0.0, 0)
    cpu_ms: float = 500.0
    child: tuple[int, float, int] | None = None
    measured_ms: float | None = None
    worker: dict[str, float | str] | None = None

    def moved(self, host: str, port: int) -> Task:
        return replace(self, host=host, port=port)

    def hook(self, ms: float) -> dict[str, object]:
        first, last = self.executor or (self.task, self.task)
        value: dict[str, object] = {
            "v": 1,
            "task": self.task,
            "component": self.component,
            "executor": [first, last],
            "ms": ms,
            "to": {str(task): list(count) for task, count in self.to.items()},
            "local": self.local,
            "executed": 7,
            "acked": self.acked,
            "failed": self.failed,
            "complete_ms": list(self.complete_ms),
        }
        if self.measured_ms is not None:
            value["measured_ms"] = self.measured_ms
        if first == self.task:
            value["cpu_ms"] = self.cpu_ms
        if self.child is not None:
            value["child"] = dict(zip(("pid", "cpu_ms", "rss_bytes"), self.child, strict=True))
        if self.worker is not None:
            value["worker"] = self.worker
        return value

    def line(self, epoch: int, ms: float = 10_000, **options: bool) -> str:
        value = json.dumps(self.hook(ms), separators=(",", ":"))
        return self.metric(epoch, "stormcut", value, **options)

    def metric(self, epoch: int, name: str, value: str, **options: bool) -> str:
        place = (self.host, self.port, self.task, self.component)
        return metric_line(epoch, *place, name, value, **options)


def write_log(folder: Path, topology: str, port: int, lines: list[str], rolled: int = 0) -> Path:
    """Write ``workers-artifacts/<topology>/<port>/worker.log.metrics[.<rolled>.gz]``."""
    target = folder / "workers-artifacts" / topology / str(port)
    target.mkdir(parents=True, exist_ok=True)
    text = "".join(line + "\n" for line in lines)
    if rolled:
        path = target / f"worker.log.metrics.{rolled}.gz"
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path = target / "worker.log.metrics"
        path.write_text(text)
    return path
