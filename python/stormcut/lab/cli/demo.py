"""`stormcut demo`: the controller runs unattended on a real cluster, shown as it happens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stormcut import __version__
from stormcut.cli.interruption import interruptible
from stormcut.cli.invocation import command
from stormcut.cli.outputs import OutputFile
from stormcut.cli.steps import Steps
from stormcut.lab.cli.own_cluster import own_cluster
from stormcut.lab.experiment import story
from stormcut.lab.experiment.story import Load, Stage, Story
from stormcut.report.terminal import terminal

if TYPE_CHECKING:
    from stormcut.lab.adapters.clusters.local import LocalCluster
    from stormcut.lab.adapters.processes.controller import ControllerProcess
    from stormcut.lab.experiment.bench.windows import Sample
    from stormcut.lab.report.story import Made
    from stormcut.model.profile import Profile

SUPERVISORS, SLOTS = 4, 2
#: What a node may hold: more than a third of all, so that one node can be lost.
MAX_EXECUTORS = 8
#: Of a node's link, each way.
LINK_MBIT = 5
#: Two bolts after the source, chains of keys that a placement can keep on one node.
OPTIONS: Mapping[str, object] = {
    "language": "java",
    "grouping": "fields",
    "bolts": 2,
    "tasks": 6,
    "keys": 6,
    "local.share": 0.9,
    "payload": 2000,
    # Workers that need not be fast take half the CPU time to start, and less to wait for tuples.
    "topology.worker.childopts": "-XX:TieredStopAtLevel=1",
    "topology.disruptor.batch.timeout.millis": 3,
}
#: The third step is served by any placement on limited links, the last by a good one alone.
LIMITED = Load((200, 200, 400, 800, 1400), 15.0, 200.0)
#: Without limits the machine's cores are what is full.
UNLIMITED = Load((1000, 1000, 4000, 8000, 20_000), 15.0, 240.0)
CHAPTERS = ("move", "shift", "loss")
HOOK_INTERVAL_S = 3
#: Minutes instead of hours: what is shown must pay while it is shown.
POLICY = {"name": "worth", "horizon": "1 min", "cool_down": "30 s"}
#: A machine is lost here: what is lost must be noticed while people watch.
IMPATIENT: Mapping[str, object] = {
    "storm.zookeeper.session.timeout": 15_000,
    "nimbus.supervisor.timeout.secs": 15,
    "nimbus.task.timeout.secs": 15,
    "nimbus.task.launch.secs": 45,
    "stormcut.hook.interval.secs": HOOK_INTERVAL_S,
}


@dataclass(frozen=True)
class _Links:
    """What nodes' links carry in Mbit/s, None: as much as the machine does, and why."""

    mbit: int | None
    why: str = ""


@click.command()
@click.option(
    "--until",
    type=click.Choice(CHAPTERS),
    default=CHAPTERS[-1],
    show_default=True,
    help="End after the first move, after the shift of traffic, or after the loss of a node.",
)
@click.option("--no-limits", is_flag=True, help="Do not limit nodes' links, though that works.")
@click.option(
    "--name", default="demo", show_default=True, metavar="NAME", help="Name of the cluster."
)
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
    until: str, no_limits: bool, name: str, report: Path, markdown: Path | None, as_json: bool
) -> None:
    """Watch the controller answer new traffic and a lost node.

    Starts ZooKeeper, Nimbus and four supervisors on this machine, joined by limited links (as root;
    else unlimited), and submits a topology under Storm's own scheduler. Its load rises until it
    stalls; the controller moves it. Then its traffic shifts, and a node is lost: the controller
    answers both. Shows throughput and latency over time. Ends with exit code 1, and says why, if
    any of this did not happen. A run that fails keeps its logs; Ctrl-C leaves nothing behind.

    \b
    Examples:
      stormcut demo
      stormcut demo --until move
    """
    from stormcut.lab.report.story import as_json as figures
    from stormcut.lab.report.story import headline, html, table
    from stormcut.lab.report.story import markdown as in_markdown

    steps = Steps("demo")
    links = _links(no_limits)
    if links.why:
        steps.say(f"demo: the nodes' links are not limited: {links.why}")
    began = time.monotonic()
    with interruptible():
        result, made = _tell_story(until, links, name, steps)
    _write(report, html(result, made))
    if markdown:
        _write(markdown, in_markdown(result, made))
    if as_json:
        click.echo(json.dumps(figures(result), indent=2))
    else:
        console = terminal()
        console.print()
        table(result).print(console)
        console.print(headline(result))
    steps.say(f"Report: {report.absolute()} ({time.monotonic() - began:.0f} s in all)")
    if result.why:
        click.echo(f"{command()}: {result.why}", err=True)
        raise click.exceptions.Exit(1)


def _links(no_limits: bool) -> _Links:
    from stormcut.lab.adapters.clusters.local.network import obstacle

    if no_limits:
        return _Links(None, "so asked for with --no-limits")
    why = obstacle()
    return _Links(None, why) if why else _Links(LINK_MBIT)


def _tell_story(until: str, links: _Links, name: str, steps: Steps) -> tuple[Story, Made]:
    """Run the cluster and the story on it; nothing stays but the logs of a failure."""
    from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
    from stormcut.lab.adapters.processes.controller import write_configuration

    load, meta = UNLIMITED, {"stormcut.max.executors": str(MAX_EXECUTORS)}
    link = None
    if links.mbit is not None:
        load, link = LIMITED, Bandwidth(links.mbit * 10**6, links.mbit * 10**6)
        meta["stormcut.link.mbit"] = link.mbit
    chapters = CHAPTERS.index(until) + 1
    if chapters == 1:
        load = replace(load, shift_s=0.0)
    with ExitStack() as stack:
        cluster = stack.enter_context(
            own_cluster(
                name,
                SUPERVISORS,
                SLOTS,
                steps,
                plugin=True,
                config=IMPATIENT,
                supervisor_config={"supervisor.scheduler.meta": meta},
                link=link,
            )
        )
        config = write_configuration(cluster, observe={"every": "3 s"}, policy=POLICY)
        result = story.run(load, _stage(cluster, config, load, steps), chapters)
        return result, _made(config, load, links)


def _stage(cluster: LocalCluster, config: Path, load: Load, steps: Steps) -> Stage:
    return Stage(
        cluster=cluster,
        submit=partial(_submit, cluster, load),
        controller=partial(_controller, cluster, config),
        pause=partial(_pause, cluster),
        profiles=partial(_profiles, cluster),
        progress=steps,
    )


def _submit(cluster: LocalCluster, load: Load) -> Callable[[], Mapping[str, Sample]]:
    from stormcut.lab.adapters.bench.reports import newest_of_processes
    from stormcut.lab.adapters.storm.topology_site import local_site

    options = {
        **OPTIONS,
        "rate": ",".join(f"{rate:g}" for rate in load.rates),
        "step.seconds": load.step_s,
        "shift.seconds": load.shift_s,
    }
    reports = local_site(cluster).submit(story.TOPOLOGY, story.TOPOLOGY, options)
    return partial(newest_of_processes, reports.folders, {story.SOURCE})


def _controller(cluster: LocalCluster, config: Path) -> AbstractContextManager[ControllerProcess]:
    from stormcut.lab.adapters.processes.controller import controller_process

    return controller_process(cluster, config)


def _pause(cluster: LocalCluster, wanted: bool) -> None:
    from stormcut.adapters.zookeeper.nodes import nodes_at
    from stormcut.adapters.zookeeper.orders import change_orders

    with nodes_at(cluster.zookeeper_address, cluster.auth_file) as nodes:
        nodes.secure()
        change_orders(nodes, lambda orders: replace(orders, is_paused=wanted))


def _profiles(cluster: LocalCluster) -> Mapping[str, Profile]:
    from stormcut.adapters.zookeeper.nodes import nodes_at

    with nodes_at(cluster.zookeeper_address, cluster.auth_file) as nodes:
        return nodes.read_profiles()


def _made(config: Path, load: Load, links: _Links) -> Made:
    from stormcut.adapters.machine.needs import describe
    from stormcut.lab.report.story import Made

    link = (
        f"links of {links.mbit} Mbit/s each way: a network namespace each, token buckets"
        if links.mbit
        else f"links that are NOT LIMITED: {links.why}"
    )
    rates = ", ".join(f"{rate:,.0f}" for rate in load.rates)
    options = ", ".join(f"{key}={value}" for key, value in OPTIONS.items())
    shift = f"; the keys' skew changes after {load.shift_s:.0f} s" if load.shift_s else ""
    return Made(
        config.read_text(encoding="utf-8"),
        {
            "cluster": f"Storm 1.2.4, {SUPERVISORS} supervisors of {SLOTS} slots on one machine, "
            f"each declared to hold {MAX_EXECUTORS} executors, with {link}",
            "topology": f"{story.TOPOLOGY} with {options}",
            "load": f"{rates} tuples/s, {load.step_s:.0f} s each, the last one from then on{shift}",
            "windows": f"{story.WINDOW_S:.0f} s each, when tuples flow again under a placement",
            "machine": describe(),
            "made by": f"scripts/demo of stormcut {__version__}, {time.strftime('%Y-%m-%d')}",
        },
    )


def _write(path: Path, text: str) -> None:
    from stormcut.adapters.files.json_document import write_text

    write_text(path, text)
