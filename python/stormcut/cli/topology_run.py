"""One run of a benchmark topology, drained and checked."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormcut.application.experiment.loss import Report, restarted, source_totals
from stormcut.cli.own_cluster import own_cluster
from stormcut.cli.steps import Steps
from stormcut.cli.topology_outcome import Outcome, outcome_of
from stormcut.model.errors import InvalidInput, StormcutError

if TYPE_CHECKING:
    from stormcut.adapters.storm.topology_project import Definition
    from stormcut.adapters.storm.topology_site import Site
    from stormcut.application.waiting import Watch

#: Tasks that two cores start in reasonable time; the default scale stays near it.
TASKS = 12
#: Served time without progress: the start of a JVM with its Python processes, a slow bolt.
PATIENCE_S = 180.0
#: Bolts report every other second what has changed: after so long without news there is none.
SETTLED_S = 6.0
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
    from stormcut.adapters.storm.topology_site import docker_site, local_site

    given = options_of(settings)
    if settings.docker is not None:
        from stormcut.adapters.clusters.docker import DockerCluster

        return run_on(docker_site(DockerCluster.open(settings.docker)), settings, given, steps)
    name = f"run-{settings.name.replace('_', '-')}"
    with own_cluster(name, settings.supervisors, settings.slots, steps, plugin=False) as cluster:
        return run_on(local_site(cluster), settings, given, steps)


def run_on(site: Site, settings: Settings, given: Mapping[str, Any], steps: Steps) -> Outcome:
    """Run a topology on a cluster that is up; afterwards it is gone from there."""
    from stormcut.adapters.storm.topology_project import load
    from stormcut.adapters.storm.topology_site import submit_on

    name = settings.name
    definition = load(name)
    with ExitStack() as stack:
        if "redis" in definition.options and "redis" not in given:
            given = {**given, "redis": stack.enter_context(_redis(site, steps))}
        with site.start():
            with steps.step(f"sparse submit {name}"):
                folders = submit_on(site, name, name, given)
            stack.callback(_remove, folders)
            stack.callback(_kill, site, name)
            spouts = _spouts(site, definition)
            with steps.step("waiting until every source has acknowledged tuples"):
                began = _started(folders, spouts, site.watch(name))
        _drain(folders, spouts, site.watch(name), _patience_s(given), steps)
        seconds = time.monotonic() - began
        reports = settled(folders, site.watch(name))
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
    from stormcut.adapters.storm.topology_project import check_options, load

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
    from stormcut.adapters.clusters.redis_server import redis_server

    with ExitStack() as stack:
        with steps.step("starting a Redis server"):
            address = stack.enter_context(redis_server(site.host))
        yield address


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _keep(folders: Sequence[Path], results: Path) -> None:
    for folder in folders:
        # A node without a task has none.
        if folder.is_dir():
            shutil.copytree(folder, results, dirs_exist_ok=True)


def _kill(site: Site, name: str) -> None:
    from stormcut.adapters.storm.nimbus import NimbusUnavailable

    # A Nimbus that no longer answers takes the topology with it when the cluster ends.
    with suppress(NimbusUnavailable):
        site.nimbus.end_topology(name, watch=site.watch(name))


def _spouts(site: Site, definition: Definition) -> dict[str, int]:
    """Return how many tasks each source has at the size that was submitted."""
    from stormcut.application.waiting import wait_until

    names = {spout.name for spout in definition.spouts}

    def placed() -> Counter[str]:
        executors = site.nimbus.topology(definition.name).executors
        return Counter(each.component for each in executors if each.component in names)

    what = f"Nimbus has placed {definition.name}"
    return dict(wait_until(placed, PATIENCE_S, what, watch=site.watch(definition.name)))


def _started(folders: Sequence[Path], spouts: Mapping[str, int], watch: Watch) -> float:
    """Wait until every source runs; return when the first tuple was acknowledged."""
    from stormcut.application.waiting import wait_until

    began = 0.0

    def started() -> bool:
        nonlocal began
        reports = _reports(folders)
        if source_totals(reports, spouts).acked and not began:
            began = time.monotonic()
        sources = [each for each in reports if each["component"] in spouts]
        running = [each for each in sources if each["acked"] or each["finished"]]
        return len(running) == sum(spouts.values())

    what = "every source has acknowledged tuples"
    wait_until(started, PATIENCE_S, what, poll_s=0.5, watch=watch)
    return began


def _patience_s(given: Mapping[str, Any]) -> float:
    """Return for how long nothing may be acknowledged.

    A lost tuple comes again once it has timed out, perhaps to be lost again; and the slower the
    source, the longer the pauses between tuples.
    """
    rate = float(given.get("rate") or 0)
    pause_s = 10 / rate if rate > 0 else 0.0
    return PATIENCE_S + 2 * float(given["topology.message.timeout.secs"]) + pause_s


def _drain(
    folders: Sequence[Path],
    spouts: Mapping[str, int],
    watch: Watch,
    patience_s: float,
    steps: Steps,
) -> None:
    """Wait until all that is ever sent is acknowledged."""
    from stormcut.application.waiting import wait_until

    totals = source_totals((), spouts)
    with steps.step("waiting until everything that is sent is acknowledged") as update:

        def drained() -> bool:
            nonlocal totals
            totals = source_totals(_reports(folders), spouts)
            update(f"{totals.acked:,} of {totals.sent:,}")
            return totals.drained

        acked = replace(watch, moves=lambda: (totals.acked, totals.sent))
        wait_until(drained, patience_s, "every tuple is acknowledged", poll_s=0.5, watch=acked)


def settled(folders: Sequence[Path], watch: Watch) -> list[Report]:
    """Wait until no report changes any more and no task waits for its store; return them."""
    from stormcut.application.waiting import wait_until

    reports: list[Report] = []
    since = time.monotonic()
    changes = 0

    def unchanged() -> bool:
        nonlocal reports, since, changes
        newest = _reports(folders)
        if newest != reports:
            reports, since, changes = newest, time.monotonic(), changes + 1
        waiting = any(each.get("waiting") for each in reports)
        return not waiting and time.monotonic() - since >= SETTLED_S

    changing = replace(watch, moves=lambda: (changes,))
    what = "every task has reported what it did"
    wait_until(unchanged, PATIENCE_S, what, poll_s=0.5, watch=changing)
    return reports


def _reports(folders: Sequence[Path]) -> list[Report]:
    from stormcut.adapters.storm.topology_site import read_reports

    reports = read_reports(folders)
    if restarted(reports):
        names = ", ".join(restarted(reports))
        raise StormcutError(f"a worker was restarted and its counts are lost: {names}")
    return reports
