"""One run of a benchmark topology, drained and checked."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormcut.application.loss import Report, restarted, source_totals
from stormcut.cli.steps import Steps
from stormcut.cli.topology_outcome import Outcome, outcome_of
from stormcut.model.errors import InvalidInput, StormcutError

if TYPE_CHECKING:
    from stormcut.adapters.local_cluster import LocalCluster
    from stormcut.adapters.nimbus import Nimbus
    from stormcut.adapters.topology_project import Definition
    from stormcut.adapters.topology_site import Site

#: Tasks that two cores start in reasonable time; the default scale stays near it.
TASKS = 12
#: Beyond the time that sources send: start, and whatever the slowest bolt still has to do.
PATIENCE_S = 900.0
#: Bolts report every other second what has changed: after so long without news there is none.
SETTLED_S = 6.0
#: A process that waits for a busy core is slow, not dead.
PATIENT = {
    "supervisor.worker.timeout.secs": 120,
    "nimbus.task.timeout.secs": 120,
    "nimbus.supervisor.timeout.secs": 120,
    "nimbus.task.launch.secs": 240,
    "supervisor.worker.start.timeout.secs": 240,
}
MESSAGE_TIMEOUT_S = 120


@dataclass(frozen=True)
class Settings:
    """What is run; without minutes the data is replayed once, as fast as possible.

    ``docker`` names a cluster in containers; else a cluster of so many supervisors is started.
    """

    name: str
    options: Mapping[str, str]
    minutes: float | None
    supervisors: int
    slots: int
    results: Path | None = None
    docker: str | None = None


def run(settings: Settings, steps: Steps) -> Outcome:
    """Run a topology on the cluster that is asked for; nothing of it stays there."""
    from stormcut.adapters.topology_site import docker_site, local_site

    given = options_of(settings)
    if settings.docker is not None:
        from stormcut.adapters.docker_cluster import DockerCluster

        return run_on(docker_site(DockerCluster.open(settings.docker)), settings, given, steps)
    with cluster_for(settings, steps) as cluster:
        return run_on(local_site(cluster), settings, given, steps)


def run_on(site: Site, settings: Settings, given: Mapping[str, Any], steps: Steps) -> Outcome:
    """Run a topology on a cluster that is up; afterwards it is gone from there."""
    from stormcut.adapters.topology_project import load
    from stormcut.adapters.topology_site import submit_on

    name = settings.name
    definition = load(name)
    with ExitStack() as stack:
        if "redis" in definition.options and "redis" not in given:
            given = {**given, "redis": stack.enter_context(_redis(site, steps))}
        with site.start():
            with steps.step(f"sparse submit {name}"):
                folders = submit_on(site, name, name, given)
            stack.callback(_remove, folders)
            stack.callback(_kill, site.nimbus, name)
            spouts = _spouts(site.nimbus, definition)
            with steps.step("waiting until every source has acknowledged tuples"):
                began = _started(folders, spouts)
        _drain(folders, spouts, settings, steps)
        seconds = time.monotonic() - began
        reports = settled(folders)
        if settings.results:
            _keep(folders, settings.results)
    return outcome_of(definition, given, reports, spouts, seconds, steps)


def options_of(settings: Settings) -> dict[str, Any]:
    """Return the options that are given, by the user or by this command.

    Raises
    ------
    InvalidInput
        There is no such topology, it has no such option, cannot use its value, or would never end.
    """
    from stormcut.adapters.topology_project import check_options, load

    definition = load(settings.name)
    given = {key: _value(text) for key, text in settings.options.items()}
    small = {
        "scale": min(1.0, TASKS / definition.tasks),
        "topology.message.timeout.secs": MESSAGE_TIMEOUT_S,
    }
    options = {**small, **_length(definition.name, settings.minutes), **given}
    check_options(settings.name, options)
    if not (options.get("replays") or options.get("seconds")):
        why = "the run would never end; give more than 0, of seconds or of replays"
        raise InvalidInput(why, "--option replays")
    return options


def _length(name: str, minutes: float | None) -> dict[str, Any]:
    from stormcut.adapters.spark.answers import ANSWERS

    if minutes:
        return {"seconds": minutes * 60}
    checkable = ANSWERS[name].options if name in ANSWERS else {}
    return {"replays": 1, "rate": 0, **checkable}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@contextmanager
def _redis(site: Site, steps: Steps) -> Iterator[str]:
    from stormcut.adapters.redis_server import redis_server

    with ExitStack() as stack:
        with steps.step("starting a Redis server"):
            address = stack.enter_context(redis_server(site.host))
        yield address


@contextmanager
def cluster_for(settings: Settings, steps: Steps) -> Iterator[LocalCluster]:
    """Yield a cluster of the size that is asked for, patient enough for a busy machine."""
    from stormcut.adapters.local_cluster import LocalCluster

    nodes = f"{settings.supervisors} supervisors of {settings.slots} slots"
    with steps.step(f"starting Storm 1.2.4: ZooKeeper, Nimbus, {nodes}") as update:
        cluster = LocalCluster.up(
            f"run-{settings.name.replace('_', '-')}",
            supervisors=settings.supervisors,
            slots=settings.slots,
            plugin=False,
            config=PATIENT,
            progress=update,
        )
    try:
        yield cluster
    finally:
        with steps.step("stopping the cluster"):
            cluster.end()


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _keep(folders: Sequence[Path], results: Path) -> None:
    for folder in folders:
        # A node without a task has none.
        if folder.is_dir():
            shutil.copytree(folder, results, dirs_exist_ok=True)


def _kill(nimbus: Nimbus, name: str) -> None:
    from stormcut.adapters.nimbus import NimbusUnavailable

    # A Nimbus that no longer answers takes the topology with it when the cluster ends.
    with suppress(NimbusUnavailable):
        nimbus.end_topology(name)


def _spouts(nimbus: Nimbus, definition: Definition) -> dict[str, int]:
    """Return how many tasks each source has at the size that was submitted."""
    from stormcut.adapters.nimbus import wait_until

    names = {spout.name for spout in definition.spouts}

    def placed() -> Counter[str]:
        executors = nimbus.topology(definition.name).executors
        return Counter(each.component for each in executors if each.component in names)

    return dict(wait_until(placed, PATIENCE_S, f"Nimbus has placed {definition.name}"))


def _started(folders: Sequence[Path], spouts: Mapping[str, int]) -> float:
    """Wait until every source runs; return when the first tuple was acknowledged."""
    from stormcut.adapters.nimbus import wait_until

    began = 0.0

    def started() -> bool:
        nonlocal began
        reports = _reports(folders)
        if source_totals(reports, spouts).acked and not began:
            began = time.monotonic()
        sources = [each for each in reports if each["component"] in spouts]
        running = [each for each in sources if each["acked"] or each["finished"]]
        return len(running) == sum(spouts.values())

    wait_until(started, PATIENCE_S, "every source has acknowledged tuples", poll_s=0.5)
    return began


def _drain(
    folders: Sequence[Path], spouts: Mapping[str, int], settings: Settings, steps: Steps
) -> None:
    """Wait until all that is ever sent is acknowledged."""
    from stormcut.adapters.nimbus import wait_until

    with steps.step("waiting until everything that is sent is acknowledged") as update:

        def drained() -> bool:
            totals = source_totals(_reports(folders), spouts)
            update(f"{totals.acked:,} of {totals.sent:,}")
            return totals.drained

        timeout_s = (settings.minutes or 0) * 60 + PATIENCE_S
        wait_until(drained, timeout_s, "every tuple is acknowledged", poll_s=0.5)


def settled(folders: Sequence[Path]) -> list[Report]:
    """Wait until no report changes any more and no task waits for its store; return them."""
    from stormcut.adapters.nimbus import wait_until

    reports: list[Report] = []
    since = time.monotonic()

    def unchanged() -> bool:
        nonlocal reports, since
        newest = _reports(folders)
        if newest != reports:
            reports, since = newest, time.monotonic()
        waiting = any(each.get("waiting") for each in reports)
        return not waiting and time.monotonic() - since >= SETTLED_S

    wait_until(unchanged, PATIENCE_S, "every task has reported what it did", poll_s=0.5)
    return reports


def _reports(folders: Sequence[Path]) -> list[Report]:
    from stormcut.adapters.topology_site import read_reports

    reports = read_reports(folders)
    if restarted(reports):
        names = ", ".join(restarted(reports))
        raise StormcutError(f"a worker was restarted and its counts are lost: {names}")
    return reports
