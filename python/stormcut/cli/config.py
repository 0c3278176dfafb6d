"""`stormcut config`: the controller's file, made and checked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stormcut.cli.groups import Group
from stormcut.cli.outputs import OutputFile
from stormcut.model.errors import InvalidInput

if TYPE_CHECKING:
    from stormcut.adapters.files.config_file import Config


@click.group(cls=Group)
def config() -> None:
    """Make, check or show the file of `stormcut operate`.

    \b
    Example:
      stormcut config init stormcut.yaml
      stormcut config check stormcut.yaml
    """


@config.command()
@click.argument("file", type=OutputFile(), default="stormcut.yaml")
def init(file: Path) -> None:
    """Write FILE (stormcut.yaml if none is named): every key, its value unless set, what it means.

    \b
    Example:
      stormcut config init /etc/stormcut.yaml
    """
    from stormcut.adapters.files.config_example import example

    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as written:
            written.write(example())
    except FileExistsError as error:
        raise InvalidInput("is there already: choose another name", str(file)) from error
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error.strerror}", str(file)) from error
    click.echo(f"{file}: set zookeeper and observe.logs, then: stormcut config check {file}")


@config.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON; faults are words as ever.")
@click.option("--offline", is_flag=True, help="Read the file alone: ask neither disk nor cluster.")
def check(config: Path, as_json: bool, offline: bool) -> None:
    """Read CONFIG as `stormcut operate` would, and say what it would do, or every fault.

    Looks, too, whether the folders of logs are there, ZooKeeper answers and takes the secret,
    Nimbus answers where it is named, and Nimbus, or the brain that leads, knows the drained nodes.

    \b
    Example:
      stormcut config check stormcut.yaml
      stormcut config check --offline stormcut.yaml   # before anything runs
    """
    from stormcut.adapters.files.config_file import read_config
    from stormcut.cli.surroundings import faults_around

    chosen = read_config(config)
    if not offline and (faults := list(faults_around(chosen))):
        raise InvalidInput("; ".join(faults), str(config))
    words = described(chosen)
    click.echo(
        json.dumps({"fine": True, "does": words}) if as_json else f"{config} is fine: {words}"
    )


@config.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, times in seconds.")
def show(config: Path, as_json: bool) -> None:
    """Print every key with the value that counts, of CONFIG or as it is unless set.

    \b
    Example:
      stormcut config show stormcut.yaml
    """
    from stormcut.adapters.files.config_example import shown
    from stormcut.adapters.files.config_file import effective

    values = effective(config)
    click.echo(json.dumps(values, indent=2) if as_json else shown(values))


def described(config: Config) -> str:
    """Return in a line what a configuration makes the controller do."""
    deeds = {
        "advise": "only advises",
        "approve": "waits for `stormcut approve`",
        "automatic": "acts by itself",
    }
    sources = [*map(str, config.logs)]
    if (topic := config.kafka) is not None:
        sources.append(f"topic {topic.topic} of Kafka at {topic.servers}")
    measured = ", ".join(sources) or "no logs here"
    return (
        f"{config.settings.algorithm}, policy {config.policy.rule.value}, "
        f"{deeds[config.policy.mode.value]}; ZooKeeper {config.zookeeper}; measures {measured}"
    )
