"""Groups of commands: each command's first sentence is shown whole."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import click

#: No first sentence is longer.
MAX_SENTENCE = 300


class Group(click.Group):
    """A group whose help wraps what click would cut off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the first sentence of each one's help."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        lines = [(name, summary(each)) for name, each in commands if each is not None]
        if lines:
            with formatter.section("Commands"):
                formatter.write_dl(lines)


def summary(command: click.Command) -> str:
    """Return the first sentence of a command's help."""
    return command.get_short_help_str(limit=MAX_SENTENCE)


def summary_in(module: str, function: str) -> str:
    """Return the first sentence of a command's help without loading what the command needs.

    Parameters
    ----------
    module, function : str
        Where the command is defined: its docstring is its help.
    """
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    (text,) = (
        ast.get_docstring(each)
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and each.name == function
    )
    return summary(click.Command(function, help=text))
