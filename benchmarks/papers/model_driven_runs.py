"""Rates that dataflows sustain under the model-driven allocators and mappers, beside predictions.

Run by hand, with models of the same slot, on a machine with Docker. Each line is kept as it is
measured: rerun the command to resume.

    scripts/with-docker python -m benchmarks.papers.model_driven_runs \
      --output docs/results/capacity-runs.md
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count, product
from pathlib import Path

import numpy as np

from benchmarks import CHECKOUT
from benchmarks.machine import made_by
from benchmarks.page import write_page
from benchmarks.raw_data import DATA
from stormcut.adapters.files.capacity_files import read_dag, read_models
from stormcut.capacity.mapping import map_to, mapper
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.rig import ClusterRig
from stormcut.lab.adapters.bench.serving import serving
from stormcut.lab.adapters.bench.steered import ObservedTrial, Steered, steered
from stormcut.lab.adapters.bench.trial_bench import percent
from stormcut.lab.adapters.bench.workers import CLUSTER_PATIENCE
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
from stormcut.lab.adapters.storm.topology_project import load
from stormcut.lab.cli.model import MEMORY_MB, TASKS
from stormcut.lab.cli.own_cluster import ended
from stormcut.lab.experiment.bench.entrants import Hosts
from stormcut.lab.experiment.bench.planner import BenchPlanner
from stormcut.lab.experiment.bench.windows import STEP_S
from stormcut.lab.experiment.servers import with_servers
from stormcut.lab.experiment.trials import RateTrial, Reading, judged, peak_of
from stormcut.model.cluster import RunningTopology
from stormcut.model.errors import Infeasible
from stormcut.placement.algorithms.model_driven.allocation import (
    Dag,
    PerformanceModel,
    lsa,
    mba,
)
from stormcut.placement.algorithms.model_driven.prediction import cpu_by_slot, predict

EXAMPLES = CHECKOUT / "examples" / "capacity"
DATAFLOWS = ("linear", "diamond", "star")
ALLOCATIONS = {"lsa": lsa, "mba": mba}
#: An allocator and a mapper.
Pair = tuple[str, str]
PAIRS: tuple[Pair, ...] = (
    ("lsa", "dsm"),
    ("lsa", "rsm"),
    ("mba", "dsm"),
    ("mba", "rsm"),
    ("mba", "sam"),
    ("mba", "cut"),
)
#: Planned rates rise by this, tuples/s.
STEP = 1.0
#: Cores of the node that holds source, sink and acker, in slots.
REST = 2
SECONDS = 12.0

PAGE = """\
# Dataflows of model-driven scheduling, measured

The three micro-dataflows of A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed
stream processing systems", J. Parallel Distrib. Comput. 117 (2018), on real Storm: nodes of one
slot, {cores:g} cores each, by [models of the same slot](capacity-models.md). *Planned*
is the highest rate, in steps of {step:g} tuples/s, that the allocator needs no more slots for and
the mapper finds room for. *Predicted* is the rate that the mapping sustains by the models, every
slot loaded as it can carry; *by threads*: if each thread of a task gets the same, as Storm's
shuffle deals. *Measured* is the highest stable rate, to 6 %.

{rates}

{fits}

{errors}

CPU of each slot's node at the measured rate, in percent of the slot above an idle worker:
predicted and measured, R^2 {cpu_fit} over {nodes} nodes; the paper's is at least 0.81.

{cpu}

[What this shows](findings.md#the-model-driven-papers-mappings).

{made}
"""


@dataclass(frozen=True)
class Question:
    """What is measured: a dataflow on so many slots under a pair of allocator and mapper."""

    dataflow: str
    slots: int
    allocation: str
    mapping: str


@dataclass(frozen=True)
class Planned:
    """What the models say: the rate, and threads by task and slot."""

    rate: float
    predicted: float
    by_threads: float
    threads: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Measured:
    """A line of the journal; CPU is of each slot at the measured rate, in percent."""

    question: Question
    planned: Planned
    measured: float
    cpu_predicted: tuple[float, ...]
    cpu: tuple[float, ...]


def planned(question: Question, models: Mapping[str, PerformanceModel], dag: Dag) -> Planned | None:
    """Return the highest rate that is planned for so many slots, None if there is none."""
    best = None
    machines = (1,) * question.slots
    for step in count(1):
        rate = step * STEP
        allocation = ALLOCATIONS[question.allocation](models, dag, rate)
        if allocation.slots > question.slots:
            break
        try:
            chosen = mapper(question.mapping, models, dag, rate)
            threads = map_to(chosen, allocation, machines).threads
        except Infeasible:
            continue
        best = Planned(
            rate,
            predict(models, dag, threads).rate,
            predict(models, dag, threads, shuffle=True).rate,
            {task: tuple(row.tolist()) for task, row in zip(dag.order, threads, strict=True)},
        )
    return best


def cpu_of(
    plan: Planned, models: Mapping[str, PerformanceModel], dag: Dag, rate: float
) -> tuple[float, ...]:
    """Return the CPU of each slot at an input rate, in percent (the paper, section 8.6)."""
    threads = np.array([plan.threads[task] for task in dag.order])
    found = cpu_by_slot(models, dag, threads, rate).sum(axis=0)
    return tuple(np.minimum(found, 100.0).round(1).tolist())


class Runs:
    """Measures questions on one cluster."""

    def __init__(self, rig: ClusterRig, planner: BenchPlanner, cores: float, steps: Steps) -> None:
        self._rig = rig
        self._planner = planner
        self._cores = cores
        self._steps = steps

    def measure(
        self, question: Question, plan: Planned, options: Mapping[str, object]
    ) -> tuple[RateTrial, tuple[float, ...]] | None:
        """Return the highest stable trial, and the CPU of each slot in it; None: none is stable."""
        given = {**options, **{f"threads.{task}": sum(row) for task, row in plan.threads.items()}}
        name = f"{question.dataflow}-{question.slots}-{question.allocation}-{question.mapping}"
        topology = f"model_driven_{question.dataflow}"
        seen: dict[float, ObservedTrial] = {}
        hosts = partial(self._hosts, plan)
        with steered(self._rig, self._planner, name, topology, given, hosts) as running:
            idle = running.idle()
            near = min(plan.by_threads, plan.rate)
            peak = peak_of(lambda rate: self._tried(running, rate, seen), near)
        if peak is None:
            return None
        cores = seen[peak.rate].cores
        slots = range(1, question.slots + 1)
        return peak, tuple(round(percent(cores[n], idle[n], self._cores), 1) for n in slots)

    def _tried(self, running: Steered, rate: float, seen: dict[float, ObservedTrial]) -> RateTrial:
        found = seen[rate] = running.trial(rate, SECONDS)
        reading = Reading(
            found.latency_ms, STEP_S, found.sent_per_second, found.acked_per_second, 0.0, 0.0
        )
        trial = judged(0, rate, SECONDS, reading)
        self._steps.say(f"  {rate:.4g} tuples/s: {trial.verdict}")
        return trial

    def _hosts(self, plan: Planned, running: RunningTopology) -> Hosts:
        """Return the node of each executor: the first is for what is no task."""
        rest, *slots = (node.address for node in self._rig.nodes.values())
        places = {
            task: iter([slots[slot] for slot, threads in enumerate(row) for _ in range(threads)])
            for task, row in plan.threads.items()
        }
        executors = sorted(running.executors, key=lambda each: each.start_task)
        return {
            each.start_task: next(places[each.component]) if each.component in places else rest
            for each in executors
        }


def questions(slots: Sequence[int], pairs: Sequence[Pair]) -> Iterator[Question]:
    """Yield what is to be measured."""
    for number, dataflow, pair in product(slots, DATAFLOWS, pairs):
        yield Question(dataflow, number, *pair)


def read(journal: Path) -> list[Measured]:
    """Return what was measured so far, in the order in which it is asked."""
    if not journal.exists():
        return []
    found = []
    for line in journal.read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        document["question"] = Question(**document["question"])
        document["planned"] = Planned(**document["planned"])
        found.append(Measured(**document))
    slots = sorted({each.question.slots for each in found})
    asked = list(questions(slots, PAIRS))
    return sorted(found, key=lambda each: asked.index(each.question))


def run(models_file: Path, journal: Path, slots: Sequence[int], pairs: Sequence[Pair]) -> None:
    """Measure what the journal does not have."""
    steps = Steps("model-driven")
    content = json.loads(models_file.read_text(encoding="utf-8"))
    cores, known = content["slot"]["cores"], read_models(models_file)
    done = {each.question for each in read(journal)}
    left = [each for each in questions(slots, pairs) if each not in done]
    nodes = max(slots) + 1
    sizes = (REST, *(1,) * max(slots))
    shape = ClusterShape(nodes, cores * sum(sizes) / nodes, memory_mb=MEMORY_MB, sizes=sizes)
    options = {key: value for given, _ in TASKS.values() for key, value in given.items()}
    with steps.step(f"starting Storm 1.2.4 in {nodes + 2} containers") as update:
        cluster = DockerCluster.up(shape, "runs", config=CLUSTER_PATIENCE, progress=update)
    with ended(cluster, steps), ExitStack() as stack:
        planner, rig = BenchPlanner(), ClusterRig(cluster)
        stack.enter_context(serving(planner, cluster))
        given = stack.enter_context(
            with_servers(load("model_driven_linear"), options, rig.servers, steps)
        )
        runs = Runs(rig, planner, cores, steps)
        for at, question in enumerate(left):
            file = read_dag(EXAMPLES / f"{question.dataflow}.json")
            models = file.models(known)
            plan = planned(question, models, file.dag)
            steps.say(f"{at + 1} of {len(left)}: {question}: {plan}")
            found = plan and runs.measure(question, plan, given)
            if not plan or not found:
                continue
            trial, cpu = found
            line = Measured(
                question, plan, trial.rate, cpu_of(plan, models, file.dag, trial.rate), cpu
            )
            with journal.open("a", encoding="utf-8") as out:
                out.write(json.dumps(asdict(line)) + "\n")


#: What the figures say; to be edited when they are measured again.
#: What is compared with the measured rate, and the paper's R^2.
FORETOLD: tuple[tuple[str, Callable[[Measured], float], str], ...] = (
    ("planned", lambda each: each.planned.rate, "0.55 to 0.69"),
    ("predicted", lambda each: each.planned.predicted, "0.71 to 0.95"),
    ("by threads", lambda each: each.planned.by_threads, "-"),
)


def fit(pairs: Sequence[tuple[float, float]]) -> str:
    """Return R^2 as the paper has it, the squared correlation; -: too few."""
    if len(pairs) < 3:
        return "-"
    return f"{statistics.correlation(*zip(*pairs, strict=True)) ** 2:.2f}"


def page(found: Sequence[Measured], cores: float) -> str:
    """Return the page of what was measured."""
    rows = [
        "| dataflow | slots | pair | planned | predicted | by threads | measured | of planned |"
    ]
    rows.append("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    cpu_rows = ["| dataflow | slots | pair | predicted, by slot | measured |"]
    cpu_rows.append("| --- | ---: | --- | --- | --- |")
    for each in found:
        asked, plan = each.question, each.planned
        both = f"{asked.allocation} + {asked.mapping}"
        rows.append(
            f"| {asked.dataflow} | {asked.slots} | {both} | {plan.rate:g} | {plan.predicted:.1f} "
            f"| {plan.by_threads:.1f} | {each.measured:.1f} | {each.measured / plan.rate:.2f} |"
        )
        shown = (", ".join(f"{x:.0f}" for x in row) for row in (each.cpu_predicted, each.cpu))
        cpu_rows.append(f"| {asked.dataflow} | {asked.slots} | {both} | {' | '.join(shown)} |")
    fits = ["| R^2 with the measured rate | " + " | ".join(DATAFLOWS) + " | all | the paper |"]
    fits.append("| --- | ---: | ---: | ---: | ---: | --- |")
    for name, key, printed in FORETOLD:
        own = [
            fit([(key(each), each.measured) for each in found if each.question.dataflow == flow])
            for flow in DATAFLOWS
        ]
        own.append(fit([(key(each), each.measured) for each in found]))
        fits.append(f"| {name} | {' | '.join(own)} | {printed} |")
    errors = ["| median error of | figures | planned | predicted | by threads |"]
    errors.append("| --- | ---: | ---: | ---: | ---: |")
    for number in sorted({each.question.slots for each in found}):
        own_slots = [each for each in found if each.question.slots == number]
        medians = (
            statistics.median(abs(key(each) / each.measured - 1) for each in own_slots)
            for _, key, _ in FORETOLD
        )
        told = " | ".join(f"{median:.0%}" for median in medians)
        errors.append(f"| {number} slots | {len(own_slots)} | {told} |")
    cpu = [both for each in found for both in zip(each.cpu_predicted, each.cpu, strict=True)]
    return PAGE.format(
        cores=cores,
        step=STEP,
        rates="\n".join(rows),
        fits="\n".join(fits),
        errors="\n".join(errors),
        cpu_fit=fit(cpu),
        nodes=len(cpu),
        cpu="\n".join(cpu_rows),
        made=made_by("numpy", "scipy"),
    )


def pair(text: str) -> Pair:
    """Return the pair that a text such as mba+sam names."""
    allocator, _, mapping = text.partition("+")
    if (allocator, mapping) not in PAIRS:
        raise ValueError(text)
    return allocator, mapping


def main() -> None:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=DATA / "capacity-models.json")
    parser.add_argument("--output", type=Path, required=True, help="the page")
    parser.add_argument("--journal", type=Path, default=DATA / "capacity-runs.jsonl")
    parser.add_argument("--slots", type=int, nargs="+", default=[4, 6])
    parser.add_argument("--pairs", type=pair, nargs="+", default=PAIRS, metavar="ALLOCATOR+MAPPER")
    parser.add_argument("--report-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if not arguments.report_only:
        run(arguments.models, arguments.journal, arguments.slots, arguments.pairs)
    cores = json.loads(arguments.models.read_text(encoding="utf-8"))["slot"]["cores"]
    write_page(arguments.output, page(read(arguments.journal), cores))


if __name__ == "__main__":
    main()
