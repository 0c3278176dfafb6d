"""Two production clusters placed from nothing by `cut`, and again after the loss of supervisors.

Run by hand, on a machine that does nothing else (three minutes):

    python -m benchmarks.solver.yahoo_clusters --output docs/results/yahoo-clusters.md
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import psutil

from benchmarks import CHECKOUT
from benchmarks.machine import made_by
from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.model.problem import Problem
from stormcut.objective.verify import violations
from stormcut.placement.algorithms.cut.place import Options, place
from stormcut.placement.algorithms.storm import even, r_storm
from stormcut.placement.bounds.lower_bound import lower_bound
from stormcut.placement.packing.groups import Groups, fold

DATA = CHECKOUT / "benchmarks" / "data" / "yahoo-clusters"
CLUSTERS = ("01", "03")
STORMCUT = Path(sys.executable).parent / "stormcut"

#: Storm's limit of memory a worker, lifted: by default (768 MB) few topologies could be placed.
HEAP_MB = 131_072.0
RUNS = 3
LOST = 10
#: Tuples/s that a move must save for every worker that it restarts.
RESTART_PRICE = 1.0

PAGE = """\
# Two production clusters

Topologies and supervisors of two of Yahoo's clusters (`benchmarks/data/yahoo-clusters`), placed
from nothing by `cut` with its default options. The files hold no rates: every stream counts as
1 tuple/s for each executor of its source. Time and memory are those of the whole command `stormcut
place`, process start, reading, the proof and writing included: median of {runs} runs, and the most
memory that it and the process of its solver held together.

{table}

- Local traffic: tuples/s between executors on the same node. Its upper bound is all traffic less
  the proven lower bound on traffic between nodes.
- `r-storm` is run on the whole cluster, once, as Storm 1.2.4 would, with
  `topology.worker.max.heap.size.mb` = {heap:,.0f}: at Storm's default of 768 MB it places {few}
  topologies. A topology that it cannot place is left out of the comparison ({left}); `cut` places
  all, while `r-storm` has that topology's room for the others.
- After the loss: {lost} of the supervisors in use vanish at random, with what runs on them (three
  draws); `cut` is called on what is left with `restart_price={price:g}`, the problem in memory. The
  time is that of the call, its proof included; in brackets, without the proof.
{remarks}
## Topology by topology

Tuples/s that stay local, of topologies that `cut` does not place on one node.

{topologies}

{made}
"""


@dataclass(frozen=True)
class Run:
    """What one process took."""

    seconds: float
    mebibytes: float


@dataclass(frozen=True)
class Loss:
    """What a call after the loss of supervisors took, without its proof too, and what it moved."""

    seconds: float
    unproven: float
    homeless: int
    others: int


@dataclass(frozen=True, eq=False)
class Result:
    """What was measured of one cluster."""

    name: str
    problem: Problem
    runs: list[Run]
    bound: float
    local: np.ndarray
    storm: np.ndarray
    placed: np.ndarray
    few: int
    racks: tuple[float, float]
    losses: list[Loss]

    @property
    def upper(self) -> float:
        """Return the most tuples/s that can stay local."""
        return self.problem.traffic.total - self.bound


def unpacked(name: str, folder: Path) -> Path:
    """Return the problem file of a cluster, imported from Storm's files."""
    home = folder / name
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(home, filter="data")
    path = folder / f"{name}.json"
    command: list[str | Path] = [
        STORMCUT,
        "import",
        "storm",
        home,
        "--supervisors",
        home / "supervisors.json",
    ]
    subprocess.run([*command, "--output", path], check=True, capture_output=True)
    return path


def command_run(problem: Path, output: Path) -> Run:
    """Place a problem in a process of its own."""
    start = time.perf_counter()
    process = psutil.Popen(
        [STORMCUT, "place", problem, "--option", "objective=cut", "--output", output],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    most = 0
    while process.poll() is None:
        most = max(most, _resident(process))
        time.sleep(0.01)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"stormcut place ended with {process.returncode}")
    return Run(seconds, most / 2**20)


def _resident(process: psutil.Process) -> int:
    """Return the bytes that a process and its children hold; pages that they share count twice."""
    total = 0
    try:
        for each in (process, *process.children(recursive=True)):
            total += each.memory_info().rss
    except psutil.Error:
        pass
    return total


def nodes_of(problem: Problem, placement: Placement) -> np.ndarray:
    """Return the node ordinal of each executor, -1 for none."""
    known = placement.slots >= 0
    return np.where(known, problem.slot_node[np.where(known, placement.slots, 0)], -1)


def held(groups: Groups, homes: np.ndarray, count: int) -> np.ndarray:
    """Return executors of each group in each of ``count`` homes."""
    result = np.zeros((len(groups.size), count))
    known = homes >= 0
    np.add.at(result, (groups.of[known], homes[known]), 1)
    return result


def local_by_topology(problem: Problem, groups: Groups, nodes: np.ndarray) -> np.ndarray:
    """Return the tuples/s that stay on nodes, of each topology."""
    counts = held(groups, nodes, len(problem.nodes))
    within = ((groups.pair_rate @ counts) * counts).sum(axis=1)
    within -= groups.pair_rate.diagonal() * counts.sum(axis=1)
    return np.bincount(groups.topology, weights=within, minlength=len(problem.topologies)) / 2


def between_racks(problem: Problem, groups: Groups, nodes: np.ndarray) -> float:
    racks = np.unique([node.rack for node in problem.nodes], return_inverse=True)[1]
    return groups.total - groups.local(held(groups, racks[nodes], int(racks.max()) + 1))


def storm_places(problem: Problem, heap: float) -> tuple[np.ndarray, np.ndarray]:
    """Return R-Storm's nodes and which topologies it places."""
    answer = r_storm.place(problem, np.random.default_rng(1), r_storm.Options(heap))
    nodes = nodes_of(problem, answer)
    missing = np.bincount(problem.executor_topology[nodes < 0], minlength=len(problem.topologies))
    return nodes, missing == 0


def after_loss(problem: Problem, placement: Placement, seed: int) -> Problem:
    """Return the problem without some nodes in use, what ran on the others given."""
    nodes = nodes_of(problem, placement)
    random = np.random.default_rng(seed)
    lost = set(random.choice(np.unique(nodes), LOST, replace=False).tolist())
    rest = replace(
        problem,
        nodes=tuple(n for at, n in enumerate(problem.nodes) if at not in lost),
        current=None,
    )
    slots = [
        UNASSIGNED if node in lost else rest.slot_ordinals[problem.slot_ids[slot]]
        for node, slot in zip(nodes.tolist(), placement.slots.tolist(), strict=True)
    ]
    return replace(rest, current=Placement(np.array(slots, dtype=np.int64)))


def replanned(problem: Problem, placement: Placement, seed: int) -> Loss:
    """Place what is left of a cluster."""
    rest = after_loss(problem, placement, seed)
    options = Options(restart_price=RESTART_PRICE)
    start = time.perf_counter()
    answer = place(rest, np.random.default_rng(1), options)
    whole = time.perf_counter() - start
    start = time.perf_counter()
    lower_bound(rest, options.effort)
    proof = time.perf_counter() - start
    if violations(rest, answer):
        raise SystemExit("infeasible after the loss")
    assert rest.current is not None
    before, after = nodes_of(rest, rest.current), nodes_of(rest, answer)
    gone = before < 0
    moved = ~gone & (before != after)
    return Loss(whole, max(0.0, whole - proof), int(gone.sum()), int(moved.sum()))


def measured(name: str, folder: Path) -> Result:
    path = unpacked(name, folder)
    output = folder / f"{name}-placement.json"
    command_run(path, output)  # compiles what has not been compiled
    runs = [command_run(path, output) for _ in range(RUNS)]
    problem = read_problem(path)
    placement = read_placement(output, problem).placement
    if violations(problem, placement):
        raise SystemExit(f"cluster {name}: infeasible")
    groups = fold(problem)
    nodes = nodes_of(problem, placement)
    storm, placed = storm_places(problem, HEAP_MB)
    evenly = nodes_of(problem, even.place(problem, np.random.default_rng(1), even.Options()))
    replanned(problem, placement, 0)  # loads what is compiled
    return Result(
        name,
        problem,
        runs,
        lower_bound(problem).tuples_per_second,
        local_by_topology(problem, groups, nodes),
        local_by_topology(problem, groups, storm),
        placed,
        int(storm_places(problem, r_storm.Options().max_heap_mb)[1].sum()),
        (between_racks(problem, groups, nodes), between_racks(problem, groups, evenly)),
        [replanned(problem, placement, seed) for seed in (1, 2, 3)],
    )


def rows(result: Result) -> list[tuple[str, str, str, bool]]:
    """Return (what, goal, measured, met) of a cluster."""
    seconds = median(run.seconds for run in result.runs)
    most = max(run.mebibytes for run in result.runs)
    placed, local, storm = result.placed, result.local, result.storm
    total, against = local[placed].sum(), storm[placed].sum()
    ceiling = result.upper / against
    least = min((a / b for a, b in zip(local[placed], storm[placed], strict=True) if b), default=1)
    racks, evenly = result.racks
    times = [loss.seconds for loss in result.losses]
    bare = [loss.unproven for loss in result.losses]
    moves = ", ".join(f"{loss.homeless} + {loss.others}" for loss in result.losses)
    share = local.sum() / result.upper
    return [
        ("time of the command", "5 s", f"{seconds:.1f} s", seconds <= 5),
        ("memory", "2 GiB", f"{most:,.0f} MiB", most <= 2048),
        ("topologies placed", f"{len(local)}", f"{len(local)}", True),
        (
            f"local traffic over `r-storm`'s ({placed.sum()} topologies)",
            "1.3",
            f"{total:,.0f} / {against:,.0f} = {total / against:.2f} (at most {ceiling:.2f})",
            total >= 1.3 * against,
        ),
        ("... least of any topology", "1", f"{least:.2f}", least >= 1 - 1e-9),
        (
            "local traffic over its upper bound",
            "85 %",
            f"{local.sum():,.0f} / {result.upper:,.0f} = {share:.1%}",
            share >= 0.85,
        ),
        (
            "traffic between racks over `even`'s",
            "50 %",
            f"{racks:,.0f} / {evenly:,.0f} = {racks / evenly:.0%}",
            racks <= evenly / 2,
        ),
        (
            f"time after the loss of {LOST} supervisors",
            "1 s",
            f"{median(times):.2f} s ({median(bare):.2f} s)",
            median(times) <= 1,
        ),
        ("... executors that had to move + others", "few others", moves, True),
    ]


def table(results: list[Result]) -> str:
    lines = ["| cluster | | goal | measured | |", "| --- | --- | --- | --- | --- |"]
    for result in results:
        for what, goal, found, met in rows(result):
            verdict = "" if met else "missed"
            lines.append(f"| {result.name} | {what} | {goal} | {found} | {verdict} |")
    return "\n".join(lines)


def topology_table(results: list[Result]) -> str:
    lines = ["| topology | executors | all traffic | `cut` | `r-storm` |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for result in results:
        traffic = topology_traffic(result.problem)
        for at, topology in enumerate(result.problem.topologies):
            if result.local[at] < traffic[at] - 1e-6:
                storm = f"{result.storm[at]:,.1f}" if result.placed[at] else "-"
                lines.append(
                    f"| {result.name}/{topology.id[-5:]} | {topology.executor_count:,} "
                    f"| {traffic[at]:,.0f} | {result.local[at]:,.1f} | {storm} |"
                )
    return "\n".join(lines)


def topology_traffic(problem: Problem) -> np.ndarray:
    """Return all tuples/s of each topology between different executors."""
    groups = fold(problem)
    return local_by_topology(problem, groups, np.zeros(problem.executor_count, dtype=np.int64))


def remarks(results: list[Result]) -> str:
    """Return a line for each goal that cannot be met whatever is done."""
    lines = []
    for result in results:
        against = result.storm[result.placed].sum()
        if result.upper < 1.3 * against:
            lines.append(
                f"- Cluster {result.name}: no placement has 1.3 times `r-storm`'s local traffic; "
                f"the proven upper bound is {result.upper / against:.2f} times."
            )
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--clusters", nargs="+", default=CLUSTERS, choices=CLUSTERS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = [measured(name, Path(folder)) for name in arguments.clusters]
    left = {
        r.name: [r.problem.topologies[at].id[-5:] for at in np.flatnonzero(~r.placed)]
        for r in results
    }
    page = PAGE.format(
        runs=RUNS,
        table=table(results),
        heap=HEAP_MB,
        few=" and ".join(f"{r.few} of {len(r.local)}" for r in results),
        left="; ".join(f"{name}: {', '.join(ids) or 'none'}" for name, ids in left.items()),
        lost=LOST,
        price=RESTART_PRICE,
        remarks=remarks(results),
        topologies=topology_table(results),
        made=made_by("numpy", "scipy"),
    )
    if arguments.output:
        arguments.output.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
