"""`stormcut import`: problems from what other programs store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import track

from stormcut.cli.groups import Group
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFile
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.model.errors import InvalidInput

if TYPE_CHECKING:
    from stormcut.adapters.tls.channel import Tls
    from stormcut.model.problem import Problem, Topology

#: Nimbus describes the cluster every 10 s.
OLD_SECONDS = 60.0

rate_option = click.option(
    "--rate",
    type=Finite(min=0),
    default=1.0,
    show_default=True,
    metavar="TUPLES",
    help="Tuples/s of each source executor on each stream: the files hold no rates.",
)


@click.group("import", cls=Group)
def import_() -> None:
    """Convert files of other programs to a problem file.

    \b
    Example:
      stormcut import cluster --profile profile-taxi-1-1700000000.json --output problem.json
      stormcut import storm storm-local/ --supervisors supervisors.json --output problem.json
    """


@import_.command()
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measured loads and traffic, from `stormcut profile`, beside what is published.",
)
@click.option(
    "--topology",
    metavar="ID",
    help="Only this topology, on what the others leave: the question that the brain answers.",
)
@click.option("--output", required=True, type=OutputFile(), help="Problem file to write.")
@click.option(
    "--current",
    type=OutputFile(),
    metavar="FILE",
    help="Placement file to write as well: what runs now, to `score`, `check` and `explain`.",
)
@click.option(
    "--costs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What transfer costs here, from `stormcut calibrate`, instead of what is shipped.",
)
@zookeeper_options
@tls_option
def cluster(
    profiles: tuple[Path, ...],
    topology: str | None,
    output: Path,
    current: Path | None,
    costs: Path | None,
    zookeeper: str,
    auth_file: Path,
    root: str,
    tls: Tls | None,
) -> None:
    """Make a problem of the cluster that runs, as the leading brain knows it from Nimbus.

    Nodes (by host name, by Storm's id if two share a host) with their slots and capacities, all
    topologies, where they run now, and what was measured of them; what was not counts as the brain
    counts it: 1 tuple/s from each executor on each stream. Where all is measured, and the
    model says that a node is more than full, the problem states lower costs, by which it is not.

    \b
    Example:
      stormcut import cluster --profile profile-taxi-1-1700000000.json --output problem.json
      stormcut place problem.json --output placement.json
      stormcut explain problem.json placement.json
    """
    from stormcut.adapters.files.costs_file import read_costs
    from stormcut.adapters.files.placement_file import write_placement
    from stormcut.adapters.files.problem_file import write_problem
    from stormcut.adapters.files.profile_file import read_profile
    from stormcut.adapters.zookeeper.client import connected, read_auth_file
    from stormcut.adapters.zookeeper.nodes import StormcutNodes
    from stormcut.application.scaling import as_proven
    from stormcut.cli.previews import leading_brain
    from stormcut.model.placement import Placement
    from stormcut.objective.headroom import headroom
    from stormcut.objective.metrics import measure
    from stormcut.placement.solve import Solution
    from stormcut.running.machines import with_real_capacity
    from stormcut.running.situation import named_by_host, running_problem, unmeasured

    given = {profile.topology: profile for profile in map(read_profile, profiles)}
    fitted = None if costs is None else read_costs(costs)
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        described = leading_brain(nodes, tls).described()
        known = {**nodes.read_profiles(), **given}
    state = with_real_capacity(described.state, known, fitted)
    problem = named_by_host(running_problem(state, known, topology, fitted), state)
    for line in unmeasured(state, known, [each.id for each in problem.topologies]):
        click.echo(f"note: {line}", err=True)
    stated, problem = problem.costs, as_proven(problem, state, known)
    if problem.costs and problem.costs != stated:
        click.echo(f"note: costs are {problem.costs.source}", err=True)
    if (seconds := time.time() - described.moment_ms / 1000) > OLD_SECONDS:
        click.echo(f"note: Nimbus described this {seconds:.0f} s ago and not since", err=True)
    write_problem(output, problem)
    if current is not None:
        now = Placement(problem.current_slots())
        metrics, room = measure(problem, now), headroom(problem, now)
        write_placement(current, problem, Solution("current", {}, now, metrics, room, None, ()))
    click.echo(_summary(problem, output), err=True)


@import_.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--supervisors",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON: {supervisors: [{rack, count, cpu_pcore_percent, memory_mb, slots}]}, or the UI's "
    "/api/v1/supervisor/summary.",
)
@click.option("--output", required=True, type=OutputFile(), help="Problem file to write.")
@rate_option
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
    *stormcode.ser with their *stormconf.ser: the storm.local.dir of Nimbus (its blobs) or of a
    supervisor (its stormdist); gzip or plain.

    \b
    Example:
      stormcut import storm wc-stormcode.ser wc-stormconf.ser \\
        --supervisors supervisors.json --output problem.json
    """
    # Thrift takes a while to import: not before the options have been checked.
    from stormcut.adapters.files.problem_file import write_problem
    from stormcut.adapters.storm.stored_topologies import (
        find_topologies,
        import_storm,
        read_supervisors,
    )

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
    imported = import_storm(shown, nodes, rate, keep_workers)
    write_problem(output, imported.problem)
    for note in imported.notes:
        click.echo(f"note: {note}", err=True)
    summary = _summary(imported.problem, output)
    console.print(summary, markup=False, highlight=False, soft_wrap=True)


def _description_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments of commands that read descriptions of topologies."""
    for option in (
        click.option("--output", required=True, type=OutputFile(), help="Problem file to write."),
        click.option(
            "--supervisors",
            required=True,
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="As for `import storm`, or the UI's /api/v1/supervisor/summary.",
        ),
        click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path)),
    ):
        function = option(function)
    return function


def _write_described(
    paths: Sequence[Path],
    read: Callable[[Path], tuple[Topology, ...]],
    supervisors: Path,
    output: Path,
) -> None:
    from stormcut.adapters.files.problem_file import write_problem
    from stormcut.adapters.storm.stored_topologies import read_supervisors
    from stormcut.model.problem import Problem

    nodes = read_supervisors(supervisors)
    topologies: dict[str, Topology] = {}
    for path in paths:
        for topology in read(path):
            if topology.id in topologies:
                raise InvalidInput(f"a topology {topology.id!r} was there before", str(path))
            topologies[topology.id] = topology
    problem = Problem(nodes, tuple(topologies.values()))
    write_problem(output, problem)
    for topology in problem.topologies:
        if not topology.streams:
            click.echo(f"note: no stream of {topology.id} is known: it has no traffic", err=True)
    click.echo(_summary(problem, output), err=True)


@import_.command()
@_description_options
@rate_option
def flux(paths: tuple[Path, ...], supervisors: Path, output: Path, rate: float) -> None:
    """Make a problem of topologies in Flux's YAML.

    \b
    Example:
      stormcut import flux topology.yaml --supervisors supervisors.json --output problem.json
    """
    from stormcut.adapters.storm.described_topologies import read_flux

    _write_described(paths, lambda path: read_flux(path, rate), supervisors, output)


@import_.command()
@_description_options
def loadgen(paths: tuple[Path, ...], supervisors: Path, output: Path) -> None:
    """Make a problem of what Storm's CaptureLoad wrote: shape, rates and latencies.

    The time that a bolt takes for a tuple counts as CPU.

    \b
    Example:
      stormcut import loadgen loadgen.yaml --supervisors supervisors.json --output problem.json
    """
    from stormcut.adapters.storm.described_topologies import read_loadgen

    _write_described(paths, read_loadgen, supervisors, output)


@import_.command()
@_description_options
def ui(paths: tuple[Path, ...], supervisors: Path, output: Path) -> None:
    """Make a problem of the JSON that Storm's UI serves at /api/v1/topology/ID.

    It has executors, and how busy bolts are, but no streams.

    \b
    Example:
      stormcut import ui topology.json --supervisors summary.json --output problem.json
    """
    from stormcut.adapters.storm.described_topologies import read_ui

    _write_described(paths, read_ui, supervisors, output)


def _summary(problem: Problem, output: Path) -> str:
    components = sum(len(topology.components) for topology in problem.topologies)
    return (
        f"topologies {len(problem.topologies):,}, components {components:,}, "
        f"executors {problem.executor_count:,}, nodes {len(problem.nodes):,} -> {output}"
    )
