"""Traffic as it flows under a placement: what executors take, and what they pass on of it.

A source of a local-or-shuffle stream sends to the targets in its worker, if there are any, else to
all. So executors of a component take more or less than each other, and each sends in proportion to
what it takes. What a component sends in all is as declared or measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.model.problem import Problem
from stormcut.model.traffic import Block, Traffic
from stormcut.objective.cut import has_local_target


def relay(problem: Problem, slots: Ints) -> tuple[Traffic, Floats]:
    """Return the traffic under a placement, and the tuples/s that each executor takes.

    Local-or-shuffle blocks stay folded. Takes O(executors + pairs + blocks).

    Parameters
    ----------
    slots : array of shape (executors,)
        Slot ordinals, negative for none.

    Returns
    -------
    traffic : Traffic
    taken : array of shape (executors,)
    """
    traffic = problem.traffic
    if not problem.relays:
        return traffic, traffic.taken
    rate, taken = traffic.rate.copy(), traffic.taken.copy()
    sending, growth = np.ones((2, len(slots)))
    for each in problem.relays:
        own, pairs = each.executors, each.pairs
        if len(pairs):
            rate[pairs] = _in_proportion(traffic.rate[pairs], growth[traffic.source[pairs]])
            np.add.at(taken, traffic.target[pairs], rate[pairs] - traffic.rate[pairs])
        for block in each.blocks:
            taken[own] += _preferred(block, slots, sending)
        if not each.is_steady:
            sending[own] = _parts(taken[own], taken[own].mean())
            growth[own] = _parts(taken[own], traffic.taken[own])
    return replace(traffic, rate=rate, sending=sending), taken


def _parts(taken: Floats, of: Floats | float) -> Floats:
    """Return what executors take as parts of something; 1 where that is nothing."""
    return np.divide(taken, of, out=np.ones(len(taken)), where=np.asarray(of) > 0)


def _in_proportion(rate: Floats, growth: Floats) -> Floats:
    """Return rates times what grows, with the same sum."""
    grown = rate * growth
    total = grown.sum()
    return grown * (rate.sum() / total) if total > 0 else rate


def _preferred(block: Block, slots: Ints, sending: Floats) -> Floats:
    """Return how much more each target takes as sources prefer those in their worker."""
    near = has_local_target(block, slots)
    sent = block.rate * sending[block.sources.start : block.sources.stop]
    sources = slots[block.sources.start : block.sources.stop][near]
    targets = slots[block.targets.start : block.targets.stop]
    count = max(int(targets.max(initial=-1)), int(sources.max(initial=-1))) + 1
    here = targets >= 0
    held = np.bincount(targets[here], minlength=count)
    kept = np.bincount(sources, sent[near], minlength=count) * len(targets)
    more = np.full(len(targets), sent[~near].sum() - block.rate * len(block.sources))
    more[here] += kept[targets[here]] / np.maximum(held[targets[here]], 1)
    return more
