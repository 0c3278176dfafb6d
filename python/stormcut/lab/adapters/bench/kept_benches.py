"""Problems that benches keep, with the room that nodes had there."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from stormcut.adapters.machine.home import topologies
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.experiment.bench.contest import capacities
from stormcut.model.problem import Problem

#: An archive for each bench that is kept.
BENCHES = topologies().parent / "benchmarks" / "data" / "benches"
#: Room in all settings but `spread` (benchmarks/settings); problems do not keep it.
ROOM = 1.25


@cache
def journal(bench: str) -> FileJournal:
    """Return the journal of a bench that is kept, by its name."""
    return FileJournal(BENCHES / f"{bench}.zip")


def roomy(bench: str, topology: str) -> Problem:
    """Return what schedulers were asked for a topology in a bench."""
    problem = journal(bench).problem(topology)
    assert problem is not None
    limits = capacities([1] * len(problem.nodes), problem.executor_count, ROOM)
    nodes = zip(problem.nodes, limits, strict=True)
    return replace(
        problem, nodes=tuple(replace(node, max_executors=limit) for node, limit in nodes)
    )
