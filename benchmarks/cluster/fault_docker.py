"""The same ground in containers, each with a network of its own, and with a second Nimbus."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import yaml

from benchmarks.cluster.fault_ground import CONFIG, CONTROLLERS, NIMBUS, Fault, Ground
from benchmarks.cluster.fault_list import (
    controllers_start,
    goes_on,
    killed,
    leader,
    stopped,
    worker,
)
from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.docker import VIRTUALENV, ClusterShape, DockerCluster
from stormcut.lab.adapters.clusters.docker.engine import engine, taken_subnets
from stormcut.lab.adapters.clusters.docker.image import IMAGE
from stormcut.lab.adapters.clusters.docker.plan import CLUSTER_LABEL, FOLDER_LABEL, free_subnet

SECOND = "nimbus-2"
#: Of the link from Nimbus, when it is slow.
SLOW = ("rate", "64kbit", "burst", "4k", "latency", "2s")
#: Workers in containers take long to start on a machine that is shared; a lost node is given up
#: after half a minute all the same.
PATIENCE: dict[str, object] = {
    "storm.zookeeper.session.timeout": 15_000,
    "nimbus.task.launch.secs": 240,
    "nimbus.task.timeout.secs": 60,
    "nimbus.supervisor.timeout.secs": 30,
    "nimbus.code.sync.freq.secs": 5,
    "supervisor.worker.timeout.secs": 60,
    # What is not on both is not there for the one that takes over.
    "topology.min.replication.count": 2,
    "topology.max.replication.wait.time.sec": 60,
}


class DockerGround(Ground):
    """A cluster in containers; the controllers run beside them."""

    cluster: DockerCluster  # type: ignore[assignment] # faults in containers call its own methods
    patience_s = 300.0

    def __init__(self, cluster: DockerCluster, folder: Path) -> None:
        super().__init__(cluster, folder, 2, 2)  # type: ignore[arg-type] # as above
        #: The node that a fault has taken away.
        self.lost_node = ""

    @property
    def bind(self) -> str:
        """The host's address in the cluster's network."""
        return self.cluster.host

    @property
    def books_folders(self) -> list[Path]:
        """A folder of each node."""
        return [self.cluster.storm_homes[node.name] / "books" for node in self.cluster.plan.nodes]

    @property
    def workers_virtualenv(self) -> Path | None:
        """The image has one."""
        return VIRTUALENV

    def books_of(self, name: str) -> str:
        """Return the folder of a topology's books as its workers see it."""
        return f"/storm/books/{name}"

    @property
    def second_address(self) -> str:
        """The address of the second Nimbus."""
        return str(self.cluster.plan.subnet[4])

    @property
    def nimbus(self) -> NimbusClient:
        """A client of a Nimbus that answers."""
        first = self.cluster.nimbus
        with suppress(NimbusUnavailable):
            NimbusClient(first.host, first.port, 3.0).cluster()
            return first
        return NimbusClient(self.second_address, first.port)

    def container(self, name: str) -> str:
        """Return the engine's name of a container."""
        return f"stormcut-{self.cluster.name}-{name}"

    def pid(self, name: str) -> int:
        """Return the id of a container's first process as this machine sees it, 0 if it is down."""
        form = ("-f", "{{.State.Pid}}", self.container(name))
        return int(docker("inspect", *form))

    def nimbus_pid(self) -> int | None:
        """Return the first process of the first Nimbus's container."""
        return self.pid("nimbus") or None

    def in_network_of(self, name: str, *command: str) -> None:
        """Run one of this machine's commands in a container's network."""
        subprocess.run(["nsenter", "-t", str(self.pid(name)), "-n", *command], check=True)

    def busy_node(self) -> str:
        """Return the name of the node that has a source."""
        executors = self.nimbus.topology(self.topologies[0]).executors
        host = next(each.host for each in executors if each.is_spout)
        return next(each.name for each in self.cluster.plan.nodes if each.address == host)

    def worker(self) -> psutil.Process:
        """Return the JVM of a worker that has a source."""
        node = psutil.Process(self.pid(self.busy_node()))
        for process in node.children(recursive=True):
            with suppress(psutil.Error):
                command = process.cmdline()
                copies = "org.apache.storm.LogWriter" in command
                if "org.apache.storm.daemon.worker" in command and not copies:
                    return process
        raise LookupError("no worker")

    def start_second_nimbus(self) -> None:
        """Start another Nimbus, a copy of the first but for its address."""
        first = self.cluster.storm_homes["nimbus"]
        home = first.with_name(SECOND)
        unwanted = shutil.ignore_patterns("local", "logs")
        shutil.copytree(first, home, symlinks=True, ignore=unwanted)
        path = home / "conf" / "storm.yaml"
        settings = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**settings, "storm.local.hostname": self.second_address}))
        hosts = [
            part
            for name, address in self.cluster.plan.hosts.items()
            for part in ("--add-host", f"{name}:{address}")
        ]
        labels = (f"{CLUSTER_LABEL}={self.cluster.name}", f"{FOLDER_LABEL}={self.cluster.folder}")
        docker(
            *("run", "-d", "--init", "--name", self.container(SECOND), "--hostname", SECOND),
            *(part for label in labels for part in ("--label", label)),
            *("--network", self.cluster.plan.network_name, "--ip", self.second_address),
            *("-e", f"STORMCUT_USER={os.getuid()}:{os.getgid()}", "-v", f"{home}:/storm"),
            *hosts,
            *(IMAGE, "nimbus"),
        )
        second = NimbusClient(self.second_address, self.cluster.nimbus.port)
        wait_until(lambda: second.cluster().has_leader, 120, "the second Nimbus answers")


def docker(*command: str) -> str:
    """Run Docker's command; return what it prints."""
    done = subprocess.run(["docker", *command], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def in_containers(name: str, folder: Path) -> Iterator[DockerGround]:
    """Yield a cluster in containers under load, with controllers, until the block ends."""
    with engine() as client:
        subnet = free_subnet(taken_subnets(client))
    seeds = {"nimbus.seeds": [str(subnet[3]), str(subnet[4])]}
    config = {**CONFIG, **PATIENCE, **seeds}
    del config["worker.childopts"]  # those of the image fit its memory
    with DockerCluster.up(ClusterShape(nodes=3), name, config=config) as cluster:
        ground = DockerGround(cluster, folder)
        try:
            ground.start_second_nimbus()
            ground.begin()
            yield ground
        finally:
            ground.end()


def _docker(verb: str, name: str) -> Callable[[DockerGround], None]:
    def run(ground: DockerGround) -> None:
        docker(verb, ground.container(name))

    return run


def zookeeper_back(ground: DockerGround) -> None:
    """Start ZooKeeper and, as Storm's daemons end with it, all that has ended."""
    docker("start", ground.container("zookeeper"))
    time.sleep(1)
    for name in ("nimbus", SECOND, *(node.name for node in ground.cluster.plan.nodes)):
        # As a service manager does: started again whenever it has ended.
        docker("update", "--restart", "always", ground.container(name))
        docker("start", ground.container(name))


def node_lost(ground: DockerGround) -> None:
    ground.lost_node = ground.busy_node()
    docker("kill", ground.container(ground.lost_node))


def node_back(ground: DockerGround) -> None:
    docker("start", ground.container(ground.lost_node))


def node_cut_off(ground: DockerGround) -> None:
    ground.lost_node = ground.busy_node()
    for chain in ("INPUT", "OUTPUT"):
        others = ("!", "-i" if chain == "INPUT" else "-o", "lo")
        ground.in_network_of(ground.lost_node, "iptables", "-I", chain, *others, "-j", "DROP")


def node_joined(ground: DockerGround) -> None:
    for chain in ("INPUT", "OUTPUT"):
        ground.in_network_of(ground.lost_node, "iptables", "-F", chain)


def nimbus_cut_off(ground: DockerGround) -> None:
    for each in ground.controllers:
        port = ("-p", "tcp", "--dport", str(each.port))
        ground.in_network_of("nimbus", "iptables", "-I", "OUTPUT", *port, "-j", "DROP")


def nimbus_joined(ground: DockerGround) -> None:
    ground.in_network_of("nimbus", "iptables", "-F", "OUTPUT")


def nimbus_slow(ground: DockerGround) -> None:
    command = ("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", *SLOW)
    ground.in_network_of("nimbus", *command)


def nimbus_fast(ground: DockerGround) -> None:
    ground.in_network_of("nimbus", "tc", "qdisc", "del", "dev", "eth0", "root")


FAULTS_IN_CONTAINERS = (
    Fault(
        "the leading controller killed",
        killed(leader),
        controllers_start,
        ends=CONTROLLERS,
    ),
    Fault("the leading controller stopped for 30 s", stopped(leader), goes_on, 30),
    Fault("Nimbus cut off from the controllers for 30 s", nimbus_cut_off, nimbus_joined, 30),
    Fault("64 kbit/s from Nimbus for 30 s", nimbus_slow, nimbus_fast, 30),
    Fault("a worker killed", killed(worker), bound_s=300),
    Fault("a node lost, back after 60 s", node_lost, node_back, 60, 300),
    Fault("a node cut off for 60 s", node_cut_off, node_joined, 60, 300),
    Fault("Nimbus frozen for 10 s", _docker("pause", "nimbus"), _docker("unpause", "nimbus"), 10),
    Fault(
        "ZooKeeper frozen for 8 s",
        _docker("pause", "zookeeper"),
        _docker("unpause", "zookeeper"),
        8,
    ),
    Fault(
        "Nimbus killed, the second Nimbus takes over",
        _docker("kill", "nimbus"),
        _docker("start", "nimbus"),
        bound_s=180,
        ends=NIMBUS,
    ),
    Fault(
        "ZooKeeper killed, back after 10 s",
        _docker("kill", "zookeeper"),
        zookeeper_back,
        10,
        300,
        NIMBUS,
    ),
)
