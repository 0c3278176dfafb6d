"""`stormcut brain`: serve plans until told to stop."""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
from kazoo.client import KazooClient

from stormcut.adapters.files.decision_files import DecisionFiles
from stormcut.adapters.thrift.brain import BrainClient, BrainServer, Pulse
from stormcut.adapters.zookeeper.former import delete_former, read_former
from stormcut.adapters.zookeeper.leader import Leadership
from stormcut.adapters.zookeeper.nodes import (
    StormcutNodes,
    ZooKeeperStore,
    connected,
    read_auth_file,
)
from stormcut.application.control.brain import Brain
from stormcut.application.control.decide import Settings, decide
from stormcut.application.control.ports import Recorder
from stormcut.application.place import DEFAULT_ALGORITHM
from stormcut.cli.key_values import parse_pairs
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFolder
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Subscription,
    Supervisor,
    Worker,
)
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile
from stormcut.placement.registry import algorithm, parse_options

log = logging.getLogger("stormcut.brain")

#: Share of a core for looking whether anything was published.
MOST_OF_A_CORE = 0.05

#: How soon a signal is noticed at the latest.
SIGNAL_SECONDS = 0.2


#: The smallest cluster with something to decide.
TOY = ClusterState(
    (Supervisor("n", "n", (1, 2)), Supervisor("m", "m", (1, 2))),
    (
        RunningTopology(
            "toy",
            "toy",
            2,
            (RunningExecutor(1, 1, "a"), RunningExecutor(2, 2, "b")),
            (Subscription("a", "b", "default", "shuffle"),),
        ),
    ),
)


@click.command()
@zookeeper_options
@click.option(
    "--bind", default="127.0.0.1", show_default=True, help="Address to listen on and to publish."
)
@click.option(
    "--port",
    default=0,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0: any free one.",
)
@click.option(
    "--insecure-bind",
    is_flag=True,
    help="Allow a --bind that other machines reach: what is said there is signed, but not"
    " encrypted.",
)
@click.option(
    "--algorithm",
    "algorithm_name",
    default=DEFAULT_ALGORITHM,
    show_default=True,
    help="See `stormcut algorithms`.",
)
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the algorithm.")
@click.option(
    "--min-gain",
    default=0.05,
    show_default=True,
    type=Finite(0, 1),
    help="Move a running topology only if its head-room grows by this share, or as much of its "
    "traffic between nodes goes.",
)
@click.option(
    "--record",
    type=OutputFolder(),
    help="Folder for the problem and the answer behind every decision, for `stormcut place`.",
)
def brain(
    zookeeper: str,
    auth_file: Path,
    root: str,
    bind: str,
    port: int,
    insecure_bind: bool,
    algorithm_name: str,
    options: tuple[str, ...],
    min_gain: float,
    record: Path | None,
) -> None:
    """Serve plans to the scheduler in Nimbus, as leader or standby of several brains.

    \b
    Example:
      stormcut brain --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
    """
    settings = Settings(algorithm_name, parse_pairs(options), min_gain)
    parse_options(algorithm(algorithm_name), settings.options)
    _check_bind(bind, insecure_bind)
    credentials = read_auth_file(auth_file)
    recorder = None if record is None else DecisionFiles(record)
    _log_to_stderr()
    with connected(zookeeper, credentials) as client:
        _serve(client, root, settings, bind, port, recorder)


def _check_bind(bind: str, insecure: bool) -> None:
    try:
        address = ipaddress.ip_address(socket.gethostbyname(bind) if ":" not in bind else bind)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"is no address of this machine: {error}", f"--bind {bind}") from error
    if address.is_unspecified:
        raise InvalidInput(
            "is published for Nimbus to connect to: give one address, not all", f"--bind {bind}"
        )
    if not address.is_loopback and not insecure:
        raise InvalidInput(
            "other machines would reach the brain, and nothing is encrypted here: use 127.0.0.1,"
            " or add --insecure-bind in a network you trust",
            f"--bind {bind}",
        )


def _log_to_stderr() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s", force=True
    )


class _Evidence:
    """`EvidenceSource` that the leader refreshes: to ask it never waits for ZooKeeper."""

    def __init__(self, nodes: StormcutNodes) -> None:
        self._nodes = nodes
        self._profiles: Mapping[str, Profile] = {}
        self._former: Mapping[str, tuple[Worker, ...]] = {}
        self._next = 0.0

    def refresh(self, now: bool = False) -> None:
        """Read what is published, ``now`` or if it is time: many profiles take long to look at."""
        began = time.monotonic()
        if not now and began < self._next:
            return
        # Orders first: one that is gone was followed by a new profile before.
        self._former = read_former(self._nodes)
        self._profiles = self._nodes.read_profiles()
        took = time.monotonic() - began
        self._next = began + took / MOST_OF_A_CORE

    def remove(self, topologies: Iterable[str]) -> None:
        """Remove what is known of topologies that are gone."""
        for topology in topologies:
            self._nodes.delete_profile(topology)
            delete_former(self._nodes, topology)
            log.info("topology %s is gone; what was published of it is removed", topology)

    def profiles(self) -> Mapping[str, Profile]:
        return self._profiles

    def former(self) -> Mapping[str, tuple[Worker, ...]]:
        return self._former


class _Standing:
    """The brain as far as it may answer: `Planner` of the server."""

    def __init__(
        self,
        nodes: StormcutNodes,
        settings: Settings,
        identity: str,
        host: str,
        port: int,
        recorder: Recorder | None,
    ) -> None:
        self._nodes = nodes
        self._evidence = _Evidence(nodes)
        self._store = ZooKeeperStore(nodes)
        self._brain = Brain(settings, self._store, self._evidence, recorder)
        self.server = BrainServer(self, identity, nodes.seal, host, port, self._brain)
        myself = BrainClient(identity, nodes.seal, host, self.server.port)
        self.leadership = Leadership(
            nodes,
            identity,
            host,
            self.server.port,
            self._elected,
            self._watch,
            Pulse(myself).beats,
        )

    @property
    def leads(self) -> bool:
        return self.leadership.leads

    def plan(self, state: ClusterState) -> Plan:
        return self._brain.plan(state)

    def _elected(self) -> None:
        self._evidence.refresh(now=True)
        self._brain.take_over()

    def _watch(self) -> None:
        self._evidence.refresh()
        known = {*self._evidence.profiles(), *self._evidence.former()}
        self._evidence.remove(self._brain.gone(known))
        plan = self._brain.last_plan
        if plan is not None and not self._nodes.has_plan():
            log.warning("the published plan is gone from ZooKeeper; published again")
            self._nodes.write_plan(plan)


def _serve(
    client: KazooClient,
    root: str,
    settings: Settings,
    bind: str,
    port: int,
    recorder: Recorder | None,
) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    nodes = StormcutNodes(client, root)
    nodes.secure()
    identity = f"{socket.gethostname()}-{os.getpid()}-{int(time.time())}"
    standing = _Standing(nodes, settings, identity, bind, port, recorder)
    decide(TOY, {}, None, settings)  # loads what a plan needs: Nimbus does not wait for that
    log.info(
        "brain %s listens on %s:%d, ZooKeeper %s, algorithm %s; standing for election",
        identity,
        bind,
        standing.server.port,
        root,
        settings.algorithm,
    )
    standing.server.start()
    standing.leadership.start()
    # Python runs signal handlers in the main thread, which a signal that the kernel gave to another
    # thread does not wake.
    while not stop.wait(SIGNAL_SECONDS):
        pass
    log.info("stopping: withdrawing from ZooKeeper")
    standing.leadership.close()
    standing.server.close()
