"""What faults cost a topology under stormcut and, at the same moment, under Storm alone.

Run by hand, on a machine that does nothing else (a quarter of an hour):

    python -m benchmarks.cluster.faults --output docs/results/faults.md

Two embedded clusters run side by side, each with three supervisors of four slots and `word_count`
at a set rate with three workers: one as Storm is, one with stormcut's plugin and a brain whose plan
has been applied. Each fault strikes both at once.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil
import yaml

from benchmarks.machine import made_by
from benchmarks.page import write_page
from stormcut.adapters.machine import home
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.clusters.local.processes import of_cluster
from stormcut.lab.adapters.storm.sparse_submit import submit

NAME = "words"
SUPERVISORS, SLOTS, WORKERS = 3, 4, 3
#: Sources report every 2 s: shorter pauses are none.
PAUSE_S = 5.0
SAMPLE_S = 0.5
#: After a fault has gone, so long without another pause, and all executors assigned.
CALM_S = 20.0
PATIENCE_S = 300.0

OPTIONS: dict[str, object] = {
    "rig.rate": 100,
    "rig.scale": 0.2,
    "stormcut.workers": "pack",
    "topology.message.timeout.secs": 30,
}
CONFIG: dict[str, object] = {
    "topology.disruptor.batch.timeout.millis": 50,
    "topology.sleep.spout.wait.strategy.time.ms": 20,
    "worker.childopts": "-Xmx%HEAP-MEM%m -XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1",
    # Storm's own patience with lost nodes is two minutes.
    "nimbus.task.timeout.secs": 30,
    "nimbus.supervisor.timeout.secs": 60,
}

PAGE = """\
# What faults cost, beside Storm alone

{doc}

| fault | restarted: Storm | stormcut | tuples: Storm | stormcut | silent s: Storm | stormcut |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

Restarted: workers' processes started again until {calm:g} s after the last pause. Tuples: those
sent again, and those in flight in a source that ended. Silent s: seconds without acks, in
pauses above {pause:g} s (sources report every 2 s), from the fault on.
"-": Storm alone has no such part.
{note}

{made_by} {day}.
"""


@dataclass
class Counts:
    """What happened since a moment."""

    restarted: int
    lost: int
    silent_s: float

    def __str__(self) -> str:
        return f"{self.restarted} workers, {self.lost} tuples, {self.silent_s:.0f} s"


@dataclass
class Subject:
    """One of the two clusters, and what is known of its topology."""

    cluster: LocalCluster
    plugin: bool
    brain: subprocess.Popen[bytes] | None = None
    struck: list[int] = field(default_factory=list)

    @property
    def results(self) -> Path:
        """Return the folder of the tasks' reports."""
        return self.cluster.folder / "results"

    def submit(self) -> None:
        """Submit the topology."""
        submit(
            project=home.topologies(),
            topology="word_count",
            name=NAME,
            nimbus=self.cluster.nimbus_address,
            workers=WORKERS,
            options={**OPTIONS, "rig.results": str(self.results)},
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=self.cluster.folder / "sparse",
        )

    def start_brain(self) -> None:
        """Start a brain."""
        log = (self.cluster.folder / "brain.log").open("ab")
        self.brain = subprocess.Popen(
            [sys.executable, "-m", "stormcut.cli.main", "brain"],
            env={**os.environ, **self.cluster.environment()},
            stderr=log,
        )

    def reports(self) -> dict[int, dict[str, int]]:
        """Return what the sources counted, also those that have ended, by process id."""
        found = {}
        for path in self.results.glob("source-*.json"):
            with suppress(OSError, ValueError):  # it is being replaced
                found[int(path.stem.rsplit("-", 1)[1])] = json.loads(path.read_text())
        return found

    def acked(self) -> int:
        """Return the tuples acked so far."""
        return sum(each["acked"] for each in self.reports().values())

    def lost(self) -> int:
        """Return the tuples sent again or in flight in sources that have ended."""
        running = {process.pid for process in of_cluster(self.cluster.folder)}
        return sum(
            report["replayed"] + (0 if pid in running else report["sent"] - report["acked"])
            for pid, report in self.reports().items()
        )

    def workers(self) -> set[int]:
        """Return the process ids of the workers' JVMs."""
        found = set()
        for process in of_cluster(self.cluster.folder):
            try:
                command = process.cmdline()
            except psutil.Error:
                continue
            # Each has a process beside it that copies what it prints, started with its command.
            copies = "org.apache.storm.LogWriter" in command
            if "org.apache.storm.daemon.worker" in command and not copies:
                found.add(process.pid)
        return found

    def host(self) -> int:
        """Return the number of the supervisor that has the topology's sources."""
        executors = self.cluster.nimbus.topology(NAME).executors
        first = next(each.host for each in executors if each.is_spout)
        return self.cluster.supervisor_hosts.index(first)

    def is_whole(self) -> bool:
        """Return whether every executor of the active topology has a slot."""
        try:
            (summary,) = [t for t in self.cluster.nimbus.cluster().topologies if t.name == NAME]
            found = len(self.cluster.nimbus.topology(NAME).executors)
        except Exception:  # Nimbus is away: that is the fault
            return False
        return summary.status == "ACTIVE" and found == summary.executors > 0


class Watch:
    """Follows one subject's acks from a fault on."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._workers = subject.workers()
        self._lost = subject.lost()
        self._seen: set[int] = set(self._workers)
        self._acked, self._since, self._silent = subject.acked(), time.monotonic(), 0.0

    def look(self) -> None:
        """Note what has changed since the last look."""
        now, acked = time.monotonic(), self._subject.acked()
        self._seen |= self._subject.workers()
        if acked > self._acked:
            self._silent += self._pause(now)
            self._acked, self._since = acked, now

    def _pause(self, now: float) -> float:
        pause = now - self._since
        return pause if pause > PAUSE_S else 0.0

    @property
    def is_quiet(self) -> bool:
        """Return whether nothing has been acked for long."""
        return self._pause(time.monotonic()) > 0

    def counts(self) -> Counts:
        """Return what has happened since the fault."""
        silent = self._silent + self._pause(time.monotonic())
        lost = self._subject.lost() - self._lost
        return Counts(len(self._seen - self._workers), max(lost, 0), silent)


Step = Callable[[Subject], None]


@dataclass(frozen=True)
class Fault:
    """What is done to a subject, for how long, and how it is undone."""

    name: str
    strike: Step
    mend: Step
    seconds: float
    of_stormcut: bool = False


def nothing(subject: Subject) -> None:
    """Do nothing."""


def supervisor_away(subject: Subject) -> None:
    """End the daemon that has the sources; its workers live."""
    subject.struck = [subject.host()]
    subject.cluster.kill_supervisor(subject.struck[0], workers=False)


def node_lost(subject: Subject) -> None:
    """End the supervisor that has the sources, with its workers."""
    subject.struck = [subject.host()]
    subject.cluster.kill_supervisor(subject.struck[0])


def supervisor_back(subject: Subject) -> None:
    """Start it again."""
    for number in subject.struck:
        subject.cluster.start_supervisor(number)


def node_lost_then_nimbus(subject: Subject) -> None:
    """Lose a node, and Nimbus while it is away."""
    node_lost(subject)
    subject.cluster.restart("nimbus")


def worker_killed(subject: Subject) -> None:
    """Kill one worker that has a source."""
    number = subject.host()
    workers = subject.workers()
    for process in of_cluster(subject.cluster.folder, f"supervisor-{number}"):
        if process.pid in workers:
            process.kill()
            return
    raise SystemExit(f"no worker on {subject.cluster.supervisor_hosts[number]}")


def nimbus_restarts(subject: Subject) -> None:
    """End Nimbus and start it again."""
    subject.cluster.restart("nimbus")


def zookeeper_restarts(subject: Subject) -> None:
    """End ZooKeeper and, as Storm's daemons end with it, all of them; start them again."""
    subject.cluster.restart("zookeeper")


def brain_killed(subject: Subject) -> None:
    """Kill the brain."""
    assert subject.brain is not None
    subject.brain.kill()
    subject.brain.wait()


def brain_stopped(subject: Subject) -> None:
    """Stop the brain; it stays connected for a while and answers nothing."""
    assert subject.brain is not None
    subject.brain.send_signal(signal.SIGSTOP)


def brain_goes_on(subject: Subject) -> None:
    """Let it go on."""
    assert subject.brain is not None
    subject.brain.send_signal(signal.SIGCONT)


def switched(subject: Subject, on: bool) -> None:
    """Set `stormcut.enabled` and restart Nimbus; without the plugin, restart Nimbus."""
    path = subject.cluster.folder / "nimbus" / "conf" / "storm.yaml"
    if subject.plugin:
        text = path.read_text()
        settings = yaml.safe_load(text)
        settings["stormcut.enabled"] = on
        path.write_text(yaml.safe_dump(settings))
    subject.cluster.restart("nimbus")


FAULTS = (
    Fault(
        "a supervisor's daemon away for 28 s, its workers alive",
        supervisor_away,
        supervisor_back,
        28.0,
    ),
    Fault("a worker killed", worker_killed, nothing, 10.0),
    Fault("a node lost for 60 s", node_lost, supervisor_back, 60.0),
    Fault(
        "a node lost for 60 s, Nimbus killed meanwhile",
        node_lost_then_nimbus,
        supervisor_back,
        60.0,
    ),
    Fault("Nimbus killed and started again", nimbus_restarts, nothing, 10.0),
    Fault("ZooKeeper killed and started again", zookeeper_restarts, nothing, 10.0),
    Fault(
        "`stormcut.enabled: false`, and back",
        lambda s: switched(s, False),
        lambda s: switched(s, True),
        30.0,
    ),
    Fault("the brain killed", brain_killed, Subject.start_brain, 30.0, of_stormcut=True),
    Fault("the brain stopped for 30 s", brain_stopped, brain_goes_on, 30.0, of_stormcut=True),
)


def suffered(subject: Subject, fault: Fault) -> Counts | None:
    """Return what a fault costs one subject, None if it has no such part."""
    if fault.of_stormcut and not subject.plugin:
        return None
    watch = Watch(subject)
    with ThreadPoolExecutor(1) as beside:
        struck = beside.submit(_through, subject, fault)
        calm_since = time.monotonic()
        deadline = time.monotonic() + fault.seconds + PATIENCE_S
        while time.monotonic() < deadline:
            watch.look()
            if not struck.done() or watch.is_quiet or not subject.is_whole():
                calm_since = time.monotonic()
            elif time.monotonic() - calm_since > CALM_S:
                break
            time.sleep(SAMPLE_S)
        struck.result()
    return watch.counts()


def _through(subject: Subject, fault: Fault) -> None:
    fault.strike(subject)
    time.sleep(fault.seconds)
    fault.mend(subject)


def row(fault: Fault, storm: list[Counts | None], ours: list[Counts | None]) -> str:
    """Return one fault's line of the table, of all its repetitions."""

    def cells(read: Callable[[Counts], float]) -> str:
        return " | ".join(_spread([read(c) for c in each if c]) for each in (storm, ours))

    figures = (cells(lambda c: c.restarted), cells(lambda c: c.lost), cells(lambda c: c.silent_s))
    return f"| {fault.name} | {' | '.join(figures)} |"


def _spread(values: list[float]) -> str:
    if not values:
        return "-"
    middle, least, most = (f"{f(values):.0f}" for f in (median, min, max))
    return middle if least == most else f"{middle} ({least}-{most})"


def start(plugin: bool, subjects: list[Subject]) -> None:
    """Add a cluster with the topology running, placed by a brain if it has the plugin."""
    name = f"faults-{'stormcut' if plugin else 'storm'}-{os.getpid()}"
    cluster = LocalCluster.up(name, SUPERVISORS, SLOTS, plugin=plugin, config=CONFIG)
    subject = Subject(cluster, plugin)
    subjects.append(subject)
    if plugin:
        subject.start_brain()
        log = cluster.folder / "brain.log"
        wait_until(lambda: "leader:" in log.read_text(), 120, "a brain leads")
    subject.submit()
    wait_until(subject.is_whole, 120, "all executors are assigned")
    wait_until(lambda: subject.acked() > 500, 300, "the sources ack")
    if plugin:
        assert "by cut applied" in cluster.nimbus_log.read_text()


def main() -> None:
    """Start the clusters, strike them, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--repeat", type=int, default=1, help="strike so many times")
    arguments = parser.parse_args()
    subjects: list[Subject] = []
    rows = []
    try:
        for plugin in (False, True):
            start(plugin, subjects)
        before = [len(subject.workers()) for subject in subjects]
        note = (
            f"Workers at the beginning: Storm {before[0]}, stormcut {before[1]}. Each fault "
            f"{arguments.repeat} times: median (lowest-highest)."
        )
        time.sleep(CALM_S)
        for fault in FAULTS:
            if arguments.only not in fault.name:
                continue
            costs: list[list[Counts | None]] = [[], []]
            for _ in range(arguments.repeat):
                with ThreadPoolExecutor(2) as pair:
                    found = pair.map(lambda s, f=fault: suffered(s, f), subjects)
                    for each, cost in zip(costs, found, strict=True):
                        each.append(cost)
                print(f"{fault.name}: Storm {costs[0][-1]}; stormcut {costs[1][-1]}", flush=True)
            rows.append(row(fault, *costs))
            write(arguments.output, arguments.only, rows, note)
    finally:
        for subject in subjects:
            if subject.brain is not None:
                subject.brain.kill()
                subject.brain.wait()
            subject.cluster.end()


def write(output: Path, only: str, rows: list[str], note: str) -> None:
    """Write the page with the faults so far."""
    doc = (__doc__ or "").split("\n\n", 3)[3].strip()
    page = PAGE.format(
        doc=doc,
        rows="\n".join(rows),
        calm=CALM_S,
        pause=PAUSE_S,
        note=note,
        made_by=made_by(),
        day=time.strftime("%Y-%m-%d"),
    )
    write_page(output, page, only)


if __name__ == "__main__":
    main()
