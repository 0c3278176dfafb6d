"""Where a topology ran, move by move: what `undo` goes back along, and what reviews are held to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stormcut.control.gate.change import Initiator
from stormcut.model.cluster import Worker

Workers = tuple[Worker, ...]

#: So many steps are kept of a topology: the first one, and the last.
STEPS_KEPT = 30

_BACK = frozenset({Initiator.UNDO, Initiator.TAKE_BACK})


@dataclass(frozen=True)
class Step:
    """A plan that moved a topology while it ran.

    Parameters
    ----------
    plan : str
        Its id.
    at_s : float
        When it was made, in seconds since the epoch.
    before, after : tuple of Worker
        Where the topology ran, and where it was to run.
    between_nodes_per_s : float, optional
        Tuples/s between nodes that were predicted; None: nothing was measured.
    hosts : mapping of str to str
        The host of each node of ``after``.
    continues : bool
        It is one more stage of the move before it.
    """

    plan: str
    at_s: float
    initiator: Initiator
    before: Workers
    after: Workers
    between_nodes_per_s: float | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    continues: bool = False

    def matches(self, places: Mapping[int, tuple[str, int]]) -> bool:
        """Return whether tasks run where the plan wanted them.

        Parameters
        ----------
        places : mapping of int to (str, int)
            Host and port by task, as far as known.
        """
        wanted = {
            task: (self.hosts.get(worker.slot.node, worker.slot.node), worker.slot.port)
            for worker in self.after
            for task in worker.executors
        }
        return all(places.get(task, place) == place for task, place in wanted.items())


def appended(steps: Sequence[Step], step: Step) -> tuple[Step, ...]:
    """Return a trail with one more step; the first and the last ones are kept.

    A plan that was told after another one that never came to be takes its place.
    """
    came_to_be = [*steps]
    if step.continues and came_to_be and came_to_be[-1].after == step.before:
        # Stages of one move are one step.
        step = replace(step, before=came_to_be.pop().before)
    step = replace(step, continues=False)
    if came_to_be and came_to_be[-1].before == step.before:
        came_to_be.pop()
    trail = (*came_to_be, step)
    return trail if len(trail) <= STEPS_KEPT else (trail[0], *trail[-STEPS_KEPT + 1 :])


def way_back(steps: Sequence[Step]) -> Step | None:
    """Return the step that an undo takes back next, None if there is nothing further back.

    What an undo or a take-back has taken back already is passed over: each goes one step further.
    """
    open_: list[Step] = []
    for step in steps:
        if step.initiator in _BACK and open_ and set(open_[-1].before) == set(step.after):
            open_.pop()
        else:
            open_.append(step)
    return open_[-1] if open_ else None
