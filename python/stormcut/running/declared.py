"""What storm.yaml and topologies' configurations say to stormcut; what cannot be used is logged."""

from __future__ import annotations

import logging
import math
from functools import lru_cache

from stormcut.model.cluster import RunningTopology, Supervisor
from stormcut.model.network import UNKNOWN, Link

log = logging.getLogger(__name__)

MAX_EXECUTORS_KEY = "stormcut.max.executors"
#: In `supervisor.scheduler.meta`: what a node's link carries, in Mbit/s (see `link`).
LINK_KEY = "stormcut.link.mbit"
RACK_KEY = "stormcut.rack"
#: Of a number of executors: no arithmetic exceeds its range by more of them.
MAX_DIGITS = 9
WORKERS_KEY = "stormcut.workers"
#: As many workers as asked for, on as many nodes; or as the algorithm likes.
WORKERS_POLICIES = ("keep", "pack")
#: What `pack` was called.
FORMERLY_PACK = "any"


def max_executors(supervisor: Supervisor) -> int | None:
    """Return the supervisor's own limit of executors, None without a usable one (logged)."""
    text = supervisor.meta.get(MAX_EXECUTORS_KEY)
    return None if text is None else _whole_number(supervisor.id, text)


@lru_cache(maxsize=4096)
def _whole_number(supervisor: str, text: str) -> int | None:
    """Return the number or None; cached so that a wrong one is logged once, not every round."""
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS:
        return int(digits)
    log.warning(
        "supervisor %s: %s: %r is not a whole number; ignored (no limit)",
        supervisor,
        MAX_EXECUTORS_KEY,
        text,
    )
    return None


def keeps_workers(topology: RunningTopology) -> bool | None:
    """Return whether a topology asks for `topology.workers` workers, None if it does not say.

    A policy that is none is logged and counts as not said.
    """
    policy = topology.workers_policy
    if policy is not None and policy not in (*WORKERS_POLICIES, FORMERLY_PACK):
        _warn_of_policy(topology.id, policy)
        return None
    return None if policy is None else policy == "keep"


@lru_cache(maxsize=4096)
def _warn_of_policy(topology: str, text: str) -> None:
    """Log a wrong policy; cached so that it is logged once, not every round."""
    allowed = " or ".join(WORKERS_POLICIES)
    log.warning("topology %s: %s: %r is not %s; ignored", topology, WORKERS_KEY, text, allowed)


def rack(supervisor: Supervisor) -> str | None:
    """Return the supervisor's rack, None if its storm.yaml names none."""
    return supervisor.meta.get(RACK_KEY, "").strip() or None


def link(supervisor: Supervisor) -> Link:
    """Return what the supervisor's link carries, as far as its storm.yaml says (else logged).

    A number is what it carries each way; ``out=50,in=25`` states both, or one of them.
    """
    text = supervisor.meta.get(LINK_KEY)
    return UNKNOWN if text is None else _link(supervisor.id, text)


@lru_cache(maxsize=4096)
def _link(supervisor: str, text: str) -> Link:
    """Return the link; cached so that a wrong one is logged once, not every round."""
    ways = dict(each.strip().partition("=")[::2] for each in text.split(","))
    if set(ways) <= {"out", "in"}:
        out, into = ways.get("out"), ways.get("in")
    else:
        out = into = text
    try:
        mbit = [None if each is None else float(each) for each in (out, into)]
    except ValueError:
        mbit = [math.nan]
    if all(each is None or 0 < each < math.inf for each in mbit):
        return Link(*mbit)
    log.warning(
        "supervisor %s: %s: %r is neither Mbit/s nor out=MBIT,in=MBIT; ignored (not known)",
        supervisor,
        LINK_KEY,
        text,
    )
    return UNKNOWN
