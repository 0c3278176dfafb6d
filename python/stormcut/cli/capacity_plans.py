"""What `stormcut capacity` prints: allocations, mappings and plans, as tables or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from stormcut.adapters.files.capacity_files import DagFile, read_dag, read_models, read_shapes
from stormcut.adapters.files.costs_file import read_costs
from stormcut.adapters.files.placement_file import placement_document, write_placement
from stormcut.adapters.files.problem_file import read_problem, write_problem
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.application.scaling import advise as advice
from stormcut.application.scaling import measured_problem
from stormcut.capacity.demand import Demand, Need, demand, source_rate
from stormcut.capacity.mapping import Mapped, map_acquired, map_to, mapper, with_ends
from stormcut.capacity.options import WITH_ENDS
from stormcut.capacity.plan import CapacityPlan
from stormcut.capacity.plan import plan as cheapest
from stormcut.cli.key_values import parse_pairs
from stormcut.cli.previews import leading_brain
from stormcut.cli.score import headroom_document
from stormcut.cli.steps import waiting
from stormcut.control.operations import resolved
from stormcut.model.errors import InvalidInput
from stormcut.model.problem import Problem
from stormcut.objective.headroom import Headroom
from stormcut.placement.algorithms.model_driven.allocation import (
    Allocation,
    PerformanceModel,
    lsa,
    mba,
)
from stormcut.placement.algorithms.model_driven.prediction import Predicted, beyond, predict
from stormcut.report.terminal import Grid, terminal

_ALLOCATE = {"lsa": lsa, "mba": mba}
RATE = "--rate"
#: Slots that a machine can have at most; more is a slip of the keyboard.
MAX_SLOTS = 10_000


def allocate(dag: Path, models: Path, rate: float, allocation: str, as_json: bool) -> None:
    """Print how many threads and slots a dataflow needs."""
    allocated = _ALLOCATE[allocation](*_question(dag, models), rate)
    if as_json:
        click.echo(json.dumps(_allocation_document(allocated), indent=2))
    else:
        _print(_allocation_table(allocated))
        click.echo(f"{allocated.threads:,} threads on {allocated.slots:,} slots")


def map_(
    dag: Path,
    models: Path,
    rate: float,
    allocation: str,
    mapping: str,
    machines: str | None,
    acquire: str | None,
    exact: bool,
    ends: bool,
    next_lower: bool,
    as_json: bool,
) -> None:
    """Print where a dataflow's threads go, and the rate that this is predicted to carry."""
    known, question = _question(dag, models)
    allocated = _ALLOCATE[allocation](known, question, rate)
    if (machines is None) == (acquire is None):
        raise InvalidInput("give one of them", "--machines, --acquire")
    if ends and mapping not in WITH_ENDS:
        raise InvalidInput(f"{mapping} has source and sink elsewhere: leave it out", "--ends")
    if exact and acquire is None:
        raise InvalidInput("is for --acquire", "--exact")
    chosen = mapper(mapping, known, question, rate)
    chosen = with_ends(chosen) if ends else chosen
    if machines is not None:
        mapped = map_to(chosen, allocated, _slots(machines, "--machines"))
    else:
        mapped = map_acquired(chosen, allocated, _slots(acquire or "", "--acquire"), exact)
    predicted = predict(known, question, mapped.threads, next_lower=next_lower)
    if as_json:
        click.echo(json.dumps(_mapping_document(allocated, mapped, predicted), indent=2))
        return
    _print(_mapping_table(allocated, mapped))
    binds = f", {predicted.task} binds first" if predicted.task else ""
    click.echo(
        f"{mapped.slots_acquired:,} slots, {mapped.slots_used:,} used, "
        f"{allocated.slots:,} planned; predicted {predicted.rate:,.6g} tuples/s{binds}"
    )
    for each in beyond(known, question, mapped.threads):
        click.echo(
            f"slot {each.slot} holds {each.threads:,} threads of {each.task}, but its model ends "
            f"at {each.known:,}: predicted as if there were {each.known:,}"
        )


def plan(
    problem: Path,
    rates: tuple[str, ...],
    shapes: Path | None,
    utilisation: float,
    algorithm: str,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print how many executors and nodes a problem needs at other rates; write that problem."""
    console = Console(stderr=True)
    with waiting(console, f"reading {problem}"):
        question = read_problem(problem)
    offered = read_shapes(shapes) if shapes else ()
    growth = _growth(question, parse_pairs(rates, RATE), RATE)
    wanted = demand(question, growth, utilisation)
    with waiting(console, f"planning {wanted.problem.executor_count:,} executors"):
        chosen = cheapest(wanted, offered, seed, algorithm)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_problem(output / "problem.json", chosen.problem)
        write_placement(output / "placement.json", chosen.problem, chosen.solution)
    if as_json:
        click.echo(json.dumps(_plan_document(wanted, chosen), indent=2))
        return
    for topology, needs in wanted.needs.items():
        _print(_plan_table(topology, needs))
    for line in _plan_lines(chosen, utilisation):
        click.echo(line)


def advise(
    rates: tuple[str, ...],
    shapes: Path | None,
    costs: Path | None,
    utilisation: float,
    algorithm: str,
    seed: int,
    zookeeper: str,
    auth_file: Path,
    root: str,
    tls: Tls | None,
    as_json: bool,
) -> None:
    """Print what a running cluster needs at other rates, and how to rebalance it."""
    offered = read_shapes(shapes) if shapes else ()
    fitted = None if costs is None else read_costs(costs)
    pairs = parse_pairs(rates, "TOPOLOGY=RATE")
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        state, profiles = leading_brain(nodes, tls).described().state, nodes.read_profiles()
    known = [topology.id for topology in state.topologies]
    growing = {resolved(name, known): rate for name, rate in pairs.items()}
    problem = measured_problem(state, profiles, [*growing], fitted)
    growth = _growth(problem, growing, "TOPOLOGY=RATE")
    with waiting(Console(stderr=True), f"planning {problem.executor_count:,} executors"):
        advised = advice(state, problem, growth, offered, seed, algorithm, utilisation)
    if as_json:
        document = _plan_document(advised.demand, advised.plan)
        more = {"commands": list(advised.commands), "notes": list(advised.notes)}
        click.echo(json.dumps({**document, **more}, indent=2))
        return
    for topology in growth:
        _print(_plan_table(topology, advised.demand.needs[topology]))
    for line in (*_plan_lines(advised.plan, utilisation), *advised.commands):
        click.echo(line)
    for note in advised.notes:
        click.echo(f"note: {note}")


def _growth(problem: Problem, rates: Mapping[str, str], where: str) -> dict[str, float]:
    """Return by which factor each topology's rate grows."""
    known = [topology.id for topology in problem.topologies]
    growth: dict[str, float] = {}
    for name, text in rates.items():
        topology = resolved(name, known)
        if topology in growth:
            raise InvalidInput(f"two rates for {topology}: give one", where)
        now = 1.0 if text.endswith("x") else source_rate(problem, topology)
        if now <= 0:
            raise InvalidInput(f"the sources of {topology} emit nothing: measure it first", where)
        growth[topology] = _number(text.removesuffix("x"), where) / now
    return growth


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise InvalidInput(f"must be tuples/s or a factor, such as 5000 or 2x, not {text!r}", where)
    return number


def _plan_document(wanted: Demand, chosen: CapacityPlan) -> dict[str, Any]:
    room = headroom_document(chosen.solution.headroom)
    return {
        "format": "stormcut-capacity/1",
        "nodes": chosen.nodes,
        "cost_per_hour": chosen.cost_per_hour,
        "shapes": {shape.name: count for shape, count in chosen.shapes},
        "topologies": {
            topology: {
                "components": {name: {"executors": need.planned} for name, need in needs.items()}
            }
            for topology, needs in wanted.needs.items()
        },
        "utilisation": wanted.utilisation,
        "headroom": room["value"],
        "bottleneck": room["bottleneck"],
        "placement": placement_document(chosen.problem, chosen.solution),
        "proven_least_nodes": chosen.least,
    }


def _plan_table(topology: str, needs: Mapping[str, Need]) -> Grid:
    table = Grid(topology).name("component")
    table.figures("executors\nnow", "by the\nmean", "by the\nfullest", "planned")
    for name, need in needs.items():
        row = (need.now, need.low, need.high, need.planned)
        table.row(name, *(f"{each:,}" for each in row))
    return table


def _plan_lines(chosen: CapacityPlan, utilisation: float) -> Iterator[str]:
    proof = (
        "no fewer can carry it" if chosen.least == chosen.nodes else f"at least {chosen.least:,}"
    )
    yield f"{_describe_nodes(chosen)} ({proof}, as proven), in use to {utilisation:.0%} at most"
    room = chosen.solution.headroom
    if room.value is not None:
        yield f"head-room {room.value:,.2f}: {room.bottleneck} is full first"
    if chosen.more and chosen.more.headroom.value is not None:
        more = chosen.more.headroom
        yield f"one node more: head-room {more.value:,.2f}, {more.bottleneck} full first"
    for other in chosen.others:
        its_room = _format_headroom(other.solution.headroom)
        yield f"instead: {_describe_nodes(other)}, head-room {its_room}"


def _describe_nodes(chosen: CapacityPlan) -> str:
    """Return how many nodes of which shape it takes, and what they cost."""
    parts = [f"{count:,} of {shape.name}" for shape, count in chosen.shapes]
    of = f" of {chosen.shapes[0][0].name}" if len(parts) == 1 else f": {' and '.join(parts)}"
    cost = chosen.cost_per_hour
    price = "" if cost is None else f", {cost:,.2f} an hour"
    return f"{chosen.nodes:,} node{'s' * (chosen.nodes != 1)}{of if parts else ''}{price}"


def _format_headroom(room: Headroom) -> str:
    return "without limit" if room.value is None else f"{room.value:,.2f}"


def _question(dag: Path, models: Path) -> tuple[dict[str, PerformanceModel], Any]:
    file: DagFile = read_dag(dag)
    return file.models(read_models(models)), file.dag


def _slots(text: str, option: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 0 < int(part) <= MAX_SLOTS for part in parts):
        raise InvalidInput(f"must be numbers of slots such as 4,4,2, not {text!r}", option)
    return tuple(map(int, parts))


def _print(table: Grid) -> None:
    table.print(terminal())


def _allocation_document(allocated: Allocation) -> dict[str, Any]:
    return {
        "format": "stormcut-allocation/1",
        "tasks": {
            each.task: {
                "threads": each.total.threads,
                "cpu_percent": each.total.cpu_percent,
                "memory_percent": each.total.memory_percent,
            }
            for each in allocated.tasks
        },
        "cpu_percent": allocated.cpu_percent,
        "memory_percent": allocated.memory_percent,
        "slots": allocated.slots,
    }


def _mapping_document(
    allocated: Allocation, mapped: Mapped, predicted: Predicted
) -> dict[str, Any]:
    names = [each.task for each in allocated.tasks]
    return {
        "format": "stormcut-mapping/1",
        "machines": list(mapped.machines),
        "slots_planned": allocated.slots,
        "slots_used": mapped.slots_used,
        "threads": [
            {names[task]: int(slot[task]) for task in np.flatnonzero(slot)}
            for slot in mapped.threads.T
        ],
        "predicted_rate": predicted.rate if np.isfinite(predicted.rate) else None,
        "binds": None
        if predicted.task is None
        else {"task": predicted.task, "slot": predicted.slot},
    }


def _allocation_table(allocated: Allocation) -> Grid:
    table = Grid().name("task").figures("threads", "CPU, %", "memory, %")
    for each in allocated.tasks:
        total = each.total
        table.row(
            each.task,
            f"{total.threads:,}",
            f"{total.cpu_percent:,.1f}",
            f"{total.memory_percent:,.1f}",
        )
    table.end_section()
    table.row(
        "all",
        f"{allocated.threads:,}",
        f"{allocated.cpu_percent:,.1f}",
        f"{allocated.memory_percent:,.1f}",
    )
    return table


def _mapping_table(allocated: Allocation, mapped: Mapped) -> Grid:
    table = Grid().figures("machine", "slot").words("threads")
    homes = np.repeat(np.arange(len(mapped.machines)), mapped.machines)
    for slot, row in enumerate(mapped.threads.T):
        held = [
            f"{allocated.tasks[task].task} {row[task]}" for task in np.flatnonzero(row).tolist()
        ]
        table.row(f"{homes[slot]}", f"{slot}", ", ".join(held) or "-")
    return table
