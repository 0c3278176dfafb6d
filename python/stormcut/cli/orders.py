"""`stormcut approve`, `pause`, `resume`, `drain`, `undrain`: what people tell the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from stormcut.adapters.machine.person import person
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import await_acknowledged, change_orders, read_orders
from stormcut.cli import completion
from stormcut.cli.preview_options import override_option
from stormcut.cli.previews import leading_brain
from stormcut.cli.steps import waiting
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.control.operations import (
    all_drained,
    approving,
    draining,
    held_when_approved,
    pausing,
    undraining,
)
from stormcut.control.orders import Orders
from stormcut.model.errors import InvalidInput

#: Longest that a controller takes to obey: as long as it may decide.
OBEY_SECONDS = 30.0


@contextmanager
def _nodes(zookeeper: str, auth_file: Path, root: str) -> Iterator[StormcutNodes]:
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        nodes.secure()
        yield nodes


def _order(nodes: StormcutNodes, change: Callable[[Orders], Orders], done: str) -> None:
    """Give an order, and say that it is in force once the controller obeys it.

    Raises
    ------
    InvalidInput
        The controller that leads has not obeyed within `OBEY_SECONDS`; the order stands.
    """
    orders = change_orders(nodes, change)
    if not nodes.is_led():
        click.echo(f"{done} (no controller leads now: this holds once one does)")
        return
    with waiting(Console(stderr=True), "the controller takes note"):
        obeys = await_acknowledged(nodes, orders.revision, OBEY_SECONDS)
    if not obeys:
        raise InvalidInput(
            f"the order is stored, but the controller has not obeyed it within {OBEY_SECONDS:.0f} s"
            "; see its log",
            nodes.root,
        )
    click.echo(done)


@click.command()
@click.argument("plan")
@override_option
@zookeeper_options
@tls_option
def approve(
    plan: str, override: str | None, zookeeper: str, auth_file: Path, root: str, tls: Tls | None
) -> None:
    """Let the controller carry out PLAN.

    PLAN is a name that `stormcut plan` shows. `stormcut apply` is the same command.

    If the controller would do something else by then, nothing is done, and the new plan has
    another name. What a guard holds, such as a pin or quiet hours, is not done either.

    \b
    Example:
      stormcut approve 3f2a91c0
    """
    with _nodes(zookeeper, auth_file, root) as nodes:
        outlook = leading_brain(nodes, tls).outlook()
        change = approving(plan, override, outlook, person())
        _order(nodes, change, f"approved {plan}: Nimbus carries it out in its next round (10 s)")
    if override is None:
        for topology, guards in held_when_approved(outlook):
            click.echo(f"it waits with {topology}: {guards}")


@click.command()
@zookeeper_options
def pause(zookeeper: str, auth_file: Path, root: str) -> None:
    """Stop all moves and placements until `stormcut resume`.

    Storm's own scheduler decides meanwhile.

    What runs stays where it is. An undo waits, too, unless it overrides the pause.

    \b
    Example:
      stormcut pause
    """
    with _nodes(zookeeper, auth_file, root) as nodes:
        done = "paused: nothing is moved or placed until `stormcut resume`"
        _order(nodes, pausing(True, f"ordered by {person()}"), done)


@click.command()
@zookeeper_options
def resume(zookeeper: str, auth_file: Path, root: str) -> None:
    """End a pause.

    \b
    Example:
      stormcut resume
    """
    with _nodes(zookeeper, auth_file, root) as nodes:
        _order(nodes, pausing(False), "resumed")


@click.command()
@click.argument("node", shell_complete=completion.nodes)
@zookeeper_options
@tls_option
def drain(node: str, zookeeper: str, auth_file: Path, root: str, tls: Tls | None) -> None:
    """Move what runs on NODE elsewhere, and keep NODE empty.

    NODE is a supervisor's id or host. Guards such as a pin may hold a topology there.

    \b
    Example:
      stormcut drain worker7.example
    """
    with _nodes(zookeeper, auth_file, root) as nodes:
        known = leading_brain(nodes, tls).described().state.supervisors
        done = f"{node} is drained: what runs there moves, see `stormcut plan`"
        _order(nodes, draining(node, known), done)
        is_last = all_drained(read_orders(nodes), known)
    if is_last:
        click.echo("all nodes are drained now: nothing can move, and nothing new is placed")


@click.command()
@click.argument("node", shell_complete=completion.nodes)
@zookeeper_options
def undrain(node: str, zookeeper: str, auth_file: Path, root: str) -> None:
    """Use a drained NODE again.

    \b
    Example:
      stormcut undrain worker7.example
    """
    with _nodes(zookeeper, auth_file, root) as nodes:
        _order(nodes, undraining(node), f"{node} is used again")
