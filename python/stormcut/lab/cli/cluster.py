"""`stormcut cluster`: a Storm cluster of real daemons on this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.text import Text

from stormcut.cli.groups import Group
from stormcut.cli.interruption import interruptible
from stormcut.cli.invocation import command
from stormcut.cli.numbers import Whole
from stormcut.cli.steps import Steps
from stormcut.lab.cli.storm_settings import storm_settings
from stormcut.model.errors import InvalidInput
from stormcut.report.terminal import Grid, terminal

if TYPE_CHECKING:
    from stormcut.lab.adapters.clusters.local import ClusterStatus

F = TypeVar("F", bound=Callable[..., Any])

_SHOWN_LINES = 50
_FOLLOW_S = 0.3


def _name_option(function: F) -> F:
    return click.option(
        "--name", default="default", show_default=True, metavar="NAME", help="Name of the cluster."
    )(function)


#: Storm 1.x cannot bind Nimbus, nor workers, to one address.
OPEN_TO_ALL = (
    "WARNING: Storm's Nimbus and workers listen on every address of this machine and ask nobody who"
    " they are:\nwhoever reaches their ports can run programs here as this user. Only behind a"
    " firewall, or in a network\nof your own."
)


@click.group(cls=Group)
def cluster() -> None:
    """Run a Storm cluster of real daemons on this machine.

    \b
    Example:
      stormcut cluster up --supervisors 2
      eval "$(stormcut cluster env)"
      stormcut cluster down
    """


@cluster.command()
@_name_option
@click.option(
    "--supervisors",
    default=4,
    show_default=True,
    type=Whole(1),
    help="Number of supervisors.",
)
@click.option(
    "--slots",
    default=4,
    show_default=True,
    type=Whole(1),
    help="Slots of each supervisor.",
)
@click.option("--no-plugin", is_flag=True, help="Leave Storm as it is: its own scheduler, no hook.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A key of storm.yaml.")
def up(name: str, supervisors: int, slots: int, no_plugin: bool, settings: tuple[str, ...]) -> None:
    """Start ZooKeeper, Nimbus and supervisors; return when all have registered.

    --set takes a key of storm.yaml and its value in YAML, and can be repeated. What a crashed
    cluster of the same name left behind is ended and removed first.

    \b
    Example:
      stormcut cluster up --supervisors 2 --slots 4 --set stormcut.hook.interval.secs=10
    """
    from stormcut.lab.adapters.clusters.local import LocalCluster

    config = storm_settings(settings)
    steps = Steps("cluster")
    with (
        interruptible(lambda: LocalCluster.clear(name)),
        steps.step(f"starting Storm 1.2.4: {supervisors} supervisors of {slots} slots") as update,
    ):
        started = LocalCluster.up(
            name, supervisors, slots, plugin=not no_plugin, config=config, progress=update
        )
    option = "" if name == "default" else f" --name {name}"
    click.echo(f"ZooKeeper {started.zookeeper_address}, Nimbus {started.nimbus_address}")
    click.echo(f"Logs and data: {started.folder}")
    click.echo(OPEN_TO_ALL, err=True)
    click.echo(f"Next: {command()} cluster status{option}; {command()} cluster down{option}")


@cluster.command()
@_name_option
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
def status(name: str, as_json: bool) -> None:
    """Show daemons, slots in use and topologies.

    \b
    Example:
      stormcut cluster status --json
    """
    from stormcut.lab.adapters.clusters.local import LocalCluster

    now = LocalCluster.open(name).status()
    if as_json:
        click.echo(json.dumps(asdict(now), indent=2))
        return
    console = terminal()
    _daemon_table(now).print(console)
    console.print(f"{now.processes} processes, {now.memory_mb:.0f} MB resident in all")
    if now.storm is None:
        console.print(f"Nimbus does not answer: {command()} cluster logs nimbus --name {name}")
    elif now.storm.topologies:
        console.print()
        _topology_table(now).print(console)
    else:
        console.print("No topology runs.")


@cluster.command()
@click.argument("daemon", required=False)
@_name_option
@click.option("--follow", is_flag=True, help="Go on with new lines until Ctrl-C.")
def logs(daemon: str | None, name: str, follow: bool) -> None:
    """Show the last lines of a DAEMON's or worker's log; without DAEMON, list the logs.

    \b
    Example:
      stormcut cluster logs nimbus --follow
    """
    from stormcut.lab.adapters.clusters.local import LocalCluster

    files = LocalCluster.open(name).log_files()
    if daemon is None:
        for each, path in files.items():
            click.echo(f"{each}\t{path}")
        return
    if daemon not in files:
        raise InvalidInput(f"has no log; there are {', '.join(files)}", daemon)
    _show_log(files[daemon], follow)


@cluster.command()
@_name_option
def env(name: str) -> None:
    """Print export lines that point stormcut's other commands at this cluster.

    \b
    Example:
      eval "$(stormcut cluster env)"
    """
    from stormcut.lab.adapters.clusters.local import LocalCluster

    click.echo(LocalCluster.open(name).exports())


@cluster.command()
@click.argument("daemon")
@_name_option
def restart(daemon: str, name: str) -> None:
    """End DAEMON and start it again with its configuration as it is now.

    DAEMON is nimbus, zookeeper or supervisor-0 and so on; dead ones are started too. Returns when
    it does its work again. Workers go on: running topologies stay where they are. With zookeeper
    all daemons restart: they cannot do without it, and workers that gave up are started again.

    \b
    Example:
      stormcut cluster restart nimbus
    """
    from stormcut.lab.adapters.clusters.local import LocalCluster

    opened = LocalCluster.open(name)
    opened.daemon(daemon)
    with interruptible(), Steps("cluster").step(f"restarting {daemon} of {name}") as update:
        opened.restart(daemon, update)


@cluster.command()
@_name_option
@click.option("--keep-logs", is_flag=True, help="Keep the logs and say where.")
def down(name: str, keep_logs: bool) -> None:
    """End the cluster with all its topologies, running or crashed, and remove its files.

    \b
    Example:
      stormcut cluster down --keep-logs
    """
    from stormcut.lab.adapters.clusters.local import LocalCluster

    with Steps("cluster").step(f"ending cluster {name}"):
        ended, kept = LocalCluster.clear(name, keep_logs)
    click.echo(f"{ended} processes ended" if ended else "nothing ran")
    if kept:
        click.echo(f"Logs: {kept}")


def _daemon_table(now: ClusterStatus) -> Grid:
    used = _by_host(now)
    table = Grid(f"cluster {now.name}").labels("daemon", "host")
    table.labels("ports").figures("pid").labels("up").figures("MB")
    table.figures("slots\nused")
    for daemon in now.daemons:
        first, last = daemon.ports[0], daemon.ports[-1]
        table.row(
            daemon.name,
            daemon.host,
            str(first) if first == last else f"{first}-{last}",
            str(daemon.pid or ""),
            Text("yes", "green") if daemon.up else Text("no", "red"),
            "" if daemon.memory_mb is None else f"{daemon.memory_mb:.0f}",
            used.get(daemon.host, "") if daemon.name.startswith("supervisor") else "",
        )
    return table


def _by_host(now: ClusterStatus) -> Mapping[str, str]:
    supervisors = now.storm.supervisors if now.storm else ()
    return {each.host: f"{each.used_slots} of {each.slots}" for each in supervisors}


def _topology_table(now: ClusterStatus) -> Grid:
    table = Grid("topologies").name("name").name("id").labels("status")
    table.figures("executors", "workers", "up for")
    for topology in now.storm.topologies if now.storm else ():
        table.row(
            topology.name,
            topology.id,
            topology.status,
            str(topology.executors),
            str(topology.workers),
            f"{topology.uptime_s} s",
        )
    return table


def _show_log(path: Path, follow: bool) -> None:
    with path.open(encoding="utf-8", errors="replace") as log:
        for line in log.readlines()[-_SHOWN_LINES:]:
            click.echo(line, nl=False)
        while follow:
            line = log.readline()
            if line:
                click.echo(line, nl=False)
            else:
                time.sleep(_FOLLOW_S)
