"""`stormcut publish`: give the brain a profile, or take it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stormcut.adapters.files.profile_file import read_profile
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.undos import delete_undo, read_undos
from stormcut.cli.preview_options import preview_options
from stormcut.cli.previews import IntendedOrder, preview_and_act
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.control.operations import resolved
from stormcut.model.errors import InvalidInput
from stormcut.model.profile import Profile


@click.command()
@click.argument("profile", required=False, type=click.Path(path_type=Path))
@click.option("--withdraw", metavar="TOPOLOGY", help="Delete the profile of TOPOLOGY instead.")
@preview_options
@zookeeper_options
@tls_option
def publish(
    profile: Path | None,
    withdraw: str | None,
    yes: bool,
    as_json: bool,
    zookeeper: str,
    auth_file: Path,
    root: str,
    tls: Tls | None,
) -> None:
    """Preview what PROFILE changes, then place its topology by it.

    The leading brain computes the preview from the cluster as Nimbus described it last. Exit code
    2, and nothing published, without --yes where nobody can be asked.

    \b
    Example:
      stormcut publish taxi.json --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut publish --withdraw taxi-1-1700000000 --yes
    """
    if (profile is None) == (withdraw is None):
        raise InvalidInput("give either PROFILE or --withdraw TOPOLOGY", "publish")
    measured = read_profile(profile) if profile else None
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        if measured is not None:
            _publish(nodes, tls, measured, yes, as_json)
        elif withdraw is not None:
            _withdraw(nodes, tls, withdraw, yes, as_json)


def _publish(
    nodes: StormcutNodes, tls: Tls | None, profile: Profile, yes: bool, as_json: bool
) -> None:
    def act(preview: dict[str, Any] | None) -> None:
        nodes.secure()
        nodes.write_profile(profile)
        # Last: until then it stays where it was ordered to.
        delete_undo(nodes, profile.topology)

    done = (
        f"published the profile of {profile.topology}: {len(profile.executors)} executors, "
        f"{len(profile.traffic)} task pairs\n"
        f"What follows: stormcut history. Back again: stormcut undo {profile.topology}"
    )
    change = IntendedOrder(profile.topology, "publish the profile", done, profile, None)
    preview_and_act(nodes, tls, change, act, yes, as_json)


def _withdraw(
    nodes: StormcutNodes, tls: Tls | None, topology: str, yes: bool, as_json: bool
) -> None:
    profiles = nodes.read_profiles()
    topology = resolved(topology, {*profiles, *read_undos(nodes)})

    def act(preview: dict[str, Any] | None) -> None:
        nodes.delete_profile(topology)
        delete_undo(nodes, topology)

    done = (
        f"withdrew what was published of {topology}; a controller that measures it publishes"
        " it again"
    )
    change = IntendedOrder(topology, "withdraw the profile", done, None, None)
    preview_and_act(nodes, tls, change, act, yes, as_json)
