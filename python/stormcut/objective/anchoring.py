"""Which tuples a source's window holds back: those that are anchored in a tuple tree.

A bolt that emits on a tick, or anchors to nothing, sends whatever `max.spout.pending` says. What of
a component's input is anchored shows in what it tells the ackers: one ack for each anchored tuple
that it takes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem
from stormcut.model.traffic import Traffic

#: Storm's own component that counts what is acknowledged; others of its own begin like it.
ACKER, SYSTEM = "__acker", "__"
#: A share this near to 0 or 1 is what sampling makes of 0 or 1.
CHANCE = 0.1


def anchored_share(problem: Problem) -> Floats:
    """Return which share of what each executor takes is anchored, shape (executors,).

    It is the same for all of a component; 1 for a topology that tells ackers nothing.
    Ackers take what is in a tree; what metrics consumers take is not. Takes O(pairs + blocks).
    """
    names = _component_names(problem)
    component = problem.executor_component
    is_acker = np.array([name == ACKER for _, name in names])
    is_system = np.array([name.startswith(SYSTEM) for _, name in names])
    source, target, rate = _between(problem.traffic, component)
    own = ~is_system[source]
    acks = np.bincount(source, rate * is_acker[target], len(names))
    taken = np.bincount(target, rate * own, len(names))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(taken > 0, np.minimum(acks / taken, 1.0), 1.0)
    share[share < CHANCE], share[share > 1 - CHANCE] = 0.0, 1.0
    share[is_system] = is_acker[is_system]
    tells = {topology for (topology, _), count in zip(names, acks.tolist(), strict=True) if count}
    silent = np.array([topology not in tells for topology, _ in names])
    share[silent & ~is_system] = 1.0
    result: Floats = share[component]
    return result


def _component_names(problem: Problem) -> list[tuple[str, str]]:
    """Return the topology and the name of every component, by its ordinal."""
    return [(topology.id, each.name) for topology in problem.topologies
            for each in topology.components]  # fmt: skip


def _between(traffic: Traffic, component: Ints) -> tuple[Ints, Ints, Floats]:
    """Return (source, target, tuples/s) between components; pairs of them may occur often."""
    blocks = traffic.blocks
    ends = ((block.sources.start, block.targets.start) for block in blocks)
    first, last = np.array([*ends], dtype=np.int64).reshape(-1, 2).T
    rates = [block.rate * len(block.sources) * len(block.targets) for block in blocks]
    return (
        component[np.concatenate((traffic.source, first))],
        component[np.concatenate((traffic.target, last))],
        np.concatenate((traffic.rate, np.array(rates, dtype=np.float64))),
    )


def is_acker(problem: Problem) -> npt.NDArray[np.bool_]:
    """Return which executors are ackers, shape (executors,)."""
    ackers = [name == ACKER for _, name in _component_names(problem)]
    result: npt.NDArray[np.bool_] = np.array(ackers, dtype=np.bool_)[problem.executor_component]
    return result
