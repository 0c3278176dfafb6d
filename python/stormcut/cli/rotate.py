"""`stormcut rotate`: stormcut's nodes in ZooKeeper change to another secret."""

from __future__ import annotations

from pathlib import Path

import click

from stormcut.adapters.zookeeper.client import connected, hand_over, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.trails import read_trail, topologies_with_trail, write_trail
from stormcut.adapters.zookeeper.undos import read_undos, write_undo
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.model.errors import InvalidInput


@click.command()
@click.option(
    "--new-auth-file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the user:password to change to, mode 0600.",
)
@zookeeper_options
def rotate(new_auth_file: Path, zookeeper: str, auth_file: Path, root: str) -> None:
    """Replace the secret that protects what stormcut stores.

    The nodes in ZooKeeper, and what is signed in them, get another user:password.

    Stop the brains first. Afterwards put the new file in the place of the old one on Nimbus's
    machine, which needs no restart, and start the brains with it. Topologies stay where they are.

    \b
    Example:
      stormcut rotate --new-auth-file new.auth --zookeeper localhost:2181 --auth-file old.auth
    """
    before, after = read_auth_file(auth_file), read_auth_file(new_auth_file)
    if before == after:
        raise InvalidInput(f"holds the same as {auth_file}", str(new_auth_file))
    with connected(zookeeper, before) as client:
        nodes = StormcutNodes(client, root)
        if nodes.is_led():
            raise InvalidInput("a brain leads there: stop all brains first", root)
        plan, profiles, undos = nodes.read_plan(), nodes.read_profiles(), read_undos(nodes)
        trails = {name: read_trail(nodes, name) for name in topologies_with_trail(nodes)}
        # Orders, restarts, reviews, and which spouts rest.
        marked = nodes.marked()
        handed = hand_over(client, root, after)
    with connected(zookeeper, after) as client:
        nodes = StormcutNodes(client, root)
        if plan is not None:
            nodes.write_plan(plan)
        for profile in profiles.values():
            nodes.write_profile(profile)
        for topology, undo in undos.items():
            write_undo(nodes, topology, undo)
        for topology, trail in trails.items():
            write_trail(nodes, topology, trail)
        for name, document in marked.items():
            nodes.write_marked(name, document)
    click.echo(f"{handed} nodes below {root} belong to {after.user} of {new_auth_file} now")
