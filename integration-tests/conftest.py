"""The clusters under test, each started once per run: one embedded, one in containers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator

import pytest
from small_clusters import SLOW_BUT_SMALL, SLOW_TO_WAKE
from stage import TOPOLOGIES, DockerStage, Stage

from stormcut.adapters.machine.home import home
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster, image
from stormcut.lab.adapters.clusters.docker.engine import engine
from stormcut.lab.adapters.clusters.local import LocalCluster

pytest_plugins = ["sharing"]


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """Three supervisors of three slots, the plugin, and two topologies that run and ack."""
    with LocalCluster.up(
        f"tests-{os.getpid()}",
        supervisors=3,
        slots=3,
        # Storm's own patience with lost nodes is two minutes.
        config={
            **SLOW_BUT_SMALL,
            "nimbus.task.launch.secs": 60,
            "nimbus.task.timeout.secs": 15,
        },
    ) as cluster:
        stage = Stage(cluster, cluster.log_files()["nimbus"])
        for name in TOPOLOGIES:
            stage.submit(name)
        stage.wait_whole()
        for name in TOPOLOGIES:
            stage.wait_acks(name)
        yield stage


# testcontainers would start a container that removes what it forgot, from a registry. The tests
# here forget nothing, and need no registry.
os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"


@pytest.fixture(scope="session")
def storm_image() -> str:
    """Name of the image of all containers, made by the first of the processes that run tests."""
    with (home() / "test-image.lock").open("w") as lock, engine() as client:
        fcntl.flock(lock, fcntl.LOCK_EX)
        image.ensure(client, print)
    return image.IMAGE


@pytest.fixture(scope="session")
def docker_stage(storm_image: str) -> Iterator[DockerStage]:
    """Three limited nodes; the plugin, installed by command; a topology that runs and acks."""
    with DockerCluster.up(
        ClusterShape(nodes=3, cpus=0.5, bandwidth=Bandwidth(20_000_000, 10_000_000), memory_mb=768),
        f"tests-{os.getpid()}",
        with_plugin=False,
        config={
            **SLOW_TO_WAKE,
            # Storm's patience with lost nodes, shortened: limits are lifted while workers start.
            # As long as a start may take, Nimbus believes that an executor runs.
            "nimbus.task.launch.secs": 120,
            "storm.zookeeper.session.timeout": 15000,
            "nimbus.task.timeout.secs": 30,
            "nimbus.supervisor.timeout.secs": 30,
        },
    ) as cluster:
        stage = DockerStage(cluster, cluster.storm_homes["nimbus"] / "logs" / "nimbus.log")
        stage.command("docker", "plugin", "install", "--name", cluster.name)
        cluster.lift()
        for name in stage.topologies:
            stage.submit(name)
        stage.wait_whole()
        for name in stage.topologies:
            stage.wait_acks(name)
        cluster.limit()
        yield stage
