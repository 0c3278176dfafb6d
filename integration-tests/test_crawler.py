"""StormCrawler, an application of others, under the controller in automatic mode.

Both cores of the machine are full. Once the controller told a head-room of 4.44 here, and put the
four workers that the crawl asks for into one, on one of four nodes, within 30 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stormcut.adapters.machine import home
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.processes.controller import controller_process, write_configuration
from stormcut.model.summaries import ExecutorSummary, TopologyInfo

pytestmark = [pytest.mark.cluster, pytest.mark.full, pytest.mark.timeout(2400)]

PROJECT = Path(__file__).with_name("crawler")
JAVA = str(home.storm_java() / "bin" / "java")
NAME, PORT = "crawl", 18_088
SUPERVISORS, SLOTS, WORKERS, PARALLELISM = 4, 2, 4, 4
WINDOW_S, AUTOMATIC_S = 60.0, 600.0
#: A lost node is noticed within a minute, also while both cores are full.
IMPATIENT = {
    "storm.zookeeper.session.timeout": 30_000,
    "nimbus.supervisor.timeout.secs": 40,
    "nimbus.task.timeout.secs": 40,
    "nimbus.task.launch.secs": 120,
}
#: Of a rate that two windows of the same placement differ by, on a full machine.
NOISE = 0.2
#: Both cores are in use: no placement carries twice the rate.
FULL = 2.0


@pytest.fixture(scope="module")
def jar() -> Path:
    subprocess.run(["mvn", "-B", "-q", "-f", str(PROJECT / "pom.xml"), "package"], check=True)
    return PROJECT / "target" / "crawler.jar"


@contextmanager
def pages(jar: Path) -> Iterator[None]:
    """Serve pages to crawl on this machine until the block ends."""
    # Not that of Storm, which may lack the module of the server.
    command = ["java", "-Xmx64m", "-cp", str(jar), "stormcut.crawler.Pages", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("serves ")
            yield
        finally:
            server.terminate()


def submit(cluster: LocalCluster, jar: Path) -> None:
    host, _, port = cluster.nimbus_address.rpartition(":")
    classes = f"{home.storm_lib()}/*:{jar}"
    arguments = [NAME, str(PARALLELISM), str(WORKERS), "0", host, port]
    subprocess.run(
        [
            *(JAVA, f"-Dstorm.jar={jar}", "-cp", classes),
            *("stormcut.crawler.Crawl", *arguments),
        ],
        check=True,
        capture_output=True,
        timeout=180,
    )


def told(cluster: LocalCluster, *arguments: str) -> Any:
    command = [sys.executable, "-m", "stormcut.cli.main", *arguments, "--json"]
    environment = {**os.environ, **cluster.environment()}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Crawl:
    """The crawl, as Nimbus counts it."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster

    def info(self) -> TopologyInfo:
        return self._cluster.nimbus.topology(NAME)

    def _spouts(self) -> list[ExecutorSummary]:
        return [each for each in self.info().executors if each.component == "spout"]

    def acked(self) -> int:
        return sum(each.acked for each in self._spouts())

    def failed(self) -> int:
        return sum(each.failed for each in self._spouts())

    def nodes(self) -> set[str]:
        return {host for host, _ in self.info().workers}

    def runs(self, workers: int) -> bool:
        """Whether all of it runs, in that many workers, and acks."""
        spouts = self._spouts()
        return len(self.info().workers) == workers and all(each.acked > 0 for each in spouts)

    def acked_per_s(self) -> float:
        """Return the URLs/s acked over a window in which nothing moved, once its code is warm."""
        self._window()
        return self._window()

    def _window(self) -> float:
        while True:
            before, workers, began = self.acked(), self.info().workers, time.monotonic()
            over = began + WINDOW_S
            wait_until(lambda over=over: time.monotonic() > over, 2 * WINDOW_S, "a window")
            rate = (self.acked() - before) / (time.monotonic() - began)
            if self.info().workers == workers:
                return rate


def test_a_crawl_is_never_worse_than_under_storm_alone(tmp_path: Path, jar: Path) -> None:
    name = f"tests-crawler-{os.getpid()}"
    config = {**IMPATIENT, "stormcut.hook.interval.secs": 10}
    with pages(jar), LocalCluster.up(name, SUPERVISORS, SLOTS, config=config) as cluster:
        submit(cluster, jar)
        crawl = Crawl(cluster)
        wait_until(lambda: crawl.runs(WORKERS), 240, "it crawls", watch=cluster.watch(NAME))
        alone = crawl.acked_per_s()
        print(f"{alone:.0f} URLs/s alone, {sorted(crawl.nodes())}", flush=True)
        assert crawl.failed() == 0

        logs = [str(folder) for folder in cluster.log_folders]
        profiled = told(cluster, "profile", *logs, "--output", str(tmp_path / "profile"))
        assert [each["missing_executors"] for each in profiled["topologies"]] == [[]]

        with controller_process(cluster, write_configuration(cluster)) as controller:
            began, seen, rooms = time.monotonic(), set(), []

            def watched() -> bool:
                controller.check()
                (status,) = told(cluster, "status")["topologies"]
                seen.add((len(crawl.info().workers), len(crawl.nodes())))
                if status["headroom"] is not None:
                    rooms.append(status["headroom"])
                said = {name: status[name] for name in ("headroom", "fullest", "decision")}
                print(f"{time.monotonic() - began:.0f} s: {said}", flush=True)
                return time.monotonic() > began + AUTOMATIC_S

            wait_until(watched, 2 * AUTOMATIC_S, "ten minutes of automatic mode", poll_s=15)
            wait_until(lambda: crawl.runs(WORKERS), 240, "it crawls", watch=cluster.watch(NAME))
            ours = crawl.acked_per_s()
            print(f"{alone:.0f} URLs/s alone, {ours:.0f} under the controller")
            print(f"workers and nodes: {sorted(seen)}; head-room told: {rooms}")
            assert {workers for workers, _ in seen} == {WORKERS}
            assert {nodes for _, nodes in seen} == {WORKERS}
            assert rooms, "head-room was never told"
            assert max(rooms) < FULL
            assert ours > (1 - NOISE) * alone

            lost = sorted(crawl.nodes())[0]
            cluster.kill_supervisor(cluster.supervisor_hosts.index(lost))
            wait_until(
                lambda: lost not in crawl.nodes() and crawl.runs(WORKERS),
                300,
                "it crawls on the other nodes",
                watch=cluster.watch(NAME),
            )
            fewer = crawl.acked_per_s()
            print(f"{fewer:.0f} URLs/s on three nodes")
            # The machine has two cores, however many nodes there are on it.
            assert fewer > (1 - NOISE) * alone
