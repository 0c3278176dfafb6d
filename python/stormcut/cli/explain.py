"""`stormcut explain`: why executors are where they are."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from stormcut.adapters.files.placement_file import PlacementFile, read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.application.explain import Explanation, worth_a_look
from stormcut.application.explain import explain as explanation_of
from stormcut.cli.score import headroom_document
from stormcut.placement.registry import ALGORITHMS
from stormcut.report.terminal import Grid, terminal

#: Executors that are explained if none is named.
SHOWN = 10


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("placement", type=click.Path(path_type=Path))
@click.argument("executor", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def explain(problem: Path, placement: Path, executor: str | None, as_json: bool) -> None:
    """Explain why executors of PLACEMENT are where they are.

    EXECUTOR is component[i], or topology/component[i]. Without it, the executors that send and
    receive most over the network are listed.

    \b
    Example:
      stormcut explain problem.json placement.json 'count[1]'
    """
    document = read_placement(placement, read_problem(problem))
    if executor is None:
        names = worth_a_look(document.problem, document.placement, SHOWN)
    else:
        names = [executor]
    explanations = [explanation_of(document.problem, document.placement, name) for name in names]
    if as_json:
        by = {"algorithm": document.algorithm, "objective": _objective(document)[0]}
        click.echo(json.dumps([{**_document(each), **by} for each in explanations], indent=2))
        return
    console = terminal()
    if executor is None:
        console.print(_placed_by(document), markup=False)
        _print_overview(console, explanations)
    else:
        _print_one(console, document, explanations[0])


def _document(explanation: Explanation) -> dict[str, object]:
    room = headroom_document(explanation.headroom)
    return {**asdict(explanation), "headroom": room, "verdict": explanation.verdict}


def _objective(document: PlacementFile) -> tuple[str | None, str]:
    """Return the objective that a placement was made with, and what that is; None: not known."""
    known = ALGORITHMS.get(document.algorithm)
    option = known and next((o for o in fields(known.options) if o.name == "objective"), None)
    if not option:
        return None, ""
    chosen = str(document.options.get("objective", option.default))
    meanings = dict(each.split(": ", 1) for each in option.metadata["help"].split("; "))
    return chosen, meanings.get(chosen, "")


def _placed_by(document: PlacementFile) -> str:
    known = ALGORITHMS.get(document.algorithm)
    objective, meaning = _objective(document)
    if objective is not None:
        return f"Placed by {document.algorithm}, objective={objective}: {meaning}."
    return f"Placed by {document.algorithm}{f': {known.summary}' if known else ''}."


def _print_overview(console: Console, explanations: list[Explanation]) -> None:
    if not explanations:
        console.print("No traffic crosses nodes: every executor is beside all it talks to.")
        return
    # Names are words here: what is shortened cannot be asked for.
    table = Grid("most traffic to other nodes").words("executor").words("slot")
    table.figures("t/s to\nother nodes").words("why it is there")
    for each, name in zip(
        explanations, _short([each.executor for each in explanations]), strict=True
    ):
        table.row(name, each.slot, f"{each.to_other_nodes:,.1f}", each.verdict)
    table.print(console)


def _short(names: list[str]) -> list[str]:
    """Return executors' names without their topology, where all are of one."""
    topologies = {name.rpartition("/")[0] for name in names}
    return [name.rpartition("/")[2] for name in names] if len(topologies) == 1 else names


def _print_one(console: Console, document: PlacementFile, explanation: Explanation) -> None:
    console.print(
        f"[bold]{escape(explanation.executor)}[/] is in {explanation.slot}: "
        f"{escape(explanation.verdict)}."
    )
    console.print(_placed_by(document), markup=False)
    if explanation.current is not None:
        stays = explanation.current == explanation.slot
        console.print(
            "It stays where it runs." if stays else f"It runs in {explanation.current} now."
        )
    console.print(
        f"{explanation.in_worker:,.1f} tuples/s stay in its worker, "
        f"{explanation.on_node:,.1f} on its node, "
        f"{explanation.to_other_nodes:,.1f} go to and come from other nodes."
    )
    if explanation.headroom.bottleneck is not None:
        console.print(
            f"All rates may grow {explanation.headroom.value:,.2f} times: then "
            f"{escape(str(explanation.headroom.bottleneck))} is full."
        )
    if explanation.peers:
        table = Grid().name("exchanges most with").figures("tuples/s").words("which is in the")
        for peer in explanation.peers:
            table.row(peer.name, f"{peer.tuples_per_second:,.1f}", peer.distance)
        console.print()
        table.print(console)
    if explanation.alternatives:
        table = Grid().name("if it moved to")
        table.figures("tuples/s\nbetween nodes", "head-room").words("allowed")
        for other in explanation.alternatives:
            blocked = "yes" if other.blocked_by is None else f"no: {other.blocked_by}"
            room = "" if other.headroom is None else f"{other.headroom:,.2f}"
            table.row(other.node, f"{other.change:+,.1f}", room, blocked)
        console.print()
        table.print(console)
