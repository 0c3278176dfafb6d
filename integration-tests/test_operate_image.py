"""The image of the controller, made and run for real."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest_zookeeper import free_port, running_zookeeper

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.docker.image import docker_folder

# Two minutes, most of them for making the image.
pytestmark = [pytest.mark.docker, pytest.mark.full]

METRICS = (
    Path(__file__).parents[1] / "python" / "tests" / "data" / "metrics" / "taxi-10-seconds.metrics"
)
#: Of the user in the image.
USER = 10001


def docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    name = f"stormcut-operate:test-{os.getpid()}"
    subprocess.run([docker_folder() / "operate-image", name], check=True)
    yield name
    docker("image", "rm", "--force", name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the container is given: a configuration and a secret of its user's, and a log folder."""
    if os.getuid() != 0:
        pytest.skip("only root can give a file to the image's user")
    found = tmp_path / "given"
    (found / "logs").mkdir(parents=True)
    (found / "auth").touch(mode=0o600)
    (found / "auth").write_text("stormcut:geheim\n")
    os.chown(found / "auth", USER, USER)
    for each in (found, *found.parents[:2]):
        each.chmod(0o755)
    return found


def test_it_leads_and_is_healthy_and_ends(image: str, folder: Path, tmp_path: Path) -> None:
    port = free_port()
    with running_zookeeper(tmp_path / "zookeeper") as zookeeper:
        (folder / "stormcut.yaml").write_text(
            f"zookeeper: {{servers: '{zookeeper.address}', auth_file: /given/auth}}\n"
            f"http: {{port: {port}}}\n"
            "observe: {logs: [/given/logs], spool: /tmp/spool}\n"
        )
        options = ("--network", "host", "--env", f"STORMCUT_HTTP_PORT={port}")
        given = ("--volume", f"{folder}:/given:ro")
        command = ("operate", "/given/stormcut.yaml")
        container = docker("run", "--detach", *options, *given, image, *command)
        try:
            wait_until(
                lambda: health(container) == "healthy", 120, "the container is healthy", poll_s=1
            )
            assert docker("exec", container, "id", "-u") == str(USER)
            ask = f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{port}/readyz').read().decode())"
            wait_until(
                lambda: json.loads(docker("exec", container, "python3", "-c", ask))["leads"],
                120,
                "it leads",
                poll_s=1,
            )
            docker("stop", "--time", "60", container)
            assert docker("inspect", "--format", "{{.State.ExitCode}}", container) != "137"
        finally:
            docker("rm", "--force", container)


def test_it_is_small_and_its_spark_reads_metrics(image: str, folder: Path) -> None:
    """No part of Spark was left out that reading metrics needs."""
    assert int(docker("image", "inspect", "--format", "{{.Size}}", image)) < 700e6
    log = (
        folder / "logs" / "workers-artifacts" / "taxi-1-1795353000" / "6700" / "worker.log.metrics"
    )
    log.parent.mkdir(parents=True)
    shutil.copy(METRICS, log)
    given = ("--volume", f"{folder}:/given:ro")
    docker(
        *("run", "--rm", *given, image, "profile", "/given/logs"),
        *("--warm-up", "0", "--output", "/tmp/p"),
        # So small a log is read by Spark only where a master is named.
        *("--master", "local[1]", "--tables"),
    )


def health(container: str) -> str:
    state = json.loads(docker("inspect", "--format", "{{json .State}}", container))
    assert state["Running"], docker("logs", container)
    return str(state["Health"]["Status"])
