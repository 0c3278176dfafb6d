"""`stormcut undo`, `stop` and `release`: take a topology back, keep it there, free it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from stormcut.adapters.machine.person import person
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import read_orders
from stormcut.adapters.zookeeper.trails import read_trail, topologies_with_trail
from stormcut.adapters.zookeeper.undos import delete_undo, read_undos, write_undo
from stormcut.cli import completion
from stormcut.cli.preview_options import override_option, preview_options
from stormcut.cli.previews import IntendedOrder, leading_brain, preview_and_act
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.control.operations import overriding, resolved, undo_to
from stormcut.control.orders import Override, Undo
from stormcut.model.errors import InvalidInput


@click.command()
@click.argument("topology", shell_complete=completion.running)
@override_option
@preview_options
@zookeeper_options
@tls_option
def undo(
    topology: str,
    override: str | None,
    yes: bool,
    as_json: bool,
    zookeeper: str,
    auth_file: Path,
    root: str,
    tls: Tls | None,
) -> None:
    """Send TOPOLOGY back to where it ran before its last move.

    TOPOLOGY is an id or a name. `stormcut rollback` is the same command.

    Each undo goes one move further back, to Storm's own placement at last. The topology stays
    there until `stormcut release` or `stormcut publish`. Undoing restarts workers: the command
    shows which first. Where a guard holds it, such as a pause, it waits.

    \b
    Example:
      stormcut undo taxi --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
    """
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        moved = topologies_with_trail(nodes)
        if not moved:
            raise InvalidInput("no plan has moved any topology: there is nothing to undo", topology)
        name = resolved(topology, moved, "no plan has moved a topology of this id or name")
        step = undo_to(name, read_trail(nodes, name))
        done = (
            f"{name} goes back to where it ran before plan {step.plan[:8]}, in Nimbus's next round,"
            f" and stays there until: stormcut release {name}"
        )
        profile = nodes.read_profiles().get(name)
        past = None if override is None else Override(override)
        order = Undo(step.before, override=past, who=person())
        change = IntendedOrder(name, "go back", done, profile, order)

        def act(preview: Mapping[str, Any] | None) -> None:
            pauses = read_orders(nodes).pauses
            write_undo(nodes, name, overriding(order, preview, name, pauses))

        preview_and_act(nodes, tls, change, act, yes, as_json)


@click.command()
@click.argument("topology", shell_complete=completion.running)
@zookeeper_options
@tls_option
def stop(topology: str, zookeeper: str, auth_file: Path, root: str, tls: Tls | None) -> None:
    """Keep TOPOLOGY where it runs, even in the middle of a move.

    TOPOLOGY is an id or a name. Of a move in stages, no further stage is made; `stormcut undo`
    takes back those that were. The topology stays until `stormcut release`. Workers that it
    loses start again.

    \b
    Example:
      stormcut stop taxi --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
    """
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        running = leading_brain(nodes, tls).described().state.topologies
        name = resolved(topology, [each.id for each in running])
        write_undo(nodes, name, Undo((), who=person()))
    click.echo(
        f"{name} stays where it runs, from Nimbus's next round on, until: stormcut release {name}"
    )


@click.command()
@click.argument("topology", shell_complete=completion.running)
@zookeeper_options
def release(topology: str, zookeeper: str, auth_file: Path, root: str) -> None:
    """Let the controller move TOPOLOGY again after an undo or a stop.

    TOPOLOGY is an id or a name. A move that the controller took back is released, too.

    \b
    Example:
      stormcut release taxi --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
    """
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        undos = read_undos(nodes)
        if not undos:
            raise InvalidInput("no topology was sent back or stopped", topology)
        name = resolved(topology, undos)
        delete_undo(nodes, name)
    click.echo(f"{name} may move again")
