"""What `stormcut operate` runs: the controller. It watches, decides and, where it may, acts."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry

from stormcut.adapters.files.config_file import Config, read_config
from stormcut.adapters.files.pieces import hooked_logs
from stormcut.adapters.http.measured import MeasuredMetrics
from stormcut.adapters.machine.clock import SystemClock
from stormcut.adapters.machine.log_lines import TEXT, log_to_stderr
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.publication import ZooKeeperPublication
from stormcut.cli.addresses import Address
from stormcut.cli.config import described
from stormcut.cli.serving import serve
from stormcut.control.observe.observer import Observer, Seen
from stormcut.control.outlook import PartStatus
from stormcut.control.standing import Standing
from stormcut.model.cluster import RunningTopology

log = logging.getLogger("stormcut")

#: So many half-lives of what was logged before it started count: older lines say little of now.
HISTORY_HALF_LIVES = 2
#: After so long something is wrong: hooks write every 10 s, unless told otherwise.
SILENT_SECONDS = 120.0


def run(config: Path) -> None:
    """Run the controller as a file says, until a signal ends it."""
    chosen = read_config(config)
    credentials = read_auth_file(chosen.auth_file)
    log_to_stderr(TEXT)
    log.info("controller: %s", described(chosen))

    with connected(chosen.zookeeper, credentials, is_patient=True) as client:
        serve(
            client,
            chosen.root,
            chosen.settings,
            chosen.address,
            chosen.port,
            None,
            None if chosen.http_port is None else Address(chosen.http_address, chosen.http_port),
            chosen.tls,
            chosen.policy,
            lambda standing, publication, registry: _observing(
                chosen, standing, publication, registry
            ),
            chosen.nimbus,
        )


@contextmanager
def _observing(
    config: Config,
    standing: Standing,
    publication: ZooKeeperPublication,
    registry: CollectorRegistry,
) -> Iterator[None]:
    """Observe topologies until the block ends."""
    # Spark takes half a second to import: not before the configuration has been checked.
    from stormcut.adapters.spark.observing import Sources, observing
    from stormcut.adapters.spark.streaming import StreamSettings

    observer = Observer(
        publication,
        SystemClock(),
        lambda: standing.leads,
        standing.profiles,
        standing.undos,
        config.watching,
        standing.resting,
    )
    sources = Sources(config.logs, config.spool, config.keep_s, config.spark_master, config.kafka)
    since = time.time() - HISTORY_HALF_LIVES * config.watching.half_life_s
    settings = StreamSettings(config.every_s, config.warm_up_s, since)
    with observing(sources, settings, observer.take) as streams:
        registry.register(MeasuredMetrics(streams, observer.seen))
        standing.brain.heard, standing.brain.accounts = observer.heard, observer.accounts
        standing.brain.unmeasured = partial(_unmeasured, config, observer)
        standing.brain.parts["metrics"] = lambda: _part(streams(), observer.seen())
        yield


def _unmeasured(config: Config, observer: Observer, topology: RunningTopology) -> str:
    """Return why nothing is known of a topology."""
    if not topology.assignment:
        return "no worker of it runs"
    if (tasks := observer.measured_tasks(topology.id)) is not None:
        every = sum(each.end_task - each.start_task + 1 for each in topology.executors)
        return f"{tasks} of {every} tasks have reported so far: it is measured when all have"
    if not config.logs:
        return "no report of it has come"
    logs, hooked = hooked_logs(config.logs, topology.id)
    if not logs:
        folders = ", ".join(map(str, config.logs))
        return f"no metrics log of it is in {folders}: do its supervisors' logs come here?"
    if not hooked:
        return "its metrics logs have no line of the hook: submit it again, now that Nimbus has it"
    return "its hook reports: the first reports are being read"


def _part(is_read: bool, seen: Mapping[str, Seen]) -> PartStatus:
    """Return how the metrics are."""
    if not is_read:
        return PartStatus(False, "Spark does not read them: see the log")
    if not seen:
        return PartStatus(True, "no topology has reported yet")
    age = time.time() - max(each.heard_s for each in seen.values())
    return PartStatus(
        age < SILENT_SECONDS, f"topologies measured: {len(seen)}, last report {age:.0f} s ago"
    )
