"""What a bench is to do: schedulers, topologies, and the setting that is the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stormcut.placement.registry import BASELINE

#: Every topology is measured under this placement to learn its traffic; Storm's own.
REFERENCE = BASELINE


@dataclass(frozen=True)
class Setting:
    """The same for every scheduler.

    Attributes
    ----------
    summary : str
        What binds, in a sentence.
    nodes : int
    cpus : float
        Cores of a node of mean size.
    bandwidth : str
        What a node's link carries each way, such as ``20mbit``, or ``out=20mbit,in=10mbit`` (in the
        file also ``{out: 20mbit, in: 10mbit}``); empty: no limit.
    heterogeneous : str
        Sizes of the nodes, such as ``2x3,3x2``; empty: all alike.
    room : float
        How many times its even share of the executors a node may hold.
    storm : mapping
        Storm keys of all topologies.
    variants : sequence of str
        Schedulers with options, measured beside the usual ones.
    topologies : mapping
        By topology, its options.
    """

    name: str
    summary: str
    nodes: int
    cpus: float
    bandwidth: str = ""
    heterogeneous: str = ""
    room: float = 1.25
    storm: Mapping[str, Any] = field(default_factory=dict)
    variants: Sequence[str] = ()
    topologies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """Seconds: what is left out at first; when to give up; a window; the profile's window."""

    settle_s: float = 3.0
    patience_s: float = 30.0
    window_s: float = 10.0
    profile_s: float = 20.0


@dataclass(frozen=True)
class BenchPlan:
    """What is to be done."""

    setting: Setting
    schedulers: tuple[str, ...]
    topologies: tuple[str, ...]
    repetitions: int
    timing: Timing

    @property
    def placed_by(self) -> tuple[str, ...]:
        """All whose placements run, the reference first."""
        return REFERENCE, *(each for each in self.schedulers if each != REFERENCE)

    def options(self, topology: str) -> dict[str, object]:
        """Return what a topology is submitted with."""
        return {**self.setting.storm, **self.setting.topologies.get(topology, {})}
