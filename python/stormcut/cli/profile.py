"""`stormcut profile`: from workers' metrics logs to tables, profiles and a summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from stormcut.cli.interruption import interruptible, uninterrupted
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFolder
from stormcut.model.errors import InvalidInput
from stormcut.profile.lines import LineSummary
from stormcut.profile.measured import Measured
from stormcut.report.terminal import Grid, terminal

if TYPE_CHECKING:
    from stormcut.profile.result import ComponentRates, ProfileResult

SHOWN_LINE = 160


@click.command()
@click.argument("logs", nargs=-1, required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--output",
    required=True,
    type=OutputFolder(),
    help="Folder for profile-<topology id>.json, and tables.",
)
@click.option("--topology", metavar="ID", help="Only the topology of this id.")
@click.option(
    "--from",
    "from_epoch",
    type=Finite(0),
    metavar="EPOCH",
    help="Count intervals from this second on; 0: all. Without it: since the topology moved last.",
)
@click.option(
    "--to", "to_epoch", type=Finite(0), metavar="EPOCH", help="Count intervals up to this second."
)
@click.option(
    "--warm-up",
    type=Finite(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Leave out what begins this soon after a task's start.",
)
@click.option("--tables", "with_tables", is_flag=True, help="Write Parquet tables, too, by Spark.")
@click.option("--csv", "with_csv", is_flag=True, help="Write these tables, and each as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option(
    "--master",
    metavar="URL",
    help="Spark master that reads the logs. Without it, more than 256 MB are read by Spark on this "
    "machine, and less without Spark.",
)
def profile(
    logs: tuple[Path, ...],
    output: Path,
    topology: str | None,
    from_epoch: float | None,
    to_epoch: float | None,
    warm_up: float,
    with_tables: bool,
    with_csv: bool,
    as_json: bool,
    master: str | None,
) -> None:
    """Measure running topologies from their workers' metrics logs.

    LOGS are folders searched for workers-artifacts/<topology id>/<port>/worker.log.metrics and
    rolled ones (.1.gz); give those of all supervisors. Without the hook there are no profiles, only
    the rates of components from Storm's own metrics.

    \b
    Example:
      stormcut profile /var/log/storm --output profiles --from 1700000000
    """
    if from_epoch is not None and to_epoch is not None and from_epoch >= to_epoch:
        raise InvalidInput(f"must be before --to {to_epoch:g}", f"--from {from_epoch:g}")
    from stormcut.adapters.spark.profiling import profile_logs

    tables = (with_tables, with_csv)
    with interruptible(), _progress() as show:

        def work(check: Callable[[], None]) -> ProfileResult:
            def progress(step: str) -> None:
                check()
                show(step)

            return profile_logs(
                logs, output, topology, from_epoch, to_epoch, warm_up, master, progress, *tables
            )

        result = uninterrupted(work)
    if as_json:
        click.echo(json.dumps(_document(result), indent=2))
    else:
        _print(terminal(), result, from_epoch)
        what = "Tables and profiles" if any(tables) else "Profiles"
        click.echo(f"{what}: {output}")
        if not any(tables) and (output / "traffic").exists():
            click.echo("The tables there are of an earlier run: --tables replaces them.")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield what shows a step: live on a terminal, one plain line each elsewhere."""
    if not sys.stderr.isatty():
        begun: set[str] = set()

        def show(step: str) -> None:
            name = step.partition(":")[0]
            if name not in begun:
                begun.add(name)
                click.echo(f"{name} ...", err=True)

        yield show
        return
    with Console(stderr=True).status("finding logs") as status:
        yield lambda step: status.update(f"{step} ...")


def _document(result: ProfileResult) -> dict[str, object]:
    return {
        "topologies": [asdict(measured) for measured in result.measured.values()],
        "unmeasured": list(result.unmeasured),
        "components": {
            topology: [asdict(each) for each in rates]
            for topology, rates in result.components.items()
        },
        "moved": result.moved,
        "lines": asdict(result.lines),
    }


def _print(console: Console, result: ProfileResult, from_epoch: float | None) -> None:
    for measured in result.measured.values():
        _table(measured).print(console)
        if text := _of_moves(result.moved.get(measured.topology), from_epoch):
            console.print(text, highlight=False)
        if measured.missing_executors:
            names = ", ".join(measured.missing_executors)
            console.print(
                f"[bold red]INCOMPLETE[/]: no full sample of {escape(names)}; the profile and the "
                "numbers above leave them out.",
                highlight=False,
            )
    for topology in result.unmeasured:
        console.print(
            f"[bold red]NOT MEASURED[/]: {escape(topology)} has no interval of the hook in the "
            "window: what its tasks send each other, and their CPU, is not known. Is the plugin "
            "installed, and was it submitted since?",
            highlight=False,
        )
        if rates := result.components.get(topology):
            _rates(topology, rates).print(console)
    _print_lines(console, result.lines)


def _of_moves(moved: float | None, from_epoch: float | None) -> str:
    """Return what to know where a topology has moved, nothing if it has not in this window."""
    if moved is None:
        return ""
    if from_epoch is None:
        return f"It moved at {moved:.0f}: what was before does not count (--from 0 counts all)."
    if from_epoch < moved:
        return (
            f"[bold red]TWO PLACEMENTS[/]: it moved at {moved:.0f}; these numbers are means of "
            f"before and after. --from {moved:.0f} counts the latter alone."
        )
    return ""


def _rates(topology: str, rates: Sequence[ComponentRates]) -> Grid:
    table = Grid(f"{topology}, by Storm's own counters").name("component")
    table.figures("tasks", "emitted/s", "executed/s", "acked/s")
    table.figures("failed/s", "execute\nms")
    for each in rates:
        table.row(
            each.component,
            str(each.tasks),
            *(
                f"{rate:,.1f}"
                for rate in (
                    each.emitted_per_s,
                    each.executed_per_s,
                    each.acked_per_s,
                    each.failed_per_s,
                )
            ),
            "-" if each.execute_ms is None else f"{each.execute_ms:,.3f}",
        )
    return table


def _table(measured: Measured) -> Grid:
    table = Grid(measured.topology).name("measured").figures("value")
    latency = measured.complete_latency_ms
    rows = {
        "window": f"{measured.window_s} s ({measured.from_epoch_s} to {measured.to_epoch_s})",
        "tuples/s emitted": f"{measured.emitted_per_s:,.1f}",
        "tuples/s between nodes": f"{measured.between_nodes_per_s:,.1f}",
        "tuples/s between workers": f"{measured.between_workers_per_s:,.1f}",
        "the same by the hook's local counter": f"{measured.between_workers_by_hook_per_s:,.1f}",
        "acked tuples per 10 s": f"{measured.acked_per_10_s:,.1f}",
        "failed tuples": f"{measured.failed:,}",
        "complete latency": "not sampled" if latency is None else f"{latency:,.1f} ms",
        "nodes used": str(measured.nodes_used),
        "workers used": str(measured.workers_used),
        "CPU points (100 = a core)": f"{measured.cpu_percent:,.1f}",
    }
    if measured.unplaced_per_s:
        rows["tuples/s to unknown places"] = f"{measured.unplaced_per_s:,.1f}"
    for name, value in rows.items():
        table.row(name, value)
    return table


def _print_lines(console: Console, lines: LineSummary) -> None:
    console.print(
        f"{lines.read:,} lines in {lines.files} files: {lines.hook:,} of the hook "
        f"({lines.repeated:,} repeated), {lines.metrics:,} of other metrics, "
        f"{sum(lines.unused.values()):,} not used.",
        highlight=False,
    )
    for skipped in lines.skipped:
        console.print(
            f"[bold red]NOT READ[/]: {escape(skipped.path)}: {escape(skipped.problem)}",
            highlight=False,
            soft_wrap=True,
        )
    for problem, count in lines.unused.items():
        console.print(f"[bold yellow]{count:,} lines[/]: {escape(problem)}", highlight=False)
    for example in lines.examples:
        text = f"  {example.topology}: {example.line[:SHOWN_LINE]}"
        console.print(escape(text), highlight=False, soft_wrap=True)
