"""Head-room: how many times today's rates a placement carries before a resource is full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.resources import (
    CPU,
    EXECUTOR,
    LINK_IN,
    LINK_OUT,
    Use,
    costs_of,
    rack_ordinals,
    uses,
)


@dataclass(frozen=True)
class Bottleneck:
    """The resource that is full first.

    ``kind`` is one of `stormcut.objective.resources`' kinds; ``name`` is a node's, a rack's, or of
    an executor ``component[i]``, with its ``topology``.
    """

    kind: str
    name: str
    topology: str | None = None

    def __str__(self) -> str:
        what = {
            EXECUTOR: "thread of executor",
            CPU: "CPU of node",
            LINK_OUT: "link out of node",
            LINK_IN: "link into node",
        }.get(self.kind, f"{self.kind.replace('_', ' ')} of rack")
        return f"{what} {self.name}" + (f" of {self.topology}" if self.topology else "")


@dataclass(frozen=True)
class Headroom:
    """All rates times ``value`` just fit; None where nothing limits.

    ``costs`` names where the costs of transfer come from.
    """

    value: float | None
    bottleneck: Bottleneck | None
    costs: str


def headroom(problem: Problem, placement: Placement) -> Headroom:
    """Return the head-room of a placement, feasible or not, and what binds.

    Takes as long as `uses`.
    """
    return fullest(problem, uses(problem, placement))


def fullest(problem: Problem, used: Sequence[Use]) -> Headroom:
    """Return the head-room that the use of all resources leaves.

    Of resources that are equally full the first kind counts.
    """
    source, fullest, bottleneck = costs_of(problem).source, 0.0, None
    for use in used:
        share = use.share
        index = int(np.argmax(share)) if len(share) else 0
        if len(share) and share[index] > fullest * (1 + 1e-12):
            fullest, bottleneck = float(share[index]), named(problem, use.kind, index)
    if bottleneck is None:
        return Headroom(None, None, source)
    return Headroom(1.0 / fullest, bottleneck, source)


def named(problem: Problem, kind: str, at: int) -> Bottleneck:
    """Return a resource by its kind and ordinal."""
    if kind == EXECUTOR:
        topology, component, index = next(islice(problem.executor_names(), at, None))
        return Bottleneck(kind, f"{component}[{index}]", topology)
    if kind in (CPU, LINK_OUT, LINK_IN):
        return Bottleneck(kind, problem.nodes[at].id)
    return Bottleneck(kind, rack_ordinals(problem)[1][at])
