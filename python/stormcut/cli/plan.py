"""`stormcut plan`: what the controller would do, and what it waits for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from stormcut.cli.asking import Asked, Asking, asking_options
from stormcut.cli.steps import waiting
from stormcut.control.operations import check_fresh
from stormcut.report.preview import print_outlook
from stormcut.report.terminal import terminal

if TYPE_CHECKING:
    from stormcut.application.foretelling import Foretold


@click.command()
@asking_options
@click.option("--simulate", is_flag=True, help="Simulate what runs, now and after the changes.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def plan(ask: Asking, simulate: bool, as_json: bool) -> None:
    """Show what the controller has decided but not done, and why.

    It is what the leading brain computed from the cluster as Nimbus described it last. With
    --simulate, what runs is simulated at the measured rates, as it is and as it would be.

    \b
    Example:
      stormcut plan --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut plan --brain 10.0.0.7:7070 --tls viewer
    """
    with ask() as connection:
        outlook = connection.brain.outlook()
        check_fresh(outlook, time.time())
        simulated = _simulated(connection, outlook) if simulate else None
    console = terminal()
    if not as_json:
        print_outlook(console, outlook)
    if simulated is not None:
        # The simulator takes a moment to import: only for this.
        from stormcut.report.foretold import foretold_document, print_foretold

        if as_json:
            outlook = {**outlook, "simulated": foretold_document(simulated)}
        else:
            print_foretold(console, simulated)
    if as_json:
        click.echo(json.dumps(outlook, indent=2))


def _simulated(connection: Asked, outlook: Mapping[str, Any]) -> Foretold | None:
    """Return what the changes that wait would do, None if none waits."""
    if connection.nodes is None:
        raise click.UsageError("--simulate needs --zookeeper: profiles are kept there")
    if not any(line.get("workers") for line in outlook["withheld"]):
        return None
    from stormcut.application.foretelling import foretell

    state = connection.brain.described().state
    with waiting(Console(stderr=True), "simulating what runs, now and after the changes"):
        return foretell(state, connection.nodes.read_profiles(), outlook["withheld"])
