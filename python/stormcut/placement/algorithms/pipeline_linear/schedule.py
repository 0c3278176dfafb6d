"""The pipelined schedule: which task sends to which in which slot (Algorithm 3).

Time is cut into slots. In slot d, stage l carries out step (d - l) mod P: every node sends to the
node that the step names for it, so that every pair of communicating tasks meets once in P slots.
Stage l holds the edges of the topology whose source is l edges away from a spout, on the longest
path (on Fig. 2, stages 0 to 3).

Decisions (numbers of the project's reading of the paper):

- A slot lasts as long as its busiest task: h for each part that it receives, over all stages, and
  at least h. Of several stalls in one slot only the longest counts (Fig. 4 and 5).
- E10: the result is the sequence of slots, not a changed matrix. E11: steps count modulo P.
- E17: parts need not all take h; their durations can be given per edge.
- Steps in which nothing is sent can be left out; the paper keeps them.

References
----------
N. Tantalaki et al., IEEE Access 2020, sections II.A (Definitions 1 and 2) and III.B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.pipeline_linear.allocation import LinearAllocation


@dataclass(frozen=True, eq=False)
class Transfers:
    """Pairs of tasks that exchange a stream part once a round, one row each.

    Columns of shape (transfers,): ``step`` and ``stage`` in which, ``edge`` of the topology,
    ``source`` and ``target`` tasks, ``sender`` and ``receiver`` nodes. Tasks are numbered through
    components. Rows are in order of stage, step, edge, source, target.
    """

    step: Ints
    stage: Ints
    edge: Ints
    source: Ints
    target: Ints
    sender: Ints
    receiver: Ints


@dataclass(frozen=True)
class StageSlot:
    """What one stage does in one slot: a step, whose transfers are rows of `Transfers`."""

    slot: int
    stage: int
    step: int
    transfers: range


@dataclass(frozen=True, eq=False)
class Schedule:
    """A periodic schedule.

    Parameters
    ----------
    transfers : Transfers
    steps : int
        P, the steps of a round.
    stages : int
        s, the levels of edges.
    duration : array of shape (transfers,)
        Time to process each stream part, in h.
    """

    transfers: Transfers
    steps: int
    stages: int
    duration: Floats

    @property
    def full_after(self) -> int:
        """The first slot in which every step has gone through every stage."""
        return self.steps + self.stages - 2

    @cached_property
    def _starts(self) -> Ints:
        """First row of every (stage, step), and the number of rows."""
        keys = self.transfers.stage * self.steps + self.transfers.step
        return np.searchsorted(keys, np.arange(self.stages * self.steps + 1))

    def slices(self, slot: int) -> list[StageSlot]:
        """Return what the stages at work do in a slot, counted from 0."""
        result = []
        for stage in range(min(self.stages, slot + 1)):
            step = (slot - stage) % self.steps
            index = stage * self.steps + step
            rows = range(int(self._starts[index]), int(self._starts[index + 1]))
            result.append(StageSlot(slot, stage, step, rows))
        return result

    def length(self, slot: int) -> float:
        """Return how long a slot lasts, in h: as its busiest task, and at least 1."""
        rows = np.concatenate([np.zeros(0, np.int64), *(s.transfers for s in self.slices(slot))])
        rows = rows.astype(np.int64)
        busy = np.bincount(self.transfers.target[rows], weights=self.duration[rows])
        return float(busy.max(initial=1.0))

    def round_lengths(self) -> Floats:
        """Return the lengths of a round's slots once all stages work, by slot modulo P, in h."""
        first = -(-self.stages // self.steps) * self.steps
        return np.array([self.length(first + slot) for slot in range(self.steps)])

    def shortest_round(self) -> float:
        """Return what the busiest task needs for its parts of a round: no order is faster, in h."""
        return float(np.bincount(self.transfers.target, weights=self.duration).max(initial=0.0))


def schedule(
    allocation: LinearAllocation,
    edges: Sequence[tuple[int, int]],
    durations: Sequence[float] | None = None,
    skip_empty: bool = False,
) -> Schedule:
    """Return the pipelined schedule of an allocated application (Algorithm 3).

    Parameters
    ----------
    allocation : Allocation
    edges : sequence of (source, target)
        Components that send to others; one whose source comes after its target closes a cycle, and
        does not delay the target's own stage.
    durations : sequence of float, optional
        Time to process a stream part of each edge, in h; default 1.
    skip_empty : bool
        Leave out steps that carry nothing in any stage.

    Notes
    -----
    Takes O(pairs log pairs + N^2) time and O(pairs + N^2) memory.

    Examples
    --------
    Two spout tasks and two bolt tasks on two nodes meet in two steps, each first on its own node.

    >>> from stormcut.placement.algorithms.pipeline_linear.allocation import allocate
    >>> plan = schedule(allocate([2, 2], [(0, 1)], 2), [(0, 1)])
    >>> [(int(s), int(t)) for s, t in zip(plan.transfers.source, plan.transfers.target)]
    [(0, 3), (1, 2), (0, 2), (1, 3)]
    >>> plan.round_lengths().tolist()
    [1.0, 1.0]
    """
    moves = _transfers(allocation, edges)
    steps = allocation.shape.nodes
    if skip_empty:
        kept, renumbered = np.unique(moves.step, return_inverse=True)
        steps = max(1, len(kept))
        moves = _sorted(renumbered, moves.stage, moves.edge, moves.source, moves.target, allocation)
    each = np.ones(len(edges)) if durations is None else np.array(durations, dtype=np.float64)
    return Schedule(moves, steps, int(moves.stage.max(initial=-1)) + 1, each[moves.edge])


def _transfers(allocation: LinearAllocation, edges: Sequence[tuple[int, int]]) -> Transfers:
    sizes = np.array([len(nodes) for nodes in allocation.nodes], dtype=np.int64)
    first = np.cumsum(sizes) - sizes
    step_of = np.argsort(allocation.steps(), axis=0)  # [receiver, sender]: columns are permutations
    stages = stages_of(len(sizes), edges)
    parts: list[tuple[Ints, ...]] = []
    for ordinal, (source, target) in enumerate(edges):
        senders, receivers = np.meshgrid(
            allocation.nodes[source], allocation.nodes[target], indexing="ij"
        )
        here, there = np.indices(senders.shape)
        step = step_of[receivers, senders].reshape(-1)
        parts.append(
            (
                step,
                np.full(len(step), stages[ordinal], dtype=np.int64),
                np.full(len(step), ordinal, dtype=np.int64),
                here.reshape(-1) + first[source],
                there.reshape(-1) + first[target],
            )
        )
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    columns = columns or [np.zeros(0, dtype=np.int64)] * 5
    step, stage, edge, source_task, target_task = columns
    return _sorted(step, stage, edge, source_task, target_task, allocation)


def _sorted(
    step: Ints, stage: Ints, edge: Ints, source: Ints, target: Ints, allocation: LinearAllocation
) -> Transfers:
    order = np.lexsort((target, source, edge, step, stage))
    nodes = np.concatenate(allocation.nodes)
    return Transfers(
        step[order],
        stage[order],
        edge[order],
        source[order],
        target[order],
        nodes[source[order]],
        nodes[target[order]],
    )


def stages_of(components: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the stage of each edge: edges on the longest path from a spout to its source.

    Parameters
    ----------
    components : int
        Numbered so that streams go from low to high numbers; edges that do not are passed over.
    edges : sequence of (source, target)
    """
    level = [0] * components
    for source, target in sorted(edges):
        if source < target:
            level[target] = max(level[target], level[source] + 1)
    return [level[source] for source, _ in edges]


def bubbles(plan: Schedule, slots: int) -> list[tuple[int, int]]:
    """Return the transfers of the first slots that find nothing to send: (slot, row).

    A task that is no spout's has something to send once it got something in an earlier slot; what
    it holds never runs out.
    """
    moves = plan.transfers
    ready = np.ones(int(max(moves.source.max(initial=-1), moves.target.max(initial=-1))) + 1, bool)
    ready[moves.target] = False
    empty = []
    for slot in range(slots):
        rows = np.array([row for each in plan.slices(slot) for row in each.transfers], np.int64)
        carries = ready[moves.source[rows]]
        empty += [(slot, row) for row in rows[~carries].tolist()]
        ready[moves.target[rows[carries]]] = True
    return empty
