"""Starting a cluster: network, Storm homes, containers; then waiting, then the limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml
from docker.errors import APIError
from docker.models.containers import Container as Running
from docker.types import IPAMConfig, IPAMPool, LogConfig

from stormcut.adapters.machine.home import PluginJars
from stormcut.adapters.storm import plugin
from stormcut.adapters.storm.nimbus import NimbusClient
from stormcut.application.waiting import Watch, wait_until
from stormcut.lab.adapters.clusters.bandwidth import FREE
from stormcut.lab.adapters.clusters.docker import image
from stormcut.lab.adapters.clusters.docker.engine import Engine, last_lines, reason
from stormcut.lab.adapters.clusters.docker.folder import Folder
from stormcut.lab.adapters.clusters.docker.limits import (
    PERIOD_US,
    NodeLimits,
    shortfalls,
)
from stormcut.lab.adapters.clusters.docker.plan import (
    CLUSTER_LABEL,
    FOLDER_LABEL,
    NIMBUS_PORT,
    ZOOKEEPER_PORT,
    ClusterPlan,
    Container,
    storm_yaml,
)
from stormcut.lab.adapters.clusters.docker.status import effective
from stormcut.lab.adapters.clusters.local.startup import (
    DaemonDied,
    Progress,
    read_last_messages,
    zookeeper_answers,
)
from stormcut.lab.adapters.processes.last_words import of_nimbus

#: What a container's start may take of served time; dozens of nodes share one machine.
CONTAINER_S = 60.0

#: Nimbus's view of the secret.
_AUTH_FILE = "/storm/conf/stormcut.auth"


@dataclass(frozen=True)
class DockerStartup:
    """One start of the cluster of ``folder``."""

    client: Engine
    folder: Folder
    plan: ClusterPlan
    progress: Progress
    jars: PluginJars | None
    config: Mapping[str, object]

    def run(self) -> dict[str, str]:
        """Start all; return which limits were refused, and why, once every node has registered.

        Raises
        ------
        DaemonDied, TimedOut
            With the end of the log that tells why.
        """
        self._write_homes()
        self._create_network()
        running = {each.name: self._create(each) for each in self.plan.containers}
        zookeeper = self.plan.containers[0]
        running[zookeeper.name].start()
        self._await(
            running,
            lambda: zookeeper_answers(zookeeper.address, ZOOKEEPER_PORT),
            "ZooKeeper answers",
        )
        for name, container in running.items():
            if name != zookeeper.name:
                container.start()
        self._await_registrations(running)
        # Only now: with a quarter of a core, a supervisor's start alone takes a minute.
        return limit(self.plan, running)

    def _write_homes(self) -> None:
        text = (image.docker_folder() / "storm.yaml").read_text(encoding="utf-8")
        common = yaml.safe_load(text)
        for container in self.plan.containers:
            config = storm_yaml(self.plan, container, common, self.config)
            self.folder.create_storm_home(container, config)
        self.folder.create_secret()
        if self.jars:
            install_plugin(self.folder, self.plan, self.jars)

    def _create_network(self) -> None:
        pool = IPAMPool(subnet=str(self.plan.subnet), gateway=self.plan.gateway)
        self.client.networks.create(
            self.plan.network_name,
            driver="bridge",
            ipam=IPAMConfig(pool_configs=[pool]),
            labels=self._labels(),
        )

    def _create(self, container: Container) -> Running:
        network = self.plan.network_name
        endpoint = self.client.api.create_endpoint_config(ipv4_address=container.address)
        memory = container.limits.memory_mb
        return self.client.containers.create(
            image.IMAGE,
            [container.daemon],
            name=self.plan.container_name(container),
            hostname=container.name,
            labels=self._labels(),
            init=True,
            environment={**container.environment, "STORMCUT_USER": _user(self.client)},
            cap_add=["NET_ADMIN"] if container.environment else [],
            volumes=[f"{self.folder.storm_home(container.name)}:/storm"],
            extra_hosts=self.plan.hosts,
            network=network,
            networking_config={network: endpoint},
            # Equal to memory: no swap, which would hide that it does not suffice.
            mem_limit=f"{memory}m" if memory else None,
            memswap_limit=f"{memory}m" if memory else None,
            log_config=LogConfig(type="json-file", config={"max-size": "1m"}),
        )

    def _labels(self) -> dict[str, str]:
        return {CLUSTER_LABEL: self.plan.name, FOLDER_LABEL: str(self.folder.path)}

    def _await_registrations(self, running: Mapping[str, Running]) -> None:
        nimbus = nimbus_of(self.plan)
        self._await(running, lambda: nimbus.cluster().has_leader, "Nimbus leads")
        nodes = {each.address for each in self.plan.nodes}
        seen = 0

        def all_registered() -> bool:
            nonlocal seen
            seen = len(nodes & {each.host for each in nimbus.cluster().supervisors})
            return seen == len(nodes)

        what = f"all {len(nodes)} nodes have registered"
        self._await(running, all_registered, what, lambda: (seen,))

    def _await(
        self,
        running: Mapping[str, Running],
        condition: Callable[[], bool],
        what: str,
        moves: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        def true_while_all_live() -> bool:
            for name, container in running.items():
                check_alive(self.folder, name, container)
            return condition()

        log = self.folder.logs("nimbus") / "nimbus.log"
        watch = Watch(moves, lambda: pids(running.values()), lambda: of_nimbus(log))
        wait_until(true_while_all_live, CONTAINER_S * len(running), what, poll_s=0.5, watch=watch)
        self.progress(what)


def pids(containers: Iterable[Running]) -> list[int]:
    """Return the ids of containers' processes as this machine sees them, if it does."""
    # A container that does not run has process 0, the parent of all.
    newest = {pid for each in containers if (pid := each.attrs["State"]["Pid"])}
    parents = {each.pid: each.info["ppid"] for each in psutil.process_iter(["ppid"])}
    family: set[int] = set()
    while newest:
        family |= newest
        newest = {pid for pid, parent in parents.items() if parent in newest} - family
    return sorted(family)


def nimbus_of(plan: ClusterPlan) -> NimbusClient:
    """Return a client of the cluster's Nimbus."""
    return NimbusClient(
        next(c.address for c in plan.containers if c.daemon == "nimbus"), NIMBUS_PORT
    )


def check_alive(folder: Folder, name: str, container: Running) -> None:
    """Raise `DaemonDied`, with the end of what it said, if a container has ended."""
    container.reload()
    if container.status in ("created", "running"):
        return
    code = container.attrs["State"]["ExitCode"]
    killed = ", out of memory" if container.attrs["State"].get("OOMKilled") else ""
    said = last_lines(container) or _end_of_logs(folder.logs(name))
    raise DaemonDied(f"{name} ended with exit code {code}{killed}:\n{said}")


def _end_of_logs(logs: Path) -> str:
    return "\n".join(f"  {line}" for log in logs.glob("*.log") for line in read_last_messages(log))


def limit(plan: ClusterPlan, running: Mapping[str, Running]) -> dict[str, str]:
    """Set the limits of all nodes; return by kind the first that was refused, and why."""
    refused: dict[str, str] = {}
    for node in plan.nodes:
        container = running[node.name]
        for kind, why in _limit(container, node.limits).items():
            refused.setdefault(kind, f"{node.name}: {why}")
    return refused


def lift(plan: ClusterPlan, running: Mapping[str, Running]) -> None:
    """Take the CPU quotas off, for the time of a new placement's start.

    An engine that may set none is not at fault: where there is none, there is nothing to lift.
    """
    for node in plan.nodes:
        if node.limits.cpus is None:
            continue
        try:
            _set_quota(running[node.name], NodeLimits(None, FREE, None))
        except APIError:
            if effective(running[node.name]).cpus is not None:
                raise


def _limit(container: Running, limits: NodeLimits) -> dict[str, str]:
    refused = {}
    if limits.cpus is not None:
        try:
            _set_quota(container, limits)
        except APIError as error:
            refused["cpu"] = reason(error)
    return shortfalls(limits, effective(container)) | refused


def _set_quota(container: Running, limits: NodeLimits) -> None:
    container.update(cpu_period=PERIOD_US, cpu_quota=limits.quota_us)


def install_plugin(folder: Folder, plan: ClusterPlan, jars: PluginJars) -> None:
    """Install the plugin in every Storm home, as on machines of their own."""
    plugin.install(folder.storm_home("nimbus"), jars, _AUTH_FILE)
    for node in plan.nodes:
        plugin.install(folder.storm_home(node.name), jars, None)


def _user(client: Engine) -> str:
    """Return uid:gid of the daemons: this user, who is to read and remove what they write."""
    rootless = any("rootless" in each for each in client.info().get("SecurityOptions") or ())
    return "0:0" if rootless else f"{os.getuid()}:{os.getgid()}"
