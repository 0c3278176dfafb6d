"""`stormcut explain`: why executors are where they are."""

from __future__ import annotations

import json
from dataclasses import asdict
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

WIDTH = 100
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
    found = [explanation_of(document.problem, document.placement, name) for name in names]
    if as_json:
        click.echo(json.dumps([_document(each) for each in found], indent=2))
        return
    console = terminal()
    if executor is None:
        _print_overview(console, found)
    else:
        _print_one(console, document, found[0])


def _document(found: Explanation) -> dict[str, object]:
    room = headroom_document(found.headroom)
    return {**asdict(found), "headroom": room, "verdict": found.verdict}


def _print_overview(console: Console, found: list[Explanation]) -> None:
    if not found:
        console.print("No traffic crosses nodes: every executor is beside all it talks to.")
        return
    # Names are words here: what is shortened cannot be asked for.
    table = Grid("most traffic to other nodes").words("executor").words("slot")
    table.figures("t/s to\nother nodes").words("why it is there")
    for each, name in zip(found, _short([each.executor for each in found]), strict=True):
        table.row(name, each.slot, f"{each.to_other_nodes:,.1f}", each.verdict)
    table.print(console)


def _short(names: list[str]) -> list[str]:
    """Return executors' names without their topology, where all are of one."""
    topologies = {name.rpartition("/")[0] for name in names}
    return [name.rpartition("/")[2] for name in names] if len(topologies) == 1 else names


def _print_one(console: Console, document: PlacementFile, found: Explanation) -> None:
    console.print(f"[bold]{escape(found.executor)}[/] is in {found.slot}: {escape(found.verdict)}.")
    known = ALGORITHMS.get(document.algorithm)
    if known is not None:
        console.print(f"Placed by {known.name}: {escape(known.summary)}.")
    if found.current is not None:
        stays = found.current == found.slot
        console.print("It stays where it runs." if stays else f"It runs in {found.current} now.")
    console.print(
        f"{found.in_worker:,.1f} tuples/s stay in its worker, {found.on_node:,.1f} on its node, "
        f"{found.to_other_nodes:,.1f} go to and come from other nodes."
    )
    if found.headroom.bottleneck is not None:
        console.print(
            f"All rates may grow {found.headroom.value:,.2f} times: then "
            f"{escape(str(found.headroom.bottleneck))} is full."
        )
    if found.peers:
        table = Grid().name("exchanges most with").figures("tuples/s").words("which is in the")
        for peer in found.peers:
            table.row(peer.name, f"{peer.tuples_per_second:,.1f}", peer.distance)
        console.print()
        table.print(console)
    if found.alternatives:
        table = Grid().name("if it moved to")
        table.figures("tuples/s\nbetween nodes", "head-room").words("allowed")
        for other in found.alternatives:
            blocked = "yes" if other.blocked_by is None else f"no: {other.blocked_by}"
            room = "" if other.headroom is None else f"{other.headroom:,.2f}"
            table.row(other.node, f"{other.change:+,.1f}", room, blocked)
        console.print()
        table.print(console)
