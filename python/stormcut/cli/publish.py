"""`stormcut publish`: give the brain a profile, or take it back."""

from __future__ import annotations

from pathlib import Path

import click

from stormcut.adapters.profile_file import read_profile
from stormcut.adapters.zookeeper import StormcutNodes, connected, read_auth_file
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.model.errors import InvalidInput


@click.command()
@click.argument("profile", required=False, type=click.Path(path_type=Path))
@click.option("--withdraw", metavar="TOPOLOGY", help="Delete this topology's profile instead.")
@zookeeper_options
def publish(
    profile: Path | None, withdraw: str | None, zookeeper: str, auth_file: Path, root: str
) -> None:
    """Check PROFILE and publish it: the brain places its topology by it from the next round on.

    \b
    Example:
      stormcut publish taxi.json --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut publish --withdraw taxi-1-1700000000
    """
    if (profile is None) == (withdraw is None):
        raise InvalidInput("give either PROFILE or --withdraw TOPOLOGY", "publish")
    measured = read_profile(profile) if profile else None
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        if measured is not None:
            nodes.secure()
            nodes.write_profile(measured)
            click.echo(
                f"published the profile of {measured.topology}: {len(measured.executors)}"
                f" executors, {len(measured.traffic)} task pairs"
            )
        elif withdraw is not None:
            if not nodes.delete_profile(withdraw):
                raise InvalidInput("no profile of this topology is published", withdraw)
            click.echo(f"withdrew the profile of {withdraw}")
