"""Reads and writes ``stormcut-placement/1``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stormcut.adapters.files.json_document import JsonValue, read_json, write_text
from stormcut.adapters.files.problem_file import check_format, read_slots, slot_lists, within
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.metrics import Metrics
from stormcut.placement.solve import Certificate, HeadroomCertificate, Solution

FORMAT = "stormcut-placement/1"


@dataclass(frozen=True, eq=False)
class PlacementFile:
    """A placement as a file claims it.

    ``problem`` is the one it was read for, with ordinals for slots that only the placement names:
    feasibility is for the judge to say, not for the reader. ``metrics`` and ``certificate`` are the
    file's own words, None without.
    """

    problem: Problem
    placement: Placement
    algorithm: str
    metrics: Metrics | None
    certificate: Certificate | HeadroomCertificate | None
    options: Mapping[str, object]


def read_placement(path: Path, problem: Problem) -> PlacementFile:
    """Read a placement of a problem.

    Raises
    ------
    InvalidInput
        It cannot be read or is no placement of this problem; names file and place.
    """
    try:
        return _placement(read_json(path), problem)
    except InvalidInput as error:
        raise within(path, error) from None


def _placement(root: JsonValue, problem: Problem) -> PlacementFile:
    check_format(root, FORMAT)
    keys = root.keys(("format", "algorithm", "assignments"), ("options", "metrics", "certificate"))
    options = keys["options"].members() if "options" in keys else {}
    slots, unknown = read_slots(problem, keys["assignments"], complete=True)
    return PlacementFile(
        problem.with_lost_slots(unknown),
        Placement(slots),
        keys["algorithm"].name(),
        _metrics(keys["metrics"]) if "metrics" in keys else None,
        _certificate(keys["certificate"]) if "certificate" in keys else None,
        {name: value.raw for name, value in options.items()},
    )


def _metrics(value: JsonValue) -> Metrics:
    keys = value.keys(tuple(field.name for field in dataclasses.fields(Metrics)))
    return Metrics(
        keys["inter_node_tuples_per_second"].amount(),
        keys["inter_worker_tuples_per_second"].amount(),
        *(
            keys[name].integer(0, 2**53)
            for name in ("nodes_used", "workers_used", "workers_restarted")
        ),
    )


def _certificate(value: JsonValue) -> Certificate | HeadroomCertificate:
    if "upper_bound" in value.members():
        keys = value.keys(("upper_bound", "gap", "method"))
        upper, gap = keys["upper_bound"].amount(), keys["gap"].amount()
        return HeadroomCertificate(upper, gap, keys["method"].name())
    keys = value.keys(("lower_bound", "gap", "method"))
    return Certificate(keys["lower_bound"].amount(), keys["gap"].amount(), keys["method"].name())


def write_placement(path: Path, problem: Problem, solution: Solution) -> None:
    """Write a solution as a placement file, whole or not at all.

    Raises
    ------
    InvalidInput
        It cannot be written there.
    """
    document = placement_document(problem, solution)
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def placement_document(problem: Problem, solution: Solution) -> dict[str, Any]:
    """Return a solution as a placement file has it."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "algorithm": solution.algorithm,
        "options": dict(solution.options),
        "assignments": slot_lists(problem, solution.placement),
        "metrics": dataclasses.asdict(solution.metrics),
    }
    if solution.certificate is not None:
        document["certificate"] = dataclasses.asdict(solution.certificate)
    return document
