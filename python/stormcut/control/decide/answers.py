"""The algorithm's answers to problems that come again: a move that waits is not sought again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stormcut.control.decide.pace import Joint
from stormcut.model.cluster import Worker
from stormcut.model.errors import Infeasible
from stormcut.model.problem import Problem

#: A move is sought where topologies run and again where they would, with and without what waits.
MAX_KEPT = 4


@dataclass(frozen=True)
class Advice:
    """The algorithm's workers of each topology, and its notes for people."""

    workers: tuple[tuple[Worker, ...], ...]
    notes: tuple[str, ...]


Answer = Advice | Infeasible


@dataclass(frozen=True)
class _Answered:
    """An answer, and to what."""

    problem: Problem
    answer: Answer


class Answers:
    """The last answers for topologies that were one problem, by one algorithm's settings."""

    def __init__(self) -> None:
        self._kept: dict[Joint, tuple[_Answered, ...]] = {}

    def copy(self) -> Answers:
        """Return the same for somebody who only thinks what would be."""
        other = Answers()
        other._kept = dict(self._kept)
        return other

    def forget_all_but(self, topologies: Iterable[str]) -> None:
        """Forget topologies that are gone."""
        living = set(topologies)
        self._kept = {names: each for names, each in self._kept.items() if living.issuperset(names)}

    def __contains__(self, names: Joint) -> bool:
        """Return whether anything was answered for topologies."""
        return names in self._kept

    def find(self, names: Joint, problem: Problem) -> Answer | None:
        """Return what was answered to the same problem, None if that is not known.

        O(nodes + executors).
        """
        for each in self._kept.get(names, ()):
            if _is_same(each.problem, problem):
                return each.answer
        return None

    def keep(self, names: Joint, problem: Problem, answer: Answer) -> None:
        """Keep an answer, and forget the oldest of too many."""
        kept = (_Answered(problem, answer), *self._kept.get(names, ()))
        self._kept[names] = kept[:MAX_KEPT]


def _is_same(a: Problem, b: Problem) -> bool:
    """Return whether problems are equal; topologies are, if they are the same workloads'."""
    return (
        len(a.topologies) == len(b.topologies)
        and all(x is y for x, y in zip(a.topologies, b.topologies, strict=True))
        and np.array_equal(a.current_slots(), b.current_slots())
        and (a.nodes, a.lost_slots, a.uplinks, a.costs)
        == (b.nodes, b.lost_slots, b.uplinks, b.costs)
    )
