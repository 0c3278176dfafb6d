"""`stormcut certs`: a private authority for mutual TLS between Nimbus, brains and people."""

from __future__ import annotations

from pathlib import Path

import click

from stormcut.adapters.tls.authority import Authority, Issued
from stormcut.adapters.tls.channel import REVOKED, Role
from stormcut.cli.groups import Group
from stormcut.cli.numbers import Whole
from stormcut.cli.outputs import OutputFolder
from stormcut.report.terminal import Grid, terminal

_MAX_DAYS = 36500


@click.group(cls=Group)
def certs() -> None:
    """Make and revoke certificates of Nimbus, brains and people.

    FOLDER is the authority: keep it on no machine that strangers reach, and a copy elsewhere.

    \b
    Example:
      stormcut certs init authority
      stormcut certs issue authority brain-1 --role brain --host brain-1.example.org
      stormcut certs issue authority nimbus-1 --role nimbus
      stormcut certs show authority
    """


@certs.command()
@click.argument("folder", type=OutputFolder())
@click.option(
    "--days",
    default=3650,
    show_default=True,
    type=Whole(1, _MAX_DAYS),
    help="How long the authority holds, and so its list of revocations.",
)
def init(folder: Path, days: int) -> None:
    """Make an authority in FOLDER, which must be new or empty.

    \b
    Example:
      stormcut certs init authority
    """
    Authority.made(folder, days)
    click.echo(f"{folder}: whoever reads ca.key in it can pass for every brain and Nimbus")


@certs.command()
@click.argument("folder", type=OutputFolder())
@click.argument("name")
@click.option(
    "--role",
    required=True,
    type=click.Choice([str(each) for each in Role]),
    help="brain: answers; nimbus: asks for plans; operate: asks what stands behind them, with the"
    " auth file; view: the same without it.",
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Name or address of a brain in URLs, for browsers and Prometheus; may be repeated.",
)
@click.option(
    "--days",
    default=365,
    show_default=True,
    type=Whole(1, _MAX_DAYS),
    help="How long it holds; not longer than the authority.",
)
def issue(folder: Path, name: str, role: str, hosts: tuple[str, ...], days: int) -> None:
    """Make the folder NAME in FOLDER: what one machine or person needs, to be moved there whole.

    \b
    Example:
      stormcut certs issue authority nimbus-1 --role nimbus
      stormcut certs issue authority brain-1 --role brain --host brain-1.example.org --days 90
    """
    made = Authority(folder).issue(name, Role(role), hosts, days)
    click.echo(f"{folder / name}: {made.role}, until {_moment(made)}; move it there, mode 0700")


@certs.command()
@click.argument("folder", type=OutputFolder())
@click.argument("name")
def revoke(folder: Path, name: str) -> None:
    """Take the certificate NAME back. Others know it once they have the new crl.pem.

    \b
    Example:
      stormcut certs revoke authority nimbus-1
    """
    Authority(folder).revoke(name)
    click.echo(f"copy {folder / REVOKED} into the folder of every brain and Nimbus: no restart")


@certs.command()
@click.argument("folder", type=click.Path(path_type=Path))
def show(folder: Path) -> None:
    """Show every certificate that FOLDER's authority has signed.

    \b
    Example:
      stormcut certs show authority
    """
    table = Grid().name("name").labels("role", "expires", "revoked")
    for each in Authority(folder).issued():
        revoked = f"{each.revoked:%F}" if each.revoked else "-"
        table.row(each.name, each.role, _moment(each), revoked)
    table.print(terminal())


def _moment(issued: Issued) -> str:
    return f"{issued.expires:%F %H:%M} UTC"
