"""The site: every page of the checkout as it stands, and pages made from the code."""

from __future__ import annotations

from collections.abc import Iterator

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

import stormcut
from stormcut.adapters.files.config_example import example
from stormcut.cli.main import cli

project = "stormcut"
author = "the stormcut authors"
release = stormcut.__version__
extensions = ["myst_parser"]
# The root is the checkout, so that a link works here as it does in the checkout.
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "examples/*.md",
    "benchmarks/*.md",
    "benchmarks/**/*.md",
    "storm-plugin/*.md",
    "topologies/*.md",
    "topologies/**/*.md",
]
exclude_patterns = ["**/.*", "**/target", "**/node_modules"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"stormcut {release}"
html_show_sourcelink = html_copy_source = False
# Pages of single results and of data are reached by links, not by the menu.
suppress_warnings = ["toc.not_included"]


class ConfigKeys(Directive):
    """The controller's file with every key, its default and what it means."""

    def run(self) -> list[nodes.Node]:
        """Return it as YAML."""
        text = example()
        return [nodes.literal_block(text, text, language="yaml")]


class CommandHelp(Directive):
    """The help of every command, a section each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, sorted by name."""
        found: list[nodes.Node] = []
        for name, text in _helps(cli, click.Context(cli, info_name="stormcut", terminal_width=80)):
            section = nodes.section(ids=[nodes.make_id(name)], names=[name])
            section += nodes.title(name, name)
            section += nodes.literal_block(text, text, language="text")
            found.append(section)
        return found


def _helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield path and help of a command and of those below it."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _helps(
                below, click.Context(below, parent=context, info_name=name, terminal_width=80)
            )


def setup(app: Sphinx) -> None:
    """Add what pages ask for."""
    app.add_directive("config-keys", ConfigKeys)
    app.add_directive("command-help", CommandHelp)
