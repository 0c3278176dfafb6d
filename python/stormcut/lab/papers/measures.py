"""What is measured of a cell: traffic, a simulation, a schedule, or a dataflow's slots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stormcut.application.compare import Contender
from stormcut.arrays import Floats
from stormcut.capacity.mapping import highest_rate, map_acquired, mapper, with_ends
from stormcut.lab.papers.cells import Outcome, PaperCell, Value
from stormcut.lab.papers.slot_clock import SlotRun, part_sizes, walk
from stormcut.lab.papers.workloads import PIPELINES, WORKLOADS, defaults_of
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_US, Problem
from stormcut.objective.crossing import component_traffic
from stormcut.placement.algorithms.bframework.partitioner import UNKNOWN
from stormcut.placement.algorithms.bframework.place import Options, labelled
from stormcut.placement.algorithms.bframework.query import queries
from stormcut.placement.algorithms.model_driven.allocation import (
    Dag,
    PerformanceModel,
    lsa,
    mba,
)
from stormcut.placement.algorithms.model_driven.prediction import predict
from stormcut.placement.algorithms.pipeline_linear.allocation import allocate
from stormcut.placement.algorithms.pipeline_linear.schedule import schedule
from stormcut.placement.registry import BASELINE
from stormcut.placement.solve import Solution, solve
from stormcut.simulator.events import EXECUTIONS, simulate
from stormcut.simulator.simulation import Simulation
from stormcut.simulator.system import BATCH_TIMEOUT_MS, ROUND_MS

#: Parts a chain of schedulers.
THEN = " > "
#: Storm's flusher, also where a problem names none of its executors.
FLUSH_MS = BATCH_TIMEOUT_MS + ROUND_MS
#: Of rates that rise and fall, and how long each is simulated at least.
PHASES, MIN_PHASE_S = 4, 2.0
#: Sizes of the parts of pipeline-based linear scheduling.
SIZED, ONE = "sized", "one"
#: Of what is offered, the least that is carried where nothing piles up.
CARRIED = 0.98
#: So long sources fill buffers.
FULL_S = 60.0
#: The thesis counts tuples of 10 s for each bolt's task.
WINDOW_S = 10.0

#: ``dataflows(name) -> (dataflow, its tasks' models)`` of the model-driven paper.
Dataflows = Callable[[str], tuple[Dag, Mapping[str, PerformanceModel]]]


def measure(cell: PaperCell, dataflows: Dataflows) -> Outcome:
    """Return what a cell yields; where nothing can be placed or simulated, why."""
    try:
        if cell.measure in DATAFLOW_MEASURES:
            return _of_dataflow(cell, dataflows)
        return _of_placement(cell)
    except (Infeasible, InvalidInput) as refusal:
        return str(refusal)


def parameters_known(workload: str, measured: str) -> dict[str, Value]:
    """Return every parameter of a workload and a measure with its default."""
    measures = {**MEASURES, **DATAFLOW_MEASURES}
    own = {} if measured in DATAFLOW_MEASURES else defaults_of(WORKLOADS[workload])
    return {**own, **defaults_of(measures[measured])}


def problem_of(cell: PaperCell) -> Problem:
    """Return the problem that a cell places.

    Raises
    ------
    InvalidInput
        A parameter has a value that the workload does not know.
    """
    make = WORKLOADS[cell.workload]
    known = defaults_of(make)
    return make(**{name: value for name, value in cell.parameters if name in known})


class PlacedCell(NamedTuple):
    """Where everything ran before the last scheduler, and what that one made of it."""

    before: Placement | None
    solution: Solution
    seconds: float

    @property
    def placement(self) -> Placement:
        """Where everything runs."""
        return self.solution.placement

    def figures(self) -> dict[str, float]:
        """Return what every placement has: its cut, nodes, moves and the seconds that it took."""
        metrics = self.solution.metrics
        figures = {
            "between_nodes": metrics.inter_node_tuples_per_second,
            "nodes": float(metrics.nodes_used),
            "seconds": self.seconds,
        }
        if self.before is not None:
            figures["moves"] = float((self.before.slots != self.placement.slots).sum())
        return figures


def _of_placement(cell: PaperCell) -> Outcome:
    function = MEASURES[cell.measure]
    known = defaults_of(function)
    own = {name: value for name, value in cell.parameters if name in known}
    return function(problem_of(cell), cell, **own)


def _place(problem: Problem, cell: PaperCell) -> PlacedCell:
    """Place by all schedulers of a cell's chain, in turn."""
    start = time.perf_counter()
    before: Placement | None = None
    *earlier, last = (Contender.parse(text) for text in cell.scheduler.split(THEN))
    for contender in earlier:
        question = replace(problem, current=before)
        before = solve(question, contender.algorithm, cell.seed, contender.options).placement
    question = replace(problem, current=before)
    solution = solve(question, last.algorithm, cell.seed, last.options)
    return PlacedCell(before, solution, time.perf_counter() - start)


def cost(problem: Problem, cell: PaperCell) -> Mapping[str, float]:
    """Measure the placement alone."""
    return _place(problem, cell).figures()


def traffic(problem: Problem, cell: PaperCell) -> Mapping[str, float]:
    """Measure Mbit/s between nodes: in all, and for each stream (StroMAX's INB, section 5.3)."""
    placed = _place(problem, cell)
    sent = component_traffic(problem, placed.placement)
    streams = {
        f"inb {each.topology} {each.source} -> {each.target}": each.mbit_between_nodes or 0.0
        for each in sent
    }
    return {**placed.figures(), "inb": sum(streams.values()), **streams}


def closed(problem: Problem, cell: PaperCell) -> Mapping[str, float]:
    """Simulate sources that send as fast as their windows allow.

    What is placed is what would have been measured: rates are those that sources reach under the
    default scheduler (as in the thesis, section 6.1). ``executed`` are tuples of 10 s for each
    bolt's task, ``task_ms`` how long a tuple is at one on average, waiting included.
    """
    problem = _times(problem, _reached(cell.workload, cell.parameters, cell.seed))
    placed = _place(problem, cell)
    result = simulate(problem, placed.placement, closed=True, seed=cell.seed, flush_ms=FLUSH_MS)
    tasks = sum(
        component.executors
        for topology in problem.topologies
        for component in topology.components
        if component.kind != "spout"
    )
    taken = sum(_of_bolts(problem, result.executed))
    held = sum(_of_bolts(problem, result.held))
    return {
        **placed.figures(),
        "executed": taken / tasks * WINDOW_S,
        "sources": sum(result.sources.values()),
        "task_ms": 1e3 * held / taken if taken else 0.0,
        **_latencies(result),
    }


@lru_cache(maxsize=8)
def _reached(
    workload: str, parameters: tuple[tuple[str, Value], ...], seed: int
) -> Mapping[str, float]:
    """Return the factor of each topology's rates that the default scheduler's placement reaches."""
    problem = problem_of(PaperCell(workload, BASELINE, "closed", seed, parameters))
    even = solve(problem, BASELINE, seed).placement
    result = simulate(problem, even, closed=True, seed=seed, flush_ms=FLUSH_MS)
    return {
        topology.id: result.sources[topology.id] / float(emitted.sum())
        for topology, emitted in zip(problem.topologies, _emitted(problem), strict=True)
    }


def _emitted(problem: Problem) -> Iterator[Floats]:
    """Yield the tuples/s that each topology's sources emit, an executor each."""
    rates = np.where(problem.executor_is_spout, problem.executor_rate, 0.0)
    ends = problem.topology_offsets
    yield from (rates[a:b] for a, b in pairwise(ends.tolist()))


def _times(problem: Problem, factors: Mapping[str, float]) -> Problem:
    """Return a problem with the rates of each topology multiplied."""
    topologies = tuple(
        replace(
            topology,
            streams=tuple(
                replace(stream, tuples_per_second=stream.tuples_per_second * factors[topology.id])
                for stream in topology.streams
            ),
        )
        for topology in problem.topologies
    )
    return replace(problem, topologies=topologies)


def _of_bolts(problem: Problem, values: Mapping[str, Mapping[str, float]]) -> Iterator[float]:
    for topology in problem.topologies:
        for component in topology.components:
            if component.kind != "spout":
                yield values[topology.id][component.name]


def open_loop(
    problem: Problem, cell: PaperCell, fill: float = 0.5, swing: float = 0.0
) -> Mapping[str, float]:
    """Simulate sources at rates at which the default scheduler fills its fullest resource so far.

    ``latency_ms`` is the mean time of a tuple until all that descends from it is done, averaged
    over the topologies. With a ``swing``, rates rise and fall by that share in a sine, slowly
    beside the time that a tuple takes: each of its `PHASES` is simulated as if it lasted.
    """
    factor = fill * _room_to_grow(problem, cell)
    loaded = _times(problem, {each.id: factor for each in problem.topologies})
    placed = _place(loaded, cell)
    phases = np.arange(PHASES) if swing else np.zeros(1)
    factors = 1.0 + swing * np.sin(2.0 * np.pi * phases / PHASES)
    # All phases together as long as fixed rates.
    whole = EXECUTIONS / max(float(loaded.executor_rate.sum()), 1e-9)
    seconds = max(whole / PHASES, MIN_PHASE_S) if swing else None
    sums: dict[str, float] = {}
    for factor in factors.tolist():
        phase = _times(loaded, {each.id: factor for each in loaded.topologies})
        result = simulate(
            phase, placed.placement, seconds=seconds, seed=cell.seed, flush_ms=FLUSH_MS
        )
        if result.saturated:
            raise Infeasible("its tuples pile up at these rates", str(result.bottleneck))
        for name, value in _latencies(result).items():
            sums[name] = sums.get(name, 0.0) + factor * value
    means = {name: total / float(factors.sum()) for name, total in sums.items()}
    return {**placed.figures(), **means}


def _room_to_grow(problem: Problem, cell: PaperCell) -> float:
    """Return the factor of all rates at which the default scheduler fills a resource."""
    room = solve(problem, BASELINE, cell.seed).headroom.value
    if room is None:
        raise InvalidInput("nothing has a capacity, so no rate fills it", cell.workload)
    return room


def buffers(problem: Problem, cell: PaperCell) -> Mapping[str, float]:
    """Simulate sources at the workload's rates; ``memory`` is the share of buffers in use."""
    placed = _place(problem, cell)
    result = simulate(problem, placed.placement, seconds=FULL_S, seed=cell.seed, flush_ms=FLUSH_MS)
    room = _room(problem)
    return {
        **placed.figures(),
        "memory": sum(_of_bolts(problem, result.held)) / room if room else 0.0,
        "refused": sum(result.refused.values()),
        **_latencies(result),
    }


def _latencies(result: Simulation) -> Mapping[str, float]:
    each = {f"latency_ms {name}": latency.mean for name, latency in result.latency.items()}
    if not each:
        return {}
    return {**each, "latency_ms": sum(each.values()) / len(each)}


def rounds(
    problem: Problem, cell: PaperCell, application: str = "random", parts: str = SIZED
) -> Mapping[str, float]:
    """Measure the paper's own schedule of steps, each as long as its busiest task.

    ``ceiling`` is the part of what the busiest component carries, ``sources`` what sources send
    then. It keeps empty steps, as the paper. ``parts`` are ``sized``, so that no stage carries more
    than the next, or of ``one`` tuple. ``load N`` is the parts that node N processes in a round,
    ``divergence`` their mean difference from the mean.
    """
    tasks, edges, nodes = PIPELINES[application]
    plan = schedule(allocate(tasks, edges, nodes), edges, _parts(application, parts))
    figures = {"ceiling": plan.shortest_round() / float(plan.round_lengths().sum())}
    work = problem.executor_rate * problem.executor_cpu_us / CORE_US
    bound = sum(float(each.sum()) for each in _emitted(problem)) / float(work.max())
    figures["sources"] = figures["ceiling"] * bound
    loads = np.bincount(plan.transfers.receiver, minlength=nodes).astype(np.float64)
    figures |= {f"load {index}": float(count) for index, count in enumerate(loads)}
    figures["divergence"] = float(np.abs(loads - loads.mean()).mean() / loads.mean())
    return figures


def _parts(application: str, parts: str) -> list[int]:
    tasks, edges, _ = PIPELINES[application]
    if parts not in (SIZED, ONE):
        raise InvalidInput(f"must be {SIZED} or {ONE}, not {parts!r}", "parameter parts")
    return part_sizes(tasks, edges) if parts == SIZED else [1] * len(edges)


def slot_clock(
    problem: Problem,
    cell: PaperCell,
    application: str = "random",
    parts: str = SIZED,
    fill: float = 0.5,
) -> Mapping[str, float]:
    """Let tuples walk the paper's schedule of steps, at the rates of `open_loop`.

    ``latency_ms`` is the mean time of a tuple until all that descends from it is done. Sources
    that send more than the schedule carries are refused.
    """
    factor = fill * _room_to_grow(problem, cell)
    run, unit_s = _walk_schedule(problem, cell, application, parts, factor)
    if run.rate < CARRIED * run.offered:
        raise Infeasible("its tuples pile up at these rates", "the schedule of steps")
    return {"latency_ms": run.latency * unit_s * 1e3}


def slot_buffers(
    problem: Problem, cell: PaperCell, application: str = "random", parts: str = SIZED
) -> Mapping[str, float]:
    """Let tuples walk the schedule at the workload's rates; ``memory`` as of `buffers`."""
    run, _ = _walk_schedule(problem, cell, application, parts, 1.0)
    return {"memory": run.held / _room(problem)}


def _walk_schedule(
    problem: Problem, cell: PaperCell, application: str, parts: str, factor: float
) -> tuple[SlotRun, float]:
    """Return a walk at so many times the problem's rates, and the seconds of its unit of time."""
    tasks, edges, nodes = PIPELINES[application]
    unit_s = float(np.nanmax(problem.executor_cpu_us)) / CORE_US
    rate = factor * sum(float(each.sum()) for each in _emitted(problem)) * unit_s
    buffer = min(each.buffer or np.inf for each in problem.topologies[0].components)
    plan = schedule(allocate(tasks, edges, nodes), edges)
    sizes = _parts(application, parts)
    return walk(plan, rate, parts=sizes, buffer=buffer, seed=cell.seed), unit_s


def _room(problem: Problem) -> float:
    """Return the tuples that all buffers hold."""
    return float(
        sum(
            component.executors * component.buffer
            for topology in problem.topologies
            for component in topology.components
            if component.buffer
        )
    )


def partitions(problem: Problem, cell: PaperCell) -> Mapping[str, float]:
    """Measure Bframework's partitions of a query: as declared (phase 1) and as measured (phase 2).

    ``unknown`` counts operators of whose output nobody has an estimate, ``agree`` is the share of
    the others that are in the same partition before and after, 1 if there are none, and ``ratio``
    the mean output of the first partition over that of the second (R), 0 where one of them is
    empty.
    """
    topologies = tuple(replace(each, streams_measured=True) for each in problem.topologies)
    (query,) = queries(replace(problem, topologies=topologies))
    before, after = (labelled(query, v, Options()) for v in (query.declared, query.measured))
    estimated = before.labels != UNKNOWN
    same = before.labels[estimated] == after.labels[estimated]
    return {
        "unknown": float((~estimated).sum()),
        "declared": float(before.count),
        "measured": float(after.count),
        "declared_ratio": before.ratio or 0.0,
        "ratio": after.ratio or 0.0,
        "agree": float(same.mean()) if len(same) else 1.0,
    }


#: Slots of the machines on offer, and of the five of the fixed cluster.
_SIZES, _FIXED = (4, 2, 1), (4,) * 5
_ALLOCATIONS = {"lsa": lsa, "mba": mba}


def _of_dataflow(cell: PaperCell, dataflows: Dataflows) -> Outcome:
    """Measure a dataflow's needs; its scheduler is ``ALLOCATION+MAPPING``."""
    function = DATAFLOW_MEASURES[cell.measure]
    known = defaults_of(function)
    own = {name: value for name, value in cell.parameters if name in known}
    allocation, _, mapping = cell.scheduler.partition("+")
    return function(dataflows(cell.workload), allocation, mapping, **own)


def slots(
    dataflow: tuple[Dag, Mapping[str, PerformanceModel]],
    allocation: str,
    mapping: str,
    omega: float = 100,
) -> Mapping[str, float]:
    """Measure the slots that a rate of ``omega`` tuples/s takes: planned, and those beyond."""
    dag, models = dataflow
    wanted = _ALLOCATIONS[allocation](models, dag, omega)
    chosen = mapper(mapping, models, dag, omega)
    # R-Storm's mapping places source and sink like other tasks; SAM has them elsewhere.
    placing = with_ends(chosen) if mapping == "rsm" else chosen
    mapped = map_acquired(placing, wanted, _SIZES, exact=True)
    return {
        "planned": float(wanted.slots),
        "extra": float(mapped.slots_acquired - wanted.slots),
        "slots": float(mapped.slots_acquired),
        "threads": float(wanted.threads),
    }


def rates(
    dataflow: tuple[Dag, Mapping[str, PerformanceModel]], allocation: str, mapping: str
) -> Mapping[str, float]:
    """Measure the highest planned rate on five machines of four slots, and what it sustains."""
    dag, models = dataflow
    planned, mapped = highest_rate(
        partial(_ALLOCATIONS[allocation], models, dag),
        partial(mapper, mapping, models, dag),
        _FIXED,
    )
    between, lower = (
        predict(models, dag, mapped.threads, next_lower=each).rate for each in (False, True)
    )
    return {"planned": planned, "predicted": between, "predicted_lower": lower}


MEASURES: Mapping[str, Callable[..., Mapping[str, float]]] = {
    "cost": cost,
    "traffic": traffic,
    "closed": closed,
    "open": open_loop,
    "buffers": buffers,
    "rounds": rounds,
    "slot clock": slot_clock,
    "slot buffers": slot_buffers,
    "partitions": partitions,
}
DATAFLOW_MEASURES: Mapping[str, Callable[..., Mapping[str, float]]] = {
    "slots": slots,
    "rates": rates,
}
