"""Problems that benches keep, with the room that nodes had there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stormcut.adapters.files.problem_file import read_problem
from stormcut.application.experiment.bench.contest import capacities
from stormcut.model.problem import Problem

RESULTS = Path(__file__).parents[1] / "docs" / "results"
#: Room in all settings but `spread` (benchmarks/settings); problems do not keep it.
ROOM = 1.25


def roomy(bench: str, topology: str) -> Problem:
    """Return what schedulers were asked for a topology in a bench."""
    problem = read_problem(RESULTS / bench / "problems" / f"{topology}.json")
    limits = capacities([1] * len(problem.nodes), problem.executor_count, ROOM)
    nodes = zip(problem.nodes, limits, strict=True)
    return replace(
        problem, nodes=tuple(replace(node, max_executors=limit) for node, limit in nodes)
    )
