"""What a simulation yields, whichever engine ran it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.headroom import Bottleneck, named
from stormcut.objective.resources import EXECUTOR
from stormcut.objective.verify import Violation, violations

EVENTS, FLUID = "events", "fluid"
#: In closed loop something always binds; of less than this it is the sources' windows.
NEARLY_FULL = 0.95


#: Too much CPU on a node is what a simulation shows; nothing else that is not allowed can run.
RUNS_ALL_THE_SAME = "cpu"


@dataclass(frozen=True)
class Latency:
    """From a source's emission until the last of the tuple's descendants is done, in ms."""

    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Utilisation:
    """Which part of a resource is in use."""

    resource: Bottleneck
    value: float


@dataclass(frozen=True)
class Simulation:
    """What a placement does.

    Parameters
    ----------
    engine : str
        ``events`` or ``fluid``.
    seconds : float
        Simulated, after the warm-up; 0 of the fluid engine, which has no time.
    sources : mapping of str to float
        Tuples/s that the sources of each topology emit.
    executed : mapping of str to mapping of str to float
        Tuples/s that each component of each topology executes; of a spout, that it emits.
    latency : mapping of str to Latency
        Of each topology in which a tuple tree ended; events only.
    uses : tuple of Utilisation
        Of every resource that is used and has a capacity, fullest first.
    saturated : bool
        Whether something is full: in open loop, tuples pile up.
    events : int
        How many the engine handled.
    held : mapping of str to mapping of str to float
        Tuples at each component on average, those that are executed included; events only.
    refused : mapping of str to float
        Tuples/s of each topology that found a full buffer, or were lost on the way; events only.
    """

    engine: str
    seconds: float
    sources: Mapping[str, float]
    executed: Mapping[str, Mapping[str, float]]
    latency: Mapping[str, Latency]
    uses: tuple[Utilisation, ...]
    saturated: bool
    events: int
    held: Mapping[str, Mapping[str, float]]
    refused: Mapping[str, float]

    @property
    def stays(self) -> dict[str, dict[str, float]]:
        """How long a tuple is at each component on average, waiting included, in ms.

        By Little's law, from what is there and what is executed; empty without time.
        """
        return {
            topology: {
                name: 1000 * count / self.executed[topology][name]
                for name, count in held.items()
                if self.executed[topology].get(name)
            }
            for topology, held in self.held.items()
        }

    @property
    def bottleneck(self) -> Bottleneck | None:
        """The resource that is used most, None where none has a capacity."""
        return self.uses[0].resource if self.uses else None


def obstacles(problem: Problem, placement: Placement) -> list[Violation]:
    """Return why no cluster could run a placement."""
    return [each for each in violations(problem, placement) if each.constraint != RUNS_ALL_THE_SAME]


def named_uses(
    problem: Problem, shares: Iterable[tuple[str, int, float]]
) -> tuple[Utilisation, ...]:
    """Return resources by kind and ordinal with the part that is in use, fullest first."""
    executors = list(problem.executor_names())

    def resource(kind: str, at: int) -> Bottleneck:
        if kind != EXECUTOR:
            return named(problem, kind, at)
        topology, component, index = executors[at]
        return Bottleneck(kind, f"{component}[{index}]", topology)

    ranked = sorted(shares, key=lambda each: -each[2])
    return tuple(Utilisation(resource(kind, ordinal), value) for kind, ordinal, value in ranked)
