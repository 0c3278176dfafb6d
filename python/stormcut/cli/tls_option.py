"""The option of every command that talks to a brain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from stormcut.adapters.tls.channel import Tls


def _tls(ctx: click.Context, param: click.Parameter, value: Path | None) -> Tls | None:
    return None if value is None else Tls(value)


def tls_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--tls``, also read from the environment."""
    return click.option(
        "--tls",
        envvar="STORMCUT_TLS",
        show_envvar=True,
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        callback=_tls,
        help="Folder of `stormcut certs issue`: talk TLS, with its certificate. Plain without it.",
    )(command)
