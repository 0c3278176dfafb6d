"""What topologies reach on more nodes, predicted from a profile of two nodes, beside what they do.

Run by hand, on a machine with Docker that does nothing else. Each figure is kept as it is measured:
rerun the command to resume.

    scripts/with-docker python -m benchmarks.cluster.capacity_scaling \
      --measure capacity-scaling --output docs/results/capacity-scaling.md
    python -m benchmarks.raw_data capacity-scaling

Without `--measure` the page is made of what was kept.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.machine import made_by
from benchmarks.raw_data import DATA, open_data
from stormcut.adapters.files.json_document import write_text
from stormcut.adapters.files.placement_file import read_placement, write_placement
from stormcut.adapters.files.problem_file import read_problem, write_problem
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.capacity.evidence import costs_that_fit
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.rig import ClusterRig
from stormcut.lab.adapters.bench.serving import serving
from stormcut.lab.adapters.bench.setting import MEMORY_MB
from stormcut.lab.adapters.bench.workers import CLUSTER_PATIENCE
from stormcut.lab.adapters.clusters.bandwidth import FREE, parse_bandwidth
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
from stormcut.lab.cli.own_cluster import ended
from stormcut.lab.experiment.bench.cell import measure_cell
from stormcut.lab.experiment.bench.cells import Cell
from stormcut.lab.experiment.bench.contest import (
    WINDOW,
    Host,
    capacities,
    windowed,
)
from stormcut.lab.experiment.bench.entrants import FIRST_PORT, SEED, Hosts
from stormcut.lab.experiment.bench.plan import REFERENCE, Timing
from stormcut.lab.experiment.bench.planner import BenchPlanner, Wanted
from stormcut.lab.experiment.bench.ports import Entrant
from stormcut.lab.experiment.ports import HOOK_INTERVAL_S, Profiler
from stormcut.model.cluster import RunningTopology
from stormcut.model.network import Costs
from stormcut.model.placement import Placement
from stormcut.model.problem import Node, Problem
from stormcut.objective.headroom import Headroom, headroom
from stormcut.objective.metrics import measure
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.placement.solve import Solution, solve
from stormcut.running.workload import Workload, workload

#: Nodes on which the profile is taken, and those that are predicted.
KNOWN, FORETOLD = 2, (4, 6, 10)
#: How many times its even share of the executors a node may hold, as in benches: one alone would
#: hold all where links bind.
ROOM = 1.25
STORM: Mapping[str, object] = {
    "topology.acker.executors": 3,
    "topology.max.spout.pending": 100,
    "topology.component.cpu.pcore.percent": 1.0,
}


@dataclass(frozen=True)
class Setting:
    """Limits of each node, and the topologies with their options."""

    cpus: float
    bandwidth: str
    topologies: Mapping[str, Mapping[str, object]]


JAVA: Mapping[str, object] = {"language": "java"}
SETTINGS: Mapping[str, Setting] = {
    "cpu": Setting(
        0.15,
        "",
        {
            "diamond": {**JAVA, "tasks": 6, "ends": 6, "payload": 100},
            "pls_random": {**JAVA, "payload": 100},
            "bigbench_linear": {},
        },
    ),
    "network": Setting(
        0.25,
        "2mbit",
        {
            "diamond": {**JAVA, "tasks": 6, "ends": 6, "payload": 1000},
            "pls_random": {**JAVA, "payload": 1000},
            "bigbench_linear": {"payload": 4000, "topology.max.spout.pending": 20},
        },
    ),
}
TIMING = Timing(settle_s=5.0, patience_s=40.0, window_s=15.0, profile_s=25.0)

PAGE = """\
# What more nodes carry, predicted from two

Each topology ran on two nodes of a Docker cluster under Storm's own placement, its sources as fast
as their windows allow, and was measured. By that alone, `cut` with `objective=headroom`, as
`capacity plan` has it, placed it on 4, 6 and 10 of the same nodes, at most {room:g} times its even
share of the executors on each. *Predicted* is the rate on two nodes times head-room, with costs
that fit what ran there, as `capacity advise` and `import cluster` have them; beside it the error
with shipped costs. *Measured* is what was acknowledged, in a window of {window:g} s.

{table}

{errors}

Problems and placements are in `benchmarks/data/capacity-scaling.zip`.

[What this shows](findings.md#more-nodes).

{made}
"""


#: What the figures say; to be edited when they are measured again.
@dataclass(frozen=True)
class Line:
    """A line of the journal: what was measured, in tuples/s, and who used which cores."""

    setting: str
    topology: str
    nodes: int
    measured: float
    node_cores: tuple[float, ...]
    other_cores: float
    unsteady: str


@dataclass(frozen=True)
class Placed:
    """A topology as it was measured, on so many nodes, and where it runs."""

    problem: Problem
    placement: Placement

    def hosts(self, tasks: Sequence[int], hosts: Sequence[Host]) -> Hosts:
        """Return the address of each executor, by first task."""
        nodes = self.problem.slot_node[self.placement.slots].tolist()
        return {task: hosts[node].address for task, node in zip(tasks, nodes, strict=True)}

    def headroom(self, costs: Costs | None) -> Headroom:
        """Return how many times its rates it carries, by other costs."""
        return headroom(replace(self.problem, costs=costs), self.placement)


def problem_on(load: Workload, hosts: Sequence[Host], window: object) -> Problem:
    """Return a topology on nodes of one slot, each with room for a little more than its share."""
    (limit,) = set(capacities([1] * len(hosts), load.topology.executor_count, ROOM))
    nodes = tuple(
        Node(h.address, (0,), cpu_percent=h.cpu_percent, max_executors=limit, link=h.link)
        for h in hosts
    )
    return windowed(Problem(nodes, (replace(load.topology, workers=len(hosts)),)), window)


def evenly(problem: Problem) -> Placed:
    """Return Storm's placement, which knows no CPU: what declares its loads has no right ones."""
    bare = tuple(replace(node, cpu_percent=None) for node in problem.nodes)
    found = solve(replace(problem, nodes=bare), REFERENCE, SEED)
    return Placed(problem, found.placement)


class Scaling:
    """Measures one setting's topologies on one cluster."""

    def __init__(
        self, name: str, rig: ClusterRig, planner: BenchPlanner, profiler: Profiler, steps: Steps
    ) -> None:
        self._name = name
        self._rig = rig
        self._planner = planner
        self._profiler = profiler
        self._steps = steps

    def measure(self, topology: str, problems: Path) -> Iterator[Line]:
        """Yield what a topology does on each number of nodes, the fewest first."""
        options = {**STORM, **SETTINGS[self._name].topologies[topology]}
        hosts, window = list(self._rig.nodes.values()), options[WINDOW]

        def even(running: RunningTopology) -> Hosts:
            load, few = workload(running, None), hosts[:KNOWN]
            return evenly(problem_on(load, few, window)).hosts(load.tasks, few)

        with self._running(topology, KNOWN, options, even) as entrant:
            found = self._window(topology, KNOWN, entrant)
            load = self._profiled(entrant)
        known = evenly(problem_on(load, hosts[:KNOWN], window))
        self._keep(problems, topology, known)
        yield found
        costs = costs_that_fit(known.problem, known.placement)
        for nodes in FORETOLD:
            problem = replace(problem_on(load, hosts[:nodes], window), costs=costs)
            solution = solve(problem, DEFAULT_ALGORITHM, SEED, {"objective": "headroom"})
            placed = Placed(problem, solution.placement)
            self._keep(problems, topology, placed)
            chosen = placed.hosts(load.tasks, hosts)
            with self._running(topology, nodes, options, partial(_always, chosen)) as entrant:
                yield self._window(topology, nodes, entrant)

    def _keep(self, problems: Path, topology: str, placed: Placed) -> None:
        write_problem(path(problems, self._name, topology, placed.problem), placed.problem)
        where = path(problems, self._name, topology, placed.problem, ".placement")
        write_placement(where, placed.problem, told(placed))

    @contextmanager
    def _running(
        self,
        topology: str,
        nodes: int,
        options: Mapping[str, object],
        hosts: Callable[[RunningTopology], Hosts],
    ) -> Iterator[Entrant]:
        name = f"{topology}-{nodes}".replace("_", "-")
        self._planner.register(name, lambda it: Wanted("scaling", FIRST_PORT, hosts(it)))
        with self._steps.step(f"starting {name}"):
            entrant = self._rig.start(name, topology, options)
        try:
            with self._rig.running(entrant):
                yield entrant
        finally:
            self._rig.end(entrant)

    def _window(self, topology: str, nodes: int, entrant: Entrant) -> Line:
        cell = Cell(topology, nodes, DEFAULT_ALGORITHM)
        with self._steps.step(f"measuring {entrant.name}"):
            found = measure_cell(cell, entrant, self._rig, TIMING)
        self._steps.say(f"  {found.tuples_per_10s / 10:,.0f} tuples/s {found.unsteady}")
        return Line(
            self._name,
            topology,
            nodes,
            found.tuples_per_10s / 10,
            found.node_cores,
            found.other_cores,
            found.unsteady,
        )

    def _profiled(self, entrant: Entrant) -> Workload:
        with self._steps.step(f"profiling {entrant.name}") as update:
            begin = time.time()
            time.sleep(TIMING.profile_s)
            end = time.time()
            # The last interval's lines are written up to one interval after it ended.
            time.sleep(HOOK_INTERVAL_S + 1)
            found = self._profiler(
                topology=entrant.id, from_epoch=begin, to_epoch=end, progress=update
            )
        return workload(self._planner.seen(entrant.name), found.profiles[entrant.id])


def _always(hosts: Hosts, _: RunningTopology) -> Hosts:
    return hosts


def told(placed: Placed) -> Solution:
    """Return a placement as a file tells it."""
    metrics = measure(placed.problem, placed.placement)
    room = headroom(placed.problem, placed.placement)
    return Solution(DEFAULT_ALGORITHM, {}, placed.placement, metrics, room, None, ())


def path(folder: Path, setting: str, topology: str, problem: Problem, kind: str = "") -> Path:
    """Return the file of a problem, or of its placement."""
    return folder / f"{setting}-{topology}-{len(problem.nodes)}{kind}.json"


def placed(folder: Path, line: Line) -> Placed:
    """Return what was kept of a line."""
    name = folder / f"{line.setting}-{line.topology}-{line.nodes}"
    problem = read_problem(name.with_suffix(".json"))
    return Placed(problem, read_placement(Path(f"{name}.placement.json"), problem).placement)


@dataclass(frozen=True)
class RatePrediction:
    """What was predicted of a line, by costs that fit what runs and as shipped, in tuples/s."""

    line: Line
    fitting: float
    shipped: float
    binds: str

    @property
    def error(self) -> float:
        """By how much too high, as a share."""
        return self.fitting / self.line.measured - 1

    @property
    def shipped_error(self) -> float:
        """The same by shipped costs."""
        return self.shipped / self.line.measured - 1


def predicted_rates(lines: Sequence[Line], problems: Path) -> Iterator[RatePrediction]:
    """Yield what two nodes' rate, profile and placement say of every other line."""
    known = {(line.setting, line.topology): line for line in lines if line.nodes == KNOWN}
    for line in lines:
        base = known[line.setting, line.topology]
        if line is base:
            continue
        there, here = placed(problems, base), placed(problems, line)
        costs = costs_that_fit(there.problem, there.placement)
        grown = here.headroom(costs)
        shipped = here.headroom(None).value or math.inf
        yield RatePrediction(
            line,
            base.measured * (grown.value or math.inf),
            base.measured * shipped,
            grown.bottleneck.kind.replace("_", " ") if grown.bottleneck else "",
        )


def read(journal: Path) -> list[Line]:
    """Return what was measured so far."""
    if not journal.exists():
        return []
    return [Line(**json.loads(line)) for line in journal.read_text(encoding="utf-8").splitlines()]


def run(name: str, output: Path) -> None:
    """Measure what the journal does not have of a setting."""
    steps, setting, journal = Steps("scaling"), SETTINGS[name], output / "lines.jsonl"
    problems = output / "problems"
    problems.mkdir(parents=True, exist_ok=True)
    done = {(each.topology, each.nodes) for each in read(journal) if each.setting == name}
    left = [each for each in setting.topologies if (each, FORETOLD[-1]) not in done]
    if not left:
        return
    link = parse_bandwidth(setting.bandwidth) if setting.bandwidth else FREE
    shape = ClusterShape(FORETOLD[-1], setting.cpus, link, MEMORY_MB, slots=1)
    config = {
        **CLUSTER_PATIENCE,
        "stormcut.hook.interval.secs": HOOK_INTERVAL_S,
        "stormcut.hook.byte.sample.every": 10,
    }
    with steps.step(f"starting Storm 1.2.4 in {shape.nodes + 2} containers") as update:
        cluster = DockerCluster.up(shape, "scaling", config=config, progress=update)
    with ended(cluster, steps):
        planner = BenchPlanner()
        profiler = partial(profile_logs, cluster.log_folders, cluster.folder / "profile", warm_up=0)
        with serving(planner, cluster):
            scaling = Scaling(name, ClusterRig(cluster), planner, profiler, steps)
            for topology in left:
                lines = list(scaling.measure(topology, problems))
                with journal.open("a", encoding="utf-8") as out:
                    out.writelines(json.dumps(asdict(each)) + "\n" for each in lines)


def table(lines: Sequence[Line], ahead: Sequence[RatePrediction]) -> str:
    """Return all figures."""
    rows = [
        "| setting | topology | measured on 2 | nodes | predicted | measured | error "
        "| error, shipped costs | full first | cores used, others' |",
        f"| --- | --- |{' ---: |' * 6} --- | --- |",
    ]
    known = {(each.setting, each.topology): each.measured for each in lines if each.nodes == KNOWN}
    for each in ahead:
        line = each.line
        note = f" ({line.unsteady})" if line.unsteady else ""
        rows.append(
            f"| {line.setting} | {line.topology} | {known[line.setting, line.topology]:,.0f} "
            f"| {line.nodes} | {each.fitting:,.0f} | {line.measured:,.0f}{note} "
            f"| {each.error:+.0%} | {each.shipped_error:+.0%} | {each.binds} "
            f"| {sum(line.node_cores):.2f}, {line.other_cores:.2f} |"
        )
    return "\n".join(rows)


def errors(ahead: Sequence[RatePrediction]) -> str:
    """Return the medians of the errors, by setting and by number of nodes."""
    groups = {name: [e for e in ahead if e.line.setting == name] for name in SETTINGS}
    groups |= {f"{n} nodes": [e for e in ahead if e.line.nodes == n] for n in FORETOLD}
    groups["all"] = list(ahead)
    rows = ["| median error | figures | costs that fit | shipped costs |"]
    rows.append("| --- | ---: | ---: | ---: |")
    for name, own in groups.items():
        if own:
            error = statistics.median(abs(each.error) for each in own)
            shipped = statistics.median(abs(each.shipped_error) for each in own)
            rows.append(f"| {name} | {len(own)} | {error:.1%} | {shipped:.1%} |")
    return "\n".join(rows)


def main() -> None:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--setting", choices=list(SETTINGS), action="append")
    parser.add_argument("--output", type=Path, required=True, help="the page")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="measure what it lacks")
    given = parser.parse_args()
    if given.measure:
        for name in given.setting or SETTINGS:
            run(name, given.measure)
    with open_data(given.measure or DATA / "capacity-scaling.zip") as data:
        lines = read(data / "lines.jsonl")
        ahead = list(predicted_rates(lines, data / "problems"))
    text = PAGE.format(
        window=TIMING.window_s,
        room=ROOM,
        table=table(lines, ahead),
        errors=errors(ahead),
        made=made_by("numpy", "scipy"),
    )
    write_text(given.output, text)


if __name__ == "__main__":
    main()
