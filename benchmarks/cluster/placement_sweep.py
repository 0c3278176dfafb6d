r"""Forty placements of a small topology, measured: how far `cut` is from the best of them.

Run by hand, on a machine that does nothing else (65 minutes a setting; it resumes where it was):

    scripts/with-docker python -m benchmarks.cluster.placement_sweep small-cpu \
        --measure sweep-small-cpu --output docs/results/placement-sweep.md
    python -m benchmarks.raw_data sweep-small-cpu

Without `--measure` the page is made of what was kept. All rivals' placements, the best ones by the
model, and random ones are measured in groups, each with `even` and `cut` on a cluster of its own.
Ratios to `even` are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks import CHECKOUT
from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.raw_data import DATA, open_data
from stormcut.adapters.files.placement_file import read_placement, write_placement
from stormcut.adapters.files.problem_file import read_problem
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.adapters.spark.bench_table import read_cells
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.throughput import predict_throughput
from stormcut.objective.verify import violations
from stormcut.placement.solve import judged

MODULE = "benchmarks.cluster.placement_sweep"
BOTH = ("even", "cut")
RIVALS = ("caps", "default", "i-scheduler", "ols", "r-storm", "stromax", "t3-scheduler", "t-storm")
#: Of the best by the model, and at random.
BEST, RANDOM = 15, 15
GROUP = 10
#: Of each placement.
WINDOWS = 3
#: Placements that the model looks at; all of them where there are no more.
LOOKED_AT = 20_000

PAGE = """\
# {setting}

{count} placements of one topology on three unequal nodes: rivals', the {best} best by the model of
up to {looked_at:,} looked at, and random ones. Measured in groups on clusters of their own, with
`even` and `cut` in each, {windows} windows of each name; medians of ratios to `even` in the
same repetition, with the least and the most. Names of one placement share a row. Measured at
{commits}.

`cut` reaches {share:.3f} of the best measured placement ({winner}). The model's order and the
measured one have a rank correlation of {rank:.2f}.

| placement | measured / even | predicted / even | nodes | windows |
| --- | ---: | ---: | ---: | ---: |
{rows}

{made}
"""


@dataclass(frozen=True)
class Tried:
    """What a placement reached, as ratios to `even`, and what the model says.

    ``names`` are those who chose it, ``nodes`` how many it uses.
    """

    names: tuple[str, ...]
    nodes: int
    measured: tuple[float, ...]
    predicted: float | None

    @property
    def typical(self) -> float:
        """The median of what was measured."""
        return statistics.median(self.measured)


def main() -> None:
    """Measure group after group and write the page."""
    if sys.argv[1:2] == ["place"]:
        place(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[-1]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("setting", choices=("small-cpu", "small-network"))
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="Measure what it lacks.")
    parser.add_argument("--output", type=Path, required=True, help="The page to write.")
    arguments = parser.parse_args()
    if arguments.measure:
        names = [*RIVALS, *numbered("model", BEST), *numbered("random", RANDOM)]
        for number, begin in enumerate(range(0, len(names), GROUP)):
            group, folder = names[begin : begin + GROUP], arguments.measure / f"{number}"
            if not is_measured(group, folder):
                measure(arguments.setting, group, folder)
    with open_data(arguments.measure or DATA / f"sweep-{arguments.setting}.zip") as data:
        folders = sorted(each for each in data.iterdir() if each.is_dir())
        tried = collected(folders)
        commits = sorted({FileJournal(each).run.facts["commit"] for each in folders})
    write_page(arguments.output, page(arguments.setting, tried, commits))


def numbered(kind: str, count: int) -> list[str]:
    """Return the names of placements of a kind."""
    return [f"{kind}-{number:02}" for number in range(1, count + 1)]


def is_measured(group: list[str], folder: Path) -> bool:
    """Return whether a folder has all windows of a group, whichever version measured them."""
    if not folder.exists():
        return False
    cells = {each.cell for each in FileJournal(folder).measurements()}
    return len(cells) == (len(BOTH) + len(group)) * WINDOWS


def measure(setting: str, group: list[str], folder: Path) -> None:
    """Measure a group of placements beside `even` and `cut`."""
    command = [str(Path(sys.executable).parent / "stormcut"), "bench", "--setting", setting]
    command += ["--schedulers", ",".join([*BOTH, *group]), "--repetitions", str(WINDOWS)]
    command += ["--output", str(folder.absolute()), "--name", "sweep"]
    for name in group:
        kind, _, number = name.rpartition("-")
        if kind in ("model", "random"):
            # What is kept of a bench says how it was called, on any machine.
            python = str(Path(sys.executable).relative_to(CHECKOUT))
            line = shlex.join([python, "-m", MODULE, "place", kind, number])
            command += ["--command", f"{name}={line}"]
    subprocess.run(command, check=True, cwd=CHECKOUT)


def place(kind: str, number: int, question: Path, answer: Path) -> None:
    """Write a random placement, or the one that is at this place in the model's order."""
    problem = read_problem(question)
    found = (
        next(itertools.islice(feasible(problem, number), 1))
        if kind == "random"
        else by_model(problem, question)[number - 1]
    )
    write_placement(answer, problem, judged(problem, kind, {}, found))


def feasible(problem: Problem, seed: int) -> Iterator[Placement]:
    """Yield random placements that break no limit, each once."""
    random, seen = np.random.default_rng(seed), set()
    for _ in range(10 * LOOKED_AT):
        slots = random.integers(problem.slot_count, size=problem.executor_count)
        found = Placement(slots)
        if found not in seen and not violations(problem, found):
            seen.add(found)
            yield found


def by_model(problem: Problem, question: Path) -> list[Placement]:
    """Return the best placements by the model, worked out once for each problem."""
    digest = hashlib.sha256(question.read_bytes()).hexdigest()[:16]
    kept = Path(tempfile.gettempdir()) / f"stormcut-sweep-{digest}.npy"
    if not kept.exists():
        looked_at = list(itertools.islice(feasible(problem, 0), LOOKED_AT))
        values = [predicted(problem, each) for each in looked_at]
        order = np.argsort(values, kind="stable")[::-1][:BEST]
        np.save(kept, np.array([looked_at[at].slots for at in order]))
    return [Placement(slots) for slots in np.load(kept)]


def predicted(problem: Problem, placement: Placement) -> float:
    """Return the tuples/s that sources reach by the model."""
    found = predict_throughput(problem, placement)
    return 0.0 if found is None else float(found.total)


def collected(folders: Iterable[Path]) -> list[Tried]:
    """Return what was measured in all groups, best first."""
    names: dict[tuple[str, ...], set[str]] = defaultdict(set)
    measured: dict[tuple[str, ...], list[float]] = defaultdict(list)
    model: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for folder in folders:
        nodes, predicted_rates = chosen_nodes(folder), predictions(folder)
        cells = [cell for cell in read_cells(folder) if not cell["unsteady"]]
        even = {cell["repetition"]: cell for cell in cells if cell["scheduler"] == "even"}
        for cell in cells:
            if (base := even.get(cell["repetition"])) is None:
                continue
            placement = nodes[cell["scheduler"]]
            names[placement].add(cell["scheduler"])
            measured[placement].append(cell["tuples_per_10s"] / base["tuples_per_10s"])
            if predicted_rates["even"]:
                model[placement].append(
                    predicted_rates[cell["scheduler"]] / predicted_rates["even"]
                )
    tried = [
        Tried(tuple(sorted(names[at])), len(set(at)), tuple(found), median(model[at]))
        for at, found in measured.items()
    ]
    return sorted(tried, key=lambda each: -each.typical)


def predictions(folder: Path) -> dict[str, float]:
    """Return what today's model says of each scheduler's placement, in tuples/s."""
    journal, problems = FileJournal(folder), folder / "problems"
    (topology,) = journal.run.topologies
    problem = journal.problem(topology)
    assert problem is not None
    files = {name: problems / f"{topology}-{name}.placement.json" for name in chosen_nodes(folder)}
    return {
        name: predicted(problem, read_placement(file, problem).placement)
        for name, file in files.items()
    }


def chosen_nodes(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the node of each executor by scheduler, as a bench has placed them last."""
    placed = FileJournal(folder).placements()
    return {each.scheduler: tuple(each.nodes) for each in placed if not each.refusal}


def median(values: list[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(values) if values else None


def page(setting: str, tried: list[Tried], commits: list[str]) -> str:
    """Return the page."""
    told = [each for each in tried if each.predicted is not None]
    rank = spearmanr([t.typical for t in told], [t.predicted for t in told]).statistic
    cut = next(each for each in tried if "cut" in each.names)
    rows = "\n".join(map(row, tried))
    return PAGE.format(
        setting=setting,
        count=len(tried),
        best=BEST,
        looked_at=LOOKED_AT,
        windows=WINDOWS,
        commits=", ".join(commits),
        share=cut.typical / tried[0].typical,
        winner=join_names(tried[0]),
        rank=rank,
        rows=rows,
        made=made_by(),
    )


def row(tried: Tried) -> str:
    """Return a row of the page's table."""
    least, most = min(tried.measured), max(tried.measured)
    cells = (
        join_names(tried),
        f"{tried.typical:.3f} ({least:.2f}-{most:.2f})",
        "" if tried.predicted is None else f"{tried.predicted:.3f}",
        f"{tried.nodes}",
        f"{len(tried.measured)}",
    )
    return f"| {' | '.join(cells)} |"


def join_names(tried: Tried) -> str:
    """Return who chose a placement."""
    return ", ".join(f"`{name}`" for name in tried.names)


if __name__ == "__main__":
    main()
