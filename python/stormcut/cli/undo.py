"""`stormcut undo`: a topology goes back to where it ran before a plan moved it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.nodes import HISTORY_KEPT, StormcutNodes, connected, read_auth_file
from stormcut.adapters.zookeeper.undos import last_move, write_undo
from stormcut.application.control.orders import Undo
from stormcut.cli.foresight import Change, foresee_and_act
from stormcut.cli.preview_options import preview_options
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options


@click.command()
@click.argument("topology")
@preview_options
@zookeeper_options
@tls_option
def undo(
    topology: str,
    yes: bool,
    as_json: bool,
    zookeeper: str,
    auth_file: Path,
    root: str,
    tls: Tls | None,
) -> None:
    """Take back the last plan that moved TOPOLOGY (its id or name) while it ran.

    It runs where it ran before, and stays there until a profile of it is published again. As a
    plan of its own this restarts workers: they are shown first. To undo twice is to redo.

    \b
    Example:
      stormcut undo taxi --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
    """
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        name, former = last_move(nodes.read_history(HISTORY_KEPT), topology)
        change = Change(
            name,
            "go back",
            f"{name} goes back in Nimbus's next round and stays until a profile of it is published",
            nodes.read_profiles().get(name),
            former,
        )
        act = partial(write_undo, nodes, name, Undo(former))
        foresee_and_act(nodes, tls, change, act, yes, as_json)
