"""`stormcut brain`: serve plans until told to stop."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from kazoo.client import KazooClient

from stormcut.adapters.files.costs_file import read_costs
from stormcut.adapters.files.decision_files import DecisionFiles
from stormcut.adapters.http.counters import Counters
from stormcut.adapters.http.pages import Pages
from stormcut.adapters.http.server import serving
from stormcut.adapters.http.view import View
from stormcut.adapters.machine.clock import SystemClock, new_id
from stormcut.adapters.machine.log_lines import FORMATS, TEXT, log_to_stderr
from stormcut.adapters.thrift.brain import BrainClient, BrainServer, Pulse
from stormcut.adapters.zookeeper.leader import Leadership
from stormcut.adapters.zookeeper.nodes import (
    StormcutNodes,
    ZooKeeperStore,
    connected,
    read_auth_file,
)
from stormcut.adapters.zookeeper.publication import ZooKeeperPublication
from stormcut.application.control.adviser import Settings
from stormcut.application.control.ports import Recorder
from stormcut.application.control.standing import Standing, warm_up
from stormcut.application.place import DEFAULT_ALGORITHM
from stormcut.cli.addresses import Address, loopback_address, resolved
from stormcut.cli.key_values import parse_pairs
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFolder
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.model.errors import InvalidInput
from stormcut.placement.registry import algorithm, parse_options

log = logging.getLogger("stormcut.brain")


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
@click.option(
    "--costs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What transfer costs here, from `stormcut calibrate`, instead of what is shipped; read "
    "when the brain starts.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    callback=loopback_address,
    help="Answer /metrics (Prometheus), /healthz, /readyz and /status there, on this machine alone;"
    " port 0: any free one, which the log names. None unless given.",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default=TEXT,
    show_default=True,
    help="Lines of the log for people, or as JSON objects.",
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
    costs: Path | None,
    http: Address | None,
    log_format: str,
) -> None:
    """Serve plans to the scheduler in Nimbus, as leader or standby of several brains.

    \b
    Example:
      stormcut brain --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut brain --costs costs.json --record decisions/
      stormcut brain --http 127.0.0.1:9464 --log-format json
    """
    fitted = None if costs is None else read_costs(costs)
    settings = Settings(algorithm_name, parse_pairs(options), min_gain, costs=fitted)
    parse_options(algorithm(algorithm_name), settings.options)
    _check_bind(bind, insecure_bind)
    credentials = read_auth_file(auth_file)
    recorder = None if record is None else DecisionFiles(record)
    log_to_stderr(log_format)
    with connected(zookeeper, credentials) as client:
        _serve(client, root, settings, bind, port, recorder, http)


def _check_bind(bind: str, insecure: bool) -> None:
    address = resolved(bind, f"--bind {bind}")
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


def _serve(
    client: KazooClient,
    root: str,
    settings: Settings,
    bind: str,
    port: int,
    recorder: Recorder | None,
    http: Address | None,
) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    nodes = StormcutNodes(client, root)
    nodes.secure()
    identity = f"{socket.gethostname()}-{os.getpid()}-{int(time.time())}"
    store, publication = ZooKeeperStore(nodes), ZooKeeperPublication(nodes)
    clock = SystemClock()
    counters = Counters(clock)
    standing = Standing(settings, store, publication, clock, new_id, recorder, counters)
    view = View(
        identity, settings.algorithm, standing, counters, lambda: bool(client.connected), clock
    )
    server = BrainServer(standing, identity, nodes.seal, bind, port, standing.brain, counters)
    pulse = Pulse(BrainClient(identity, nodes.seal, bind, server.port))
    leadership = Leadership(
        nodes, identity, bind, server.port, standing.elected, standing.watch, pulse.beats
    )
    with _shown(view, counters, http):
        warm_up(settings)
        log.info(
            "brain %s listens on %s:%d, ZooKeeper %s, algorithm %s; standing for election",
            identity,
            bind,
            server.port,
            root,
            settings.algorithm,
        )
        standing.run(server, leadership, stop.wait)


@contextmanager
def _shown(view: View, counters: Counters, http: Address | None) -> Iterator[None]:
    """Answer over HTTP, if that is wanted, until the block ends."""
    if http is None:
        yield
        return
    with serving(Pages(view, counters).at, http.host, http.port):
        yield
