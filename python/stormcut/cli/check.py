"""`stormcut check`: whether a placement is feasible."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.application.shortfall import shortfall
from stormcut.objective.verify import violations

EXIT_VIOLATED = 1


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.argument("placement", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the violations as a JSON list.")
@click.pass_context
def check(ctx: click.Context, problem: Path, placement: Path, as_json: bool) -> None:
    """Check whether PLACEMENT is feasible.

    Ends with exit code 0 if it is; else with 1, and prints a line per violation. Warns where the
    rates asked for are not carried all the same.

    \b
    Example:
      stormcut check problem.json placement.json
    """
    document = read_placement(placement, read_problem(problem))
    broken = violations(document.problem, document.placement)
    if as_json:
        click.echo(json.dumps([asdict(violation) for violation in broken], indent=2))
    else:
        for violation in broken:
            click.echo(f"{violation.constraint}: {violation.message}")
        if not broken:
            click.echo(f"feasible: {document.problem.executor_count} executors")
            if warning := shortfall(document.problem, document.placement):
                click.echo(f"warning: {warning}", err=True)
    if broken:
        ctx.exit(EXIT_VIOLATED)
