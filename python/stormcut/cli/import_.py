"""`stormcut import`: problems from what other programs store."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from stormcut.adapters.problem_file import write_problem
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFile
from stormcut.model.problem import Problem


@click.group("import")
def import_() -> None:
    """Make a problem file from what other programs store.

    \b
    Example:
      stormcut import storm stormdist/ --supervisors supervisors.json --output problem.json
    """


@import_.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--supervisors",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON: {supervisors: [{rack, count, cpu_pcore_percent, memory_mb, slots}]}.",
)
@click.option("--output", required=True, type=OutputFile(), help="Problem file to write.")
@click.option(
    "--rate",
    type=Finite(min=0),
    default=1.0,
    show_default=True,
    metavar="TUPLES",
    help="Tuples/s of each source executor on each stream: the files hold no rates.",
)
@click.option(
    "--keep-workers",
    is_flag=True,
    help="Ask for topology.workers workers; Storm's resource-aware scheduler ignores it.",
)
def storm(
    paths: tuple[Path, ...], supervisors: Path, output: Path, rate: float, keep_workers: bool
) -> None:
    """Make a problem of Storm's serialised topologies.

    PATHS are files by turns, TOPOLOGY.ser CONF.ser, or folders that are searched for
    *stormcode.ser with their *stormconf.ser, such as Nimbus's stormdist; gzip or plain.

    \b
    Example:
      stormcut import storm wc-stormcode.ser wc-stormconf.ser \\
        --supervisors supervisors.json --output problem.json
    """
    # Thrift takes a while to import: not before the options have been checked.
    from stormcut.adapters.storm_import import find_topologies, import_storm, read_supervisors

    nodes = read_supervisors(supervisors)
    files = find_topologies(paths)
    console = Console(stderr=True)
    shown = track(
        files,
        "reading topologies",
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    problem = import_storm(shown, nodes, rate, keep_workers)
    write_problem(output, problem)
    console.print(_summary(problem, output), markup=False, highlight=False, soft_wrap=True)


def _summary(problem: Problem, output: Path) -> str:
    components = sum(len(topology.components) for topology in problem.topologies)
    return (
        f"{len(problem.topologies):,} topologies, {components:,} components, "
        f"{problem.executor_count:,} executors, {len(problem.nodes):,} nodes -> {output}"
    )
