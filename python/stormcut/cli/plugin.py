"""`stormcut plugin`: put the plugin into a Storm home, and take it out."""

from __future__ import annotations

from pathlib import Path

import click

_HOME = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group()
def plugin() -> None:
    """Install stormcut's plugin into Storm's own folders, or remove it without a trace.

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
    help="On Nimbus's machine: file with user:password, as Nimbus sees it.",
)
def install(storm_homes: tuple[Path, ...], auth_file: str | None) -> None:
    """Put the jars and, with --auth-file, Nimbus's keys into STORM_HOMES; then restart Nimbus.

    conf/storm.yaml gets one marked block; what else is in the file stays as it is.

    \b
    Example:
      stormcut plugin install /opt/storm --auth-file /etc/stormcut.auth
    """
    from stormcut.adapters import plugin
    from stormcut.adapters.home import plugin_jars

    jars = plugin_jars()
    for home in storm_homes:
        plugin.install(home, jars, auth_file)
        what = "hook" if auth_file is None else "scheduler, hook and keys"
        click.echo(f"{home}: {what} installed")
    if auth_file is not None:
        click.echo("Restart Nimbus for it to take effect.")


@plugin.command()
@click.argument("storm_homes", nargs=-1, required=True, type=_HOME)
@click.option(
    "--hook",
    is_flag=True,
    help="Also the hook. Topologies that were submitted with it do not start without.",
)
def remove(storm_homes: tuple[Path, ...], hook: bool) -> None:
    """Take the scheduler and the keys out of STORM_HOMES; then restart Nimbus.

    \b
    Example:
      stormcut plugin remove /opt/storm
    """
    from stormcut.adapters import plugin

    for home in storm_homes:
        for each in plugin.remove(home, hook) or ["nothing to remove"]:
            click.echo(f"{home}: {each}")
