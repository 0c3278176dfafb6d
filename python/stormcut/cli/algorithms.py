"""`stormcut algorithms`: what `stormcut place` can do."""

from __future__ import annotations

import json
from dataclasses import fields

import click
from rich.console import Console
from rich.table import Table

from stormcut.placement.registry import ALGORITHMS, Algorithm

WIDTH = 100


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def algorithms(as_json: bool) -> None:
    """List the placement algorithms.

    \b
    Example:
      stormcut algorithms --json
    """
    if as_json:
        click.echo(json.dumps([_document(each) for each in ALGORITHMS.values()], indent=2))
        return
    table = Table("name", "what", "exact", "needs traffic")
    for each in ALGORITHMS.values():
        options = ", ".join(f"{field.name} ({field.default})" for field in fields(each.options))
        table.add_row(
            each.name,
            f"{each.summary}\nSource: {each.source}\nOptions: {options or 'none'}",
            "yes" if each.exact else "no",
            "yes" if each.needs_traffic else "no",
        )
    console = Console()
    Console(width=min(WIDTH, console.width) if console.is_terminal else WIDTH).print(table)


def _document(algorithm: Algorithm) -> dict[str, object]:
    return {
        "name": algorithm.name,
        "summary": algorithm.summary,
        "source": algorithm.source,
        "exact": algorithm.exact,
        "needs_traffic": algorithm.needs_traffic,
    }
