"""What the shell can complete: names of algorithms, and of what runs on a cluster."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stormcut.model.errors import StormcutError

if TYPE_CHECKING:
    from stormcut.adapters.zookeeper.nodes import StormcutNodes

Completion = Callable[[click.Context, click.Parameter, str], list[str]]

#: Seconds: nobody waits longer for a shell.
PATIENCE_S, ANSWER_S = 0.5, 2.0


def algorithms(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last of algorithms that are separated by commas."""
    from stormcut.placement.registry import ALGORITHMS

    return listed(ALGORITHMS, incomplete)


def algorithm_options(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete ``KEY=`` of the algorithm that was named before, or of the default one."""
    from stormcut.placement.options import DEFAULT_ALGORITHM
    from stormcut.placement.registry import ALGORITHMS

    chosen = ALGORITHMS.get(ctx.params.get("algorithm") or DEFAULT_ALGORITHM)
    keys = [f"{each.name}=" for each in fields(chosen.options)] if chosen else []
    return [key for key in keys if key.startswith(incomplete)]


def running(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the topologies of the last plan, as ZooKeeper has it."""
    return listed(_asked(ctx, _topologies), incomplete)


def nodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the hosts of the cluster, as the leading brain knows them."""
    return listed(_asked(ctx, _hosts), incomplete)


def _topologies(ctx: click.Context, nodes: StormcutNodes) -> Iterator[str]:
    for plan in nodes.read_history(1):
        yield from (line["topology"] for line in (*plan["topologies"], *plan["declined"]))


def _hosts(ctx: click.Context, nodes: StormcutNodes) -> Iterator[str]:
    from stormcut.adapters.zookeeper.leader import leaders_client

    if leader := leaders_client(nodes, ANSWER_S, ctx.params.get("tls")):
        yield from leader.outlook()["nodes"].values()


def listed(names: Iterable[str], incomplete: str) -> list[str]:
    """Return names that complete the last of those that are separated by commas."""
    *before, last = incomplete.split(",")
    head = ",".join([*before, ""]) if before else ""
    return [f"{head}{name}" for name in sorted(set(names)) if name.startswith(last)]


def _asked(
    ctx: click.Context, ask: Callable[[click.Context, StormcutNodes], Iterable[str]]
) -> list[str]:
    """Return what is found; nothing where ZooKeeper is not named, or does not answer at once."""
    servers = ctx.params.get("zookeeper") or os.environ.get("STORMCUT_ZOOKEEPER", "")
    auth_file = ctx.params.get("auth_file") or os.environ.get("STORMCUT_AUTH_FILE", "")
    if not (servers and auth_file and _answers(servers)):
        return []
    from stormcut.adapters.zookeeper.client import connected, read_auth_file
    from stormcut.adapters.zookeeper.nodes import StormcutNodes
    from stormcut.adapters.zookeeper.paths import DEFAULT_ROOT

    values: list[str] = []
    with suppress(StormcutError), connected(servers, read_auth_file(Path(auth_file))) as client:
        values = list(ask(ctx, StormcutNodes(client, ctx.params.get("root") or DEFAULT_ROOT)))
    return values


def _answers(servers: str) -> bool:
    for server in servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S).close()
        except (OSError, ValueError):
            continue
        return True
    return False
