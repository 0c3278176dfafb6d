"""A brain that serves until it is told to stop: of `stormcut brain` and `stormcut operate`."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from prometheus_client import CollectorRegistry

from stormcut.adapters.http.counters import Counters
from stormcut.adapters.http.pages import Pages
from stormcut.adapters.http.server import serving
from stormcut.adapters.http.view import View
from stormcut.adapters.machine.clock import SystemClock, new_id
from stormcut.adapters.machine.garbage_collector import collect_seldom
from stormcut.adapters.storm.valve import NimbusValve
from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.thrift.client import BrainClient, Heartbeat
from stormcut.adapters.tls.channel import Role, Tls
from stormcut.adapters.zookeeper.client import Client
from stormcut.adapters.zookeeper.leader import ZooKeeperLeadership
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.publication import ZooKeeperPublication
from stormcut.adapters.zookeeper.store import ZooKeeperStore
from stormcut.cli.addresses import Address, resolved
from stormcut.cli.interruption import stop_signals
from stormcut.control.decide.adviser import Recorder, Settings
from stormcut.control.policy import Policy
from stormcut.control.standing import Standing, warm_up
from stormcut.model.errors import InvalidInput

log = logging.getLogger("stormcut.brain")

#: What runs beside a brain for as long as it serves.
Beside = Callable[
    [Standing, ZooKeeperPublication, CollectorRegistry], AbstractContextManager[object]
]


def check_http(http: Address | None, tls: Tls | None) -> None:
    """Refuse an address that strangers reach, unless they must show certificates.

    Raises
    ------
    InvalidInput
        It is not loopback.
    """
    if http and tls is None and not ipaddress.ip_address(http.host).is_loopback:
        raise InvalidInput(
            "other machines would reach it, and nothing there is encrypted or asks who they are:"
            " use 127.0.0.1, or add --tls",
            f"--http {http}",
        )


def check_bind(bind: str, insecure: bool, tls: Tls | None) -> None:
    """Refuse an address that strangers reach, unless that is wanted or they must show certificates.

    Raises
    ------
    InvalidInput
        It is no address of this machine, all of them, or not loopback.
    """
    address = resolved(bind, f"--bind {bind}")
    if address.is_unspecified:
        raise InvalidInput(
            "is published for Nimbus to connect to: give one address, not all", f"--bind {bind}"
        )
    if not address.is_loopback and not insecure and tls is None:
        raise InvalidInput(
            "other machines would reach the brain, and nothing is encrypted here: use 127.0.0.1,"
            " add --tls, or --insecure-bind in a network you trust",
            f"--bind {bind}",
        )


def serve(
    client: Client,
    root: str,
    settings: Settings,
    bind: str,
    port: int,
    recorder: Recorder | None,
    http: Address | None,
    tls: Tls | None,
    policy: Policy | None = None,
    beside: Beside = lambda standing, publication, registry: nullcontext(),
    nimbus: Sequence[str] = (),
) -> None:
    """Serve plans, and stand for election, until a signal says to stop.

    Parameters
    ----------
    http : Address, optional
        Where to tell of it over HTTP.
    tls : Tls, optional
        For both ports; without it both are plain.
    policy : Policy, optional
        What the brain may do of what it decides; without one, all.
    beside : callable, optional
        Runs as long as the brain serves, and may register metrics.
    nimbus : sequence of str
        Addresses of all Nimbuses, to drain topologies before they move.
    """
    stopped = stop_signals()
    nodes = StormcutNodes(client, root)
    nodes.secure()
    if tls is not None:
        tls.check_role(Role.BRAIN)
    identity = f"{socket.gethostname()}-{os.getpid()}-{int(time.time())}"
    store, publication = ZooKeeperStore(nodes), ZooKeeperPublication(nodes)
    clock = SystemClock()
    counters = Counters(clock)
    valve = NimbusValve(nodes, nimbus) if nimbus else None
    standing = Standing(
        settings, store, publication, clock, new_id, recorder, policy, counters, valve
    )
    view = View(
        identity, settings.algorithm, standing, counters, lambda: bool(client.connected), clock
    )
    server = BrainServer(standing, identity, nodes.seal, bind, port, standing.brain, counters, tls)
    pulse = Heartbeat(BrainClient(identity, nodes.seal, bind, server.port, tls=tls))
    leadership = ZooKeeperLeadership(
        nodes, identity, bind, server.port, standing.elected, standing.watch, pulse.beats
    )
    with _shown(view, counters, http, tls), beside(standing, publication, counters.registry):
        warm_up(settings)
        collect_seldom()
        log.info(
            "brain %s listens on %s:%d%s, ZooKeeper %s, algorithm %s; standing for election",
            identity,
            bind,
            server.port,
            "" if tls is None else f" with TLS as in {tls.folder}",
            root,
            settings.algorithm,
        )
        standing.run(server, leadership, stopped)


@contextmanager
def _shown(view: View, counters: Counters, http: Address | None, tls: Tls | None) -> Iterator[None]:
    """Answer over HTTP, if that is wanted, until the block ends."""
    if http is None:
        yield
        return
    with serving(Pages(view, counters).at, http.host, http.port, tls):
        yield
