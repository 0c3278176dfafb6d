"""Schedulers by name: stormcut's algorithms, and commands of the user's own."""

from __future__ import annotations

from collections.abc import Mapping

import click

from stormcut.adapters.processes.scheduler_command import SchedulerCommand
from stormcut.application.compare import Contender, Scheduler
from stormcut.model.errors import InvalidInput

#: By name, in the order given.
Commands = Mapping[str, SchedulerCommand]


def _parsed(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> Commands:
    commands: dict[str, SchedulerCommand] = {}
    for text in texts:
        command = SchedulerCommand.parse(text)
        if command.name in commands:
            raise InvalidInput(f"{command.name} is given twice", "--command")
        commands[command.name] = command
    return commands


commands = click.option(
    "--command",
    "commands",
    multiple=True,
    metavar="NAME=COMMAND",
    callback=_parsed,
    help="A scheduler of your own: `COMMAND PROBLEM --seed N --output PLACEMENT`.",
)


def scheduler_of(name: str, commands: Commands) -> Scheduler:
    """Return the scheduler of a name such as ``cut:balance=2``, or of a command.

    Raises
    ------
    InvalidInput
        There is none, or its options are not allowed.
    """
    return commands[name] if name in commands else Contender.parse(name)
