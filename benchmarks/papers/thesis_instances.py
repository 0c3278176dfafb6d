"""The 42 instances of the thesis's micro-benchmarks, and what `stormcut place` makes of one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from small_problems import LAYOUTS, SIZES, microbenchmark

from benchmarks.papers.thesis_micro import CLUSTERS
from stormcut.adapters.files.problem_file import write_problem
from stormcut.model.problem import Problem

Instance = tuple[str, str, int]

INSTANCES: tuple[Instance, ...] = tuple(
    (layout, cluster, size) for layout in LAYOUTS for cluster in CLUSTERS for size in SIZES
)


def problem(instance: Instance) -> Problem:
    """Return an instance as a problem."""
    layout, cluster, executors = instance
    return microbenchmark(layout, executors, CLUSTERS[cluster])


def by_command(
    instance: Instance, algorithm: str, folder: Path, timeout_s: float = 600.0
) -> tuple[float, dict[str, Any]]:
    """Return the seconds of a process of its own, and the placement file that it wrote."""
    asked, answered = folder / "problem.json", folder / "placement.json"
    write_problem(asked, problem(instance))
    stormcut = Path(sys.executable).with_name("stormcut")
    start = time.perf_counter()
    subprocess.run(
        [stormcut, "place", asked, "--algorithm", algorithm, "--output", answered],
        check=True,
        capture_output=True,
        timeout=timeout_s,
    )
    return time.perf_counter() - start, json.loads(answered.read_text(encoding="utf-8"))
