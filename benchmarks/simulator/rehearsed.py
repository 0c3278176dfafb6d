"""What rehearsals of the controller share: topologies' behaviour as matrices, and its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stormcut.adapters.files.config_file import read_config
from stormcut.arrays import Floats
from stormcut.lab.rehearsal.rehearsal import RehearsedController
from stormcut.model.cluster import RunningExecutor, RunningTopology, Subscription
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic


class Flow(NamedTuple):
    """Tuples from one component to another for 1 tuple/s of the sources.

    ``rates`` has shape (executors of the source, of the target); ``size`` is in bytes a tuple.
    """

    source: str
    target: str
    rates: Floats
    size: float


def running(
    name: str, parts: Mapping[str, int], joined: Sequence[tuple[str, str]], workers: int
) -> RunningTopology:
    """Return a topology of components with so many executors each, which runs nowhere yet."""
    names = [part for part, count in parts.items() for _ in range(count)]
    executors = tuple(
        RunningExecutor(task, task, part, 10.0, 128.0) for task, part in enumerate(names, 1)
    )
    streams = tuple(Subscription(source, target, "default", "fields") for source, target in joined)
    return RunningTopology(f"{name}-1-1700000000", name, workers, executors, streams)


def profile(
    topology: RunningTopology, cpu: Mapping[str, Sequence[float]], flows: Sequence[Flow]
) -> Profile:
    """Return what a topology does for 1 tuple/s of its sources.

    Parameters
    ----------
    cpu : mapping
        Points of CPU of each executor, by component; others take none.
    """
    tasks: dict[str, list[int]] = {}
    for executor in topology.executors:
        tasks.setdefault(executor.component, []).append(executor.start_task)
    loads = tuple(
        ExecutorLoad(name, task, task, points, None)
        for name, own in tasks.items()
        for task, points in zip(own, cpu.get(name, [0.0] * len(own)), strict=True)
    )
    traffic = tuple(
        TaskTraffic(source, target, float(rate), flow.size)
        for flow in flows
        for source, row in zip(tasks[flow.source], flow.rates, strict=True)
        for target, rate in zip(tasks[flow.target], row, strict=True)
        if rate > 0
    )
    return Profile(topology.id, 0, 60, loads, traffic)


def controller(document: Mapping[str, Any], folder: Path) -> RehearsedController:
    """Return a controller as `stormcut operate` would configure it by a file with these keys."""
    whole = {
        "mode": "automatic",
        "zookeeper": {"servers": "localhost:2181", "auth_file": str(folder / "auth")},
        "observe": {"logs": [str(folder / "logs")]},
        **document,
    }
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "auth").touch(mode=0o600)
    (folder / "auth").write_text("stormcut:simulated\n")
    path = folder / "stormcut.yaml"
    path.write_text(yaml.safe_dump(whole))
    config = read_config(path)
    return RehearsedController(config.settings, config.policy, config.watching)
