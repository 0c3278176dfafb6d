"""`stormcut status`: the controller, the cluster and the last decisions on one screen."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from stormcut.adapters.zookeeper.nodes import StormcutNodes, connected, read_auth_file
from stormcut.cli.foresight import WIDTH, leading_brain
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.report.status import document, print_status


@click.command()
@zookeeper_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(zookeeper: str, auth_file: Path, root: str, as_json: bool) -> None:
    """Show who leads, what runs where, and what was decided last and why.

    \b
    Example:
      stormcut status --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
    """
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        brain = leading_brain(StormcutNodes(client, root))
        health, outlook = brain.health(), brain.outlook()
        found = document(health.brain, health.started_ms, brain.described(), outlook)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        print_status(Console(width=WIDTH, highlight=False), found)
