"""`stormcut algorithms`: what `stormcut place` can do."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

import click
from rich.console import Console
from rich.markup import escape

from stormcut.cli import completion
from stormcut.cli.invocation import command
from stormcut.placement.options import FiniteRange
from stormcut.placement.registry import ALGORITHMS, Algorithm, algorithm
from stormcut.report.terminal import Grid, terminal


@click.command()
@click.argument("name", required=False, shell_complete=completion.algorithms)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def algorithms(name: str | None, as_json: bool) -> None:
    """List the placement algorithms, or the options of NAME.

    \b
    Example:
      stormcut algorithms --json
      stormcut algorithms p-scheduler
    """
    chosen = [algorithm(name)] if name is not None else list(ALGORITHMS.values())
    if as_json:
        click.echo(json.dumps([_document(each) for each in chosen], indent=2))
        return
    console = terminal()
    if name is None:
        _table().print(console)
        click.echo(f"Options of one: {command()} algorithms NAME")
        return
    console.print(f"[bold]{chosen[0].name}[/] {escape(chosen[0].summary)}")
    console.print(f"Source: {escape(chosen[0].source)}")
    _print_options(console, chosen[0])


def _table() -> Grid:
    table = Grid().labels("name").words("what").words("source")
    for each in ALGORITHMS.values():
        marks = [text for text, holds in _marks(each) if holds]
        what = f"{each.summary} ({', '.join(marks)})" if marks else each.summary
        table.row(each.name, what, each.source)
    return table


def _marks(each: Algorithm) -> tuple[tuple[str, bool], ...]:
    return (
        ("exact", each.exact),
        ("needs traffic", each.needs_traffic),
        (f"counts {', '.join(each.counts)}", bool(each.counts)),
    )


def _print_options(console: Console, chosen: Algorithm) -> None:
    types = chosen.option_types
    if not fields(chosen.options):
        console.print("It has no options.")
        return
    table = Grid().labels("option").words("default").words("values").words("what it sets")
    for field in fields(chosen.options):
        table.row(
            field.name,
            _text(field.default),
            _values(types[field.name], field.metadata.get("bounds")),
            field.metadata.get("help", ""),
        )
    table.print(console)


def _text(default: Any) -> str:
    """Return a default as it is written on the command line."""
    if isinstance(default, bool) or default is None:
        return str(default).lower()
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _values(kind: Any, bounds: FiniteRange | None) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    if get_origin(kind) is tuple:
        return "a list: a,b,..."
    plain = {int: "whole number", float: "number", bool: "true, false", str: "text"}
    if kind in plain:
        return f"{plain[kind]} {bounds}" if bounds else plain[kind]
    inner = [each for each in get_args(kind) if each is not type(None)]
    return f"{_values(inner[0], bounds)}, none"


def _document(algorithm: Algorithm) -> dict[str, object]:
    return {
        "name": algorithm.name,
        "summary": algorithm.summary,
        "source": algorithm.source,
        "exact": algorithm.exact,
        "needs_traffic": algorithm.needs_traffic,
    }
