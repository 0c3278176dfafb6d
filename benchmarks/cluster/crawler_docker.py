"""How fast a real StormCrawler crawls under Storm's placement, `cut` and `caps`, in containers.

Run by hand, on a machine that does nothing else (half an hour):

    scripts/with-docker python -m benchmarks.cluster.crawler_docker --output docs/results/crawler.md

StormCrawler 1.18 (`integration-tests/crawler`) on four nodes of 0.35 cores each, without a limit of
links: two sources that have at most 50 pages each under way, four executors of each bolt, four
workers asked for. The pages come from a server of this machine, outside the nodes. Storm's
placement is measured first; the others place by what was measured. One start each; all run for
90 s, so that their code is compiled; then windows in turns, in the other order every second time.
URLs/s are acknowledged pages, as the hook counts.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks import CHECKOUT
from benchmarks.machine import made_by
from benchmarks.page import write_page
from stormcut.adapters.machine import home
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.application.waiting import wait_until
from stormcut.cli.contenders import scheduler_of
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.rig import START_S, ClusterRig
from stormcut.lab.adapters.bench.serving import serving
from stormcut.lab.adapters.bench.setting import shape_of
from stormcut.lab.adapters.bench.workers import CLUSTER_PATIENCE
from stormcut.lab.adapters.clusters.docker import DockerCluster
from stormcut.lab.adapters.storm import topology_project
from stormcut.lab.experiment.bench.cells import Measurement, Placed, Start
from stormcut.lab.experiment.bench.entrants import Entrants
from stormcut.lab.experiment.bench.plan import BenchPlan, Setting, Timing
from stormcut.lab.experiment.bench.planner import BenchPlanner
from stormcut.lab.experiment.bench.ports import Entrant, Equipment
from stormcut.lab.experiment.ports import HOOK_INTERVAL_S
from stormcut.model.problem import Problem
from stormcut.placement.solve import Solution

PROJECT = CHECKOUT / "integration-tests" / "crawler"
CLUSTER, TOPOLOGY = "crawler", "crawl"
STORM, OURS, CAPS = SCHEDULERS = ("even", "cut", "caps")
NODES, CPUS, PARALLELISM, PORT = 4, 0.35, 4, 18_088
#: Pages are fetched from so many hosts: addresses of this machine that no network has.
HOSTS, PREFIX = 40, "10.254.77."
#: Any placement is allowed that fits the nodes.
ROOM = float(NODES)
WARM_UP_S, SETTLE_S, WINDOW_S, PROFILE_S, REPETITIONS = 90.0, 10.0, 30.0, 40.0, 5

PAGE = """\
# Storm's placement, `cut` and `caps`

{doc}

| scheduler | URLs/s | times Storm's | predicted | between nodes | predicted | nodes | failed |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

URLs/s: median and range of {repetitions} windows of {window:g} s. Times Storm's: median and range
of the ratios in turn. Between nodes: share of tuples, measured and by the profile of Storm's
placement. {verdict}

{made}
"""


@dataclass
class Notes:
    """Placements, as long as the benchmark runs: a journal that nobody resumes."""

    placed: dict[str, Placed] = field(default_factory=dict)

    def placements(self) -> Sequence[Placed]:
        """Return each scheduler's placement."""
        return tuple(self.placed.values())

    def measurements(self) -> Sequence[Measurement]:
        """Return none: windows are the benchmark's own."""
        return ()

    def add_placement(self, placed: Placed) -> None:
        """Keep a placement."""
        self.placed[placed.scheduler] = placed

    def add_start(self, start: Start) -> None:
        """Refuse what does not start: all are compared."""
        if start.failure:
            raise SystemExit(f"{start.scheduler}: {start.failure}")

    def add_measurement(self, measurement: Measurement) -> None:
        """Keep nothing."""

    def add_solution(
        self, topology: str, scheduler: str, problem: Problem, solution: Solution
    ) -> None:
        """Keep nothing."""


def submit(cluster: DockerCluster, jar: Path, name: str) -> None:
    """Submit a crawl of the pages that `pages` serves."""
    host, _, port = cluster.nimbus_address.rpartition(":")
    java = str(home.storm_java() / "bin" / "java")
    classes = f"{home.storm_lib()}/*:{jar}"
    command = [java, f"-Dstorm.jar={jar}", "-cp", classes, "stormcut.crawler.Crawl", name]
    command += [str(PARALLELISM), str(NODES), "0", host, port, f"http://{PREFIX}"]
    subprocess.run(command, check=True, capture_output=True, timeout=180)


class CrawlerRig(ClusterRig):
    """Starts crawls, as `ClusterRig` does the topologies of streamparse."""

    def __init__(self, cluster: DockerCluster, jar: Path) -> None:
        super().__init__(cluster)
        self._jar = jar

    def start(self, name: str, topology: str, options: Mapping[str, object]) -> Entrant:
        """Submit a crawl, wait until every source has acked, then hold it."""
        self._lift(True)
        nimbus = self._cluster.nimbus
        submit(self._cluster, self._jar, name)
        entrant = Entrant(name, nimbus.topology_id(name), frozenset({"spout"}), ())

        def acks() -> bool:
            spouts = [e for e in nimbus.topology(name).executors if e.component == "spout"]
            return bool(spouts) and all(each.acked for each in spouts)

        wait_until(acks, START_S, f"{name} crawls", watch=self._cluster.watch(name))
        self.pause(entrant)
        return entrant


@dataclass(frozen=True)
class Window:
    """What one crawl did in one window."""

    scheduler: str
    urls_per_s: float
    between: float
    failed: int


def built() -> Path:
    """Build the crawler, and return its jar."""
    subprocess.run(["mvn", "-B", "-q", "-f", str(PROJECT / "pom.xml"), "package"], check=True)
    return PROJECT / "target" / "crawler.jar"


@contextmanager
def pages(jar: Path) -> Iterator[None]:
    """Serve pages on addresses of this machine, until the block ends."""
    own = [f"{PREFIX}{number}/32" for number in range(1, HOSTS + 1)]
    command = ["java", "-Xmx128m", "-cp", str(jar), "stormcut.crawler.Pages", str(PORT)]
    with ExitStack() as stack:
        for address in own:
            subprocess.run(["ip", "address", "add", address, "dev", "lo"], check=True)
            stack.callback(subprocess.run, ["ip", "address", "del", address, "dev", "lo"])
        server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(server.terminate)
        assert server.stdout is not None
        assert server.stdout.readline().startswith("serves ")
        yield


def window(equipment: Equipment, scheduler: str, entrant: Entrant) -> Window:
    """Let a crawl run for a while, and return what it did."""
    with equipment.rig.running(entrant):
        time.sleep(SETTLE_S)
        begin = time.time()
        time.sleep(WINDOW_S)
        end = time.time()
        time.sleep(HOOK_INTERVAL_S + 1)
    found = equipment.profiled(entrant.id, begin, end).measured[entrant.id]
    between = found.between_nodes_per_s / found.emitted_per_s
    return Window(scheduler, found.acked_per_10_s / 10, between, found.failed)


def measured(
    equipment: Equipment, entrants: Mapping[str, Entrant], repetitions: int
) -> list[Window]:
    """Return the windows of all, in turns."""
    windows: list[Window] = []
    for scheduler in reversed(SCHEDULERS):
        equipment.progress.say(f"warm-up of {scheduler}")
        with equipment.rig.running(entrants[scheduler]):
            time.sleep(WARM_UP_S)
    for repetition in range(repetitions):
        for scheduler in SCHEDULERS if repetition % 2 == 0 else reversed(SCHEDULERS):
            one = window(equipment, scheduler, entrants[scheduler])
            windows.append(one)
            equipment.progress.say(f"{repetition + 1}/{repetitions}: {one}")
    return windows


def spread(values: Sequence[float], form: str) -> str:
    """Return a median with its range."""
    low, high = (format(each, form) for each in (min(values), max(values)))
    return f"{format(statistics.median(values), form)} ({low} to {high})"


def row(scheduler: str, windows: Sequence[Window], notes: Notes) -> str:
    """Return a scheduler's line of the table."""
    its, storms = (
        [each for each in windows if each.scheduler == name] for name in (scheduler, STORM)
    )
    ratios = [one.urls_per_s / other.urls_per_s for one, other in zip(its, storms, strict=True)]
    placed, reference = notes.placed[scheduler], notes.placed[STORM]
    predicted = (placed.reachable or 0.0) / (reference.reachable or 1.0)
    cells = (
        scheduler,
        spread([each.urls_per_s for each in its], ".0f"),
        spread(ratios, ".2f"),
        f"{predicted:.2f}",
        f"{statistics.median(each.between for each in its):.0%}",
        f"{placed.predicted_between / placed.predicted_total:.0%}",
        str(len(set(placed.nodes))),
        str(sum(each.failed for each in its)),
    )
    return f"| {' | '.join(cells)} |"


def verdict(windows: Sequence[Window]) -> str:
    """Say whether our scheduler is behind another by the medians of ratios in turn."""
    rates = {
        name: [each.urls_per_s for each in windows if each.scheduler == name] for name in SCHEDULERS
    }
    parts = []
    for other in (STORM, CAPS):
        ratios = [a / b for a, b in zip(rates[OURS], rates[other], strict=True)]
        parts.append(f"`{OURS}` does {spread(ratios, '.2f')} times what `{other}` does")
    return "; ".join(parts) + "."


def run(jar: Path, repetitions: int) -> tuple[list[Window], Notes]:
    """Measure on a cluster of its own."""
    setting = Setting("crawler", "", NODES, CPUS, room=ROOM)
    timing = Timing(settle_s=SETTLE_S, window_s=WINDOW_S, profile_s=PROFILE_S)
    plan = BenchPlan(setting, SCHEDULERS, (TOPOLOGY,), repetitions, timing)
    config = {**CLUSTER_PATIENCE, "stormcut.hook.interval.secs": HOOK_INTERVAL_S}
    steps, notes, planner = Steps("crawler"), Notes(), BenchPlanner()
    with (
        pages(jar),
        DockerCluster.up(shape_of(plan), CLUSTER, config=config) as cluster,
        serving(planner, cluster),
        ExitStack() as stack,
    ):
        profiler = partial(profile_logs, cluster.log_folders, cluster.folder / "profile", warm_up=0)
        equipment = Equipment(
            partial(scheduler_of, commands={}),
            CrawlerRig(cluster, jar),
            notes,
            profiler,
            topology_project,
            steps,
        )
        entrants = Entrants(TOPOLOGY, {}, plan, equipment, planner).start(SCHEDULERS, stack)
        return measured(equipment, entrants, repetitions), notes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    given = parser.parse_args()
    windows, notes = run(built(), given.repetitions)
    page = PAGE.format(
        doc=(__doc__ or "").split("\n\n", 3)[3].strip(),
        rows="\n".join(row(name, windows, notes) for name in SCHEDULERS),
        repetitions=given.repetitions,
        window=WINDOW_S,
        verdict=verdict(windows),
        made=made_by(),
    )
    write_page(given.output, page)


if __name__ == "__main__":
    main()
