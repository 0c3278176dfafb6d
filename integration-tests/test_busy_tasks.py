"""Tasks too busy to be measured all the time: what the profile says is still what they do."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from stormcut.adapters.machine import home
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.storm.sparse_submit import submit

pytestmark = [pytest.mark.cluster, pytest.mark.full]

INTERVAL_S = 5
INTERVALS = 6
#: A source, a bolt, an acker: busy; and the metrics consumer, which is not.
TASKS = 4
#: The fastest topology there is here: two tasks in one worker, and an acker.
OPTIONS: dict[str, object] = {
    "rig.language": "java",
    "rig.bolts": 1,
    "rig.tasks": 1,
    "rig.payload": 0,
    "topology.acker.executors": 1,
    "topology.max.spout.pending": 5000,
    "topology.sleep.spout.wait.strategy.time.ms": 1,
    "stormcut.hook.interval.secs": INTERVAL_S,
    # Whatever this machine can do: these tasks are busy.
    "stormcut.hook.busy.per.sec": 1000,
}


def test_a_busy_task_s_rate_is_known_though_it_is_measured_a_fortieth_of_the_time(
    tmp_path: Path,
) -> None:
    with LocalCluster.up(f"busy-{os.getpid()}", supervisors=1, slots=1) as cluster:
        results = cluster.folder / "results"
        submit(
            project=home.topologies(),
            topology="linear",
            name="busy",
            nimbus=cluster.nimbus_address,
            workers=1,
            options={**OPTIONS, "rig.results": str(results)},
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=cluster.folder / "sparse",
            jar=home.topologies_jar(),
        )
        wait_until(lambda: acked(results), 150, "the source acks")
        logs = cluster.log_folders
        wait_until(lambda: len(lines(logs)) >= 2, 60, "the first interval is over")
        begin, before = time.time(), acked(results)
        enough = len(lines(logs)) + TASKS * (INTERVALS + 1)
        wait_until(lambda: len(lines(logs)) >= enough, 120, "some intervals are over")
        exact = (acked(results) - before) / (time.time() - begin) * 10
        rested = [line for line in lines(logs) if '"measured_ms":' in line]
        topology = cluster.nimbus.topology_id("busy")
        result = profile_logs(logs, tmp_path, from_epoch=begin, warm_up=0)
    assert topology is not None
    assert len(rested) >= (TASKS - 1) * INTERVALS
    assert result.measured[topology].acked_per_10_s == pytest.approx(exact, rel=0.25)


def acked(results: Path) -> int:
    """Return what the source has counted itself, every tuple."""
    return sum(json.loads(path.read_text())["acked"] for path in results.glob("source-*.json"))


def lines(logs: tuple[Path, ...]) -> list[str]:
    """Return the hook's lines, one for each task and interval."""
    files = [log for folder in logs for log in folder.rglob("worker.log.metrics")]
    found = (log.read_text().splitlines() for log in files)
    return [line for each in found for line in each if "\tstormcut " in line]
