"""The `stormcut` command: finds the subcommand, turns errors into one line and an exit code."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from difflib import get_close_matches
from importlib import metadata

import click
from click.shell_completion import CompletionItem

from stormcut import __version__
from stormcut.cli.groups import Group, summary_in
from stormcut.cli.interruption import ignore_signals
from stormcut.cli.invocation import command
from stormcut.model.errors import Infeasible, StormcutError

EXIT_INVALID_INPUT = 2
EXIT_INFEASIBLE = 3
EXIT_INTERRUPTED = 130

#: Heading -> subcommand -> module that holds a click command of the module's own name, or
#: module:command. Loaded only when asked for: `stormcut score` must not wait for Spark to load.
GROUPS = {
    "Control a cluster": {
        "operate": "stormcut.cli.operate",
        "brain": "stormcut.cli.brain",
        "status": "stormcut.cli.status",
        "plan": "stormcut.cli.plan",
        "approve": "stormcut.cli.orders:approve",
        "undo": "stormcut.cli.undo",
        "stop": "stormcut.cli.undo:stop",
        "release": "stormcut.cli.undo:release",
        "publish": "stormcut.cli.publish",
        "pause": "stormcut.cli.orders:pause",
        "resume": "stormcut.cli.orders:resume",
        "drain": "stormcut.cli.orders:drain",
        "undrain": "stormcut.cli.orders:undrain",
        "history": "stormcut.cli.history",
        "config": "stormcut.cli.config",
    },
    "What if": {
        "import": "stormcut.cli.import_",
        "place": "stormcut.cli.place",
        "compare": "stormcut.cli.compare",
        "score": "stormcut.cli.score",
        "simulate": "stormcut.cli.simulate",
        "explain": "stormcut.cli.explain",
        "check": "stormcut.cli.check",
        "capacity": "stormcut.cli.capacity",
        "algorithms": "stormcut.cli.algorithms",
    },
    "Set up": {
        "plugin": "stormcut.cli.plugin",
        "certs": "stormcut.cli.certs",
        "rotate": "stormcut.cli.rotate",
        "doctor": "stormcut.cli.doctor",
    },
    "Try and measure": {
        "demo": "stormcut.lab.cli.demo",
        "cluster": "stormcut.lab.cli.cluster",
        "docker": "stormcut.lab.cli.docker",
        "topologies": "stormcut.lab.cli.topologies",
        "profile": "stormcut.cli.profile",
        "bench": "stormcut.lab.cli.bench",
        "model": "stormcut.lab.cli.model",
        "calibrate": "stormcut.lab.cli.calibrate",
        "reproduce": "stormcut.lab.cli.reproduce",
        "schedule": "stormcut.lab.cli.schedule",
    },
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}

#: What people call them elsewhere.
OTHER_NAMES = {"apply": "approve", "rollback": "undo"}


class LazyGroup(Group):
    """A click group that imports a subcommand when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all subcommand names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a subcommand, None if there is none of that name."""
        cmd_name = OTHER_NAMES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            if near := get_close_matches(cmd_name, COMMANDS, 1):
                ctx.fail(f"No such command '{cmd_name}': did you mean {near[0]}?")
            return None
        module, function = _where(cmd_name)
        loaded: click.Command = getattr(importlib.import_module(module), function)
        return loaded

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the subcommands and options that begin so; no subcommand is imported."""
        names = (name for name in self.list_commands(ctx) if name.startswith(incomplete))
        commands = [CompletionItem(name, help=summary_in(*_where(name))) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings: all of them fit one screen of 80 x 50."""
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary_in(*_where(name))) for name in names])


def _where(command_name: str) -> tuple[str, str]:
    """Return the module and the function of a subcommand."""
    module, _, function = COMMANDS[command_name].partition(":")
    return module, function or module.rpartition(".")[2]


def _tell_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the version, and that of the protocol which brain and plugin must share."""
    if is_asked and not context.resilient_parsing:
        # Thrift takes a moment to import: only for this.
        from stormcut.adapters.thrift.values import PROTOCOL_VERSION

        click.echo(f"stormcut {__version__} (plugin protocol {PROTOCOL_VERSION})")
        context.exit()


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""\b
    Co-locate the executors of Apache Storm that exchange the most tuples.
    Example: stormcut place problem.json --output placement.json
    """,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Show the version and the protocol version of the plugin, and exit.",
)
def cli() -> None:
    """Run the command line: its help fits a screen, which a blank line more would not."""


def main() -> None:
    """Run the command line; a user's mistake ends in one line on standard error."""
    if not sys.warnoptions:
        # Libraries' words about each other are for developers: `python -W default` has them.
        warnings.simplefilter("ignore")
    try:
        sys.exit(cli.main(standalone_mode=False))
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "stormcut"
        what = " ".join(error.format_message().split()).rstrip(".")
        _fail(f"{what} (see {where} --help)", error.exit_code)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except Infeasible as error:
        _fail(str(error), EXIT_INFEASIBLE)
    except StormcutError as error:
        _fail(str(error), EXIT_INVALID_INPUT)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        extra = _extra_with(module)
        if extra is None:
            raise
        _fail(f"this needs {module}: pip install 'stormcut[{extra}]'", EXIT_INVALID_INPUT)
    except (click.Abort, KeyboardInterrupt):
        ignore_signals()
        _fail("interrupted", EXIT_INTERRUPTED)


def _extra_with(module: str) -> str | None:
    """Return the extra of stormcut that brings a module, as the installed package declares."""
    named = re.compile(rf"{re.escape(module)}\b.*extra == \W(\w+)")
    matches = (named.match(line) for line in metadata.requires("stormcut") or ())
    return next((match[1] for match in matches if match), None)


def _fail(message: str, code: int) -> None:
    # Errors name commands as `stormcut ...`, whatever it takes here to call it.
    typed = re.sub(r"(`|see )stormcut(?= )", lambda match: f"{match[1]}{command()}", message)
    click.echo(f"stormcut: {typed}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
