"""`stormcut place`: a placement for a problem."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from stormcut.adapters.files.placement_file import write_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.application.shortfall import shortfall
from stormcut.cli import completion
from stormcut.cli.key_values import parse_pairs
from stormcut.cli.numbers import seed_option
from stormcut.cli.outputs import OutputFile
from stormcut.cli.score import metrics_table
from stormcut.cli.steps import waiting
from stormcut.model.problem import Problem
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.placement.registry import algorithm as registered
from stormcut.placement.registry import parse_options
from stormcut.placement.solve import Solution, solve
from stormcut.report.terminal import terminal


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--algorithm",
    default=DEFAULT_ALGORITHM,
    show_default=True,
    metavar="NAME",
    shell_complete=completion.algorithms,
    help="Algorithm that places them (stormcut algorithms lists all).",
)
@seed_option
@click.option(
    "--option",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completion.algorithm_options,
    help="An option of the algorithm, such as cpu_share=0.7; may be repeated.",
)
@click.option("--output", required=True, type=OutputFile(), help="Placement file to write.")
def place(problem: Path, algorithm: str, seed: int, pairs: tuple[str, ...], output: Path) -> None:
    """Place the executors of PROBLEM and write the placement.

    Exit code 2: the input cannot be used. 3: no feasible placement exists, or none was found.

    \b
    Example:
      stormcut place problem.json --output placement.json
    """
    options = parse_pairs(pairs)
    parse_options(registered(algorithm), options)
    console = terminal(is_error=True)
    with waiting(console, f"reading {problem}"):
        question = read_problem(problem)
    with waiting(console, f"{algorithm} places {question.executor_count:,} executors"):
        solution = solve(question, algorithm, seed, options)
    write_placement(output, question, solution)
    _summarise(console, question, solution, output)


def _summarise(console: Console, problem: Problem, solution: Solution, output: Path) -> None:
    metrics_table(solution.metrics, solution.headroom, problem.traffic.total).print(console)
    for note in solution.notes:
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    if warning := shortfall(problem, solution.placement, solution.headroom):
        console.print(f"warning: {warning}", markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"{solution.algorithm} -> {output}", markup=False, highlight=False, soft_wrap=True
    )
