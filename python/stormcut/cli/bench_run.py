"""A bench on the Docker cluster: every cell measured, journal and pages written."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stormcut.application.compare import Contender
from stormcut.application.experiment.bench.cells import Cell, Placed, Start
from stormcut.application.experiment.bench.contest import Host, Seat, place
from stormcut.application.experiment.bench.order import order
from stormcut.application.experiment.bench.planner import BenchPlanner, Wanted
from stormcut.cli.bench_cell import Timing, measure_cell
from stormcut.cli.bench_pace import Pace
from stormcut.cli.steps import Steps
from stormcut.model.errors import Infeasible, StormcutError
from stormcut.model.network import Link

if TYPE_CHECKING:
    from stormcut.adapters.bench.journal import Journal
    from stormcut.adapters.bench.rig import Entrant
    from stormcut.adapters.bench.setting import Setting
    from stormcut.adapters.clusters.docker import DockerCluster, Shape
    from stormcut.adapters.clusters.docker.limits import Bandwidth
    from stormcut.adapters.spark import ProfileResult
    from stormcut.model.cluster import RunningTopology
    from stormcut.model.profile import Profile

#: Every topology is measured under this placement to learn its traffic; Storm's own.
REFERENCE = "even"
FIRST_PORT = 6700
HOOK_INTERVAL_S = 5
SEED = 1
#: Of a node: held workers of all schedulers keep theirs.
MEMORY_MB = 6144

#: The address of each executor's node, by its first task.
Hosts = Mapping[int, str]


@dataclass(frozen=True)
class Plan:
    """What is to be done."""

    setting: Setting
    schedulers: tuple[str, ...]
    topologies: tuple[str, ...]
    repetitions: int
    timing: Timing
    output: Path

    def shape(self) -> Shape:
        """Return the cluster's shape; every scheduler has a slot of its own on each node.

        Raises
        ------
        InvalidInput
            The setting's limits are impossible.
        """
        from stormcut.adapters.clusters.docker import Shape
        from stormcut.adapters.clusters.docker.limits import FREE, parse_bandwidth
        from stormcut.adapters.clusters.docker.plan import parse_sizes

        setting = self.setting
        return Shape(
            setting.nodes,
            setting.cpus,
            parse_bandwidth(setting.bandwidth) if setting.bandwidth else FREE,
            MEMORY_MB,
            parse_sizes(setting.heterogeneous) if setting.heterogeneous else (),
            len({REFERENCE, *self.schedulers}),
        )

    def options(self, topology: str) -> dict[str, object]:
        """Return what a topology is submitted with."""
        return {**self.setting.storm, **self.setting.topologies.get(topology, {})}


class Bench:
    """One run, or the rest of one that was interrupted."""

    def __init__(self, plan: Plan, journal: Journal, cluster: DockerCluster, steps: Steps) -> None:
        from stormcut.adapters.bench.rig import Rig

        self._plan = plan
        self._journal = journal
        self._cluster = cluster
        self._steps = steps
        self._rig = Rig(cluster)
        self._planner = BenchPlanner()
        self._names = {node.address: node.name for node in cluster.plan.nodes}
        self._pace = Pace(plan.timing)
        self._prepared: set[str] = set()
        self._left_out: set[tuple[str, str]] = set()

    def _todo(self) -> list[Cell]:
        plan = self._plan
        every = order(plan.topologies, plan.schedulers, plan.repetitions)
        done = {each.cell for each in self._journal.measurements()}
        refused = {(p.topology, p.scheduler) for p in self._journal.placements() if p.refusal}
        return [c for c in every if c not in done and (c.topology, c.scheduler) not in refused]

    def _left(self) -> str:
        """Return in words what is left of this run, without what was left out for now."""
        out = self._left_out
        cells = [
            cell
            for cell in self._todo()
            if not {(cell.topology, cell.scheduler), (cell.topology, REFERENCE)} & out
        ]
        coming = [cell for cell in cells if cell.topology not in self._prepared]
        return self._pace.left(len(cells), len({(c.topology, c.scheduler) for c in coming}))

    def run(self) -> None:
        """Measure every cell that the journal does not hold."""
        from stormcut.adapters.bench.serving import serving

        self._steps.say(self._left())
        with serving(self._planner, self._cluster):
            for topology in self._plan.topologies:
                cells = [cell for cell in self._todo() if cell.topology == topology]
                if cells:
                    self._topology(topology, cells)

    def _topology(self, topology: str, cells: Sequence[Cell]) -> None:
        with ExitStack() as stack:
            options = self._plan.options(topology)
            options |= stack.enter_context(_store(topology, options, self._cluster, self._steps))
            entrants = self._prepare(topology, options, cells, stack)
            if not entrants:
                return
            began = time.time()
            for cell in cells:
                if cell.scheduler in entrants:
                    self._cell(cell, entrants[cell.scheduler])
            self._kept(topology, entrants, began)

    def _prepare(
        self,
        topology: str,
        options: Mapping[str, object],
        cells: Sequence[Cell],
        stack: ExitStack,
    ) -> dict[str, Entrant]:
        began = time.monotonic()
        entrants = self._entrants(topology, options, cells, stack)
        self._prepared.add(topology)
        if entrants:
            self._pace.starts_took(len(entrants), time.monotonic() - began)
        return entrants

    def _entrants(
        self,
        topology: str,
        options: Mapping[str, object],
        cells: Sequence[Cell],
        stack: ExitStack,
    ) -> dict[str, Entrant]:
        """Start the topology once for each scheduler of the cells; all are held.

        What does not start is left out; without the reference, whose profile all place by, all is.
        """
        name = _name(topology, REFERENCE)
        self._planner.register(name, self._evenly)
        reference = self._start(topology, REFERENCE, options, stack)
        if reference is None:
            return {}
        hosts = self._placements(topology, reference, self._planner.seen(name))
        found = {}
        for scheduler in dict.fromkeys(cell.scheduler for cell in cells):
            if scheduler == REFERENCE:
                found[scheduler] = reference
            elif scheduler in hosts:
                placed = hosts[scheduler]
                decide = partial(self._wanted, scheduler, placed)
                self._planner.register(_name(topology, scheduler), decide)
                if entrant := self._start(topology, scheduler, options, stack, placed):
                    found[scheduler] = entrant
        return found

    def _start(
        self,
        topology: str,
        scheduler: str,
        options: Mapping[str, object],
        stack: ExitStack,
        hosts: Hosts | None = None,
    ) -> Entrant | None:
        """Start one entrant; None: it does not start, as the journal says until it does."""
        name = _name(topology, scheduler)
        try:
            with self._steps.step(f"starting {name}"):
                entrant = self._insist(name, topology, options, hosts)
        except StormcutError as error:
            self._steps.say(f"{name} is left out for now: {error}")
            self._left_out.add((topology, scheduler))
            self._journal.add_start(Start(topology, scheduler, str(error)))
            return None
        stack.callback(self._rig.end, entrant)
        self._journal.add_start(Start(topology, scheduler, ""))
        return entrant

    def _insist(
        self, name: str, topology: str, options: Mapping[str, object], hosts: Hosts | None
    ) -> Entrant:
        """Start one entrant; once more if that goes wrong, as it may on a busy machine."""
        try:
            return self._started(name, topology, options, hosts)
        except StormcutError as error:
            self._steps.say(f"{name}: {error}; once more")
            return self._started(name, topology, options, hosts)

    def _started(
        self, name: str, topology: str, options: Mapping[str, object], hosts: Hosts | None
    ) -> Entrant:
        entrant = self._rig.start(name, topology, options)
        if hosts is None or self._rig.hosts(entrant) == hosts:
            return entrant
        self._rig.end(entrant)
        raise StormcutError("it does not run where it was placed: Nimbus's log tells why")

    def _wanted(self, scheduler: str, hosts: Hosts, running: RunningTopology) -> Wanted:
        """Return where a topology shall run; each scheduler's has a port of its own."""
        ports = (REFERENCE, *(s for s in self._plan.schedulers if s != REFERENCE))
        return Wanted(scheduler, FIRST_PORT + ports.index(scheduler), hosts)

    def _evenly(self, running: RunningTopology) -> Wanted:
        return self._wanted(REFERENCE, self._seat(running, None, REFERENCE).hosts, running)

    def _seat(self, running: RunningTopology, profile: Profile | None, scheduler: str) -> Seat:
        room = self._plan.setting.room
        return place(running, profile, self._hosts(), room, Contender.parse(scheduler), SEED)

    def _hosts(self) -> list[Host]:
        plan = self._cluster.plan
        sizes = plan.shape.sizes or (1,) * len(plan.nodes)
        return [
            Host(
                node.address,
                size,
                node.limits.cpus and 100 * node.limits.cpus,
                _link(node.limits.bandwidth),
            )
            for node, size in zip(plan.nodes, sizes, strict=True)
        ]

    def _placements(
        self, topology: str, reference: Entrant, running: RunningTopology
    ) -> dict[str, Hosts]:
        """Return every scheduler's placement, by the journal or by a new profile."""
        known = {p.scheduler: p for p in self._journal.placements() if p.topology == topology}
        tasks = sorted(executor.start_task for executor in running.executors)
        addresses = {name: address for address, name in self._names.items()}
        missing = [s for s in self._plan.schedulers if s not in known]
        if missing:
            profile = self._profile(reference)
            for scheduler in missing:
                known[scheduler] = self._placed(topology, scheduler, running, profile)
                self._journal.add_placement(known[scheduler])
        return {
            scheduler: {
                task: addresses[node] for task, node in zip(tasks, placed.nodes, strict=True)
            }
            for scheduler in self._plan.schedulers
            if not (placed := known[scheduler]).refusal
        }

    def _placed(
        self, topology: str, scheduler: str, running: RunningTopology, profile: Profile
    ) -> Placed:
        began = time.monotonic()
        try:
            with self._steps.step(f"{scheduler} places {topology}"):
                seat = self._seat(running, profile, scheduler)
        except Infeasible as refusal:
            self._steps.say(f"{scheduler}: {refusal}")
            return Placed(topology, scheduler, str(refusal), (), 0.0, 0.0)
        self._steps.say(
            f"{scheduler}: {seat.between:,.0f} of {seat.total:,.0f} tuples/s between "
            f"{len(set(seat.hosts.values()))} nodes, in {time.monotonic() - began:.1f} s"
        )
        self._journal.add_solution(topology, scheduler, seat.problem, seat.solution)
        nodes = tuple(self._names[seat.hosts[task]] for task in sorted(seat.hosts))
        return Placed(
            topology, scheduler, "", nodes, seat.between, seat.total, reachable=seat.reachable
        )

    def _profile(self, entrant: Entrant) -> Profile:
        """Run an entrant for a while and return its traffic as the hook measured it."""
        timing = self._plan.timing
        title = f"measuring the traffic of {entrant.name}"
        with self._steps.step(title), self._rig.running(entrant):
            time.sleep(timing.settle_s + HOOK_INTERVAL_S)
            begin = time.time()
            time.sleep(timing.profile_s)
            end = time.time()
            # The last interval's lines are written up to one interval after it ended.
            time.sleep(HOOK_INTERVAL_S + 1)
        return self._profiled(entrant.id, begin, end).profiles[entrant.id]

    def _profiled(self, topology: str | None, begin: float, end: float) -> ProfileResult:
        from stormcut.adapters.spark import profile_logs

        with self._steps.step("profiling the metrics logs with Spark") as update:
            return profile_logs(
                self._cluster.log_folders,
                self._cluster.folder / "profile",
                topology=topology,
                from_epoch=begin,
                to_epoch=end,
                warm_up=0,
                progress=update,
            )

    def _cell(self, cell: Cell, entrant: Entrant) -> None:
        title = f"{cell.topology} {cell.repetition}/{self._plan.repetitions} {cell.scheduler}"
        began = time.monotonic()
        with self._steps.turn(title), self._rig.running(entrant):
            measurement = measure_cell(cell, entrant, self._rig.containers, self._plan.timing)
        self._journal.add_measurement(measurement)
        self._pace.cell_took(time.monotonic() - began)
        note = f", not counted: {measurement.unsteady}" if measurement.unsteady else ""
        rate = f"{measurement.tuples_per_10s:,.0f} tuples/10 s"
        self._steps.say(f"{title}: {rate}{note} ({self._left()})")

    def _kept(self, topology: str, entrants: Mapping[str, Entrant], began: float) -> None:
        """Note for each placement the share of tuples that stayed on their node."""
        measured = self._profiled(None, began, time.time()).measured
        for placed in self._journal.placements():
            entrant = entrants.get(placed.scheduler)
            if placed.topology != topology or entrant is None or entrant.id not in measured:
                continue
            found = measured[entrant.id]
            if found.emitted_per_s:
                kept = 1 - found.between_nodes_per_s / found.emitted_per_s
                self._journal.add_placement(replace(placed, kept=kept))


def _name(topology: str, scheduler: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{topology}-{scheduler}")


@contextmanager
def _store(
    topology: str, options: Mapping[str, object], cluster: DockerCluster, steps: Steps
) -> Iterator[dict[str, object]]:
    """Yield the options that name a Redis server of this block, if the topology needs one."""
    from stormcut.adapters.clusters.redis_server import redis_server
    from stormcut.adapters.storm.topology_project import load

    if "redis" not in load(topology).options or "redis" in options:
        yield {}
        return
    with ExitStack() as stack:
        with steps.step("starting a Redis server"):
            address = stack.enter_context(redis_server(host=cluster.host))
        yield {"redis": address}


def _link(bandwidth: Bandwidth) -> Link:
    out, into = (
        None if bits is None else bits / 1e6 for bits in (bandwidth.out_bits, bandwidth.in_bits)
    )
    return Link(out, into)
