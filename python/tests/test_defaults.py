"""Every default that a page or a help text names is the one in the code.

A line that names a default must be told by one of the claims below, with what the code says; a new
one without a claim fails, and so does a claim that no page makes any more.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from stormcut.adapters.machine.home import checkout
from stormcut.adapters.zookeeper.paths import DEFAULT_ROOT
from stormcut.capacity.options import UTILISATION
from stormcut.cli.main import COMMANDS, cli
from stormcut.control.decide.adviser import KEEP, Settings
from stormcut.lab.adapters.storm.topology_project import load
from stormcut.lab.cli.bench import SCHEDULERS
from stormcut.model.problem import DEFAULT_CPU_PERCENT, DEFAULT_MEMORY_MB
from stormcut.objective.congestion import IDLE
from stormcut.objective.order import ENOUGH_ROOM, TOLERANCE
from stormcut.placement.algorithms import p_scheduler
from stormcut.placement.algorithms.cut.judges import TRAVEL
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.placement.registry import ALGORITHMS

ROOT = checkout() or Path()
PAGES = sorted([ROOT / "README.md", ROOT / "topologies" / "README.md", *ROOT.glob("docs/*.md")])

#: Talk of defaults, but of none of stormcut's: Storm's scheduler, names of clusters and streams.
OF_OTHERS = re.compile(
    r"Storm's (own )?default|default[ -]scheduler|DefaultScheduler|`default`|--docker default"
    r'|docker/default|words:default|"default"|/default\b|With the defaults \('
    r"|name (is|of the cluster).*default|[Ee]very key with its default|the default is taken"
    r"|^\| (key|option) \| default \||the default heap|as long as by default|none for the default$"
)


def java(key: str) -> str:
    """Return the default of a number among the plugin's keys, as its Java source has it."""
    for source in (ROOT / "storm-plugin").glob("*/src/main/java/**/*Config.java"):
        text = source.read_text(encoding="utf-8")
        if name := re.search(rf'String (\w+) = "{re.escape(key)}"', text):
            (number,) = re.findall(rf"(?:integer|bool)\(conf, {name[1]},.*?([\w_]+)\);", text)
            return number.replace("_", "")
    raise AssertionError(f"no Java source knows {key}")


def fallback() -> str:
    """Return the scheduler that decides without a plan, as the plugin's Java source has it."""
    source = next((ROOT / "storm-plugin").glob("*/src/main/java/**/StormcutScheduler.java"))
    (name,) = re.findall(r"IScheduler storm = new (\w+)\(\)", source.read_text(encoding="utf-8"))
    return str(name)


def percent(share: float) -> str:
    return f"{100 * share:g}"


def number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


#: What a line says, and what its groups must be.
CLAIMS: list[tuple[str, tuple[str, ...]]] = [
    (r"`stormcut\.zookeeper\.root` \(default `(\S+)`\)", (DEFAULT_ROOT,)),
    (r"`stormcut\.zookeeper\.root` \| `(\S+)`", (DEFAULT_ROOT,)),
    *(
        (rf"`{re.escape(key)}` \| `?(\w+)`? \|", (java(key),))
        for key in (
            "stormcut.enabled",
            "stormcut.brain.deadline.ms",
            "stormcut.hook.interval.secs",
            "stormcut.hook.byte.sample.every",
            "stormcut.hook.busy.per.sec",
        )
    ),
    (r"`stormcut\.fallback\.scheduler` \| Storm's (\w+)", (fallback(),)),
    (r"CPU of an executor .* (\d+) points by default", (number(DEFAULT_CPU_PERCENT),)),
    (r"unless that is Storm's default of (\d+) MB", (number(DEFAULT_MEMORY_MB),)),
    (r"`--min-gain` \((\d+) %\)", (percent(Settings.min_gain),)),
    (r"The brain asks `([\w-]+)` \(`--algorithm`", (Settings.algorithm,)),
    (r"`cut` may use (\d+) % of a node's CPU", (percent(p_scheduler.Options.cpu_share),)),
    (r"where everything goes, by `([\w-]+)`", (DEFAULT_ALGORITHM,)),
    (r"congestion, down to ([\d.]+), times 1 \+ ([\d.]+) x", (number(IDLE), number(TRAVEL))),
    (r"Head-room, up to (\d)\.", (number(ENOUGH_ROOM),)),
    (r"differs by less than (\d+) % does not", (percent(TOLERANCE),)),
    (r"`stormcut\.workers` \| none \| `(\w+)`, also if left out", (KEEP,)),
    (r"`--utilisation`, ([\d.]+) if left out", (f"{UTILISATION:g}",)),
    *(
        (rf"^\| `{re.escape(name)}` \| ([\w.]+) \|", (number(option.default),))
        for name, option in load("word_count").options.items()
        if name not in ("data", "results")
    ),
]

#: The same of help texts, in which click itself prints every option's own default.
HELP_CLAIMS: list[tuple[str, tuple[str, ...]]] = [
    (r"Default: (\w+), and the setting's", ({8: "eight"}.get(len(SCHEDULERS), "?"),)),
    (r"default: the setting|default: free|default: bench-SETTING", ()),
    (r"The default is a size for two cores", ()),
]


def told(lines: Iterator[str], claims: list[tuple[str, tuple[str, ...]]]) -> tuple[set[int], list]:
    """Return the claims that lines make, and the lines that name a default without one."""
    made, untold = set(), []
    for line in lines:
        found = [(at, m) for at, (words, _) in enumerate(claims) if (m := re.search(words, line))]
        for at, match in found:
            assert match.groups() == claims[at][1], line
            made.add(at)
        if not found and re.search(r"\bdefault", OF_OTHERS.sub("", line), re.IGNORECASE):
            untold.append(line)
    return made, untold


def lines_of_pages() -> Iterator[str]:
    for page in PAGES:
        yield from page.read_text(encoding="utf-8").splitlines()


def help_texts() -> Iterator[str]:
    """Every command's description and options' help, and those of every algorithm's options."""

    def walk(command: click.Command) -> Iterator[str]:
        helps = (getattr(each, "help", None) or "" for each in command.params)
        texts = [command.help or "", *helps]
        yield from (" ".join(text.split()) for text in texts)
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), name)
                assert found is not None
                yield from walk(found)

    yield from walk(cli)
    for algorithm in ALGORITHMS.values():
        for field in dataclasses.fields(algorithm.options):
            yield str(field.metadata.get("help", ""))


@pytest.mark.parametrize(
    ("lines", "claims"),
    [(lines_of_pages, CLAIMS), (help_texts, HELP_CLAIMS)],
    ids=["pages", "help"],
)
def test_every_default_that_is_named_is_that_of_the_code(lines: Any, claims: Any) -> None:
    made, untold = told(lines(), claims)
    assert not untold, f"defaults named that no claim in {Path(__file__).name} checks: {untold}"
    stale = [claims[at][0] for at in set(range(len(claims))) - made]
    assert not stale, f"claims that no text makes any more: {stale}"


def options_with_values(command: click.Command) -> Iterator[click.Option]:
    for option in command.params:
        if isinstance(option, click.Option) and not (option.is_flag or option.hidden):
            yield option


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_shows_the_default_of_every_option_that_has_one(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)  # type: ignore[attr-defined]
    assert command is not None
    if isinstance(command, click.Group):
        parts = [(f"{name} {each}", command.commands[each]) for each in command.commands]
    else:
        parts = [(name, command)]
    for path, each in parts:
        text = " ".join(CliRunner().invoke(cli, [*path.split(), "--help"]).output.split())
        for option in options_with_values(each):
            given = option.get_default(click.Context(each))
            # Without a default click has None or a mark of its own.
            if option.multiple or not isinstance(given, str | int | float | Path):
                continue
            shown = "".join(text.split())
            assert f"default:{str(given).replace(' ', '')}" in shown, f"{path} {option.name}"
