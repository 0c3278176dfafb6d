"""`stormcut plugin`: put the plugin into a Storm home, and take it out."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from stormcut.cli.groups import Group
from stormcut.cli.invocation import command
from stormcut.model.errors import InvalidInput

_HOME = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group(cls=Group)
def plugin() -> None:
    """Install the plugin into Storm's folders, or remove it.

    \b
    Example:
      stormcut plugin install /opt/storm --auth-file /etc/stormcut.auth   # on Nimbus's machine
      stormcut plugin install /opt/storm                                  # on every supervisor's
    """


@plugin.command()
@click.argument("storm_homes", nargs=-1, required=True, type=_HOME)
@click.option(
    "--auth-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="On Nimbus's machine: file with user:password, mode 0600, that Nimbus's user can read.",
)
def install(storm_homes: tuple[Path, ...], auth_file: Path | None) -> None:
    """Put the jars and, with --auth-file, Nimbus's keys into STORM_HOMES; then restart Nimbus.

    conf/storm.yaml gets one marked block; what else is in the file stays as it is. A scheduler
    that it names already (isolation, multitenant, resource-aware, ...) decides wherever no plan
    does, and is back when the plugin is removed. All folders are checked before the first is
    written to.

    \b
    Example:
      stormcut plugin install /opt/storm --auth-file /etc/stormcut.auth
    """
    from stormcut.adapters.machine.home import plugin_jars
    from stormcut.adapters.storm import plugin
    from stormcut.adapters.zookeeper.client import read_auth_file

    secret = None
    if auth_file is not None:
        read_auth_file(auth_file)
        # Nimbus runs in another folder than this command.
        secret = str(auth_file.absolute())
    jars = plugin_jars()
    for home in storm_homes:
        plugin.check(home, secret)
    for home in storm_homes:
        plugin.install(home, jars, secret)
        what = "hook" if secret is None else "scheduler, hook and keys"
        click.echo(f"{home}: {what} installed")
    if secret is None:
        click.echo("No restart is needed: workers that start from now on find the hook.")
    else:
        click.echo(f"Now {_restart(storm_homes)}: running topologies stay where they are.")


@plugin.command()
@click.argument("storm_homes", nargs=-1, required=True, type=_HOME)
@click.option(
    "--hook",
    is_flag=True,
    help="Also the hook's jar. Topologies that were submitted with it do not start without.",
)
@click.option(
    "--force",
    is_flag=True,
    help="With --hook: without asking Nimbus which topologies carry the hook.",
)
def remove(storm_homes: tuple[Path, ...], hook: bool, force: bool) -> None:
    """Take the scheduler and the keys out of STORM_HOMES; then restart Nimbus.

    The hook's jar stays unless --hook is given: topologies submitted while the keys were there
    carry the hook, and their workers do not start without its jar. With --hook, Nimbus is asked
    which do, and nothing is removed if there is one. All folders are checked before the first is
    written to.

    \b
    Example:
      stormcut plugin remove /opt/storm          # then restart Nimbus
      stormcut plugin remove --hook /opt/storm   # once no topology carries the hook
    """
    from stormcut.adapters.storm import plugin

    for home in storm_homes:
        plugin.check_removal(home, hook)
    if hook and not force:
        _refuse_if_carried(storm_homes)
    removed = {}
    for home in storm_homes:
        each = removed[home] = plugin.remove(home, hook)
        click.echo(f"{home}: removed {', '.join(each.taken) or 'nothing'}")
        for jar in each.left:
            click.echo(f"{home}: {jar} stays for topologies that were submitted with the hook")
    if any(each.nimbus for each in removed.values()):
        click.echo(
            f"Now {_restart(storm_homes)}: until then, stormcut's scheduler keeps running."
            " Running topologies stay where they are, but for those packed into fewer workers than"
            " they asked for: Storm spreads them."
        )
    left = [home for home, each in removed.items() if each.left]
    if left:
        homes = " ".join(shlex.quote(str(home)) for home in left)
        click.echo(
            "When all of those are killed or submitted again:"
            f" {command()} plugin remove --hook {homes}"
        )


def _refuse_if_carried(storm_homes: tuple[Path, ...]) -> None:
    """Refuse to take the hook's jar from topologies that do not start without it."""
    from stormcut.adapters.storm import plugin
    from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable

    for storm_home in storm_homes:
        seeds = plugin.nimbuses(storm_home)
        for host, port in seeds:
            nimbus = NimbusClient(host, port)
            try:
                names = [each.name for each in nimbus.cluster().topologies]
                confs = {name: nimbus.topology_conf(name) for name in names}
            except NimbusUnavailable:
                continue
            if carriers := [name for name in names if plugin.carries_hook(confs[name])]:
                raise InvalidInput(
                    f"without the hook, workers of {', '.join(carriers)} would not start again: "
                    "kill these topologies first, or submit them again without it "
                    "(--force: remove it anyway)",
                    str(storm_home),
                )
            break
        else:
            addresses = " and ".join(f"{host}:{port}" for host, port in seeds)
            raise InvalidInput(
                f"Nimbus at {addresses} does not answer, so topologies may carry the hook: start "
                "Nimbus, or remove the hook anyway with --force",
                str(storm_home),
            )


def _restart(storm_homes: tuple[Path, ...]) -> str:
    """Return how to restart Nimbus: one of a local cluster by command."""
    from stormcut.adapters.machine.home import home

    for storm_home in storm_homes:
        cluster = storm_home.resolve().parent
        if storm_home.name == "nimbus" and cluster.parent == home() / "clusters":
            return f"restart Nimbus ({command()} cluster restart nimbus --name {cluster.name})"
    return "restart Nimbus"
