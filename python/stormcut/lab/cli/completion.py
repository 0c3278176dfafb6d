"""What the shell can complete of the laboratory: benchmark topologies, and settings of a bench."""

from __future__ import annotations

import click

from stormcut.cli.completion import listed


def topology_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of benchmark topologies, separated by commas."""
    from stormcut.lab.adapters.storm.topology_project import names

    return listed(names(), incomplete)


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of the bench's settings."""
    from stormcut.lab.adapters.bench.setting import names

    return listed(names(), incomplete)
