"""`stormcut place`: a placement for a problem."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from stormcut.adapters.placement_file import write_placement
from stormcut.adapters.problem_file import read_problem
from stormcut.application.place import DEFAULT_SEED, Solution, solve
from stormcut.cli.score import metrics_table
from stormcut.model.errors import InvalidInput

#: From when on a step is announced where there is no terminal.
LONG_SECONDS = 2.0


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--algorithm", required=True, metavar="NAME", help="See `stormcut algorithms`.")
@click.option("--seed", type=int, default=DEFAULT_SEED, show_default=True, help="At least 0.")
@click.option(
    "--option",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the algorithm, such as cpu_share=0.7; may be repeated.",
)
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="Placement file to write."
)
def place(problem: Path, algorithm: str, seed: int, pairs: tuple[str, ...], output: Path) -> None:
    """Place the executors of PROBLEM and write the placement.

    Exit code 2: the input cannot be used. 3: no feasible placement exists, or none was found.

    \b
    Example:
      stormcut place problem.json --algorithm p-scheduler --output placement.json
    """
    options = parse_pairs(pairs)
    console = Console(stderr=True)
    with _waiting(console, f"reading {problem}"):
        question = read_problem(problem)
    with _waiting(console, f"{algorithm} places {question.executor_count:,} executors"):
        solution = solve(question, algorithm, seed, options)
    write_placement(output, question, solution)
    _summarise(console, solution, question.traffic.total, output)


@contextmanager
def _waiting(console: Console, title: str) -> Iterator[None]:
    """Show what takes time: live on a terminal, elsewhere as a line once it takes long.

    Nothing else is printed, so that an error stays the only line on standard error.
    """
    if console.is_terminal:
        with console.status(title):
            yield
        return
    line = threading.Timer(LONG_SECONDS, click.echo, (f"stormcut: {title} ...",), {"err": True})
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()


def parse_pairs(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return ``KEY=VALUE`` texts as a mapping.

    Raises
    ------
    InvalidInput
        A text has another form, or a key occurs twice.
    """
    options: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise InvalidInput(f"must be KEY=VALUE, not {pair!r}", "--option")
        if key in options:
            raise InvalidInput("given twice", f"option {key}")
        options[key] = value
    return options


def _summarise(console: Console, solution: Solution, total: float, output: Path) -> None:
    console.print(metrics_table(solution.metrics, total))
    for note in solution.notes:
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"{solution.algorithm} -> {output}", markup=False, highlight=False, soft_wrap=True
    )
