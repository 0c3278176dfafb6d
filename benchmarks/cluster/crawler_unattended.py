"""A real StormCrawler under the controller in automatic mode, and under Storm alone, in containers.

Run by hand, on a machine that does nothing else (15 minutes each):

    run() { scripts/with-docker python -m benchmarks.cluster.crawler_unattended "$@"; }
    run alone --record crawler-unattended      # each call adds a run
    run automatic --record crawler-unattended
    python -m benchmarks.raw_data crawler-unattended
    python -m benchmarks.cluster.crawler_unattended page --output docs/results/crawler.md

The crawl of `crawler_docker.py` on four nodes of 0.35 cores each and four workers. With Storm
alone (the plugin is removed), and with `stormcut operate` in automatic mode as shipped. It runs
for two minutes, so that its code is compiled; then a node that runs a source is killed, and comes
back three minutes later. URLs are acknowledged pages, as Nimbus counts them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.cluster.crawler_docker import CPUS, NODES, TOPOLOGY, built, pages, submit
from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.raw_data import DATA, open_data
from stormcut.adapters.storm.nimbus import NimbusUnavailable
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
from stormcut.lab.adapters.processes.controller import controller_process, write_configuration
from stormcut.model.summaries import ExecutorSummary, TopologyInfo

ARCHIVE = DATA / "crawler-unattended.zip"

KINDS = {"alone": "Storm alone", "automatic": "automatic"}
#: Seconds to compile code, and of the record before the loss; then seconds after the loss at which
#: the node comes back and the record ends.
WARM_UP_S, BEFORE_S, BACK_S, END_S = 120.0, 180.0, 180.0, 540.0
#: Nimbus learns of counts every few seconds.
SAMPLE_S, WINDOW_S = 5.0, 30.0
#: What is quiet has less than this share of the rate before the loss.
QUIET = 0.2
#: Storm notices a lost node in less than a minute, also on a third of a core.
CONFIG: dict[str, object] = {
    "storm.zookeeper.session.timeout": 30_000,
    "nimbus.supervisor.timeout.secs": 40,
    "nimbus.task.timeout.secs": 40,
    "nimbus.task.launch.secs": 120,
    "stormcut.hook.interval.secs": 10,
}

PAGE = """\
# Unattended, with a node killed

{doc}

| | before | quiet | on three nodes | at the end | restarts | failed |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

Before the loss, on three nodes and in the last two minutes: URLs/s, medians of windows of
{window:g} s. Quiet: seconds from the loss until {window:g} s have {quiet:.0%} of the rate before.
Restarts: of workers that were not lost. Two runs of one kind differ by a tenth and more. The
controller and its Spark use the same two cores as the nodes.
{notes}
| minute after the loss | {names} |
| --- | {dashes} |
{course}

What the controller did, in seconds after the loss:
{news}
{made}
"""


@dataclass(frozen=True)
class Sample:
    """What Nimbus says at a moment, in seconds since the loss.

    ``acked`` and ``failed`` are of the sources since the record began, None if it was not recorded;
    ``workers`` counts living ones by node.
    """

    at_s: float
    acked: int
    failed: int | None
    workers: Mapping[str, int]
    started: int


@dataclass
class Counts:
    """Sums counts of executors that begin at nothing whenever their worker starts."""

    acked: int = 0
    failed: int = 0
    started: int = 0
    _last: dict[int, ExecutorSummary] = field(default_factory=dict)
    _slots: dict[tuple[str, int], int] = field(default_factory=dict)

    def begin(self, topology: TopologyInfo) -> None:
        """Count what comes after this."""
        self.add(topology)
        self.acked = self.failed = self.started = 0

    def add(self, topology: TopologyInfo) -> None:
        """Count what is new."""
        for executor in topology.executors:
            last = self._last.get(executor.start_task)
            if last is not None and executor.uptime_s < last.uptime_s:
                last = None  # Its worker has started again, and so have its counts.
            if executor.is_spout:
                self.acked += max(0, executor.acked - (last.acked if last else 0))
                self.failed += max(0, executor.failed - (last.failed if last else 0))
            self._last[executor.start_task] = executor
        self._count_starts(topology)

    def sample(self, at_s: float, topology: TopologyInfo) -> Sample:
        """Return what was counted until a moment, and the workers that run."""
        workers = dict(Counter(host for host, _ in topology.workers))
        return Sample(at_s, self.acked, self.failed, workers, self.started)

    def _count_starts(self, topology: TopologyInfo) -> None:
        uptimes: dict[tuple[str, int], int] = {}
        for executor in topology.executors:
            slot = (executor.host, executor.port)
            uptimes[slot] = max(uptimes.get(slot, 0), executor.uptime_s)
        for slot, uptime in uptimes.items():
            if uptime and uptime < self._slots.get(slot, 1 << 60):
                self.started += 1
            if uptime:
                self._slots[slot] = uptime


def record(kind: str, folder: Path) -> None:
    """Record a run of a kind."""
    jar, shape = built(), ClusterShape(NODES, cpus=CPUS, memory_mb=2048)
    with ExitStack() as stack:
        stack.enter_context(pages(jar))
        cluster = stack.enter_context(DockerCluster.up(shape, f"crawl-{kind}", config=CONFIG))
        if kind == "alone":
            cluster.remove_plugin()
        submit(cluster, jar, TOPOLOGY)
        wait_until(lambda: crawls(cluster), 300, "it crawls", watch=cluster.watch(TOPOLOGY))
        print(f"crawls on {sorted(cluster.nimbus.topology(TOPOLOGY).workers)}", flush=True)
        time.sleep(WARM_UP_S)
        controller = None
        if kind == "automatic":
            config = write_configuration(cluster)
            controller = stack.enter_context(controller_process(cluster, config))
            plans = controller.nodes.read_history
            wait_until(lambda: bool(plans(1)), 120, "Nimbus asks it", watch=cluster.watch(TOPOLOGY))
        lost = time.time() + BEFORE_S
        samples = list(sampled(cluster))
        news = [] if controller is None else controller.news()
    document = {
        "samples": [asdict(each) for each in samples],
        "news": [(at - lost, str(what), words) for at, what, words in news],
    }
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list_runs(folder, kind)) + 1
    (folder / f"{kind}-{number}.json").write_text(json.dumps(document, indent=1))


def crawls(cluster: DockerCluster) -> bool:
    """Whether all workers run, and each source has acked."""
    found = cluster.nimbus.topology(TOPOLOGY)
    spouts = [each for each in found.executors if each.is_spout]
    return len(found.workers) == NODES and bool(spouts) and all(each.acked for each in spouts)


def sampled(cluster: DockerCluster) -> Iterator[Sample]:
    """Yield what Nimbus says, while a node is killed and comes back."""
    counts, lost, steps = Counts(), time.monotonic() + BEFORE_S, [0.0, BACK_S]
    counts.begin(cluster.nimbus.topology(TOPOLOGY))
    node = 0
    while (now := time.monotonic() - lost) < END_S:
        if steps and now >= steps[0]:
            if steps.pop(0) < BACK_S:
                node = node_of_a_source(cluster)
                cluster.kill_node(node)
            else:
                cluster.start_node(node)
        with suppress(NimbusUnavailable):
            found = cluster.nimbus.topology(TOPOLOGY)
            counts.add(found)
            sample = counts.sample(now, found)
            print(sample, flush=True)
            yield sample
        time.sleep(SAMPLE_S - (time.monotonic() - lost) % SAMPLE_S)


def node_of_a_source(cluster: DockerCluster) -> int:
    """Return the number of a node that runs a source."""
    executors = cluster.nimbus.topology(TOPOLOGY).executors
    host = min(each.host for each in executors if each.is_spout)
    return [each.address for each in cluster.plan.nodes].index(host) + 1


def acked_at(samples: Sequence[Sample], at_s: float) -> float:
    """Return how many URLs were acknowledged by a moment, between samples as on a line."""
    after = next((n for n, each in enumerate(samples) if each.at_s >= at_s), len(samples) - 1)
    if after == 0:
        return samples[0].acked
    first, second = samples[after - 1], samples[after]
    share = min(1.0, (at_s - first.at_s) / (second.at_s - first.at_s))
    return first.acked + share * (second.acked - first.acked)


def rate(samples: Sequence[Sample], begin_s: float, end_s: float) -> float:
    """Return URLs/s between two moments."""
    return (acked_at(samples, end_s) - acked_at(samples, begin_s)) / (end_s - begin_s)


def typical(samples: Sequence[Sample], begin_s: float, end_s: float) -> float:
    """Return the median of URLs/s in the windows between two moments."""
    count = int((end_s - begin_s) // WINDOW_S)
    begins = [begin_s + number * WINDOW_S for number in range(max(1, count))]
    return statistics.median(rate(samples, each, each + WINDOW_S) for each in begins)


def quiet_s(samples: Sequence[Sample], before: float) -> float:
    """Return the seconds from the loss to the first window that is not quiet."""
    moments = (each.at_s for each in samples if each.at_s >= 0)
    least = QUIET * before
    recovers = (at for at in moments if rate(samples, at, at + WINDOW_S) >= least)
    return next(recovers, samples[-1].at_s)


def row(name: str, samples: Sequence[Sample]) -> str:
    """Return a run's line of the table."""
    first, last = samples[0].at_s, samples[-1].at_s
    before = typical(samples, max(first, -BEFORE_S), 0)
    quiet = quiet_s(samples, before)
    cells = (
        name,
        f"{before:.0f}",
        f"{quiet:.0f} s",
        f"{typical(samples, quiet, BACK_S):.0f}",
        f"{typical(samples, last - 120, last):.0f}",
        f"{samples[-1].started - 1}",
        "not recorded" if samples[-1].failed is None else f"{samples[-1].failed}",
    )
    return f"| {' | '.join(cells)} |"


def of_minute(samples: Sequence[Sample], minute: int) -> str:
    """Return URLs/s in a minute after the loss, "-" if it was not recorded."""
    begin_s, end_s = 60.0 * minute, 60.0 * (minute + 1)
    is_recorded = samples[0].at_s <= begin_s + SAMPLE_S and samples[-1].at_s >= end_s - SAMPLE_S
    return f"{rate(samples, begin_s, end_s):.0f}" if is_recorded else "-"


def list_runs(folder: Path, kind: str) -> list[Path]:
    """Return the files of a kind's runs, in their order."""
    return sorted(folder.glob(f"{kind}-*.json"))


def page(folder: Path) -> str:
    """Return the page of all runs."""
    runs = {
        f"{name}, run {file.stem.rpartition('-')[2]}": json.loads(file.read_text())
        for kind, name in KINDS.items()
        for file in list_runs(folder, kind)
    }
    samples = {
        name: [Sample(**each) for each in document["samples"]] for name, document in runs.items()
    }
    course = (
        (f"{minute} to {minute + 1}", *(of_minute(each, minute) for each in samples.values()))
        for minute in range(-1, int(END_S // 60))
    )
    return PAGE.format(
        doc=(__doc__ or "").split("\n\n", 3)[3].strip(),
        rows="\n".join(row(name, each) for name, each in samples.items()),
        window=WINDOW_S,
        quiet=QUIET,
        notes="".join(
            f"\n{name}: {document['note']}\n"
            for name, document in runs.items()
            if "note" in document
        ),
        names=" | ".join(samples),
        dashes=" | ".join("---:" for _ in samples),
        course="\n".join(f"| {' | '.join(cells)} |" for cells in course),
        news="".join(
            f"\n{name}:\n\n{news_list(document['news'])}\n"
            for name, document in runs.items()
            if document["news"]
        ),
        made=made_by(),
    )


def news_list(news: Sequence[tuple[float, str, str]]) -> str:
    """Return a list of what happened when."""
    return "\n".join(f"- {at:.0f} s: {words}" for at, _, words in news)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=(*KINDS, "page"))
    parser.add_argument("--record", type=Path, help="Folder of what is recorded.")
    parser.add_argument("--output", type=Path, help="The page to write.")
    given = parser.parse_args()
    if given.what == "page":
        with open_data(given.record or ARCHIVE) as folder:
            write_page(given.output, page(folder))
    else:
        record(given.what, given.record)


if __name__ == "__main__":
    main()
