"""The options of every command that shows what will follow before it acts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def preview_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--yes`` and ``--json``."""
    command = click.option(
        "--json", "as_json", is_flag=True, help="Print what follows as JSON, and ask nothing."
    )(command)
    return click.option("--yes", is_flag=True, help="Act without asking.")(command)


def override_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--override``."""
    return click.option(
        "--override",
        metavar="REASON",
        help="Override the guards that hold it; the history records the reason.",
    )(command)
