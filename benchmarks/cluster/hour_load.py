"""What the topologies of the hour are offered: a cycle of phases, or the same all the time."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from stormcut.adapters.machine.home import topologies

sys.path.append(str(topologies() / "src"))
from rig.noise import UnevenClock
from rig.pace import Pace

STEP_S = 60.0
#: Workers start meanwhile; the hour begins after it.
START_STEPS = 3
#: Tuples/s of the sources when the load is full.
FULL: Mapping[str, float] = {"linear": 130.0, "diamond": 30.0}
#: In this one others talk to each other after a shift.
SHIFTING = "linear"


@dataclass(frozen=True)
class Phase:
    """A part of the hour: from when to when, in seconds since it began, and its name."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Load:
    """What is offered: a cycle of steps, each a phase and its share of the full load.

    Attributes
    ----------
    steps : tuple of (str, float)
        Each lasts `STEP_S`; after the last one the first comes again.
    shift_step : int or None
        With this step of every cycle others talk to each other than before.
    noise : float
        As the topologies' option of this name.
    """

    name: str
    steps: tuple[tuple[str, float], ...]
    shift_step: int | None = None
    noise: float = 0.0

    @property
    def cycle_s(self) -> float:
        """How long a cycle lasts."""
        return len(self.steps) * STEP_S

    def shares(self, minutes: int) -> list[float]:
        """Return the share of the full load in each step, those of the start included."""
        cycle = [share for _, share in self.steps]
        return [cycle[0]] * START_STEPS + [cycle[n % len(cycle)] for n in range(minutes)]

    def phases(self, minutes: int) -> list[Phase]:
        """Return the phases of so many minutes."""
        names = [self.steps[n % len(self.steps)][0] for n in range(minutes)]
        edges = [n for n in range(1, minutes) if names[n] != names[n - 1]]
        return [
            Phase(names[begin], begin * STEP_S, end * STEP_S)
            for begin, end in pairwise([0, *edges, minutes])
        ]

    def shifts(self, minutes: int) -> list[float]:
        """Return when others talk to each other than before, in seconds since the hour began."""
        if self.shift_step is None:
            return []
        found = range(self.shift_step, minutes, len(self.steps))
        return [step * STEP_S for step in found]

    def options(self, topology: str, minutes: int) -> dict[str, object]:
        """Return what a topology's sources must be told."""
        full = FULL[topology]
        told: dict[str, object] = {
            "rate": ",".join(f"{full * share:g}" for share in self.shares(minutes)),
            "step.seconds": STEP_S,
            "noise": self.noise,
        }
        if self.shift_step is not None and topology == SHIFTING:
            told["shift.seconds"] = (START_STEPS + self.shift_step) * STEP_S
            told["shift.period"] = self.cycle_s
        return told


class Offered:
    """The tuples/s that the sources of topologies should send, by when those were launched."""

    def __init__(self, load: Load, minutes: int, launched: Mapping[str, float]) -> None:
        self._clock = UnevenClock(load.noise)
        self._paces = [
            (Pace([FULL[name] * share for share in load.shares(minutes)], STEP_S), at)
            for name, at in launched.items()
        ]

    def between(self, begin: float, end: float) -> float:
        """Return the mean rate between two epoch seconds."""
        due = sum(
            pace.due(self._clock.read(end - at)) - pace.due(self._clock.read(begin - at))
            for pace, at in self._paces
        )
        return float(due) / (end - begin)


LOADS: Mapping[str, Load] = {
    load.name: load
    for load in (
        Load(
            "changing",
            (
                ("quiet", 0.2),
                ("rise", 0.4),
                ("rise", 0.6),
                ("rise", 0.8),
                ("peak", 1.4),
                *[("plateau", 1.0)] * 3,
                *[("shifted", 1.0)] * 4,
                ("fall", 0.5),
                *[("quiet", 0.2)] * 2,
            ),
            shift_step=8,
        ),
        Load("steady", (("steady", 0.7),), noise=0.3),
    )
}
