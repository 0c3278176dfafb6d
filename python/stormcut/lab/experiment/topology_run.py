"""One run of a benchmark topology, drained and checked."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stormcut.application.waiting import NotYet, Watch, wait_until
from stormcut.lab.experiment.definition import Definition
from stormcut.lab.experiment.loss import Report, restarted, source_totals
from stormcut.lab.experiment.outcome import RunOutcome, outcome_of
from stormcut.lab.experiment.ports import (
    Catalogue,
    Progress,
    Site,
    TaskReports,
    TopologyAnswer,
)
from stormcut.lab.experiment.servers import with_servers
from stormcut.model.errors import InvalidInput, StormcutError

#: Tasks that two cores start in reasonable time; the default scale stays near it.
TASKS = 12
#: Served time without progress: the start of a JVM with its Python processes, a slow bolt.
PATIENCE_S = 180.0
#: Bolts report every other second what has changed: after so long without news there is none.
SETTLED_S = 6.0
MESSAGE_TIMEOUT_S = 120


@dataclass(frozen=True)
class RunSettings:
    """What is run; without minutes the data is replayed once, as fast as possible.

    The tasks' reports are kept in the folder ``results``.
    """

    name: str
    options: Mapping[str, str]
    minutes: float | None = None
    results: Path | None = None


def run(
    site: Site,
    settings: RunSettings,
    given: Mapping[str, Any],
    catalogue: Catalogue,
    progress: Progress,
) -> RunOutcome:
    """Run a topology on a cluster that is up; afterwards it is gone from there.

    ``given`` are its options: see `options_of`.
    """
    name = settings.name
    definition = catalogue.topologies.load(name)
    with ExitStack() as stack:
        given = stack.enter_context(with_servers(definition, given, site.servers, progress))
        with site.start():
            with progress.step(f"sparse submit {name}"):
                tasks = site.submit(name, name, given)
            stack.callback(tasks.remove)
            stack.callback(_kill, site, name)
            spouts = _spouts(site, definition)
            with progress.step("waiting until every source has acknowledged tuples"):
                began = _started(tasks, spouts, site.watch(name))
        _drain(tasks, spouts, site.watch(name), _patience_s(given), progress)
        seconds = time.monotonic() - began
        reports = settled(tasks, site.watch(name))
        if settings.results:
            tasks.keep(settings.results)
    return outcome_of(definition, given, reports, spouts, seconds, catalogue, progress)


def options_of(settings: RunSettings, catalogue: Catalogue) -> dict[str, Any]:
    """Return the options that are given, by the user or by this command.

    Raises
    ------
    InvalidInput
        There is no such topology, it has no such option, cannot use its value, or would never end.
    """
    definition = catalogue.topologies.load(settings.name)
    given = {key: _value(text) for key, text in settings.options.items()}
    small = {
        "scale": min(1.0, TASKS / definition.tasks),
        "topology.message.timeout.secs": MESSAGE_TIMEOUT_S,
    }
    options = {**small, **_length(settings, catalogue.answers), **given}
    catalogue.topologies.check_options(settings.name, options)
    if not (options.get("replays") or options.get("seconds")):
        why = "the run would never end; give more than 0, of seconds or of replays"
        raise InvalidInput(why, "--option replays")
    return options


def _length(settings: RunSettings, answers: Mapping[str, TopologyAnswer]) -> dict[str, Any]:
    if settings.minutes:
        return {"seconds": settings.minutes * 60}
    checkable = answers[settings.name].options if settings.name in answers else {}
    return {"replays": 1, "rate": 0, **checkable}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _kill(site: Site, name: str) -> None:
    # A Nimbus that no longer answers takes the topology with it when the cluster ends.
    with suppress(NotYet):
        site.nimbus.end_topology(name, watch=site.watch(name))


def _spouts(site: Site, definition: Definition) -> dict[str, int]:
    """Return how many tasks each source has at the size that was submitted."""
    names = {spout.name for spout in definition.spouts}

    def placed() -> Counter[str]:
        executors = site.nimbus.topology(definition.name).executors
        return Counter(each.component for each in executors if each.component in names)

    what = f"Nimbus has placed {definition.name}"
    return dict(wait_until(placed, PATIENCE_S, what, watch=site.watch(definition.name)))


def _started(tasks: TaskReports, spouts: Mapping[str, int], watch: Watch) -> float:
    """Wait until every source runs; return when the first tuple was acknowledged."""
    began = 0.0

    def started() -> bool:
        nonlocal began
        reports = _reports(tasks)
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
    tasks: TaskReports,
    spouts: Mapping[str, int],
    watch: Watch,
    patience_s: float,
    progress: Progress,
) -> None:
    """Wait until all that is ever sent is acknowledged."""
    totals = source_totals((), spouts)
    with progress.step("waiting until everything that is sent is acknowledged") as update:

        def drained() -> bool:
            nonlocal totals
            totals = source_totals(_reports(tasks), spouts)
            update(f"{totals.acked:,} of {totals.sent:,}")
            return totals.drained

        acked = replace(watch, moves=lambda: (totals.acked, totals.sent))
        wait_until(drained, patience_s, "every tuple is acknowledged", poll_s=0.5, watch=acked)


def settled(tasks: TaskReports, watch: Watch) -> list[Report]:
    """Wait until no report changes any more and no task waits for its store; return them."""
    reports: list[Report] = []
    since = time.monotonic()
    changes = 0

    def unchanged() -> bool:
        nonlocal reports, since, changes
        newest = _reports(tasks)
        if newest != reports:
            reports, since, changes = newest, time.monotonic(), changes + 1
        waiting = any(each.get("waiting") for each in reports)
        return not waiting and time.monotonic() - since >= SETTLED_S

    changing = replace(watch, moves=lambda: (changes,))
    what = "every task has reported what it did"
    wait_until(unchanged, PATIENCE_S, what, poll_s=0.5, watch=changing)
    return reports


def _reports(tasks: TaskReports) -> list[Report]:
    reports = tasks.newest()
    if restarted(reports):
        names = ", ".join(restarted(reports))
        raise StormcutError(f"a worker was restarted and its counts are lost: {names}")
    return reports
