"""`stormcut operate`: the controller. It watches, decides and, where it may, acts."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
def operate(config: Path) -> None:
    """Run the controller as CONFIG says, until a signal ends it.

    It reads the metrics of running topologies as they are written, decides as the brain does, and
    acts as its mode allows. Several may run: one leads. `stormcut config init` makes the file.

    \b
    Example:
      stormcut operate stormcut.yaml
    """
    from stormcut.cli.controller import run

    run(config)
