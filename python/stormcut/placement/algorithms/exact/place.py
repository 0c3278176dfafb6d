"""Proven optimum: no feasible placement sends fewer tuples/s between nodes.

Executors of equal traffic and equal nodes are folded (see `folded`). A node then holds a *pattern*,
so many executors of each group, and a placement is a choice of patterns that uses every executor
once: set partitioning, whose relaxation is far tighter than that of a variable per executor and
node. Column generation solves the relaxation with a search for patterns that is exact, or says what
it may have missed; the patterns that a better placement could use are listed and the choice among
them is solved to the end (see `master`). Where patterns are too many, CP-SAT gets the whole problem
(see `compact`). The thesis's integer programme is Eqs. 4.1-4.5; its constraints are those of
`objective.verify`, with CPU, memory, executors and slots.

- A topology has one worker on a node: no choice of workers sends less, local-or-shuffle included.
- The present placement is kept if none is better. Among equal nodes and equal executors those are
  chosen that restart fewest workers, but not among different optimal counts.
- The answer is the same for a seed if it is proven. When ``time_limit`` ends the search, the best
  placement so far is returned, and another run may differ; its bound is the better of the search's
  and that of `lower_bound`.
- Rates are counted exactly if they are multiples of the smallest one or a simple fraction of it,
  otherwise gains below 2**-40 of all traffic are passed over, and the bound says so where that is
  more than 1e-9 of the cut.
- Racks and distances play no part.

References
----------
L. Eskandari, thesis on task scheduling in data stream processing systems, section 4.3 (the exact
problem) and section 6.2.1 (the instances).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.errors import Infeasible
from stormcut.model.placement import LowerBound, Placement
from stormcut.model.problem import Problem
from stormcut.native.process import NativeFailure, call
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.placement.algorithms.exact.folded import Folded, fold_symmetry
from stormcut.placement.algorithms.exact.prove import Proof, least_gain, prove, unit_of_traffic
from stormcut.placement.algorithms.exact.realise import current_counts, realise
from stormcut.placement.algorithms.exact.start import best_fit, fill_nodes, improved
from stormcut.placement.bounds.lower_bound import lower_bound
from stormcut.placement.options import POSITIVE, Bounded
from stormcut.placement.packing.capacity import scarcest

#: What the solvers' process may take beyond the time limit.
GRACE_SECONDS = 20.0

#: Share of the time limit for the first placement.
START_SHARE = 0.2


@dataclass(frozen=True)
class Options(Bounded):
    """When to stop without a proof."""

    time_limit: float = field(
        default=60.0,
        metadata={"help": "seconds after which the best so far is returned", "bounds": POSITIVE},
    )


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return a placement with the least tuples/s between nodes, or the best found in time.

    Raises
    ------
    Infeasible
        No feasible placement exists, or none was found in time; the message says which.
    """
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64), bound=LowerBound(0.0, "nothing to place"))
    seed = int(rng.integers(2**31))
    began = time.monotonic()
    folded = fold_symmetry(problem)
    if not len(folded.nodes):
        raise Infeasible("exact: no feasible placement exists: no node can hold any", "slots")
    start = _start(problem, folded, began + START_SHARE * options.time_limit)
    if start is not None and folded.local(start).sum() >= folded.total:
        proof = Proof(start, folded.total, True, "all traffic local")
    else:
        left = max(0.1, options.time_limit - (time.monotonic() - began))
        proof = _prove(folded, start, seed, left)
    if proof.counts is None:
        raise _infeasible(folded, proof, options)
    placement = Placement(realise(problem, folded, proof.counts))
    cut = inter_node_tuples_per_second(problem, placement)
    bound = _bound(problem, folded, proof, cut)
    return Placement(placement.slots, tuple(_notes(bound, cut, proof, options)), bound)


def _start(problem: Problem, folded: Folded, deadline: float) -> Ints | None:
    """Return the best of the present placement and two quick ones, in counts, None if none is."""
    present = current_counts(problem, folded)
    built = (fill_nodes(folded), best_fit(folded))
    starts = [improved(folded, counts, deadline) for counts in built if counts is not None]
    if present is not None:
        starts.insert(0, present)
    return max(starts, key=lambda counts: round(folded.local(counts).sum(), 9), default=None)


def _prove(folded: Folded, start: Ints | None, seed: int, seconds: float) -> Proof:
    """Run the solvers in a process of their own; a first placement outlives their failure."""
    try:
        return call(prove, seconds + GRACE_SECONDS, folded, start, seed, seconds)
    except NativeFailure as error:
        if start is None:
            raise
        return Proof(start, folded.total, False, f"all traffic local; {error}")


def _infeasible(folded: Folded, proof: Proof, options: Options) -> Infeasible:
    loads = np.repeat(folded.load, folded.size, axis=0)
    constraint = scarcest(loads, folded.limit[folded.node_kinds])
    if proof.proven:
        return Infeasible(
            "exact: no feasible placement exists: executors cannot be divided among the nodes",
            constraint,
        )
    return Infeasible(f"exact found none within {options.time_limit:g} s", constraint)


def _bound(problem: Problem, folded: Folded, proof: Proof, cut: float) -> LowerBound:
    if not proof.proven:
        reached = LowerBound(max(0.0, folded.total - proof.bound), f"bound: {proof.method}")
        # A second or two more, but there is one however little time the search had.
        return max(reached, lower_bound(problem), key=lambda bound: bound.tuples_per_second)
    passed_over = least_gain(folded) if unit_of_traffic(folded) is None else 0.0
    exact = passed_over <= 1e-9 * cut
    return LowerBound(cut if exact else max(0.0, cut - passed_over), f"proven: {proof.method}")


def _notes(bound: LowerBound, cut: float, proof: Proof, options: Options) -> list[str]:
    if proof.proven:
        return []
    gap = (cut - bound.tuples_per_second) / cut
    return [
        f"not proven within {options.time_limit:g} s: {cut:g} tuples/s between nodes, "
        f"at least {bound.tuples_per_second:g} in any placement, gap {gap:.1%}"
    ]
