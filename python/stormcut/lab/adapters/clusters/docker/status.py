"""What a cluster is doing: its containers, the limits in force, and what Nimbus says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from docker.models.containers import Container as Running

from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable
from stormcut.lab.adapters.clusters.docker.engine import Engine, containers_of, run_in
from stormcut.lab.adapters.clusters.docker.folder import DockerState
from stormcut.lab.adapters.clusters.docker.limits import (
    Effective,
    NodeLimits,
    is_whole,
    parse_effective,
)
from stormcut.lab.adapters.clusters.docker.plan import NIMBUS_PORT, Container
from stormcut.model.summaries import ClusterSummary


@dataclass(frozen=True)
class ContainerStatus:
    """A container now: its limits as asked for, and as the kernel has them (None: not running)."""

    name: str
    address: str
    state: str
    wanted: NodeLimits
    effective: Effective | None


@dataclass(frozen=True)
class DockerStatus:
    """A cluster now; ``storm`` is what Nimbus says, None when it does not answer.

    ``refused`` tells by kind why a limit is not there that was asked for.
    """

    name: str
    containers: tuple[ContainerStatus, ...]
    refused: Mapping[str, str]
    storm: ClusterSummary | None


def status(client: Engine, state: DockerState) -> DockerStatus:
    """Return what runs; Nimbus is asked with a short timeout."""
    plan = state.plan
    running = {each.name: each for each in containers_of(client, plan.name)}
    containers = tuple(
        _container(each, running.get(plan.container_name(each))) for each in plan.containers
    )
    storm = None
    address = next(each.address for each in plan.containers if each.daemon == "nimbus")
    with suppress(NimbusUnavailable):
        storm = NimbusClient(address, NIMBUS_PORT, timeout_s=5.0).cluster()
    return DockerStatus(plan.name, containers, state.refused, storm)


#: How often a container is asked for its limits before they count as not readable.
READ_TIMES = 5
READ_PAUSE_S = 0.5


def effective(container: Running) -> Effective:
    """Return the limits that the kernel has for a running container."""
    text = ""
    for _ in range(READ_TIMES):
        code, text = run_in(container, "limits")
        # A busy engine may lose what a command prints.
        if code == 0 and is_whole(text):
            return parse_effective(text)
        time.sleep(READ_PAUSE_S)
    return _unreadable(text or "the engine passes nothing on")


def _unreadable(why: str) -> Effective:
    said = f"limits not readable: {' '.join(why.split())}"
    return Effective(None, None, None, tc_out=said, tc_in=said)


def _container(planned: Container, running: Running | None) -> ContainerStatus:
    state = running.status if running else "missing"
    return ContainerStatus(
        planned.name,
        planned.address,
        state,
        planned.limits,
        effective(running) if running and state == "running" else None,
    )
