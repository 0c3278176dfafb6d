"""What the shell can complete: names of algorithms, topologies, settings, nodes."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from stormcut.model.errors import StormcutError

Completion = Callable[[click.Context, click.Parameter, str], list[str]]

#: Nobody waits longer for a shell.
PATIENCE_S = 0.5


def algorithms(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last of algorithms that are separated by commas."""
    from stormcut.placement.registry import ALGORITHMS

    return _listed(ALGORITHMS, incomplete)


def algorithm_options(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete ``KEY=`` of the algorithm that was named before, or of the default one."""
    from stormcut.placement.registry import ALGORITHMS
    from stormcut.placement.solve import DEFAULT_ALGORITHM

    chosen = ALGORITHMS.get(ctx.params.get("algorithm") or DEFAULT_ALGORITHM)
    keys = [f"{each.name}=" for each in fields(chosen.options)] if chosen else []
    return [key for key in keys if key.startswith(incomplete)]


def topology_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of benchmark topologies, separated by commas."""
    from stormcut.adapters.storm.topology_project import names

    return _listed(names(), incomplete)


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of the bench's settings."""
    from stormcut.adapters.bench.setting import names

    return _listed(names(), incomplete)


def running(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the topologies of the last plan, as ZooKeeper has it."""
    return _listed(
        (line["topology"] for plan in _plans(ctx) for line in _topologies(plan)), incomplete
    )


def nodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the hosts of the last plan, as ZooKeeper has it."""
    return _listed((each for plan in _plans(ctx) for each in _hosts(plan)), incomplete)


def _topologies(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from plan["topologies"]
    yield from plan["declined"]


def _hosts(plan: dict[str, Any]) -> Iterable[str]:
    # Plans of older brains have none.
    hosts: dict[str, str] = plan.get("hosts", {})
    return hosts.values()


def _listed(names: Iterable[str], incomplete: str) -> list[str]:
    *before, last = incomplete.split(",")
    head = ",".join([*before, ""]) if before else ""
    return [f"{head}{name}" for name in sorted(set(names)) if name.startswith(last)]


def _plans(ctx: click.Context) -> list[dict[str, Any]]:
    """Return the last plan; none where ZooKeeper is not named, or does not answer at once."""
    servers = ctx.params.get("zookeeper") or os.environ.get("STORMCUT_ZOOKEEPER", "")
    auth_file = ctx.params.get("auth_file") or os.environ.get("STORMCUT_AUTH_FILE", "")
    if not (servers and auth_file and _answers(servers)):
        return []
    from stormcut.adapters.zookeeper.client import connected, read_auth_file
    from stormcut.adapters.zookeeper.nodes import DEFAULT_ROOT, StormcutNodes

    found: list[dict[str, Any]] = []
    with suppress(StormcutError), connected(servers, read_auth_file(Path(auth_file))) as client:
        found = StormcutNodes(client, ctx.params.get("root") or DEFAULT_ROOT).read_history(1)
    return found


def _answers(servers: str) -> bool:
    for server in servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S).close()
        except (OSError, ValueError):
            continue
        return True
    return False
