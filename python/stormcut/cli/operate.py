"""`stormcut operate`: the controller. It watches, decides and, where it may, acts."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from stormcut.adapters.files.config_file import Config, read_config
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
    acts as its mode allows. Several may run: one leads.

    \b
    Example:
      stormcut config init stormcut.yaml
      stormcut operate stormcut.yaml
    """
    chosen = read_config(config)
    credentials = read_auth_file(chosen.auth_file)
    log_to_stderr()
    log.info("controller: %s", described(chosen))

    @contextmanager
    def observing(standing: Standing, publication: ZooKeeperPublication) -> Iterator[None]:
        with _observing(chosen, standing, publication):
            yield

    with connected(chosen.zookeeper, credentials) as client:
        serve(
            client,
            chosen.root,
            chosen.settings,
            chosen.address,
            chosen.port,
            None,
            chosen.policy,
            observing,
        )


@contextmanager
def _observing(
    config: Config, standing: Standing, publication: ZooKeeperPublication
) -> Iterator[None]:
    # Spark takes half a second to import: the brain stands for election meanwhile.
    from stormcut.adapters.spark.observing import Sources, observing
    from stormcut.adapters.spark.streaming import StreamSettings

    observer = Observer(publication, SystemClock(), lambda: standing.leads, config.watching)
    sources = Sources(config.logs, config.spool, config.keep_s, config.spark_master)
    since = time.time() - HISTORY_HALF_LIVES * config.watching.half_life_s
    settings = StreamSettings(config.every_s, config.warm_up_s, since)
    with observing(sources, settings, observer.take):
        yield
