"""The options of every command that talks to ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from stormcut.adapters.zookeeper.paths import DEFAULT_ROOT, check_root
from stormcut.model.errors import InvalidInput


def _root(ctx: click.Context, param: click.Parameter, value: str) -> str:
    try:
        check_root(value)
    except InvalidInput as error:
        raise click.BadParameter(str(error), ctx, param) from error
    return value


def zookeeper_options(command: Callable[..., Any], required: bool = True) -> Callable[..., Any]:
    """Add ``--zookeeper``, ``--auth-file`` and ``--root``, also read from the environment."""
    options = (
        click.option(
            "--zookeeper",
            required=required,
            envvar="STORMCUT_ZOOKEEPER",
            metavar="HOST:PORT[,...]",
            show_envvar=True,
            help="ZooKeeper servers that stormcut and Storm use.",
        ),
        click.option(
            "--auth-file",
            required=required,
            envvar="STORMCUT_AUTH_FILE",
            type=click.Path(path_type=Path),
            metavar="FILE",
            show_envvar=True,
            help="File with user:password of stormcut's nodes, mode 0600.",
        ),
        click.option(
            "--root",
            default=DEFAULT_ROOT,
            show_default=True,
            callback=_root,
            metavar="/PATH",
            help="Where stormcut's nodes are in ZooKeeper.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
