"""A bench: every cell that its journal does not hold is measured, topology by topology."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from stormcut.lab.experiment.bench.cell import measure_cell
from stormcut.lab.experiment.bench.cells import Cell
from stormcut.lab.experiment.bench.entrants import Entrants
from stormcut.lab.experiment.bench.order import order
from stormcut.lab.experiment.bench.pace import RemainingTime
from stormcut.lab.experiment.bench.plan import BenchPlan
from stormcut.lab.experiment.bench.planner import BenchPlanner
from stormcut.lab.experiment.bench.ports import Entrant, Equipment
from stormcut.lab.experiment.servers import with_servers


class Bench:
    """One run, or the rest of one that was interrupted.

    Attributes
    ----------
    planner : BenchPlanner
        What Nimbus must ask while the bench runs.
    """

    def __init__(self, plan: BenchPlan, equipment: Equipment) -> None:
        self.planner = BenchPlanner()
        self._plan = plan
        self._equipment = equipment
        self._pace = RemainingTime(plan.timing)
        self._prepared: set[str] = set()
        self._left_out: set[tuple[str, str]] = set()

    def left(self) -> str:
        """Return in words what is left of this run, without what was left out for now."""
        out = self._left_out
        cells = [cell for cell in self._todo() if (cell.topology, cell.scheduler) not in out]
        coming = [cell for cell in cells if cell.topology not in self._prepared]
        return self._pace.left(len(cells), len({(c.topology, c.scheduler) for c in coming}))

    def run(self) -> None:
        """Measure every cell that the journal does not hold."""
        for topology in self._plan.topologies:
            cells = [cell for cell in self._todo() if cell.topology == topology]
            if cells:
                self._topology(topology, cells)

    def _todo(self) -> list[Cell]:
        plan, journal = self._plan, self._equipment.journal
        every = order(plan.topologies, plan.schedulers, plan.repetitions)
        done = {each.cell for each in journal.measurements()}
        refused = {(p.topology, p.scheduler) for p in journal.placements() if p.refusal}
        return [c for c in every if c not in done and (c.topology, c.scheduler) not in refused]

    def _topology(self, topology: str, cells: Sequence[Cell]) -> None:
        with ExitStack() as stack:
            entrants = self._prepare(topology, cells, stack)
            if not entrants:
                return
            for cell in cells:
                if cell.scheduler in entrants:
                    self._cell(cell, entrants[cell.scheduler])
            self._shares(topology, entrants)

    def _prepare(
        self, topology: str, cells: Sequence[Cell], stack: ExitStack
    ) -> Mapping[str, Entrant]:
        """Start a topology once for each scheduler of its cells, until the stack is left."""
        tools = self._equipment
        definition = tools.topologies.load(topology)
        options = stack.enter_context(
            with_servers(
                definition, self._plan.options(topology), tools.rig.servers, tools.progress
            )
        )
        schedulers = tuple(dict.fromkeys(cell.scheduler for cell in cells))
        began = time.monotonic()
        starting = Entrants(topology, options, self._plan, tools, self.planner)
        entrants = starting.start(schedulers, stack)
        self._prepared.add(topology)
        self._left_out |= {(topology, each) for each in schedulers if each not in entrants}
        if entrants:
            self._pace.starts_took(len(entrants), time.monotonic() - began)
        return entrants

    def _cell(self, cell: Cell, entrant: Entrant) -> None:
        rig, progress = self._equipment.rig, self._equipment.progress
        title = f"{cell.topology} {cell.repetition}/{self._plan.repetitions} {cell.scheduler}"
        began = time.monotonic()
        with progress.turn(title), rig.running(entrant):
            measurement = measure_cell(cell, entrant, rig, self._plan.timing)
        self._equipment.journal.add_measurement(measurement)
        self._pace.cell_took(time.monotonic() - began)
        note = f", not counted: {measurement.unsteady}" if measurement.unsteady else ""
        rate = f"{measurement.tuples_per_10s:,.0f} tuples/10 s"
        progress.say(f"{title}: {rate}{note} ({self.left()})")

    def _shares(self, topology: str, entrants: Mapping[str, Entrant]) -> None:
        """Note for each placement the shares of tuples that stayed on their node, and arrived."""
        journal = self._equipment.journal
        # The last window of each, without the draining after it, in which queues empty.
        windows = {
            m.cell.scheduler: m for m in journal.measurements() if m.cell.topology == topology
        }
        for placed in journal.placements():
            entrant, window = entrants.get(placed.scheduler), windows.get(placed.scheduler)
            if placed.topology != topology or entrant is None or window is None:
                continue
            result = self._equipment.profiled(entrant.id, window.begin, window.end)
            measured = result.measured.get(entrant.id)
            if measured is not None and measured.emitted_per_s:
                kept = 1 - measured.between_nodes_per_s / measured.emitted_per_s
                journal.add_placement(replace(placed, kept=kept, carried=measured.carried))
