"""`stormcut plan`: what the controller would do, and what it waits for."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from stormcut.adapters.zookeeper.nodes import StormcutNodes, connected, read_auth_file
from stormcut.cli.foresight import WIDTH, check_fresh, leading_brain
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.report.preview import print_outlook


@click.command()
@zookeeper_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def plan(zookeeper: str, auth_file: Path, root: str, as_json: bool) -> None:
    """Show what the controller has decided but not done: what would move, why, for which gain.

    It is what the leading brain computed from the cluster as Nimbus described it last.

    \b
    Example:
      stormcut plan --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
    """
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        outlook = leading_brain(StormcutNodes(client, root)).outlook()
    check_fresh(outlook)
    if as_json:
        click.echo(json.dumps(outlook, indent=2))
    else:
        print_outlook(Console(width=WIDTH, highlight=False), outlook)
