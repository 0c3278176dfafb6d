r"""Experiments of the papers on real Storm, beside what they print and what is simulated.

Run by hand, on a machine that does nothing else (an hour; it resumes where it was):

    scripts/with-docker python -m benchmarks.papers.real_storm --measure papers-real-storm \
        --reproduced reproduced --output docs/results/papers/real-storm.md
    python -m benchmarks.raw_data papers-real-storm

Without `--measure` the page is made of what was kept. Each setting in `settings` is a cluster of
the paper with all its limits at one fraction. Claims, and the rules by which they are judged, are
those of `stormcut reproduce`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from benchmarks import CHECKOUT
from benchmarks.machine import made_by
from benchmarks.papers.model_driven_runs import Measured, read
from benchmarks.raw_data import DATA, open_data
from benchmarks.simulator.simulator_latency import at_rate
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.adapters.bench.setting import read_setting
from stormcut.lab.experiment.bench.cells import Measurement
from stormcut.lab.papers.claims import (
    ClaimVerdict,
    Gain,
    GainRange,
    Judgement,
    Missing,
    PaperClaim,
    Values,
    judged,
)
from stormcut.lab.papers.library import find_paper
from stormcut.lab.papers.measures import FLUSH_MS
from stormcut.simulator.events import simulate

SETTINGS = Path(__file__).with_name("settings")
ARCHIVE = DATA / "papers-real-storm.zip"
REPETITIONS = 3
#: Dataflows of the model-driven paper by the figure of their rates, and what was measured of them.
DATAFLOWS = {"10 a": "linear", "10 b": "diamond", "10 c": "star"}
RUNS = DATA / "capacity-runs.jsonl"
THROUGHPUT, TIME, NODES = ("executed", "sources"), ("task_ms", "latency_ms"), "nodes"

PAGE = """\
# The papers on real Storm

Experiments of the papers in containers of one machine, each limit of their clusters at one
fraction (the settings below). Where a paper prints throughput, sources send as fast as their
windows allow; where it prints the time of tuples, they send at a rate. Each scheduler gets the
profile that was measured under Storm's own. One start, {repetitions} windows of 10 s in turns:
medians of what windows say, with the least and the most, or all of them where they are not one
number. A claim is judged in each window, by
[the rules of the papers' pages](../../reproduce.md#when-a-claim-holds); where windows disagree, it
cannot be told. *Simulated, theirs*: the paper's cluster, on [its page](summary.md). *Simulated,
here*: the measured profile and placements, on the nodes of the setting.

{claims}
{missing}
The model-driven paper's dataflows ran on slots of a quarter core, on [four and on
six](../capacity-runs.md): a claim is judged on each. *Simulated, here* is what its models
predict for threads that get equal shares. That page has planned rates and CPU, too (figures 9 and
11), and [another](../capacity-models.md) the models of tasks (figure 3).

## What was measured

{figures}

`cut` is no claim of a paper.

## Settings

{settings}

{made}
"""


@dataclass(frozen=True)
class Experiment:
    """A figure that is run on real Storm.

    Attributes
    ----------
    schedulers : sequence of str
        Those that are measured.
    names : mapping of str to str
        The scheduler of a case, where it is called otherwise.
    claims : mapping of str to PaperClaim
        What is judged in the place of a claim of the figure, by the sentence of that one. None:
        the claims of the figure whose cases are all measured.
    """

    paper: str
    figure: str
    setting: str
    topologies: Sequence[str]
    schedulers: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, PaperClaim] | None = None

    def asked(self) -> Mapping[str, PaperClaim]:
        """Return what is judged, by the sentence in the figure."""
        if self.claims is not None:
            return self.claims
        figure = find_paper(self.paper).figure(self.figure)
        cases = {*self.schedulers, *self.names}
        known = {*THROUGHPUT, *TIME, NODES}
        return {
            claim.sentence: claim
            for claim in figure.claims
            if claim.metric in known and cases.issuperset(claim.labels)
        }

    def run_of(self, label: str) -> tuple[str, str]:
        """Return the scheduler and the topology of a case."""
        name, _, topology = label.partition(", ")
        return self.names.get(name, name), topology or self.topologies[0]


_THESIS = ("even", "p-scheduler", "r-storm", "ols", "cut")
_PIPELINE = ("even", "pipeline-linear", "r-storm", "cut")
_STROMAX = ("even", "stromax", "cut")
_BFRAMEWORK = ("even", "bframework", "cut")
_BIG_BENCH = ("bigbench_linear", "bigbench_star")
_BOOTSTRAP = {"bootstrap": "stromax"}

EXPERIMENTS = (
    Experiment("thesis", "7.10", "thesis-load", ("load_prediction",), _THESIS),
    Experiment("thesis", "7.12", "thesis-taxi", ("taxi",), _THESIS),
    Experiment("pipeline-linear", "14", "pipeline-linear", ("pls_random",), _PIPELINE),
    Experiment("pipeline-linear", "17", "pipeline-linear", ("pls_diamond",), _PIPELINE),
    Experiment("stromax", "5 a", "stromax", ("log_processing",), _STROMAX, _BOOTSTRAP),
    Experiment("stromax", "5.2, WC", "stromax", ("word_count",), _STROMAX, _BOOTSTRAP),
    Experiment(
        "bframework",
        "table 9",
        "bframework",
        ("linear_road",),
        _BFRAMEWORK,
        claims={
            "14.3 % less on average": Gain(
                "14.3 % less on average of 17 queries; here one",
                "bframework",
                "even",
                "latency_ms",
                1 - 0.143,
            )
        },
    ),
    Experiment(
        "bframework",
        "table 10",
        "bframework",
        _BIG_BENCH,
        _BFRAMEWORK,
        claims={
            "3.7 to 65.7 % less": GainRange(
                "3.7 to 65.7 % less; here two queries",
                [(f"bframework, {each}", f"even, {each}") for each in _BIG_BENCH],
                "latency_ms",
                (1 - 0.037, 1 - 0.657),
            )
        },
    ),
)


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="Measure what it lacks.")
    parser.add_argument("--only", metavar="SETTING", help="Measure this setting alone.")
    parser.add_argument("--reproduced", type=Path, required=True, help="Folder of `reproduce`.")
    parser.add_argument("--output", type=Path, help="The page to write.")
    arguments = parser.parse_args()
    if arguments.measure:
        for setting in dict.fromkeys(each.setting for each in EXPERIMENTS):
            if arguments.only in (None, setting):
                measure(setting, arguments.measure / setting)
    if arguments.output:
        with open_data(arguments.measure or ARCHIVE) as data:
            arguments.output.write_text(page(data, arguments.reproduced), encoding="utf-8")


def measure(setting: str, folder: Path) -> None:
    """Run a setting's bench, or the rest of it."""
    own = [each for each in EXPERIMENTS if each.setting == setting]
    file = (SETTINGS / f"{setting}.yaml").relative_to(CHECKOUT)
    command = [str(Path(sys.executable).parent / "stormcut"), "bench", "--setting", str(file)]
    command += ["--topologies", ",".join(dict.fromkeys(t for each in own for t in each.topologies))]
    command += ["--schedulers", ",".join(own[0].schedulers), "--repetitions", str(REPETITIONS)]
    command += ["--output", str(folder.absolute()), "--name", "papers"]
    subprocess.run(command, check=True, cwd=CHECKOUT)


class Bench:
    """What was measured and simulated of one setting."""

    def __init__(self, folder: Path) -> None:
        self.journal = FileJournal(folder)
        self.windows = [each for each in self.journal.measurements() if not each.unsteady]
        self.nodes = {
            (each.topology, each.scheduler): len(set(each.nodes))
            for each in self.journal.placements()
            if not each.refusal
        }

    def nodes_used(self, scheduler: str, topology: str) -> float:
        """Return how many nodes a placement uses; raises `Missing`."""
        if (topology, scheduler) not in self.nodes:
            raise Missing(f"{scheduler} found no placement of {topology}")
        return float(self.nodes[topology, scheduler])

    def repetitions(self) -> list[int]:
        """Return the numbers of the repetitions."""
        return sorted({each.cell.repetition for each in self.windows})

    def window(self, scheduler: str, topology: str, repetition: int) -> Measurement:
        """Return a steady window; raises `Missing`."""
        self.nodes_used(scheduler, topology)
        for each in self.of(scheduler, topology):
            if each.cell.repetition == repetition:
                return each
        raise Missing(f"{scheduler} on {topology} has no steady window {repetition}")

    def of(self, scheduler: str, topology: str) -> list[Measurement]:
        """Return the steady windows of a scheduler on a topology."""
        wanted = (scheduler, topology)
        return [w for w in self.windows if (w.cell.scheduler, w.cell.topology) == wanted]

    def rate(self, topology: str) -> float:
        """Return the rate that each kind of source is set to, 0 for as fast as it can."""
        return float(str(self.journal.run.options[topology].get("rate", 0)))

    @cache  # noqa: B019 -- as long as the page is written
    def simulated(self, scheduler: str, topology: str) -> tuple[float, float]:
        """Return simulated tuples/s of the sources, and ms of a tuple; raises `Missing`."""
        if (kept := self.journal.solution(topology, scheduler)) is None:
            raise Missing(f"{scheduler} has no placement of {topology}")
        problem, placement = kept
        if rate := self.rate(topology):
            kinds = [each.kind for own in problem.topologies for each in own.components]
            problem = at_rate(problem, rate * kinds.count("spout"))
        found = simulate(problem, placement, closed=not rate, containers=True, flush_ms=FLUSH_MS)
        if rate and found.saturated:
            raise Missing("tuples pile up")
        (latency,) = found.latency.values()
        return sum(found.sources.values()), latency.mean


def measured_values(experiment: Experiment, bench: Bench, repetition: int) -> Values:
    """Return ``values(label, metric)`` of one window of each case."""

    def measured(label: str, metric: str) -> float:
        scheduler, topology = experiment.run_of(label)
        if metric == NODES:
            return bench.nodes_used(scheduler, topology)
        window = bench.window(scheduler, topology, repetition)
        value = window.tuples_per_10s if metric in THROUGHPUT else window.mean_ms
        if value is None:
            raise Missing(f"{label}: nothing was acknowledged")
        return value

    return measured


def simulated_values(experiment: Experiment, bench: Bench) -> Values:
    """Return ``values(label, metric)`` of the simulated cases."""

    def value(label: str, metric: str) -> float:
        scheduler, topology = experiment.run_of(label)
        if metric == NODES:
            return bench.nodes_used(scheduler, topology)
        return bench.simulated(scheduler, topology)[0 if metric in THROUGHPUT else 1]

    return value


def on_storm(claim: PaperClaim, of: Sequence[Judgement]) -> tuple[str, str]:
    """Return ours and the verdict of a claim from its judgement in each window."""
    decided = [each for each in of if each.verdict is not ClaimVerdict.OPEN]
    if not decided:
        return "-", f"**{ClaimVerdict.OPEN.value}**: {of[0].reason}" if of else "not measured"
    verdicts = {each.verdict for each in decided}
    verdict = verdicts.pop() if len(verdicts) == 1 else ClaimVerdict.OPEN
    if isinstance(claim, GainRange) or any(each.ratio is None for each in decided):
        return "; ".join(dict.fromkeys(each.ours for each in decided)), f"**{verdict.value}**"
    in_order = sorted(decided, key=lambda each: each.ratio or 0.0)
    middle = in_order[len(in_order) // 2]
    ends = {in_order[0].ours, in_order[-1].ours} - {middle.ours}
    spread = f" ({in_order[0].ours} to {in_order[-1].ours})" if ends else ""
    return f"{middle.ours}{spread}", f"**{verdict.value}**"


def claim_rows(
    experiment: Experiment, bench: Bench, theirs: Mapping[str, str]
) -> Iterator[Sequence[str]]:
    """Yield the table's row of each claim."""
    for sentence, claim in experiment.asked().items():
        ours, verdict = on_storm(
            claim,
            [
                judged(claim, measured_values(experiment, bench, repetition))
                for repetition in bench.repetitions()
            ],
        )
        here = judged(claim, simulated_values(experiment, bench)).ours
        where = f"{experiment.paper}, {experiment.figure}"
        yield where, claim.sentence, claim.printed, theirs.get(sentence, "-"), here, ours, verdict


def measured_rate(run: Measured) -> float:
    """Return the highest stable rate, tuples/s."""
    return run.measured


def predicted_rate(run: Measured) -> float:
    """Return the rate that the models predict for threads that get equal shares, tuples/s."""
    return run.planned.by_threads


def rates(runs: Mapping[str, Measured], rate: Callable[[Measured], float]) -> Values:
    """Return ``values(label, metric)`` of runs by allocator and mapper."""
    return lambda label, metric: rate(runs[label])


def dataflow_rows(theirs: Callable[[str], Mapping[str, str]]) -> Iterator[Sequence[str]]:
    """Yield the rows of what the model-driven paper claims of rates.

    Parameters
    ----------
    theirs : callable
        What `stormcut reproduce` finds of a figure, by sentence.
    """
    runs: dict[str, dict[int, dict[str, Measured]]] = {}
    for run in read(RUNS):
        asked = run.question
        by_pair = runs.setdefault(asked.dataflow, {}).setdefault(asked.slots, {})
        by_pair[f"{asked.allocation}+{asked.mapping}"] = run
    for figure, dataflow in DATAFLOWS.items():
        by_slots = runs[dataflow]
        claims = find_paper("model-driven").figure(figure).claims
        for claim in (each for each in claims if isinstance(each, GainRange)):
            measured, predicted = (
                [judged(claim, rates(own, rate)) for own in by_slots.values()]
                for rate in (measured_rate, predicted_rate)
            )
            yield (
                f"model-driven, {figure}",
                claim.sentence,
                claim.printed,
                theirs(figure).get(claim.sentence, "-"),
                "; ".join(each.ours for each in predicted),
                "; ".join(
                    f"{slots} slots: {each.ours}"
                    for slots, each in zip(by_slots, measured, strict=True)
                ),
                on_storm(claim, measured)[1],
            )


def figure_rows(experiment: Experiment, bench: Bench) -> Iterator[Sequence[str]]:
    """Yield what every scheduler reached on each topology."""
    for topology in experiment.topologies:
        for scheduler in experiment.schedulers:
            windows = bench.of(scheduler, topology)
            if not windows:
                why = "no steady window" if (topology, scheduler) in bench.nodes else "no placement"
                yield topology, scheduler, why, "", "", "", ""
                continue
            try:
                rate, time = map(number, bench.simulated(scheduler, topology))
            except Missing as missing:
                rate, time = f"{missing}", ""
            yield (
                topology,
                scheduler,
                spread([each.tuples_per_10s / 10 for each in windows]),
                rate,
                spread([each.mean_ms for each in windows if each.mean_ms is not None]),
                time,
                f"{bench.nodes.get((topology, scheduler), 0)}",
            )


def spread(values: Sequence[float]) -> str:
    """Return the median with the least and the most."""
    if not values:
        return "-"
    low, high = min(values), max(values)
    return f"{number(statistics.median(values))} ({number(low)} to {number(high)})"


def number(value: float) -> str:
    """Return a number of three digits or more without decimals."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def simulated_theirs(folder: Path, paper: str, figure: str) -> Mapping[str, str]:
    """Return what `stormcut reproduce` finds of a figure's claims, by sentence."""
    command = [str(Path(sys.executable).parent / "stormcut"), "reproduce", paper]
    command += ["--figure", figure, "--folder", str(folder), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=CHECKOUT)
    return {each["claim"]: each["ours"] for each in json.loads(done.stdout)}


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def page(data: Path, reproduced: Path) -> str:
    """Return the page."""
    folders = {each.setting: data / each.setting for each in EXPERIMENTS}
    benches = {name: Bench(each) for name, each in folders.items() if each.is_dir()}
    measured = [each for each in EXPERIMENTS if each.setting in benches]
    claims = [
        row
        for each in measured
        for row in claim_rows(
            each, benches[each.setting], simulated_theirs(reproduced, each.paper, each.figure)
        )
    ]
    claims += dataflow_rows(partial(simulated_theirs, reproduced, "model-driven"))
    figures = [row for each in measured for row in figure_rows(each, benches[each.setting])]
    left = ", ".join(f"{each.paper} {each.figure}" for each in EXPERIMENTS if each not in measured)
    heads = "figure, claim, printed, simulated: theirs, simulated: here, real Storm, verdict"
    columns = "topology, scheduler, tuples/s, simulated, ms of a tuple, simulated, nodes used"
    return PAGE.format(
        repetitions=REPETITIONS,
        claims=table(heads.split(", "), claims),
        missing=f"\nNot measured yet: {left}.\n" if left else "",
        figures=table(columns.split(", "), figures),
        settings="\n".join(
            f"- `{name}`: {read_setting(str(SETTINGS / f'{name}.yaml')).summary} "
            f"(commit {bench.journal.run.facts['commit']})"
            for name, bench in benches.items()
        ),
        made=made_by(),
    )


if __name__ == "__main__":
    main()
