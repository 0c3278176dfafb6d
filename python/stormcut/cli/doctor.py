"""`stormcut doctor`: what is there, what is missing, what to do."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape

from stormcut.adapters.machine.needs import Examined, examine


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print findings as JSON.")
def doctor(as_json: bool) -> None:
    """Check what this machine has and lacks, and say what to do.

    Exits with code 1 if anything needed is missing: everything, in a checkout;
    elsewhere, what controls a cluster and what the installed extras need.

    \b
    Example:
      stormcut doctor
    """
    areas = list(examine())
    if as_json:
        rows = [
            {"area": each.area.name.lower(), "wanted": each.is_wanted, **asdict(finding)}
            for each in areas
            for finding in each.findings
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        console = Console(highlight=False)
        for each in areas:
            _show(console, each)
    if not all(each.ok for each in areas):
        raise click.exceptions.Exit(1)


def _show(console: Console, examined: Examined) -> None:
    """Print what was found for an area, below its name."""
    console.print(f"[bold]{examined.area.value}[/bold]", soft_wrap=True)
    missing = "[red]missing[/red]" if examined.is_wanted else "[dim]absent [/dim]"
    for finding in examined.findings:
        mark = "[green]ok     [/green]" if finding.ok else missing
        console.print(f"  {mark} {escape(finding.name)}: {escape(finding.found)}", soft_wrap=True)
        if not finding.ok:
            console.print(f"          -> {finding.advice}", soft_wrap=True, markup=False)
