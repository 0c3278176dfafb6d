"""Three micro-dataflows and three applications: which tasks there are, and who feeds whom.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), Figs. 5 and 6. The figures' labels are lost: what is not in
the text is a reading of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, pairwise

#: The kinds of tasks, in the order in which applications take them in turn.
KINDS = ("parse", "pi", "file", "blob", "table")

Edges = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Dataflow:
    """A directed graph of tasks between a source and a sink, which are not among them.

    Attributes
    ----------
    kinds : mapping
        By task, one of `KINDS`; those who feed come before those they feed.
    edges : tuple of pairs
        Sender and receiver.
    """

    kinds: Mapping[str, str]
    edges: Edges

    def senders(self, task: str) -> list[str]:
        """Return who feeds a task; none: the source does."""
        return [sender for sender, receiver in self.edges if receiver == task]

    def last(self) -> list[str]:
        """Return the tasks that feed the sink: they feed nobody else."""
        return [task for task in self.kinds if all(task != sender for sender, _ in self.edges)]


def _named(order: str, *paths: str) -> Dataflow:
    """Return a dataflow of one task of each kind."""
    return Dataflow({kind: kind for kind in order.split()}, _edges(paths))


def _in_turn(last: int, *paths: str) -> Dataflow:
    """Return a dataflow of the tasks 2 to `last`, of each kind in turn."""
    tasks = map(str, range(2, last + 1))
    return Dataflow(dict(zip(tasks, cycle(KINDS), strict=False)), _edges(paths))


def _edges(paths: tuple[str, ...]) -> Edges:
    return tuple(edge for path in paths for edge in pairwise(path.split()))


LINEAR = _named("blob table pi parse file", "blob table pi parse file")
DIAMOND = _named("blob table parse file pi", "blob pi", "table pi", "parse pi", "file pi")
STAR = _named("blob table pi parse file", "blob pi", "table pi", "pi parse", "pi file")
FINANCE = Dataflow(
    dict(zip("2345678", ["parse", "file", "parse", "blob", "pi", "table", "file"], strict=True)),
    _edges(("2 3 5 6 7 8", "2 4 7")),
)
TRAFFIC = _in_turn(12, "2 3 4 5 6 9 11 12", "5 7 12", "5 8", "6 10 12")
GRID = _in_turn(16, "2 3 4 5 6 7 8", "4 9 10 14 15 16", "9 11 14", "9 12 13 14")
