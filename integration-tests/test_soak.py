"""Faults, one a minute, for long: topologies come back whole each time, nothing piles up."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from small_clusters import SLOW_BUT_SMALL
from stage import PACKING, TOPOLOGIES, Stage

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster

MINUTES = float(os.environ.get("STORMCUT_SOAK_MINUTES", "60"))

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.full,
    pytest.mark.timeout(int(MINUTES * 60 * 3) + 1200),
]

#: Far above what either needs; a leak of an hour shows.
MAX_BRAIN_MB = 600.0
MAX_LOG_BYTES_A_MINUTE = 60_000


class Brain:
    """A brain that is started again when it was killed."""

    def __init__(self, stage: Stage, log: Path) -> None:
        self._stage, self._log = stage, log
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "stormcut.cli.main", "brain", *PACKING],
                env=self._stage.environment,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self._started()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def soaking(folder: Path) -> Iterator[tuple[Stage, Brain]]:
    with LocalCluster.up(
        f"soak-{os.getpid()}",
        supervisors=3,
        slots=4,
        config={**SLOW_BUT_SMALL, "nimbus.task.timeout.secs": 30},
    ) as cluster:
        stage: Stage = Stage(cluster, cluster.nimbus_log)
        brain = Brain(stage, folder / "brain.log")
        try:
            for name in TOPOLOGIES:
                stage.submit(name)
            stage.wait_whole()
            for name in TOPOLOGIES:
                stage.wait_acks(name)
            yield stage, brain
        finally:
            brain.end()


def faults(stage: Stage, brain: Brain, chance: random.Random) -> dict[str, Callable[[], None]]:
    """Return what may go wrong; what each breaks, it mends or Storm does."""
    cluster = stage.cluster

    def daemon_away() -> None:
        number = chance.randrange(3)
        cluster.kill_supervisor(number, workers=False)
        time.sleep(20)
        cluster.start_supervisor(number)

    def node_lost() -> None:
        number = chance.randrange(3)
        cluster.kill_supervisor(number)
        time.sleep(20)
        cluster.start_supervisor(number)

    def worker_killed() -> None:
        psutil.Process(chance.choice(sorted(stage.worker_processes()))).kill()

    return {
        "a worker": worker_killed,
        "a supervisor's daemon for 20 s": daemon_away,
        "a node for 20 s": node_lost,
        "Nimbus": lambda: cluster.restart("nimbus"),
        "ZooKeeper": lambda: cluster.restart("zookeeper"),
        "the brain": brain.kill,
    }


def test_topologies_outlive_a_fault_a_minute(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(13)
    with soaking(tmp_path) as (stage, brain):
        began, struck = time.monotonic(), 0
        while time.monotonic() - began < MINUTES * 60:
            minute = time.monotonic()
            what, strike = chance.choice(list(faults(stage, brain, chance).items()))
            strike()
            struck += 1
            for name in TOPOLOGIES:
                wait_until(
                    lambda name=name: whole(stage, name),
                    240,
                    f"{name} is whole after losing {what}",
                )
                stage.wait_acks(name)
            assert psutil.Process(brain.process.pid).memory_info().rss < MAX_BRAIN_MB * 2**20
            time.sleep(max(0.0, 60 - (time.monotonic() - minute)))
        minutes = (time.monotonic() - began) / 60
        log = stage.log_text(0)
        record_property("faults", struck)
        print(f"{struck} faults in {minutes:.0f} minutes")
    assert struck >= MINUTES / 4
    assert "the round failed" not in log
    assert "a bug in stormcut" not in (tmp_path / "brain.log").read_text()
    ours = sum(len(line) for line in log.splitlines() if "stormcut" in line)
    assert ours < MAX_LOG_BYTES_A_MINUTE * minutes


def whole(stage: Stage, name: str) -> bool:
    try:
        return stage.is_whole(name)
    except Exception:  # Nimbus is on its way back
        return False
