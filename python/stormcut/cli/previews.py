"""What the leading brain knows and previews: asked, shown, and acted on only when told to."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console

from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.leader import leaders_client
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.cli.steps import waiting
from stormcut.control.operations import check_fresh, check_goes_back, held
from stormcut.control.orders import Undo
from stormcut.model.errors import InvalidInput
from stormcut.model.profile import Profile
from stormcut.report.preview import print_preview
from stormcut.report.terminal import terminal

#: Longest that a plan for a large cluster may take.
PLAN_SECONDS = 300.0

#: Nimbus asks every 10 s, as soon as a topology runs.
ROUND_SECONDS = 12.0

EXIT_NOT_WANTED = 1


def leading_brain(nodes: StormcutNodes, tls: Tls | None) -> BrainClient:
    """Return a client of the brain that leads, once Nimbus has described the cluster to it.

    A brain that never gets a description says itself what may be the matter.

    Raises
    ------
    InvalidInput
        None does.
    """
    client = leaders_client(nodes, PLAN_SECONDS, tls)
    if client is None:
        raise InvalidInput(
            "no brain leads: start one with `stormcut operate FILE` or `stormcut brain`", nodes.root
        )
    await_description(client)
    return client


def await_description(client: BrainClient) -> None:
    """Wait until Nimbus has described the cluster to a brain, or long enough that it will not."""
    what = "Nimbus describes the cluster to a new brain"
    with waiting(Console(stderr=True), what), suppress(TimedOut):
        wait_until(lambda: _is_described_or_old(client), ROUND_SECONDS, what)


def _is_described_or_old(client: BrainClient) -> bool:
    health = client.health()
    age_s = time.time() - health.started_ms / 1000
    return bool(health.plans_served > 0 or age_s > ROUND_SECONDS)


@dataclass(frozen=True)
class IntendedOrder:
    """What an operator is about to tell the brain of a topology.

    ``deed`` completes "add --yes to ...", such as "publish the profile"; ``done`` says that it is
    done. ``profile`` and ``undo`` are all that the brain will know of the topology then. With
    ``undo`` the change is refused where the topology would not go back there.
    """

    topology: str
    deed: str
    done: str
    profile: Profile | None
    undo: Undo | None


def preview_and_act(
    nodes: StormcutNodes,
    tls: Tls | None,
    change: IntendedOrder,
    act: Callable[[dict[str, Any] | None], None],
    yes: bool,
    as_json: bool,
) -> None:
    """Show what would follow from a change, and make it if that is wanted.

    With ``yes`` at once; else a terminal is asked, and where there is none nothing is done.

    Raises
    ------
    InvalidInput
        Nothing was done for want of ``yes``, or there is no preview and ``yes`` is not given.
    """
    preview = _preview(nodes, tls, change, yes)
    if change.undo is not None and preview is not None:
        check_goes_back(preview, change.topology)
    asks = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    if not as_json and preview is not None:
        print_preview(terminal(), preview, change.topology)
    wanted = yes or (asks and click.confirm(f"{change.deed}?"))
    if wanted:
        act(preview)
    if as_json:
        click.echo(json.dumps({"done": wanted, "preview": preview}, indent=2))
    elif wanted:
        click.echo(change.done)
        if preview is not None and (withheld := held(preview, change.topology)) is not None:
            click.echo(f"Not now: {withheld['guard']}")
    if wanted:
        return
    if asks:
        click.echo("nothing was changed")
        raise click.exceptions.Exit(EXIT_NOT_WANTED)
    raise InvalidInput(f"nothing was changed; add --yes to {change.deed}", change.topology)


def _preview(
    nodes: StormcutNodes, tls: Tls | None, change: IntendedOrder, yes: bool
) -> dict[str, Any] | None:
    """Return what the brain previews; None, and a line why, if it cannot and that is no matter."""
    try:
        client = leading_brain(nodes, tls)
        with waiting(Console(stderr=True), "the brain computes what would follow"):
            preview = client.preview(change.topology, change.profile, change.undo)
        check_fresh(preview, time.time())
        return preview
    except InvalidInput as error:
        if not yes:
            raise InvalidInput(
                f"no preview: {error}; add --yes to {change.deed} without one", change.topology
            ) from error
        click.echo(f"stormcut: no preview: {error}", err=True)
        return None
