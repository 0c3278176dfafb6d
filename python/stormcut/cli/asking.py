"""How commands that only read find a brain: by ZooKeeper and the auth file, or by its address."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from stormcut.adapters.thrift.brain import ANY_BRAIN, VIEWERS
from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.cli.addresses import Address, given_address
from stormcut.cli.previews import PLAN_SECONDS, await_description, leading_brain
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options


@dataclass(frozen=True)
class Asked:
    """Who is asked: the brain that leads, and ZooKeeper's nodes, None with ``--brain``."""

    brain: BrainClient
    nodes: StormcutNodes | None


#: Yields who is asked.
Asking = Callable[[], AbstractContextManager[Asked]]


def asking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--brain`` and the options of `zookeeper_options` and `tls_option`; pass on ``ask``."""

    @functools.wraps(command)
    def asking(
        brain: Address | None,
        zookeeper: str | None,
        auth_file: Path | None,
        root: str,
        tls: Tls | None,
        **others: Any,
    ) -> None:
        if brain is not None:
            if tls is None:
                raise click.UsageError("--brain needs --tls: a certificate of the role view")
            ask = functools.partial(_viewing, brain, tls)
        elif zookeeper is None or auth_file is None:
            missing = "--zookeeper" if zookeeper is None else "--auth-file"
            raise click.UsageError(f"Missing option '{missing}', or --brain with --tls.")
        else:
            ask = functools.partial(_operating, zookeeper, auth_file, root, tls)
        command(ask=ask, **others)

    with_brain = click.option(
        "--brain",
        metavar="HOST:PORT",
        callback=given_address,
        help="Ask this brain, with a certificate of the role view: neither ZooKeeper nor the auth"
        " file is needed then.",
    )
    return with_brain(zookeeper_options(tls_option(asking), required=False))


@contextmanager
def _viewing(brain: Address, tls: Tls) -> Iterator[Asked]:
    client = BrainClient(ANY_BRAIN, VIEWERS, brain.host, brain.port, PLAN_SECONDS, tls)
    await_description(client)
    yield Asked(client, None)


@contextmanager
def _operating(zookeeper: str, auth_file: Path, root: str, tls: Tls | None) -> Iterator[Asked]:
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, root)
        yield Asked(leading_brain(nodes, tls), nodes)
