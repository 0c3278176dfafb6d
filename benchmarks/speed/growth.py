"""Time and memory of algorithms as the work grows, from 1,000 to 100,000 executors.

Run by hand, on a machine that does nothing else (half an hour):

    python -m benchmarks.speed.growth --output docs/results/growth.md

Every cell is a process of its own. Topologies have 200 executors in five components in a line,
fields grouped; their number grows with the work, and so do nodes (16 cores, 20 slots, 40 a rack).
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.machine import made_by
from benchmarks.page import write_page
from stormcut.model.errors import Infeasible
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.solve import solve

ALGORITHMS = ("cut", "r-storm", "p-scheduler", "i-scheduler")
OPTIONS = {
    "cut": {"objective": "cut"},
    "p-scheduler": {"capacity": "smallest"},
    # Storm's default of 768 MB a worker stands in the way of most topologies.
    "r-storm": {"max_heap_mb": "131072"},
}
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
EXECUTORS, COMPONENTS = 200, 5
#: A cell that takes longer, or an algorithm whose last cell did, is not run on.
MAX_SECONDS = 60
MAX_BYTES = 16 * 2**30

PAGE = """\
# Algorithms

Topologies of {executors} executors in {components} components in a line, declared streams, as many
of them as make up the work; nodes with 1,600 % CPU, 32 GB and 20 slots, loaded to about 60 %. Each
cell is one process; time is that of the algorithm alone, verification included, imports not; memory
is the most that the process and its solver processes held, imports included. "-": above
{seconds} s or {memory} GiB, or the size before was.

| executors | nodes | pairs | {names} |
| ---: | ---: | ---: | {rules} |
{rows}

{growth}

{made}
"""


def problem(executors: int) -> Problem:
    """Return a cluster with that many executors to place, loads drawn with a fixed seed."""
    random = np.random.default_rng(executors)
    size = EXECUTORS // COMPONENTS
    topologies = []
    for number in range(executors // EXECUTORS):
        cpu = random.choice((20.0, 40.0, 80.0), COMPONENTS)
        memory = random.choice((256.0, 512.0, 1024.0), COMPONENTS)
        parts = tuple(
            Component.uniform(f"c{i}", size, "bolt" if i else "spout", cpu[i], memory[i])
            for i in range(COMPONENTS)
        )
        streams = tuple(
            Stream(f"c{i}", f"c{i + 1}", float(random.integers(1, 100) * size), "fields")
            for i in range(COMPONENTS - 1)
        )
        topologies.append(Topology(f"t{number:04d}", parts, streams))
    nodes = tuple(
        Node(f"n{i:05d}", tuple(range(6700, 6720)), f"r{i // 40:03d}", 1600.0, 32_768.0)
        for i in range(max(4, executors // 20))
    )
    return Problem(nodes, tuple(topologies))


def cell(name: str, executors: int) -> dict[str, object]:
    """Return what one run took: seconds, bytes, tuples/s between nodes."""
    question = problem(executors)
    options = OPTIONS.get(name, {})
    start = time.perf_counter()
    try:
        answer = solve(question, name, options=options)
    except Infeasible as refusal:
        return {"refusal": str(refusal)}
    took = time.perf_counter() - start
    processes = (psutil.Process(), *psutil.Process().children(recursive=True))
    held = sum(_peak(process.pid) for process in processes)
    return {
        "seconds": took,
        "bytes": held,
        "far": answer.metrics.inter_node_tuples_per_second / question.traffic.total,
    }


def _peak(pid: int) -> int:
    """Return the most bytes that a process has held."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None, status
    return int(found[1]) * 1024


def run(name: str, executors: int) -> dict[str, Any] | None:
    """Return a cell computed in a process of its own, None if it took too much."""
    command = [sys.executable, "-m", "benchmarks.speed.growth", "--cell", name, str(executors)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=MAX_SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES)),
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(done.stderr[-300:], file=sys.stderr)
        return None
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def shown(result: dict[str, Any] | None) -> str:
    if result is None:
        return "-"
    if "refusal" in result:
        return str(result["refusal"])[:40]
    return "{seconds:,.2f} s, {0:,.0f} MiB, {far:.0%} far".format(result["bytes"] / 2**20, **result)


def exponent(times: dict[int, float]) -> str:
    """Return the slope of time over executors in logarithms, of the upper half of sizes."""
    sizes = [size for size, seconds in times.items() if seconds >= 0.1]
    if len(sizes) < 2:
        return "too fast to fit"
    slope = np.polyfit(np.log(sizes), np.log([times[size] for size in sizes]), 1)[0]
    return f"executors^{slope:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell", nargs=2, metavar=("NAME", "EXECUTORS"), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    if arguments.cell:
        print(json.dumps(cell(arguments.cell[0], int(arguments.cell[1]))))
        return
    rows = []
    times: dict[str, dict[int, float]] = {name: {} for name in ALGORITHMS}
    given_up: set[str] = set()
    for size in arguments.sizes:
        cells = []
        for name in ALGORITHMS:
            result = None if name in given_up else run(name, size)
            if result is None:
                given_up.add(name)
            elif "seconds" in result:
                times[name][size] = float(result["seconds"])
            cells.append(shown(result))
            print(size, name, cells[-1], file=sys.stderr, flush=True)
        question = problem(size)
        pairs = sum(len(b.sources) * len(b.targets) for b in question.traffic.blocks)
        rows.append(f"| {size:,} | {len(question.nodes):,} | {pairs:,} | {' | '.join(cells)} |")
    fits = ", ".join(f"`{name}` {exponent(times[name])}" for name in ALGORITHMS)
    page = PAGE.format(
        executors=EXECUTORS,
        components=COMPONENTS,
        seconds=MAX_SECONDS,
        memory=MAX_BYTES // 2**30,
        names=" | ".join(f"`{name}`" for name in ALGORITHMS),
        rules=" | ".join("---" for _ in ALGORITHMS),
        rows="\n".join(rows),
        growth=f'Growth fitted over cells of 0.1 s and more: {fits}. "far" is the share of all '
        "tuples that crosses nodes.",
        made=made_by("numpy", "pymetis", "ortools"),
    )
    if arguments.output:
        write_page(arguments.output, page)
    else:
        print(page)


if __name__ == "__main__":
    main()
