"""`stormcut topologies`: the benchmark topologies, and a run of one here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from rich.markup import escape

from stormcut.cli.groups import Group
from stormcut.cli.interruption import interruptible
from stormcut.cli.invocation import command
from stormcut.cli.key_values import parse_pairs
from stormcut.cli.numbers import Finite, Whole
from stormcut.cli.outputs import OutputFolder
from stormcut.cli.steps import Steps
from stormcut.lab.cli import completion
from stormcut.lab.cli.own_cluster import own_cluster
from stormcut.model.errors import InvalidInput
from stormcut.report.terminal import Grid, terminal

if TYPE_CHECKING:
    from stormcut.lab.adapters.storm.topology_site import ClusterSite
    from stormcut.lab.experiment.definition import Definition
    from stormcut.lab.experiment.outcome import RunOutcome


@click.group(cls=Group)
def topologies() -> None:
    """List the benchmark topologies, or run one.

    \b
    Example:
      stormcut topologies list word_count
      stormcut topologies run word_count
    """


@topologies.command("list")
@click.argument("name", required=False, shell_complete=completion.topology_names)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_(name: str | None, as_json: bool) -> None:
    """List the topologies, or the options of the one called NAME.

    \b
    Example:
      stormcut topologies list
      stormcut topologies list linear
    """
    from stormcut.lab.adapters.storm.topology_project import load, names

    chosen = [load(each) for each in ([name] if name else names())]
    if as_json:
        click.echo(json.dumps([asdict(each) for each in chosen], indent=2))
        return
    console = terminal()
    if name is None:
        _table(chosen).print(console)
        click.echo(f"Options of one: {command()} topologies list NAME")
    else:
        console.print(f"[bold]{name}[/] {escape(chosen[0].summary)}")
        _options(chosen[0]).print(console)


def _table(chosen: list[Definition]) -> Grid:
    table = Grid().labels("name").figures("tasks").words("what")
    for each in chosen:
        table.row(each.name, str(each.tasks), each.summary)
    return table


def _options(chosen: Definition) -> Grid:
    table = Grid().labels("option").words("default").words("what it sets")
    for name, option in chosen.options.items():
        table.row(name, str(option.default), option.help)
    parts = ", ".join(f"{component.name} {component.tasks}" for component in chosen.components)
    table.row(
        "parallelism.COMPONENT", "", f"tasks of a component, whatever the scale; here {parts}"
    )
    return table


@topologies.command()
@click.argument("name", shell_complete=completion.topology_names)
@click.option(
    "--option", "-o", "pairs", multiple=True, metavar="KEY=VALUE", help="An option of the topology."
)
@click.option(
    "--minutes",
    type=Finite(0, min_open=True),
    help="Replay for so long; else: the data once.",
)
@click.option("--supervisors", default=2, show_default=True, type=Whole(1), help="Number of nodes.")
@click.option("--slots", default=2, show_default=True, type=Whole(1), help="Slots of each node.")
@click.option("--docker", metavar="NAME", help="Run on this cluster of `stormcut docker up`.")
@click.option("--results", type=OutputFolder(), help="Keep the tasks' reports here.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def run(
    name: str,
    pairs: tuple[str, ...],
    minutes: float | None,
    supervisors: int,
    slots: int,
    docker: str | None,
    results: Path | None,
    as_json: bool,
) -> None:
    """Run the topology called NAME on a Storm cluster of its own, and check what it did.

    Starts the cluster (and a Redis server, if the topology needs one), submits, waits until the
    sources have nothing left to send and every tuple is acknowledged, compares what was sent with
    what arrived, and the answer with one computed by Spark. The default is a size for two cores
    and one replay of the data, as fast as possible. Exit code 1: something was lost or wrong.

    With --docker the cluster is there already and stays as it is. Its CPU limits are lifted while
    the workers start.

    \b
    Examples:
      stormcut topologies run word_count
      stormcut topologies run linear --option setting=cpu --option bolts=2 --minutes 1
      stormcut topologies run taxi -o scale=0.25 -o topology.max.spout.pending=50
      stormcut topologies run yahoo --docker default
    """
    from stormcut.lab.adapters.spark.answers import ANSWERS
    from stormcut.lab.adapters.storm import topology_project
    from stormcut.lab.experiment import topology_run
    from stormcut.lab.experiment.ports import Catalogue

    source = click.get_current_context().get_parameter_source
    if docker and ParameterSource.COMMANDLINE in (source("supervisors"), source("slots")):
        raise InvalidInput("the cluster has its own supervisors and slots", f"--docker {docker}")
    settings = topology_run.RunSettings(name, parse_pairs(pairs), minutes, results)
    catalogue, steps = Catalogue(topology_project, ANSWERS), Steps("topologies")
    with interruptible():
        given = topology_run.options_of(settings, catalogue)
        with _site(name, supervisors, slots, docker, steps) as site:
            outcome = topology_run.run(site, settings, given, catalogue, steps)
    document = {**asdict(outcome), "holds": outcome.holds}
    click.echo(json.dumps(document, indent=2) if as_json else _text(outcome))
    if not outcome.holds:
        raise click.exceptions.Exit(1)


@contextmanager
def _site(
    name: str, supervisors: int, slots: int, docker: str | None, steps: Steps
) -> Iterator[ClusterSite]:
    """Yield the cluster in containers that is named, else one of this command's own."""
    from stormcut.lab.adapters.storm.topology_site import docker_site, local_site

    if docker is not None:
        from stormcut.lab.adapters.clusters.docker import DockerCluster

        yield docker_site(DockerCluster.open(docker))
        return
    own = f"run-{name.replace('_', '-')}"
    with own_cluster(own, supervisors, slots, steps, plugin=False) as cluster:
        yield local_site(cluster)


@topologies.command()
@click.argument("folder", type=OutputFolder())
def draw(folder: Path) -> None:
    """Write a picture of every topology's graph into FOLDER.

    \b
    Example:
      stormcut topologies draw topologies/docs
    """
    from stormcut.adapters.files.json_document import write_text
    from stormcut.lab.adapters.storm.topology_project import load, names

    folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        write_text(folder / f"{name}.svg", picture(load(name)))


def picture(definition: Definition) -> str:
    """Return a topology's graph as SVG."""
    from stormcut.lab.report.topology_picture import PictureEdge, draw_topology

    tasks = {component.name: component.tasks for component in definition.components}
    edges = [
        PictureEdge(sender, component.name, grouping)
        for component in definition.components
        for sender, grouping in component.inputs
    ]
    return draw_topology(tasks, edges)


def _text(outcome: RunOutcome) -> str:
    totals = outcome.totals
    lines = [
        f"{outcome.topology}: {outcome.tasks} tasks, acks over {outcome.seconds:.0f} s",
        f"sent {totals.sent:,}, acknowledged {totals.acked:,}, replayed {totals.replayed:,}, "
        f"skipped {totals.skipped:,}",
    ]
    lines += [
        f"{each.sender} -> {each.receiver}: {each.received:,} of {each.emitted:,}"
        for each in outcome.passages
    ]
    lines += [f"{component} dropped {count:,}: {why}" for component, why, count in outcome.dropped]
    lines += [f"latency {outcome.latency}", f"nothing lost: {_yes(outcome.whole)}"]
    lines.append(f"answer: {outcome.answer}")
    return "\n".join(lines)


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"
