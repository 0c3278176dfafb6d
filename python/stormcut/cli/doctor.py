"""`stormcut doctor`: what is there, what is missing, what to do."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console

from stormcut.adapters.machine.needs import examine


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print findings as JSON.")
def doctor(as_json: bool) -> None:
    """Check what this machine has and lacks, and say what to do.

    Ends with exit code 1 if anything is missing.

    \b
    Example:
      stormcut doctor
    """
    findings = list(examine())
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        console = Console(highlight=False)
        for finding in findings:
            mark = "[green]ok     [/green]" if finding.ok else "[red]missing[/red]"
            console.print(f"{mark} {finding.name}: {finding.found}", soft_wrap=True)
            if not finding.ok:
                console.print(f"        -> {finding.advice}", soft_wrap=True, markup=False)
    if not all(finding.ok for finding in findings):
        raise click.exceptions.Exit(1)
