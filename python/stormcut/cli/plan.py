"""`stormcut plan`: what the controller would do, and what it waits for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from stormcut.cli.asking import Asked, Asking, asking_options
from stormcut.cli.steps import waiting
from stormcut.control.operations import check_fresh
from stormcut.report.preview import print_outlook
from stormcut.report.terminal import terminal

if TYPE_CHECKING:
    from stormcut.application.fewer_workers import FewerWorkers
    from stormcut.application.plan_simulation import SimulatedPlan

NO_FEWER = "no measured topology would do with fewer workers, or none would save CPU by it"


@click.command()
@asking_options
@click.option("--simulate", is_flag=True, help="Simulate what runs, now and after the changes.")
@click.option(
    "--fewer-workers", is_flag=True, help="Also say what fewer workers would save and risk."
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def plan(ask: Asking, simulate: bool, fewer_workers: bool, as_json: bool) -> None:
    """Show what the controller has decided but not done, and why.

    It is what the leading brain computed from the cluster as Nimbus described it last. With
    --simulate, what runs is simulated at the measured rates, as it is and as it would be. The
    controller keeps as many workers as a topology asks for; --fewer-workers says where fewer would
    do.

    \b
    Example:
      stormcut plan --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut plan --brain 10.0.0.7:7070 --tls viewer
    """
    with ask() as connection:
        outlook = connection.brain.outlook()
        check_fresh(outlook, time.time())
        simulated = _simulated(connection, outlook) if simulate else None
        fewer = _fewer_workers(connection) if fewer_workers else None
    console = terminal()
    if not as_json:
        print_outlook(console, outlook)
    if simulated is not None:
        # The simulator takes a moment to import: only for this.
        from stormcut.report.simulated_plan import print_simulated_plan, simulated_plan_document

        if as_json:
            outlook = {**outlook, "simulated": simulated_plan_document(simulated)}
        else:
            print_simulated_plan(console, simulated)
    if fewer is not None:
        outlook = {**outlook, "fewer_workers": [asdict(each) for each in fewer]}
        for line in () if as_json else map(str, fewer) if fewer else (NO_FEWER,):
            console.print(line, highlight=False, markup=False)
    if as_json:
        click.echo(json.dumps(outlook, indent=2))


def _fewer_workers(connection: Asked) -> list[FewerWorkers]:
    """Return which topologies fewer workers would carry."""
    if connection.nodes is None:
        raise click.UsageError("--fewer-workers needs --zookeeper: profiles are kept there")
    from stormcut.application.fewer_workers import find_fewer_workers

    state = connection.brain.described().state
    with waiting(Console(stderr=True), "placing what runs on fewer workers"):
        return list(find_fewer_workers(state, connection.nodes.read_profiles()))


def _simulated(connection: Asked, outlook: Mapping[str, Any]) -> SimulatedPlan | None:
    """Return what the changes that wait would do, None if none waits."""
    if connection.nodes is None:
        raise click.UsageError("--simulate needs --zookeeper: profiles are kept there")
    if not any(line.get("workers") for line in outlook["withheld"]):
        return None
    from stormcut.application.plan_simulation import simulate_plan

    state = connection.brain.described().state
    with waiting(Console(stderr=True), "simulating what runs, now and after the changes"):
        return simulate_plan(state, connection.nodes.read_profiles(), outlook["withheld"])
