"""`stormcut plan`: what the controller would do, and what it waits for."""

from __future__ import annotations

import json
import time

import click
from rich.console import Console

from stormcut.application.control.operations import check_fresh
from stormcut.cli.asking import Asking, asking_options
from stormcut.cli.foresight import WIDTH
from stormcut.report.preview import print_outlook


@click.command()
@asking_options
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def plan(ask: Asking, as_json: bool) -> None:
    """Show what the controller has decided but not done, and why.

    It is what the leading brain computed from the cluster as Nimbus described it last.

    \b
    Example:
      stormcut plan --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut plan --brain 10.0.0.7:7070 --tls viewer
    """
    with ask() as brain:
        outlook = brain.outlook()
    check_fresh(outlook, time.time())
    if as_json:
        click.echo(json.dumps(outlook, indent=2))
    else:
        print_outlook(Console(width=WIDTH, highlight=False), outlook)
