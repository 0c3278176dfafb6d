"""The smallest parts of a change that can be made alone.

Workers of before and after belong together if they share an executor or a slot; what belongs to
nothing else (a connected component of that graph) moves without it: before and after, every
executor of the topology runs exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stormcut.control.gate.change import Workers, restarted


@dataclass(frozen=True)
class Part:
    """Workers of a topology that end, and those that begin instead."""

    topology: str
    before: Workers
    after: Workers

    @property
    def workers(self) -> int:
        """How many workers end, or begin, if those are more."""
        return max(len(self.before), len(self.after))

    @cached_property
    def restarts(self) -> int:
        """In how many slots a worker ends or starts again, as budgets count."""
        return len(restarted(self.before, self.after))


def parts(topology: str, present: Workers, target: Workers) -> list[Part]:
    """Return what has to change, in the smallest parts that can change alone, smallest first.

    Takes O(workers + executors).
    """
    # Takes a tenth of a second to load: not for help.
    import networkx as nx

    graph = nx.Graph()
    for side, workers in enumerate((present, target)):
        for worker in workers:
            shared = (worker.slot, *worker.executors)
            graph.add_edges_from(((side, worker), each) for each in shared)
    result = []
    for component in nx.connected_components(graph):
        before, after = (
            tuple(worker for worker in workers if (side, worker) in component)
            for side, workers in enumerate((present, target))
        )
        if before != after:
            result.append(Part(topology, before, after))
    return sorted(result, key=lambda part: (part.restarts, part.before, part.after))
