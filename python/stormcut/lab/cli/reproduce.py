"""`stormcut reproduce`: the five papers' published figures, re-run and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stormcut.cli.outputs import OutputFolder
from stormcut.lab.papers.library import PAPER_NAMES


@click.command()
@click.argument("paper", type=click.Choice([*PAPER_NAMES, "all"]))
@click.option(
    "--figure",
    "numbers",
    multiple=True,
    metavar="N",
    help="Only this figure, such as 7.10 or 'table 9'; may be given again. --list names them.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Choose what the paper does not give, such as transfer=0.5; --list names them.",
)
@click.option(
    "--folder",
    type=OutputFolder(),
    default=Path("reproduced"),
    show_default=True,
    help="Folder for pages, pictures and results; a run resumes from what it holds.",
)
@click.option(
    "--problems",
    is_flag=True,
    help="Write the figures' problems to the folder instead of running them.",
)
@click.option("--list", "lists", is_flag=True, help="List figures and parameters, run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the claims as JSON.")
@click.option(
    "--master",
    default="local[*]",
    show_default=True,
    metavar="URL",
    help="Spark master that runs the job.",
)
def reproduce(**asked: Any) -> None:
    """Run the published figures of PAPER again, and judge its claims.

    The papers' schedulers, all others and `cut` place each paper's workloads; what follows is
    computed or simulated, and compared with what is printed. A page and a picture are written to
    the folder for each paper, a summary for `all`.

    \b
    Examples:
      stormcut reproduce thesis --figure 7.10 --set transfer=0.5
      stormcut reproduce all --folder reproduced
    """
    from stormcut.lab.cli import paper_figures

    paper_figures.reproduce(**asked)
