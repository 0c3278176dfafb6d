"""The job on a real Spark cluster: a standalone master and two workers of one core each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from stormcut.adapters.spark.session import java_home
from stormcut.application.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.full]

SAMPLE = Path(__file__).parents[1] / "data" / "metrics" / "taxi-10-seconds.metrics"
DEPLOY = "org.apache.spark.deploy"
HOST = "127.0.0.1"
#: A split for each worker at least.
TOPOLOGIES, PERIODS = 4, 64


@contextmanager
def daemon(folder: Path, name: str, *arguments: str) -> Iterator[Path]:
    """Run a daemon of Spark's for the length of the block; yield its log."""
    log = folder / f"{name}.log"
    spark = Path(pyspark.__file__).parent
    homes = {"SPARK_HOME": str(spark), "JAVA_HOME": str(java_home())}
    environment = {**os.environ, **homes, "SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(spark / "bin" / "spark-class"), *arguments],
            stdout=output,
            stderr=output,
            env=environment,
        )
    try:
        yield log
    finally:
        process.terminate()
        process.wait()


def said(log: Path, pattern: str) -> str:
    """Wait until a daemon has said something, and return it."""

    def found() -> str | None:
        match = re.search(pattern, log.read_text(errors="replace"))
        return match and match[0]

    return wait_until(found, 60, f"{log.name} says {pattern}")


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The URL of a Spark master with two workers."""
    with ExitStack() as running:
        listening = ("--host", HOST, "--port", "0", "--webui-port", "0")
        log = running.enter_context(
            daemon(tmp_path, "master", f"{DEPLOY}.master.Master", *listening)
        )
        url = said(log, r"spark://127\.0\.0\.1:\d+")
        for name in ("worker-1", "worker-2"):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name))
            worker = (f"{DEPLOY}.worker.Worker", *listening, *size, url)
            said(running.enter_context(daemon(tmp_path, name, *worker)), "Successfully registered")
        yield url


def write_logs(folder: Path) -> None:
    """Write the sample of ten seconds for each topology, over and over."""
    text = SAMPLE.read_text(encoding="utf-8")
    for number in range(TOPOLOGIES):
        log = folder / "workers-artifacts" / f"taxi-{number}-1" / "6700" / "worker.log.metrics"
        log.parent.mkdir(parents=True)
        with log.open("w", encoding="utf-8") as file:
            for period in range(PERIODS):
                later = lambda match, by=10 * period: f"{int(match[1]) + by}\t"  # noqa: E731
                file.write(re.sub(r"(?<= )(\d{10})\t", later, text))


def profiled(logs: Path, output: Path, master: str) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "stormcut.cli.main", "profile", str(logs)]
    options = ("--output", str(output), "--master", master)
    # Its workers are on this machine, whether or not the Python of the tests is the first there.
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(path.read_text()) for path in sorted(output.glob("profile-*.json"))]


def test_a_cluster_of_two_workers_finds_what_one_process_finds(tmp_path: Path, master: str) -> None:
    logs = tmp_path / "logs"
    write_logs(logs)
    alone = profiled(logs, tmp_path / "alone", "local[2]")
    assert len(alone) == TOPOLOGIES
    assert profiled(logs, tmp_path / "together", master) == alone
    # Both workers had a part in it.
    for name in ("worker-1", "worker-2"):
        assert list((tmp_path / name).glob("app-*/*/stderr"))
