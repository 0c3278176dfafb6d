"""`stormcut history`: the plans so far and their reasons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import HISTORY_KEPT, StormcutNodes
from stormcut.adapters.zookeeper.reviews import read_reviews
from stormcut.cli.numbers import Whole
from stormcut.cli.outputs import csv, csv_text, wide
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.control.review.reviews import Review, review_line
from stormcut.report.status import with_hosts
from stormcut.report.terminal import Grid, terminal


@click.command()
@zookeeper_options
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=Whole(1, HISTORY_KEPT),
    help="Number of plans to show.",
)
@wide
@csv
@click.option("--json", "as_json", is_flag=True, help="Print the entries as JSON, newest first.")
def history(
    zookeeper: str,
    auth_file: Path,
    root: str,
    limit: int,
    is_wide: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show the last plans and their reasons, newest first.

    \b
    Example:
      stormcut history --zookeeper localhost:2181 --auth-file ~/.stormcut-auth --limit 5
    """
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        entries, reviews = nodes.read_history(limit), read_reviews(nodes)
    _add(entries, reviews)
    if as_json:
        click.echo(json.dumps(entries, indent=2))
    elif as_csv:
        click.echo(csv_text(list(_records(entries))))
    elif entries:
        _table(entries).print(terminal(), is_wide)
    else:
        click.echo("no plans yet")


def _add(entries: Iterable[dict[str, Any]], reviews: Iterable[Review]) -> None:
    """Add to each move what became of it, where that is known."""
    known = {(each.plan, each.topology): each for each in reviews}
    for entry in entries:
        for line in entry["topologies"]:
            review = known.get((entry["plan"], line["topology"]))
            line["turned_out"] = None if review is None else review_line(review)


def _table(entries: list[dict[str, Any]]) -> Grid:
    table = Grid().labels("when").labels("plan", rank=2).name("topology")
    table.figures("slots\nchanged", rank=1).words("why")
    for entry in entries:
        for row in _rows(entry):
            table.row(*row)
    return table


def _ordered(line: dict[str, Any]) -> str:
    """Return who ordered a change, and why guards were passed for it; empty if nobody did."""
    if not line.get("who"):
        return ""
    past = f", past {', '.join(line['passed'])}: {line['override']}" if line["override"] else ""
    return f"by {line['who']} ({line['initiator']}{past}): "


def _records(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a flat record for each topology of each plan."""
    for entry in entries:
        head = {"plan": entry["plan"], "created_ms": entry["created_ms"]}
        for line in (*entry["topologies"], *entry["declined"]):
            yield {**head, **line}


def _rows(entry: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    moment = datetime.fromtimestamp(entry["created_ms"] / 1000).strftime("%m-%d %H:%M:%S")
    head = (moment, entry["plan"][:8])
    hosts = entry.get("hosts", {})
    for line in entry["topologies"]:
        reason = _ordered(line) + with_hosts(line["reason"], hosts)
        yield *head, line["topology"], str(line["workers_restarted"]), reason
        head = ("", "")
        if line["turned_out"]:
            yield "", "", "", "", f"turned out {line['turned_out']['words']}"
    for line in entry["declined"]:
        yield *head, line["topology"], "-", f"declined: {with_hosts(line['reason'], hosts)}"
        head = ("", "")
    if head[0]:
        yield *head, "-", "-", "no topologies"
