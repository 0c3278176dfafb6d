"""`stormcut operate`: the controller. It watches, decides and, where it may, acts."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from kazoo.client import KazooClient

from stormcut.adapters.files.config_file import Config, read_config
from stormcut.adapters.http.metrics import BrainMetrics
from stormcut.adapters.http.server import Pages, serving
from stormcut.adapters.machine.clock import SystemClock
from stormcut.adapters.zookeeper.nodes import connected, read_auth_file
from stormcut.adapters.zookeeper.publication import ZooKeeperPublication
from stormcut.application.control.observer import Observer
from stormcut.application.control.standing import Standing
from stormcut.cli.config import described
from stormcut.cli.serving import log_to_stderr, serve

log = logging.getLogger("stormcut")

#: So many half-lives of what was logged before it started count: older lines say little of now.
HISTORY_HALF_LIVES = 2


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
def operate(config: Path) -> None:
    """Run the controller as CONFIG says, in the foreground, until a signal ends it.

    It reads the metrics of running topologies as they are written, decides as the brain does, and
    acts as its mode allows. Several may run: one leads. `stormcut config init` makes the file.

    \b
    Example:
      stormcut operate stormcut.yaml
    """
    chosen = read_config(config)
    credentials = read_auth_file(chosen.auth_file)
    log_to_stderr()
    log.info("controller: %s", described(chosen))

    with connected(chosen.zookeeper, credentials) as client:
        serve(
            client,
            chosen.root,
            chosen.settings,
            chosen.address,
            chosen.port,
            None,
            chosen.policy,
            lambda standing, publication: _beside(chosen, client, standing, publication),
        )


@contextmanager
def _beside(
    config: Config, client: KazooClient, standing: Standing, publication: ZooKeeperPublication
) -> Iterator[None]:
    """Observe topologies, and tell of it all over HTTP if that is wanted."""
    # Spark takes half a second to import: not before the configuration has been checked.
    from stormcut.adapters.spark.observing import Sources, observing
    from stormcut.adapters.spark.streaming import StreamSettings

    observer = Observer(publication, SystemClock(), lambda: standing.leads, config.watching)
    sources = Sources(config.logs, config.spool, config.keep_s, config.spark_master)
    since = time.time() - HISTORY_HALF_LIVES * config.watching.half_life_s
    settings = StreamSettings(config.every_s, config.warm_up_s, since)
    with observing(sources, settings, observer.take) as streams:
        if config.http_port is None:
            yield
            return
        metrics = BrainMetrics(
            standing.brain,
            lambda: standing.leads,
            lambda: bool(client.connected),
            streams,
            observer.seen,
        )
        pages = Pages(
            metrics,
            lambda: None if client.connected else "no session with ZooKeeper",
            lambda: standing.brain.outlook(settled=False),
        )
        with serving(pages, config.http_address, config.http_port):
            yield
