"""`stormcut demo`: one turn of the loop on a real cluster, from nothing to a report."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from stormcut.application.experiment import turn
from stormcut.application.experiment.ports import HOOK_INTERVAL_S
from stormcut.cli.interruption import interruptible
from stormcut.cli.invocation import command
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFile
from stormcut.cli.own_cluster import own_cluster
from stormcut.cli.steps import Steps

if TYPE_CHECKING:
    from stormcut.adapters.clusters.local import LocalCluster
    from stormcut.application.experiment.loop import Loop

#: Thousands of executors, each with a Python process.
MAX_SCALE = 40


@click.command()
@click.option(
    "--rate",
    default=400.0,
    show_default=True,
    type=Finite(0),
    help="Trips per second; 0: full speed.",
)
@click.option(
    "--scale",
    default=0.25,
    show_default=True,
    type=Finite(0, MAX_SCALE, min_open=True),
    help="Share of 16+16+8+4+1 executors.",
)
@click.option(
    "--seconds",
    default=60,
    show_default=True,
    type=click.IntRange(turn.SHORTEST_WINDOW_S),
    help="Length of each measured window.",
)
@click.option(
    "--supervisors",
    default=4,
    show_default=True,
    type=click.IntRange(2),
    help="Number of nodes.",
)
@click.option(
    "--slots",
    default=4,
    show_default=True,
    type=click.IntRange(1),
    help="Slots of each node.",
)
@click.option(
    "--max-executors",
    default=8,
    show_default=True,
    type=click.IntRange(1),
    help="Capacity declared per node.",
)
@click.option("--name", default="demo", show_default=True, help="Name of the cluster.")
@click.option("--keep", is_flag=True, help="Leave cluster and brain running, also after a failure.")
@click.option(
    "--report",
    type=OutputFile(),
    default=Path("stormcut-demo.html"),
    show_default=True,
    help="Where to write the HTML page.",
)
@click.option("--markdown", type=OutputFile(), hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def demo(
    rate: float,
    scale: float,
    seconds: int,
    supervisors: int,
    slots: int,
    max_executors: int,
    name: str,
    keep: bool,
    report: Path,
    markdown: Path | None,
    as_json: bool,
) -> None:
    """Measure a topology on a real Storm cluster, place it anew, measure again.

    Starts ZooKeeper, Nimbus and supervisors on this machine, submits the taxi topology under
    Storm's default scheduler, measures it, has the brain place it by its measured traffic with
    cut, measures again and shows both side by side. Ends with exit code 1 if the measured drop of
    traffic between nodes is not the one predicted. A run that fails keeps its logs and says where;
    Ctrl-C leaves nothing behind.

    \b
    Examples:
      stormcut demo
      stormcut demo --keep --seconds 120
    """
    from stormcut.report.loop import agreement, headline, table
    from stormcut.report.loop import as_json as figures

    settings = turn.Settings(supervisors, slots, max_executors, scale, rate, seconds)
    steps = Steps("demo")
    started = time.monotonic()
    with interruptible():
        loop = _turn(settings, name, steps, keep)
    _write_pages(loop, report, markdown)
    if as_json:
        click.echo(json.dumps(figures(loop), indent=2))
    else:
        console = Console(highlight=False)
        console.print()
        console.print(table(loop))
        console.print(headline(loop), agreement(loop), sep="\n")
    steps.say(f"Report: {report.absolute()} ({time.monotonic() - started:.0f} s in all)")
    if keep:
        steps.say(_next_commands(name))
    if not loop.agrees:
        raise click.exceptions.Exit(1)


def _turn(settings: turn.Settings, name: str, steps: Steps, keep: bool) -> Loop:
    """Run the loop; nothing stays behind but what ``keep`` asks for, and the logs of a failure."""
    from stormcut.adapters.spark import spark_session

    room = {"stormcut.max.executors": str(settings.max_executors)}
    with ExitStack() as stack:
        cluster = stack.enter_context(
            own_cluster(
                name,
                settings.supervisors,
                settings.slots,
                steps,
                plugin=True,
                config={"stormcut.hook.interval.secs": HOOK_INTERVAL_S},
                supervisor_config={"supervisor.scheduler.meta": room},
                keep=keep,
            )
        )
        # Now, while the cores are free.
        with steps.step("starting Spark"):
            stack.enter_context(spark_session("local[2]"))
        return turn.run(settings, _stage(cluster, settings, steps, keep))


def _stage(cluster: LocalCluster, settings: turn.Settings, steps: Steps, keep: bool) -> turn.Stage:
    from stormcut.adapters.machine.home import topologies
    from stormcut.adapters.machine.needs import describe
    from stormcut.adapters.processes.brain import brain_process
    from stormcut.adapters.spark import profile_logs
    from stormcut.adapters.storm.sparse_submit import submit
    from stormcut.adapters.zookeeper.nodes import nodes_at

    return turn.Stage(
        cluster=cluster,
        submit=partial(
            submit,
            project=topologies(),
            topology=turn.TOPOLOGY,
            name=turn.TOPOLOGY,
            nimbus=cluster.nimbus_address,
            workers=settings.supervisors,
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=cluster.folder / "sparse",
        ),
        profiler=partial(profile_logs, cluster.log_folders, cluster.folder / "profile", warm_up=0),
        brain=partial(brain_process, cluster, keep),
        nodes=partial(nodes_at, cluster.zookeeper_address, cluster.auth_file),
        progress=steps,
        machine=describe(),
    )


def _write_pages(loop: Loop, report: Path, markdown: Path | None) -> None:
    from stormcut.adapters.files.json_document import write_text
    from stormcut.report.loop import markdown as table
    from stormcut.report.loop import page

    write_text(report, page(loop))
    if markdown:
        write_text(markdown, table(loop))


def _next_commands(name: str) -> str:
    typed = command()
    return (
        "The cluster and its brain are still up. Next:\n"
        f"  {typed} cluster status --name {name}\n"
        f'  eval "$({typed} cluster env --name {name})" && {typed} history\n'
        f"  {typed} cluster logs nimbus --name {name} | grep stormcut:\n"
        f"  {typed} cluster down --name {name}"
    )
