"""`stormcut status`: the controller, the cluster and the last decisions on one screen."""

from __future__ import annotations

import json

import click

from stormcut.cli.asking import Asking, asking_options
from stormcut.cli.outputs import wide
from stormcut.report.status import document, print_status
from stormcut.report.terminal import terminal


@click.command()
@asking_options
@wide
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(ask: Asking, is_wide: bool, as_json: bool) -> None:
    """Show who leads, what runs where, and the last decisions.

    \b
    Example:
      stormcut status --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut status --brain 10.0.0.7:7070 --tls viewer
    """
    with ask() as connection:
        brain = connection.brain
        health, outlook = brain.health(), brain.outlook()
        shown = document(health.brain, health.started_ms, brain.described(), outlook)
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    else:
        print_status(terminal(), shown, is_wide)
