"""The rounds of pipeline-based linear scheduling, for people and as a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from stormcut.model.problem import Problem
from stormcut.placement.algorithms.pipeline_linear.place import (
    LinearTopology,
    Options,
    allocations,
)
from stormcut.placement.algorithms.pipeline_linear.schedule import Schedule, schedule
from stormcut.placement.graph.component_graph import component_graph
from stormcut.report.terminal import Grid, terminal

#: Transfers of a topology that are shown; JSON has all.
ROWS = 60

Plan = tuple[LinearTopology, Schedule]


def plans(problem: Problem, skip_empty: bool) -> list[Plan]:
    """Return the schedule of each topology.

    Raises
    ------
    Infeasible
        No node can hold anything.
    """
    return [
        (each, schedule(each.allocation, each.edges, skip_empty=skip_empty))
        for each in allocations(problem, Options())
    ]


def _rows(problem: Problem, linear: LinearTopology, plan: Schedule) -> Iterator[dict[str, Any]]:
    """Yield the transfers of a round, in order of its slots, once every stage works."""
    graph, moves = component_graph(problem), plan.transfers
    executors = [e for c in linear.components for e in graph.executors(c).tolist()]
    names = [f"{name}[{index}]" for _, name, index in problem.executor_names()]
    slots = (moves.step + moves.stage) % plan.steps
    for row in sorted(range(len(slots)), key=lambda row: (slots[row], row)):
        yield {
            "slot": int(slots[row]),
            "stage": int(moves.stage[row]),
            "source": names[executors[moves.source[row]]],
            "from": problem.nodes[linear.nodes[moves.sender[row]]].id,
            "target": names[executors[moves.target[row]]],
            "to": problem.nodes[linear.nodes[moves.receiver[row]]].id,
        }


def rounds_document(problem: Problem, plan_of: Plan) -> dict[str, Any]:
    """Return a topology's schedule as JSON says it."""
    linear, plan = plan_of
    return {
        "topology": problem.topologies[linear.topology].id,
        "slots": plan.round_lengths().tolist(),
        "shortest_round": plan.shortest_round(),
        "transfers": list(_rows(problem, linear, plan)),
    }


def print_rounds(problem: Problem, plan_of: Plan) -> None:
    """Print a topology's first transfers, and how long a round lasts."""
    linear, plan = plan_of
    lengths, rows = plan.round_lengths(), list(_rows(problem, linear, plan))
    grid = Grid(problem.topologies[linear.topology].id).figures("slot").figures("lasts")
    grid.figures("stage").name("source").name("node").name("target").name("on node")
    for row in rows[:ROWS]:
        slot = row["slot"]
        lasts, ends = f"{lengths[slot]:g}", (row["source"], row["from"], row["target"], row["to"])
        grid.row(f"{slot}", lasts, f"{row['stage']}", *ends)
    grid.print(terminal())
    if len(rows) > ROWS:
        click.echo(f"and {len(rows) - ROWS:,} more transfers: --json prints all")
    click.echo(
        f"A round has {plan.steps:,} slots and lasts {lengths.sum():g} times a part's; the busiest "
        f"task is busy for {plan.shortest_round():g} of them."
    )
