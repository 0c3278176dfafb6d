"""What measured topologies need at other rates: executors of every component, and their loads.

Loads and traffic grow with a topology's rate. A component gets as many executors more as keep its
threads below a core each (`Component.threads`), or the part of one that may be used, by what its
executors take on average, and by what the one takes that takes most: keys that are shared out
unevenly stay so. None gets fewer than it
has: a task that waits for something else needs threads that its CPU does not show.

References
----------
V. Kalavri et al., "Three steps is all you need: fast, accurate, automatic scaling decisions for
distributed streaming dataflows", OSDI 2018: the rate at which an operator would work if it never
waited.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from stormcut.arrays import ROUNDING, Floats
from stormcut.capacity.options import UTILISATION
from stormcut.model.errors import InvalidInput
from stormcut.model.problem import CORE_PERCENT, Component, Problem, Stream
from stormcut.objective.resources import DEFAULT_BYTES


@dataclass(frozen=True)
class Need:
    """Executors of one component.

    ``now`` is how many it has, ``low`` how many by the mean of what they take, ``high`` by the most
    that one takes; ``planned`` is the largest of ``now`` and ``high``.
    """

    now: int
    low: int
    high: int

    @property
    def planned(self) -> int:
        """How many it gets."""
        return max(self.now, self.high)


@dataclass(frozen=True, eq=False)
class Demand:
    """A problem at the asked rates, and what every component needs, by topology and component.

    ``utilisation`` is the part of every thread, CPU and link that may be used.
    """

    problem: Problem
    needs: Mapping[str, Mapping[str, Need]]
    utilisation: float

    @property
    def headroom(self) -> float:
        """Head-room that a placement must have at least."""
        return (1.0 - ROUNDING) / self.utilisation


def source_rate(problem: Problem, topology: str) -> float:
    """Return the tuples/s that a topology's sources emit in all, those sent twice counted once."""
    ordinal = [each.id for each in problem.topologies].index(topology)
    own = problem.executor_is_spout & (problem.executor_topology == ordinal)
    return float(problem.executor_rate[own].sum())


def demand(
    problem: Problem, growth: Mapping[str, float], utilisation: float = UTILISATION
) -> Demand:
    """Return what topologies need whose rates grow by such factors; the others stay as they are.

    Takes O(pairs).

    Parameters
    ----------
    utilisation : float
        Part of every thread, CPU and link that may be used, above 0 and at most 1.

    Raises
    ------
    InvalidInput
        A topology is not in the problem, or a factor is no number above 0.
    """
    known = [topology.id for topology in problem.topologies]
    for name, factor in growth.items():
        if name not in known:
            raise InvalidInput(f"no topology {name!r}; there are {', '.join(known)}", "--rate")
        if not 0 < factor < math.inf:
            raise InvalidInput(f"{name} must grow by a number above 0, not {factor:g}", "--rate")
    cpu, memory = problem.executor_cpu, problem.executor_memory
    streams = _streams(problem)
    needs: dict[str, dict[str, Need]] = {}
    topologies, begin = [], 0
    for topology in problem.topologies:
        factor, components = growth.get(topology.id, 1.0), []
        needs[topology.id] = {}
        for component in topology.components:
            own = slice(begin, begin + component.executors)
            need = _need(component, cpu[own] * factor, utilisation)
            needs[topology.id][component.name] = need
            components.append(_grown(component, need, cpu[own] * factor, memory[own]))
            begin += component.executors
        topologies.append(
            replace(
                topology,
                components=tuple(components),
                streams=tuple(
                    replace(each, tuples_per_second=each.tuples_per_second * factor)
                    for each in streams[topology.id]
                ),
                measured=(),
            )
        )
    grown = replace(problem, topologies=tuple(topologies), current=None, lost_slots=())
    return Demand(grown, needs, utilisation)


def _need(component: Component, cpu: Floats, utilisation: float) -> Need:
    most = CORE_PERCENT * component.threads * utilisation
    mean, largest = (float(each) * component.executors for each in (cpu.mean(), cpu.max()))
    low, high = (max(1, math.ceil(total / most - ROUNDING)) for total in (mean, largest))
    return Need(component.executors, low, high)


def _grown(component: Component, need: Need, cpu: Floats, memory: Floats) -> Component:
    """Return a component with its executors, each with the same part of the CPU of all."""
    count = need.planned
    return replace(
        component,
        executors=count,
        cpu_percent=np.full(count, cpu.sum() / count),
        memory_mb=np.full(count, memory.max(initial=0.0)),
        cpu_us_per_tuple=None,
    )


def _streams(problem: Problem) -> dict[str, list[Stream]]:
    """Return all traffic as streams between components, by topology."""
    every = [(topology.id, each.name) for topology in problem.topologies
             for each in topology.components]  # fmt: skip
    component = problem.executor_component
    source, target, rate, size = problem.traffic.sized(DEFAULT_BYTES).unfolded_sizes()
    keys = component[source] * len(every) + component[target]
    unique, inverse = np.unique(keys, return_inverse=True)
    tuples = np.bincount(inverse.reshape(-1), rate, len(unique))
    content = np.bincount(inverse.reshape(-1), rate * size, len(unique))
    sized = not np.isnan(problem.traffic.size).all() or any(
        not math.isnan(block.size) for block in problem.traffic.blocks
    )
    streams: dict[str, list[Stream]] = {topology.id: [] for topology in problem.topologies}
    for key, total, carried in zip(unique.tolist(), tuples.tolist(), content.tolist(), strict=True):
        (topology, sender), (_, taker) = every[key // len(every)], every[key % len(every)]
        name, grouping = _declared(problem, topology, sender, taker)
        mean = carried / total if sized and total > 0 else None
        streams[topology].append(Stream(sender, taker, total, grouping, name, mean))
    return streams


def _declared(problem: Problem, topology: str, source: str, target: str) -> tuple[str, str]:
    """Return stream and grouping of all that one component sends another.

    What several subscribe to is emitted once: the stream keeps its name, if it is one alone.
    """
    (its,) = (each for each in problem.topologies if each.id == topology)
    between = [s for s in its.streams if (s.source, s.target) == (source, target)]
    names, groupings = ({s.stream for s in between}, {s.grouping for s in between})
    local = groupings == {"local_or_shuffle"}
    name = names.pop() if len(names) == 1 else f"to-{target}"
    return name, "local_or_shuffle" if local else "shuffle"
