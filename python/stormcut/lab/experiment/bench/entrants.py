"""A topology started under each scheduler's placement, all by the same measured traffic."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from stormcut.lab.experiment.bench.cells import Placed, Start
from stormcut.lab.experiment.bench.contest import WINDOW, Seat, place
from stormcut.lab.experiment.bench.plan import REFERENCE, BenchPlan
from stormcut.lab.experiment.bench.planner import BenchPlanner, Wanted
from stormcut.lab.experiment.bench.ports import Entrant, Equipment
from stormcut.lab.experiment.ports import HOOK_INTERVAL_S
from stormcut.model.cluster import RunningTopology
from stormcut.model.errors import Infeasible, StormcutError
from stormcut.model.profile import Profile

FIRST_PORT = 6700
SEED = 1

#: The address of each executor's node, by its first task.
Hosts = Mapping[int, str]


class Entrants:
    """Starts one topology of a bench, once for each scheduler; each start ends held."""

    def __init__(
        self,
        topology: str,
        options: Mapping[str, object],
        plan: BenchPlan,
        equipment: Equipment,
        planner: BenchPlanner,
    ) -> None:
        self._topology = topology
        self._options = options
        self._plan = plan
        self._equipment = equipment
        self._planner = planner
        self._rig = equipment.rig
        self._journal = equipment.journal
        self._progress = equipment.progress

    def start(self, schedulers: Sequence[str], stack: ExitStack) -> dict[str, Entrant]:
        """Return what runs under some schedulers' placements until the stack is left.

        What does not start is left out; without the reference, whose profile all place by, all is.
        """
        name = self._name(REFERENCE)
        self._planner.register(name, self._evenly)
        reference = self._start(REFERENCE, stack)
        if reference is None:
            return {}
        hosts = self._placements(reference, self._planner.seen(name))
        entrants = {}
        for scheduler in schedulers:
            if scheduler == REFERENCE:
                entrants[scheduler] = reference
            elif scheduler in hosts:
                placed = hosts[scheduler]
                self._planner.register(
                    self._name(scheduler), partial(self._wanted, scheduler, placed)
                )
                if entrant := self._start(scheduler, stack, placed):
                    entrants[scheduler] = entrant
        return entrants

    def _name(self, scheduler: str) -> str:
        return re.sub(r"[^a-z0-9]+", "-", f"{self._topology}-{scheduler}")

    def _start(
        self, scheduler: str, stack: ExitStack, hosts: Hosts | None = None
    ) -> Entrant | None:
        """Start one entrant; None: it does not start, as the journal says until it does."""
        name = self._name(scheduler)
        try:
            with self._progress.step(f"starting {name}"):
                entrant = self._insist(name, hosts)
        except StormcutError as error:
            self._progress.say(f"{name} is left out for now: {error}")
            self._journal.add_start(Start(self._topology, scheduler, str(error)))
            return None
        stack.callback(self._rig.end, entrant)
        self._journal.add_start(Start(self._topology, scheduler, ""))
        return entrant

    def _insist(self, name: str, hosts: Hosts | None) -> Entrant:
        """Start one entrant; once more if that goes wrong, as it may on a busy machine."""
        try:
            return self._started(name, hosts)
        except StormcutError as error:
            self._progress.say(f"{name}: {error}; once more")
            return self._started(name, hosts)

    def _started(self, name: str, hosts: Hosts | None) -> Entrant:
        entrant = self._rig.start(name, self._topology, self._options)
        if hosts is None or self._rig.hosts(entrant) == hosts:
            return entrant
        self._rig.end(entrant)
        raise StormcutError("it does not run where it was placed: Nimbus's log tells why")

    def _wanted(self, scheduler: str, hosts: Hosts, running: RunningTopology) -> Wanted:
        """Return where a topology shall run; each scheduler's has a port of its own."""
        return Wanted(scheduler, FIRST_PORT + self._plan.placed_by.index(scheduler), hosts)

    def _evenly(self, running: RunningTopology) -> Wanted:
        return self._wanted(REFERENCE, self._seat(running, None, REFERENCE).hosts, running)

    def _seat(self, running: RunningTopology, profile: Profile | None, scheduler: str) -> Seat:
        hosts, room = list(self._rig.nodes.values()), self._plan.setting.room
        chosen, window = self._equipment.scheduler(scheduler), self._options.get(WINDOW)
        return place(running, profile, hosts, room, chosen, SEED, window)

    def _placements(self, reference: Entrant, running: RunningTopology) -> dict[str, Hosts]:
        """Return every scheduler's placement, by the journal or by a new profile."""
        placements = self._journal.placements()
        known = {each.scheduler: each for each in placements if each.topology == self._topology}
        missing = [each for each in self._plan.schedulers if each not in known]
        if missing:
            profile = self._profile(reference)
            for scheduler in missing:
                known[scheduler] = self._placed(scheduler, running, profile)
                self._journal.add_placement(known[scheduler])
        nodes = self._rig.nodes
        tasks = sorted(executor.start_task for executor in running.executors)
        return {
            scheduler: {
                task: nodes[node].address for task, node in zip(tasks, placed.nodes, strict=True)
            }
            for scheduler in self._plan.schedulers
            if not (placed := known[scheduler]).refusal
        }

    def _placed(self, scheduler: str, running: RunningTopology, profile: Profile) -> Placed:
        topology, began = self._topology, time.monotonic()
        try:
            with self._progress.step(f"{scheduler} places {topology}"):
                seat = self._seat(running, profile, scheduler)
        except Infeasible as refusal:
            self._progress.say(f"{scheduler}: {refusal}")
            return Placed(topology, scheduler, str(refusal), (), 0.0, 0.0)
        self._progress.say(
            f"{scheduler}: {seat.between:,.0f} of {seat.total:,.0f} tuples/s between "
            f"{len(set(seat.hosts.values()))} nodes, in {time.monotonic() - began:.1f} s"
        )
        self._journal.add_solution(topology, scheduler, seat.problem, seat.solution)
        names = {host.address: name for name, host in self._rig.nodes.items()}
        nodes = tuple(names[seat.hosts[task]] for task in sorted(seat.hosts))
        return Placed(
            topology, scheduler, "", nodes, seat.between, seat.total, reachable=seat.reachable
        )

    def _profile(self, entrant: Entrant) -> Profile:
        """Run an entrant for a while and return its traffic as the hook measured it."""
        timing = self._plan.timing
        title = f"measuring the traffic of {entrant.name}"
        with self._progress.step(title), self._rig.running(entrant):
            time.sleep(timing.settle_s + HOOK_INTERVAL_S)
            begin = time.time()
            time.sleep(timing.profile_s)
            end = time.time()
            # The last interval's lines are written up to one interval after it ended.
            time.sleep(HOOK_INTERVAL_S + 1)
        return self._equipment.profiled(entrant.id, begin, end).profiles[entrant.id]
