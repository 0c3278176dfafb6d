"""One run of a benchmark topology on a local cluster, drained and checked."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormcut.application.loss import (
    Passage,
    Report,
    Totals,
    is_whole,
    passages,
    restarted,
    sent_ordinals,
    source_totals,
)
from stormcut.cli.steps import Steps
from stormcut.model.errors import InvalidInput, StormcutError

if TYPE_CHECKING:
    from stormcut.adapters.local_cluster import LocalCluster
    from stormcut.adapters.topology_project import Definition

#: Tasks that two cores start in reasonable time; the default scale stays near it.
TASKS = 12
#: Beyond the time that sources send: start, and whatever the slowest bolt still has to do.
PATIENCE_S = 900.0
#: Bolts report every other second; by then all have reported their last counts.
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
#: A Storm key, given as it is; all others are the topology's own.
STORM_PREFIXES = ("topology.", "storm.", "worker.", "pystorm.")


@dataclass(frozen=True)
class Settings:
    """What is run; without minutes the data is replayed once, as fast as possible."""

    name: str
    options: Mapping[str, str]
    minutes: float | None
    supervisors: int
    slots: int
    results: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What a drained run did; `answer` is in words, `wrong` if it differs from Spark's."""

    topology: str
    tasks: int
    seconds: float
    totals: Totals
    passages: tuple[Passage, ...]
    dropped: tuple[tuple[str, str, int], ...]
    latency: str
    whole: bool
    answer: str
    wrong: bool

    @property
    def holds(self) -> bool:
        """Whether nothing was lost and no answer is wrong."""
        return self.whole and not self.wrong


def document(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON values."""
    return {**asdict(outcome), "holds": outcome.holds}


def run(settings: Settings, steps: Steps) -> Outcome:
    """Run a topology on a cluster of its own; nothing stays behind but the reports asked for."""
    given = options_of(settings)
    with cluster_for(settings, steps) as cluster:
        return run_on(cluster, settings, given, steps)


def run_on(
    cluster: LocalCluster, settings: Settings, given: Mapping[str, Any], steps: Steps
) -> Outcome:
    """Run a topology on a cluster that is up; afterwards it is gone from there."""
    from stormcut.adapters.topology_project import load

    definition = load(settings.name)
    results = cluster.folder / "results"
    results.mkdir(exist_ok=True)
    # Of its own: what an earlier run reported under this name is no part of this one.
    folder = Path(tempfile.mkdtemp(prefix=f"{settings.name}-", dir=results))
    with ExitStack() as stack:
        given = {**given, "results": str(folder)}
        if "redis" in definition.options and "redis" not in given:
            given["redis"] = stack.enter_context(_redis(steps))
        _submit(settings, definition, given, cluster, steps)
        stack.callback(_kill, cluster, settings.name)
        spouts = _spouts(cluster, definition)
        seconds = _drain(folder, spouts, settings, steps)
        reports = read_reports(folder)
    if settings.results:
        shutil.copytree(folder, settings.results, dirs_exist_ok=True)
    return _outcome(definition, given, reports, spouts, seconds, steps)


def options_of(settings: Settings) -> dict[str, Any]:
    """Return the options that are given, by the user or by this command.

    Raises
    ------
    InvalidInput
        There is no such topology, or it has no such option.
    """
    from stormcut.adapters.topology_project import load

    definition = load(settings.name)
    given = {key: _value(text) for key, text in settings.options.items()}
    for key in given:
        if key not in definition.options and not key.startswith(STORM_PREFIXES):
            known = ", ".join(definition.options)
            raise InvalidInput(f"no such option; there are {known}", f"--option {key}")
    small = {
        "scale": min(1.0, TASKS / definition.tasks),
        "topology.message.timeout.secs": MESSAGE_TIMEOUT_S,
    }
    return {**small, **_length(definition.name, settings.minutes), **given}


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
def _redis(steps: Steps) -> Iterator[str]:
    from stormcut.adapters.redis_server import redis_server

    with ExitStack() as stack:
        with steps.step("starting a Redis server"):
            address = stack.enter_context(redis_server())
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
            cluster.down()


def _submit(
    settings: Settings,
    definition: Definition,
    given: Mapping[str, Any],
    cluster: LocalCluster,
    steps: Steps,
) -> None:
    from stormcut.adapters.home import topologies, topologies_jar
    from stormcut.adapters.sparse_submit import submit

    options = {
        f"rig.{key}" if key in definition.options else key: value for key, value in given.items()
    }
    with steps.step(f"sparse submit {settings.name}"):
        submit(
            project=topologies(),
            topology=settings.name,
            name=settings.name,
            nimbus=cluster.nimbus_address,
            workers=settings.supervisors,
            options=options,
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=cluster.folder / "sparse",
            jar=topologies_jar() if given.get("language") == "java" else None,
        )


def _kill(cluster: LocalCluster, name: str) -> None:
    from stormcut.adapters.nimbus import NimbusUnavailable, wait_until

    def gone() -> bool:
        return all(each.name != name for each in cluster.nimbus.cluster().topologies)

    # A Nimbus that no longer answers takes the topology with it when the cluster ends.
    with suppress(NimbusUnavailable):
        cluster.nimbus.kill_topology(name)
        wait_until(gone, 60.0, f"topology {name} is gone")


def _spouts(cluster: LocalCluster, definition: Definition) -> dict[str, int]:
    """Return how many tasks each source has at the size that was submitted."""
    from stormcut.adapters.nimbus import wait_until

    names = {spout.name for spout in definition.spouts}

    def placed() -> Counter[str]:
        executors = cluster.nimbus.topology(definition.name).executors
        return Counter(each.component for each in executors if each.component in names)

    return dict(wait_until(placed, PATIENCE_S, f"Nimbus has placed {definition.name}"))


def _drain(folder: Path, spouts: Mapping[str, int], settings: Settings, steps: Steps) -> float:
    """Wait until all that is ever sent is acknowledged; return seconds since the first ack."""
    from stormcut.adapters.nimbus import wait_until

    began = 0.0
    with steps.step("waiting until everything that is sent is acknowledged") as update:

        def drained() -> bool:
            nonlocal began
            reports = read_reports(folder)
            if restarted(reports):
                names = ", ".join(restarted(reports))
                raise StormcutError(f"a worker was restarted and its counts are lost: {names}")
            totals = source_totals(reports, spouts)
            if totals.acked and not began:
                began = time.monotonic()
            update(f"{totals.acked:,} of {totals.sent:,}")
            return totals.drained

        timeout_s = (settings.minutes or 0) * 60 + PATIENCE_S
        wait_until(drained, timeout_s, "every tuple is acknowledged", poll_s=0.5)
    seconds = time.monotonic() - began
    time.sleep(SETTLED_S)
    return seconds


def read_reports(folder: Path) -> list[Report]:
    """Return the newest report of every task."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def _outcome(
    definition: Definition,
    given: Mapping[str, Any],
    reports: list[Report],
    spouts: Mapping[str, int],
    seconds: float,
    steps: Steps,
) -> Outcome:
    totals = source_totals(reports, spouts)
    crossed = passages(reports, definition.hops)
    answer, wrong = _check(definition, given, reports, totals, steps)
    return Outcome(
        topology=definition.name,
        tasks=len(reports),
        seconds=seconds,
        totals=totals,
        passages=tuple(crossed),
        dropped=_dropped(reports),
        latency=_latency(reports),
        whole=is_whole(totals, crossed),
        answer=answer,
        wrong=wrong,
    )


def _dropped(reports: list[Report]) -> tuple[tuple[str, str, int], ...]:
    found: Counter[tuple[str, str]] = Counter()
    for report in reports:
        for reason, count in report.get("dropped", {}).items():
            found[report["component"], reason] += count
    return tuple((*key, count) for key, count in sorted(found.items()))


def _latency(reports: list[Report]) -> str:
    from stormcut.adapters.topology_project import percentile

    buckets: Counter[int] = Counter()
    for report in reports:
        for bucket, count in report.get("latency", {}).items():
            buckets[int(bucket)] += count
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return ", ".join(f"{name} {percentile(buckets, at):.0f} ms" for name, at in shares.items())


def _check(
    definition: Definition,
    given: Mapping[str, Any],
    reports: list[Report],
    totals: Totals,
    steps: Steps,
) -> tuple[str, bool]:
    """Return how the answer compares with Spark's, in words, and whether it is wrong."""
    from stormcut.adapters.spark import spark_session
    from stormcut.adapters.spark.answers import ANSWERS
    from stormcut.adapters.topology_project import records

    if definition.name not in ANSWERS:
        return "this topology has none to check", False
    if totals.skipped:
        return "not checked: records were skipped", False
    answer = ANSWERS[definition.name]
    options = {name: option.default for name, option in definition.options.items()} | dict(given)
    if any(options[key] != value for key, value in answer.options.items()):
        needed = ", ".join(f"{key}={value}" for key, value in answer.options.items())
        return f"not checked: it needs {needed}", False
    with steps.step("computing the answer with Spark"), spark_session("local[2]") as spark:
        data = records(definition.name, given)
        ordinals = sent_ordinals(reports, definition.spouts[0].name)
        sent = [data[ordinal % len(data)] for ordinal in ordinals]
        expected = answer.expected(spark, sent, options)
    found = answer.given(reports)
    if found == expected:
        return f"equals Spark's: {_first(expected)}", False
    if totals.replayed:
        return "differs from Spark's, as it may: what is replayed can be counted twice", False
    return f"DIFFERS from Spark's: {_first(found)} instead of {_first(expected)}", True


def _first(answer: Any) -> str:
    """Return an answer, or how it begins."""
    text = json.dumps(answer, sort_keys=True)
    return text if len(text) < 200 else f"{text[:200]}... ({len(answer):,} in all)"
