"""One embedded cluster with two small topologies for all safety tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from stage import TOPOLOGIES, Stage

from stormcut.adapters.local_cluster import LocalCluster


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """Three supervisors of three slots, the plugin, and two topologies that run and ack."""
    with LocalCluster.up(
        f"tests-{os.getpid()}",
        supervisors=3,
        slots=3,
        # Storm's own patience with lost nodes is two minutes.
        config={"nimbus.task.launch.secs": 40, "nimbus.task.timeout.secs": 15},
    ) as cluster:
        stage = Stage(cluster)
        for name in TOPOLOGIES:
            stage.submit(name)
        stage.wait_whole()
        for name in TOPOLOGIES:
            stage.wait_acks(name)
        yield stage
