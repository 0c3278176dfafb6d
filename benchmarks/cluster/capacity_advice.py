"""Whether topologies that were short hold their rate once `stormcut capacity advise` is followed.

Run by hand, on a machine with Docker that does nothing else. Each case is kept as it ends: rerun
the command to resume.

    scripts/with-docker python -m benchmarks.cluster.capacity_advice \
      --output docs/results/capacity-advice.md
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.raw_data import DATA
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.reports import newest_of_processes
from stormcut.lab.adapters.clusters.bandwidth import parse_bandwidth
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
from stormcut.lab.adapters.clusters.docker.engine import engine
from stormcut.lab.adapters.processes.controller import (
    ControllerProcess,
    controller_process,
    write_configuration,
)
from stormcut.lab.adapters.storm.topology_project import load
from stormcut.lab.adapters.storm.topology_site import WORKERS, docker_site
from stormcut.lab.cli.own_cluster import ended
from stormcut.lab.experiment.bench.windows import REPORTED_S
from stormcut.lab.experiment.recorder import Sampler
from stormcut.model.errors import StormcutError

#: Acknowledged of what is offered: the rate is held.
HELD = 0.97
#: Over so many seconds; and how long after the advice was followed it may take until then.
WINDOW_S, PATIENCE_S = 30.0, 180.0
#: Until the controller has measured enough for advice.
MEASURED_S = 240.0
START_S = 180.0
#: JVMs are slow at first: nobody asks before.
WARM_S = 90.0
#: The part of threads, CPU and links that a plan may use.
UTILISATION = 0.83
MBIT = "5mbit"
#: Of the smallest node.
CORES = 0.25
NIMBUS = "nimbus"
COMMANDS = {"rebalance": "org.apache.storm.command.rebalance"}

PAGE = """\
# Advice, followed

Each topology was submitted with too little to hold its rate. After {warm:g} s, and once the
controller had measured it for a minute, `stormcut capacity advise --placed-by storm` was asked what
the rate needs with {utilisation:.0%} of every thread, CPU and link in use at most, and the lines
that it printed were typed, once. *Held* is the share of the offered tuples that was acknowledged in
{window:g} s: before; and afterwards in the first such window that reached {held:.0%}, or the last
one within {patience:g} s. Nodes of a Docker cluster, links of {mbit} each way; the controller in
mode `advise`, so that Storm's own scheduler places.

{table}

Of {cases} that were short, {kept} held their rate at the first try.

[What this shows](findings.md#following-capacity-advice).

{made}
"""


#: What the figures say; to be edited when they are measured again.
@dataclass(frozen=True)
class Case:
    """A topology, the tuples/s that its sources offer, and the nodes, in ``CORES``."""

    topology: str
    rate: float
    options: Mapping[str, object]
    sizes: tuple[int, ...] = (1, 1, 1, 1, 1)
    workers: int = 1

    @property
    def name(self) -> str:
        """Its topology's name on the cluster."""
        return self.topology.replace("_", "-")

    @property
    def nodes(self) -> str:
        """Cores of each node."""
        return " + ".join(f"{CORES * size:g}" for size in self.sizes)


JAVA: Mapping[str, object] = {"language": "java"}
#: Bolts that compute: of topologies that only hand tuples on, two nodes carry little more than one.
CASES = (
    Case("pls_random", 80, {**JAVA, "payload": 100, "cpu.ms": 1}),
    Case("bigbench_linear", 1500, {}),
    Case("diamond", 40, {**JAVA, "tasks": 6, "ends": 6, "cpu.ms": 1}),
    Case("log_processing", 1500, {"scale": 0.5}),
    # One thread that cannot do more than a core.
    Case(
        "linear",
        220,
        {**JAVA, "bolts": 1, "tasks": 1, "cpu.ms": 5, "topology.tasks": 4},
        (6,),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """A line of the journal; shares of what was offered, ``after_s`` since the lines were typed."""

    case: str
    rate: float
    options: str
    nodes: str
    before: float
    commands: tuple[str, ...]
    notes: tuple[str, ...]
    executors: str
    planned_nodes: int
    headroom: float | None
    binds: str
    after: float
    after_s: float

    @property
    def held(self) -> bool:
        """Whether the rate was held at the first try."""
        return self.after >= HELD


class Desk:
    """Someone at a cluster with a controller: submits, asks for advice, types what it says."""

    def __init__(self, cluster: DockerCluster, controller: ControllerProcess, steps: Steps) -> None:
        self._cluster = cluster
        self._controller = controller
        self._steps = steps

    def follow(self, case: Case) -> Outcome:
        """Return what became of a topology after the advice was followed once."""
        options = {"rate": case.rate, WORKERS: case.workers, **case.options}
        site = docker_site(self._cluster)
        folders = site.submit(case.topology, case.name, options).folders
        sources = {spout.name for spout in load(case.topology).spouts}
        record = Sampler(
            lambda: newest_of_processes(folders, sources), lambda _: case.rate, time.time()
        )
        try:
            self._wait(record, lambda: record.acking() > 0, START_S, f"{case.name} acks")
            warm = time.time() + WARM_S
            self._wait(record, lambda: time.time() > warm, 2 * WARM_S, f"{case.name} is warm")
            advice = self._advice(case, record)
            before = self._share(record, case.rate)
            self._steps.say(f"  {before:.0%} held; {advice['commands']}, {advice['notes']}")
            for line in advice["commands"]:
                self._type(line)
            typed = time.time()
            with suppress(TimedOut):
                self._wait(
                    record,
                    lambda: (
                        time.time() - typed > WINDOW_S + REPORTED_S
                        and self._share(record, case.rate) >= HELD
                    ),
                    PATIENCE_S,
                    f"{case.name} holds its rate",
                )
            after, after_s = self._share(record, case.rate), time.time() - typed
            self._steps.say(f"  {after:.0%} held after {after_s:.0f} s")
        finally:
            self._cluster.nimbus.end_topology(case.name, watch=self._cluster.watch(case.name))
        needs = advice["topologies"]
        (own,) = (of for topology, of in needs.items() if topology.startswith(f"{case.name}-"))
        return Outcome(
            case.topology,
            case.rate,
            " ".join(f"{key}={value}" for key, value in options.items() if key != "rate"),
            case.nodes,
            before,
            tuple(advice["commands"]),
            tuple(advice["notes"]),
            ", ".join(f"{name} {of['executors']}" for name, of in own["components"].items()),
            advice["nodes"],
            advice["headroom"],
            json.dumps(advice["bottleneck"]),
            after,
            after_s,
        )

    def _wait(self, record: Sampler, found: Callable[[], bool], seconds: float, what: str) -> None:
        def looked() -> bool:
            self._controller.check()
            record.look()
            return found()

        with self._steps.step(f"waiting until {what}"):
            wait_until(looked, seconds, what, poll_s=1.0)

    def _share(self, record: Sampler, rate: float) -> float:
        return record.lately(WINDOW_S).tuples_per_10s / 10 / rate

    def _advice(self, case: Case, record: Sampler) -> dict[str, Any]:
        """Return the first advice that is not refused for want of evidence."""
        found: list[dict[str, Any]] = []
        refused = ""

        def asked() -> bool:
            nonlocal refused
            asked_for = (f"{case.name}={case.rate:g}", "--utilisation", f"{UTILISATION}")
            done = self._stormcut("capacity", "advise", *asked_for, "--placed-by", "storm")
            refused = done.stderr.strip()
            if done.returncode not in (0, 2):
                raise StormcutError(refused)
            found.extend([json.loads(done.stdout)] if done.returncode == 0 else [])
            return bool(found)

        try:
            self._wait(record, asked, MEASURED_S, f"advice on {case.name} is not refused")
        except TimedOut as error:
            raise StormcutError(f"{error}; last: {refused}") from error
        return found[0]

    def _stormcut(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        own = {
            "STORMCUT_ZOOKEEPER": self._cluster.zookeeper_address,
            "STORMCUT_AUTH_FILE": str(self._cluster.auth_file),
        }
        return subprocess.run(
            [sys.executable, "-m", "stormcut.cli.main", *arguments, "--json"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | own,
        )

    def _type(self, line: str) -> None:
        """Do what the command line says with Storm's own client, in Nimbus's container."""
        _, command, *arguments = shlex.split(line)
        host, _, port = self._cluster.nimbus_address.partition(":")
        seeds = f"nimbus.seeds=%5B%22{host}%22%5D,nimbus.thrift.port={port}"
        java = ["java", f"-Dstorm.options={seeds}", "-cp", "/opt/stormcut/lib/*"]
        with engine() as client:
            container = client.containers.get(f"stormcut-{self._cluster.name}-{NIMBUS}")
            done = container.exec_run([*java, COMMANDS[command], *arguments])
        if done.exit_code != 0:
            raise StormcutError(f"{line}: exit code {done.exit_code}: {done.output!r}")


def read(journal: Path) -> list[Outcome]:
    """Return what is known so far."""
    if not journal.exists():
        return []
    lines = journal.read_text(encoding="utf-8").splitlines()
    return [
        Outcome(**{**found, "commands": tuple(found["commands"]), "notes": tuple(found["notes"])})
        for found in map(json.loads, lines)
    ]


def run(journal: Path, cases: Sequence[Case]) -> None:
    """Make the cases that the journal does not have, on a cluster for all that fit it."""
    steps = Steps("advice")
    done = {(each.case, each.rate, each.nodes) for each in read(journal)}
    left = [case for case in cases if (case.topology, case.rate, case.nodes) not in done]
    for sizes, same in groupby(left, key=lambda case: case.sizes):
        cores = CORES * sum(sizes) / len(sizes)
        shape = ClusterShape(len(sizes), cores, parse_bandwidth(MBIT), memory_mb=3072, sizes=sizes)
        with steps.step(f"starting Storm 1.2.4 in {shape.nodes + 2} containers") as update:
            cluster = DockerCluster.up(shape, "advice", progress=update)
        config = write_configuration(cluster, "advise")
        with ended(cluster, steps), controller_process(cluster, config) as beside:
            for case in same:
                steps.say(f"{case.topology}: {case.rate:g} tuples/s")
                try:
                    outcome = Desk(cluster, beside, steps).follow(case)
                except StormcutError as error:
                    steps.say(f"{case.topology} has no outcome: {error}")
                    continue
                with journal.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(asdict(outcome)) + "\n")


def table(found: Sequence[Outcome]) -> str:
    """Return all cases."""
    rows = [
        "| topology | tuples/s | submitted with | nodes, cores | held before | typed "
        "| planned nodes, head-room | held after | after |",
        "| --- | ---: | --- | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for each in found:
        typed = "<br>".join([*(f"`{line}`" for line in each.commands), *each.notes])
        room = "-" if each.headroom is None else f"{each.headroom:.2f}"
        rows.append(
            f"| {each.case} | {each.rate:,.0f} | `{each.options}` | {each.nodes} "
            f"| {each.before:.0%} | {typed} | {each.planned_nodes}, {room} | {each.after:.0%} "
            f"| {each.after_s:.0f} s |"
        )
    return "\n".join(rows)


def main() -> None:
    """Make the cases that are missing, then write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="the page")
    parser.add_argument("--journal", type=Path, default=DATA / "capacity-advice.jsonl")
    parser.add_argument("--case", action="append", choices=[case.topology for case in CASES])
    parser.add_argument("--report-only", action="store_true", help="make no case")
    given = parser.parse_args()
    if not given.report_only:
        chosen = [case for case in CASES if not given.case or case.topology in given.case]
        run(given.journal, chosen)
    found = read(given.journal)
    short = [each for each in found if each.before < HELD]
    text = PAGE.format(
        held=HELD,
        utilisation=UTILISATION,
        warm=WARM_S,
        window=WINDOW_S,
        patience=PATIENCE_S,
        mbit=MBIT,
        table=table(found),
        kept=sum(each.held for each in short),
        cases=len(short),
        made=made_by(),
    )
    write_page(given.output, text)


if __name__ == "__main__":
    main()
