"""Groups of commands: each command's first sentence is shown whole."""

from __future__ import annotations

import click

#: No first sentence is longer.
MAX_SENTENCE = 300


class Group(click.Group):
    """A group whose help wraps what click would cut off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the first sentence of each one's help."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        lines = [(name, summary(each)) for name, each in found if each is not None]
        if lines:
            with formatter.section("Commands"):
                formatter.write_dl(lines)


def summary(command: click.Command) -> str:
    """Return the first sentence of a command's help."""
    return command.get_short_help_str(limit=MAX_SENTENCE)
