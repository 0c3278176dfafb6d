"""`stormcut schedule`: the rounds in which pipeline-based linear scheduling has tasks exchange."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--skip-empty", is_flag=True, help="Leave out steps that carry nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print all transfers as JSON.")
def schedule(problem: Path, skip_empty: bool, as_json: bool) -> None:
    """Print which tasks of PROBLEM exchange tuples in which slot.

    It is the schedule of `place --algorithm pipeline-linear` (Algorithm 3 of its paper). Storm
    routes by itself and does not follow it; `reproduce pipeline-linear` computes what it would do.

    \b
    Example:
      stormcut schedule examples/papers/pipeline-linear/pipeline-application-random.json
    """
    from stormcut.adapters.files.problem_file import read_problem
    from stormcut.lab.report.rounds import plans, print_rounds, rounds_document

    known = read_problem(problem)
    every = plans(known, skip_empty)
    if as_json:
        click.echo(json.dumps([rounds_document(known, each) for each in every], indent=2))
        return
    for each in every:
        print_rounds(known, each)
