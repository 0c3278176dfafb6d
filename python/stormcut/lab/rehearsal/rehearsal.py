"""Runs a controller against a simulated cluster: it observes, decides, applies, takes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from stormcut.control.brain import Brain
from stormcut.control.decide.adviser import Settings
from stormcut.control.observe.observer import Observer, Watching
from stormcut.control.policy import Policy
from stormcut.lab.rehearsal.books import Books, PlansOf
from stormcut.lab.rehearsal.world import EPOCH_S, TopologyTally, World

#: Seconds from one look of the controller to the next, and of Nimbus: `nimbus.monitor.freq.secs`.
STEP_S = 10.0


class WorldClock:
    """`Clock` of a world: its seconds pass when it steps."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return EPOCH_S + self._world.second

    def elapsed(self) -> float:
        """Return the same: they never run back."""
        return self.now()

    def wait(
        self, condition: threading.Condition, until: Callable[[], bool], seconds: float
    ) -> None:
        """Return at once: nothing happens between two steps."""


@dataclass(frozen=True)
class RehearsedController:
    """How a controller decides, what it may do, and when it tells itself what it measured."""

    settings: Settings
    policy: Policy
    watching: Watching


@dataclass(frozen=True)
class RehearsalStep:
    """What every topology was offered and served in tuples/s, at the end of a step."""

    second: float
    offered: Mapping[str, float]
    served: Mapping[str, float]
    moves: int


def rehearse(
    world: World,
    controller: RehearsedController,
    seconds: float,
    paused_s: float = 0.0,
    progress: Callable[[float], None] = lambda second: None,
) -> tuple[RehearsalStep, ...]:
    """Let a controller run a world for so many seconds; the world keeps the tallies.

    It is paused for the first ``paused_s`` of them.
    """
    books, clock = Books(), WorldClock(world)
    observer = Observer(
        books, clock, lambda: True, books.profiles, books.undos, controller.watching
    )
    brain = Brain(
        controller.settings, PlansOf(books), books, clock, books.new_id, policy=controller.policy
    )
    brain.heard, brain.accounts = observer.heard, observer.accounts
    moments = []
    while world.second < seconds:
        books.order(replace(books.orders(), is_paused=world.second < paused_s))
        world.apply(brain.plan(world.state()))
        before = {name: (own.offered, own.served) for name, own in world.tallies.items()}
        observer.take(world.step(STEP_S), {})
        moments.append(_moment(world, before))
        progress(world.second)
    return tuple(moments)


def _moment(world: World, before: Mapping[str, tuple[float, float]]) -> RehearsalStep:
    tallies: Mapping[str, TopologyTally] = world.tallies
    return RehearsalStep(
        world.second,
        {name: (own.offered - before[name][0]) / STEP_S for name, own in tallies.items()},
        {name: (own.served - before[name][1]) / STEP_S for name, own in tallies.items()},
        sum(own.moves for own in tallies.values()),
    )
