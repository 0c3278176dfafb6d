"""Help says something: every option, what its value is, and whole sentences in lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from stormcut.cli.main import cli

#: What click shows where nobody has said what a value is.
TYPES = {"TEXT", "FLOAT", "PATH", "INTEGER", "FILENAME", "DIRECTORY"}
MIN_WORDS = 3


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, f"{path} {name}")


EVERY = dict(commands(cli, "stormcut"))


@pytest.mark.parametrize("path", EVERY)
def test_every_option_says_what_it_does_and_what_its_value_is(path: str) -> None:
    command = EVERY[path]
    context = click.Context(command, info_name=path)
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden:
            continue
        assert len((option.help or "").split()) >= MIN_WORDS, option.opts
        if not option.is_flag:
            value = option.make_metavar(context)
            assert not set(value.replace("|", " ").split()) & TYPES, option.opts


@pytest.mark.parametrize("path", [p for p, c in EVERY.items() if isinstance(c, click.Group)])
@pytest.mark.parametrize("width", [80, 120])
def test_lists_of_commands_are_not_cut_off(path: str, width: int) -> None:
    command = EVERY[path]
    context = click.Context(command, info_name=path, terminal_width=width, max_content_width=width)
    # Examples are lines to type, as they are.
    example = re.compile(r"\s+(stormcut|eval) ")
    lines = [line for line in command.get_help(context).splitlines()[1:] if not example.match(line)]
    assert not any("..." in line for line in lines)
    assert max(map(len, lines)) <= width
