r"""How long what happens holds a topology up: on a cluster in containers, and simulated.

Run by hand, on a machine that does nothing else, as root, with a Docker engine (about five minutes
a topology). Rerun the command to resume:

    scripts/with-docker python -m benchmarks.simulator.simulator_transients \
      --measure simulator-transients --output docs/results/simulator-transients.md
    python -m benchmarks.raw_data simulator-transients

Without `--measure` the page is made of what was kept.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.machine import made_by
from benchmarks.raw_data import DATA, open_data
from benchmarks.simulator.prediction_picture import save
from stormcut.adapters.files.placement_file import read_placement, write_placement
from stormcut.adapters.files.problem_file import read_problem, write_problem
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.application.waiting import wait_until
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.reports import newest_of_processes
from stormcut.lab.adapters.bench.serving import serving
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
from stormcut.lab.adapters.clusters.docker.engine import engine
from stormcut.lab.adapters.storm.topology_site import docker_site
from stormcut.lab.cli.own_cluster import ended
from stormcut.lab.experiment.bench.contest import capacities
from stormcut.lab.experiment.bench.entrants import FIRST_PORT, SEED, Hosts
from stormcut.lab.experiment.bench.planner import BenchPlanner, Wanted
from stormcut.lab.experiment.bench.windows import REPORTED_S
from stormcut.lab.experiment.ports import HOOK_INTERVAL_S
from stormcut.lab.experiment.recorder import Sampler
from stormcut.model.cluster import RunningTopology
from stormcut.model.network import Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Node, Problem
from stormcut.placement.solve import Solution, solve
from stormcut.report.figures import COLOURS, empty
from stormcut.running.workload import Workload, workload
from stormcut.simulator.changes import Change, LoadChange, SimulatedMove, WorkersKilled
from stormcut.simulator.timeline import KILLED, RESTART_S, over_time

NODES, MBIT, ROOM = 4, 4, 1.25
JAVA: Mapping[str, object] = {
    "language": "java",
    "grouping": "fields",
    "local.share": 0.9,
    "payload": 4000,
    # A burst waits in the queues, not in the sources.
    "topology.max.spout.pending": 10_000,
}
#: With the rate of all sources: a half of what Storm's placement carries, or less.
TOPOLOGIES: Mapping[str, tuple[float, Mapping[str, object]]] = {
    "linear": (90.0, {**JAVA, "bolts": 2, "tasks": 6, "keys": 6}),
    "diamond": (50.0, {**JAVA, "middles": 2, "tasks": 3, "ends": 3, "keys": 3}),
}
#: Of the sources' load: steps of so many seconds, and that of the burst. Before it, the topology
#: starts and is profiled.
STEP_S, BURST_STEP, BURST = 15.0, 9, 3.0
PROFILE_S, START_PATIENCE_S = 25.0, 60.0
#: Around what happens: seconds of it, and seconds before it that count as usual.
WATCHED_S, BEFORE_S = 45.0, 10.0
#: A topology is held up while it does less than this part of what it usually does, or while a tuple
#: takes this many times as long.
HELD_UP, LATE = 0.8, 2.0
LOOK_S, POINT_S = 0.5, 1.0
LOST = "node-2"
GOAL = 0.3

PAGE = """\
# How long a topology is held up: measured and simulated

Four nodes in containers with links of {mbit:g} Mbit/s each way, and one topology at a time, in
Java, at about half of what Storm's placement carries. *burst*: {burst:g} times the load for
{step:g} s; held up from its begin until tuples take less than {late:g} times what they usually do.
*worker killed*: all JVMs of a node's worker, by SIGKILL. *move*: from Storm's placement to that of
`cut`. Both: held up from the first to the last second in which the topology did less than
{held:.0%} of what it usually does. Simulated: events, with the problem as profiled beforehand, and
a worker that is back {restart:g} s after it ended, {killed:g} s after it was killed.

| topology | what | measured s | simulated s | error |
| --- | --- | ---: | ---: | ---: |
{rows}

![Tuples/s around what happens, measured and simulated](simulator-transients.svg)

Within {goal:.0%}: {within} of {count}; median error {error:.0%}.

[What this shows](findings.md#bursts-kills-and-moves-simulated).

{made}
"""


#: What the figures say; to be edited when they are measured again.
@dataclass(frozen=True)
class Trace:
    """What a topology did around an event, in steps of `POINT_S` that end at ``at_s`` after it."""

    topology: str
    what: str
    at_s: tuple[float, ...]
    rate: tuple[float, ...]
    mean_ms: tuple[float | None, ...]


def held_up(trace: Trace) -> float:
    """Return for how many seconds a topology was held up."""
    at, rate = np.array(trace.at_s), np.array(trace.rate)
    usual = at <= 0
    if trace.what == "burst":
        late = np.array([np.nan if each is None else each for each in trace.mean_ms])
        bad = late > LATE * np.nanmedian(late[usual])
        begin = 0.0
    else:
        bad = rate < HELD_UP * np.median(rate[usual])
        begin = float(at[bad & ~usual].min(initial=np.inf)) - POINT_S
    bad &= ~usual
    return float(at[bad].max()) - begin if bad.any() else 0.0


class Stage:
    """One topology on a cluster: what is done to it, and what it does meanwhile."""

    def __init__(self, name: str, cluster: DockerCluster, planner: BenchPlanner) -> None:
        self.name = name
        self.full, options = TOPOLOGIES[name]
        self._cluster, self._planner = cluster, planner
        self._nodes = tuple(
            Node(node.address, (0,), link=Link(MBIT, MBIT)) for node in cluster.plan.nodes
        )
        planner.register(name, lambda it: Wanted("storm", FIRST_PORT, self._evenly(it)))
        steps = [self.full * (BURST if at == BURST_STEP else 1.0) for at in range(100)]
        told = {"rate": ",".join(f"{rate:g}" for rate in steps), "step.seconds": STEP_S}
        site = docker_site(cluster)
        folders = site.submit(name, name, {**options, **told}).folders
        self.id = cluster.nimbus.topology_id(name)
        self.launched = float(self.id.rsplit("-", 1)[1])
        self.recorder = Sampler(
            lambda: newest_of_processes(folders, {"source"}), lambda at: self.full, self.launched
        )

    def problem(self, load: Workload) -> Problem:
        """Return what runs on the nodes, with room for a little more than an even share on each."""
        (limit,) = set(capacities([1] * NODES, load.topology.executor_count, ROOM))
        nodes = tuple(
            Node(each.id, each.ports, max_executors=limit, link=each.link) for each in self._nodes
        )
        return Problem(nodes, (load.topology,))

    def _evenly(self, running: RunningTopology) -> Hosts:
        load = workload(running, None)
        problem = self.problem(load)
        return self.hosts(load, problem, solve(problem, "even", SEED).placement)

    def hosts(self, load: Workload, problem: Problem, placement: Placement) -> Hosts:
        """Return the address of each executor's node, by first task."""
        nodes = problem.slot_node[placement.slots].tolist()
        return {task: self._nodes[node].id for task, node in zip(load.tasks, nodes, strict=True)}

    def until(self, at: float) -> None:
        """Watch the sources until an epoch second."""
        while time.time() < at:
            self.recorder.look()
            time.sleep(LOOK_S)

    def whole(self) -> bool:
        """Return whether every source has got acknowledgements."""
        self.recorder.look()
        executors = self._cluster.nimbus.topology(self.name).executors
        sources = sum(each.is_spout for each in executors)
        return self.recorder.acking() >= sources > 0

    def trace(self, what: str, began: float) -> Trace:
        """Return what it did around an event at an epoch second."""
        self.until(began + WATCHED_S + REPORTED_S)
        edges = np.arange(-BEFORE_S, WATCHED_S, POINT_S)
        found = [self.recorder.window(began + edge, began + edge + POINT_S) for edge in edges]
        return Trace(
            self.name,
            what,
            tuple((edges + POINT_S).tolist()),
            tuple(each.tuples_per_10s / 10 for each in found),
            tuple(each.mean_ms for each in found),
        )

    def kill(self) -> None:
        """Kill the worker of a node as the kernel would."""
        plan = self._cluster.plan
        (node,) = (each for each in plan.nodes if each.name == LOST)
        with engine() as client:
            container = client.containers.get(plan.container_name(node))
            container.exec_run(["pkill", "-KILL", "-f", "org.apache.storm.daemon.worker"])

    def move(self, hosts: Hosts) -> None:
        """Have all executors run elsewhere from Nimbus's next round on."""
        self._planner.register(self.name, lambda _: Wanted("cut", FIRST_PORT, hosts))

    def end(self) -> None:
        """Kill the topology."""
        self._cluster.nimbus.end_topology(self.name, watch=self._cluster.watch(self.name))


def measured(
    name: str,
    cluster: DockerCluster,
    planner: BenchPlanner,
    output: Path,
    steps: Steps,
) -> list[Trace]:
    """Return what a topology did around every event; keeps its problem and placements."""
    with steps.step(f"starting {name}"):
        stage = Stage(name, cluster, planner)
        wait_until(stage.whole, START_PATIENCE_S, "every source acks", watch=cluster.watch(name))
    with steps.step(f"profiling {name}") as update:
        begin = time.time()
        stage.until(begin + PROFILE_S)
        end = time.time()
        stage.until(end + HOOK_INTERVAL_S + 1)
        profile = profile_logs(
            cluster.log_folders,
            cluster.folder / "profile",
            warm_up=0,
            topology=stage.id,
            from_epoch=begin,
            to_epoch=end,
            progress=update,
        ).profiles[stage.id]
    load = workload(planner.seen(name), profile)
    problem = stage.problem(load)
    before, after = (solve(problem, which, SEED) for which in ("even", "cut"))
    keep(output, name, problem, {"even": before, "cut": after})
    traces = []
    with steps.step(f"{name}: a burst, a killed worker, a move"):
        burst = stage.launched + STEP_S * BURST_STEP
        assert time.time() < burst - BEFORE_S, "the machine is too slow: start the burst later"
        traces.append(stage.trace("burst", burst))
        stage.until(time.time() + BEFORE_S)
        for what, act in (
            ("worker killed", stage.kill),
            ("move", partial(stage.move, stage.hosts(load, problem, after.placement))),
        ):
            began = time.time()
            act()
            traces.append(stage.trace(what, began))
            stage.until(time.time() + BEFORE_S)
    stage.end()
    return traces


def keep(output: Path, name: str, problem: Problem, placed: Mapping[str, Solution]) -> None:
    """Write what a topology was, and where it ran."""
    folder = output / "problems"
    folder.mkdir(parents=True, exist_ok=True)
    write_problem(folder / f"{name}.json", problem)
    for which, solution in placed.items():
        write_placement(folder / f"{name}-{which}.placement.json", problem, solution)


def simulated(output: Path, name: str) -> list[Trace]:
    """Return what the simulator says of every event."""
    problem = read_problem(output / "problems" / f"{name}.json")
    even, cut = (
        read_placement(output / "problems" / f"{name}-{which}.placement.json", problem).placement
        for which in ("even", "cut")
    )
    lost = problem.nodes[int(LOST.rpartition("-")[2]) - 1].id
    begin = 2 * BEFORE_S
    changes: Mapping[str, Sequence[Change]] = {
        "burst": (LoadChange(begin, BURST), LoadChange(begin + STEP_S, 1.0)),
        "worker killed": (WorkersKilled(begin, lost),),
        "move": (SimulatedMove(begin, cut),),
    }
    return [_simulated(name, what, problem, even, own, begin) for what, own in changes.items()]


def _simulated(
    name: str,
    what: str,
    problem: Problem,
    placement: Placement,
    changes: Sequence[Change],
    begin: float,
) -> Trace:
    found = over_time(
        problem,
        placement,
        changes,
        seconds=begin + WATCHED_S,
        every=POINT_S,
        containers=True,
    )
    (topology,) = problem.topologies
    own = [each for each in found if each.begin >= begin - BEFORE_S]
    latency = [each.latency.get(topology.id) for each in own]
    return Trace(
        name,
        what,
        tuple(each.end - begin for each in own),
        tuple(each.executed[topology.id] for each in own),
        tuple(None if each is None else each.mean for each in latency),
    )


def read(journal: Path) -> list[Trace]:
    """Return what was measured so far."""
    if not journal.exists():
        return []
    found = []
    for line in journal.read_text(encoding="utf-8").splitlines():
        kept = json.loads(line)
        series = (tuple(kept[each]) for each in ("at_s", "rate", "mean_ms"))
        found.append(Trace(kept["topology"], kept["what"], *series))
    return found


def run(output: Path) -> None:
    """Measure the topologies that the journal does not have."""
    journal, steps = output / "traces.jsonl", Steps("transients")
    done = {trace.topology for trace in read(journal)}
    left = [name for name in TOPOLOGIES if name not in done]
    if not left:
        return
    link = Bandwidth(MBIT * 10**6, MBIT * 10**6)
    config = {
        "stormcut.hook.interval.secs": HOOK_INTERVAL_S,
        "stormcut.hook.byte.sample.every": 10,
    }
    name = f"transients-{os.getpid()}"
    with steps.step(f"starting Storm 1.2.4 on {NODES} nodes") as update:
        shape = ClusterShape(NODES, bandwidth=link, slots=1)
        cluster = DockerCluster.up(shape, name, config=config, progress=update)
    planner = BenchPlanner()
    with ended(cluster, steps), serving(planner, cluster):
        for each in left:
            traces = measured(each, cluster, planner, output, steps)
            with journal.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(asdict(trace)) + "\n" for trace in traces)


def page(data: Path, output: Path) -> str:
    """Return the page of all that was measured, and draw its picture."""
    seen = read(data / "traces.jsonl")
    told = {(t.topology, t.what): t for name in TOPOLOGIES for t in simulated(data, name)}
    rows, off = [], []
    for trace in seen:
        there, here = held_up(trace), held_up(told[trace.topology, trace.what])
        off.append(here / there - 1)
        rows.append(
            f"| {trace.topology} | {trace.what} | {there:.0f} | {here:.0f} | {off[-1]:+.0%} |"
        )
    save(picture(seen, told), output)
    return PAGE.format(
        mbit=MBIT,
        burst=BURST,
        step=STEP_S,
        late=LATE,
        held=HELD_UP,
        restart=RESTART_S,
        killed=KILLED * RESTART_S,
        rows="\n".join(rows),
        goal=GOAL,
        within=sum(abs(each) <= GOAL for each in off),
        count=len(off),
        error=statistics.median(map(abs, off)),
        made=made_by("numpy"),
    )


def picture(seen: Sequence[Trace], told: Mapping[tuple[str, str], Trace]) -> Figure:
    """Draw what topologies did around each event, over what they usually do."""
    kinds = list(dict.fromkeys(trace.what for trace in seen))
    names = list(dict.fromkeys(trace.topology for trace in seen))
    figure = empty(9, 2.2 * len(names) + 0.4)
    panels = figure.subplots(len(names), len(kinds), sharex=True, squeeze=False)
    for trace in seen:
        axes = panels[names.index(trace.topology), kinds.index(trace.what)]
        for each, colour, label in (
            (trace, COLOURS[0], "measured"),
            (told[trace.topology, trace.what], COLOURS[1], "simulated"),
        ):
            usual = statistics.median(
                rate for at, rate in zip(each.at_s, each.rate, strict=True) if at <= 0
            )
            axes.plot(each.at_s, [rate / usual for rate in each.rate], color=colour, label=label)
        axes.set_title(f"{trace.topology}: {trace.what}", size=9, loc="left")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0, 0].legend(frameon=False, fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("seconds after it began")
    for row in panels:
        row[0].set_ylabel("rate over the usual")
    return figure


def main() -> None:
    """Measure what is missing, simulate all, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="the page")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="measure what it lacks")
    given = parser.parse_args()
    if given.measure:
        given.measure.mkdir(parents=True, exist_ok=True)
        run(given.measure)
    with open_data(given.measure or DATA / "simulator-transients.zip") as data:
        given.output.write_text(page(data, given.output), encoding="utf-8")


if __name__ == "__main__":
    main()
