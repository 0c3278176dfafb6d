"""`stormcut model`: what threads of a task sustain alone on a slot, by trials on real Storm."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stormcut.cli.groups import Group
from stormcut.cli.interruption import interruptible
from stormcut.cli.key_values import parse_pairs
from stormcut.cli.numbers import Finite
from stormcut.cli.outputs import OutputFile, picture_form
from stormcut.cli.steps import Steps
from stormcut.lab.cli.own_cluster import ended
from stormcut.model.errors import InvalidInput
from stormcut.report.tables import format_rate
from stormcut.report.terminal import Grid, terminal

if TYPE_CHECKING:
    from stormcut.lab.adapters.bench.trial_bench import TrialBench
    from stormcut.placement.algorithms.model_driven.allocation import PerformanceModel

#: Of a slot. A node has no more, and a worker's heap is Storm's own.
MEMORY_MB = 1024
#: Relative cores of the task's node and of the one that holds source and sink.
SIZES = (1, 3)
#: By kind: what it does in a trial, and the rate that is tried first. Servers take the paper's time
#: for an answer; objects and rows are a tenth of the paper's.
TASKS: Mapping[str, tuple[Mapping[str, object], float]] = {
    "parse": ({"xml.orders": 400}, 100),
    "pi": ({"pi.repeats": 10_000}, 100),
    "file": ({"file.batch": 10_000}, 10_000),
    "blob": ({"blob.bytes": 200_000, "blob.delay.ms": 500, "blob.per.second": 30}, 2),
    "table": ({"table.rows": 200_000, "table.delay.ms": 330}, 3),
}
THREADS = "1,2,3,4,6,8,12,16,24,32,48,64"


@click.group(cls=Group)
def model() -> None:
    """Measure what threads of a task sustain, or show it.

    \b
    Example:
      stormcut model build pi --output models.json
      stormcut model show models.json
    """


@model.command()
@click.argument("task", type=click.Choice(list(TASKS)))
@click.option(
    "--output",
    type=OutputFile(),
    default=Path("models.json"),
    show_default=True,
    help="File of models; the task's is added to it.",
)
@click.option(
    "--cpus",
    type=Finite(0.05),
    default=0.5,
    show_default=True,
    help="Cores of the slot.",
)
@click.option(
    "--threads",
    metavar="N,...",
    default=THREADS,
    show_default=True,
    help="Numbers of threads that are tried.",
)
@click.option(
    "--first-rate", type=Finite(0, min_open=True), help="Tuples/s that one thread is tried at."
)
@click.option(
    "--seconds",
    type=Finite(6),
    default=12.0,
    show_default=True,
    help="Length of a trial; one that tells too little is repeated, up to four times as long.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the topology (topologies list).",
)
@click.option(
    "--name", default="model", show_default=True, metavar="NAME", help="Name of the cluster."
)
def build(
    task: str,
    output: Path,
    cpus: float,
    threads: str,
    first_rate: float | None,
    seconds: float,
    options: tuple[str, ...],
    name: str,
) -> None:
    """Find the highest rates that threads of TASK sustain.

    TASK runs alone on a node of a Docker cluster, its source and sink on another. For each number
    of threads, rates are tried until the highest is known at which latency does not grow. Each
    trial is added to a file beside the output: after an interruption, rerun the command to resume.

    \b
    Example:
      stormcut model build pi
      stormcut model build blob --threads 1,2,10,30,50 --option blob.bytes=100000
    """
    from stormcut.adapters.machine.needs import describe
    from stormcut.lab.adapters.files.models_file import TrialFile, check_slot, write_model
    from stormcut.lab.adapters.storm.topology_project import check_options
    from stormcut.lab.experiment.trials import LONGEST, Sweep
    from stormcut.lab.experiment.trials import build as by_trials

    usual, usual_rate = TASKS[task]
    given = {**usual, **{key: _value(text) for key, text in parse_pairs(options).items()}}
    check_options("one_task", {**given, "task": task})
    slot = {"cores": cpus, "memory_mb": float(MEMORY_MB)}
    check_slot(output, slot)
    sweep = Sweep(_numbers(threads), first_rate or usual_rate, seconds)
    journal = TrialFile(output.with_suffix(".trials.jsonl"), task, {**given, **slot})
    steps = Steps("model")
    if len(journal):
        steps.say(f"{len(journal)} trials are known and not made again")
    with interruptible(), _bench(name, task, given, cpus, steps) as bench:
        measured = by_trials(sweep, bench, journal, steps)
    length = f"trials of {seconds:g} to {LONGEST * seconds:g} s"
    taken_on = f"{describe()}, {time.strftime('%Y-%m-%d')}, {length}"
    write_model(output, task, measured, slot, taken_on)
    _table({task: measured}, {}).print(terminal())
    click.echo(f"{output}: the model of {task}")


@contextmanager
def _bench(
    name: str, task: str, options: Mapping[str, object], cpus: float, steps: Steps
) -> Iterator[TrialBench]:
    """Yield what trials of a task are made with, on a cluster that ends with the block."""
    from stormcut.lab.adapters.bench.rig import ClusterRig
    from stormcut.lab.adapters.bench.serving import serving
    from stormcut.lab.adapters.bench.trial_bench import TOPOLOGY, SlotNode, TrialBench
    from stormcut.lab.adapters.bench.workers import CLUSTER_PATIENCE
    from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
    from stormcut.lab.adapters.storm.topology_project import load
    from stormcut.lab.experiment.bench.planner import BenchPlanner
    from stormcut.lab.experiment.servers import with_servers

    mean = cpus * sum(SIZES) / len(SIZES)
    shape = ClusterShape(len(SIZES), mean, memory_mb=MEMORY_MB, sizes=SIZES)
    with steps.step(f"starting Storm 1.2.4 in {len(SIZES) + 2} containers") as update:
        cluster = DockerCluster.up(shape, name, config=CLUSTER_PATIENCE, progress=update)
    with ended(cluster, steps):
        node, planner, rig = cluster.plan.nodes[0], BenchPlanner(), ClusterRig(cluster)
        slot = SlotNode(node.name, cluster.plan.container_name(node), cpus, MEMORY_MB)
        servers = with_servers(load(TOPOLOGY), options, rig.servers, steps)
        with serving(planner, cluster), servers as given:
            yield TrialBench(rig, planner, slot, task, given)


@model.command()
@click.argument("models", type=click.Path(path_type=Path))
@click.option(
    "--beside",
    type=click.Path(path_type=Path),
    metavar="MODELS",
    help="Models of the same tasks to show with them.",
)
@click.option(
    "--plot", type=OutputFile(), metavar="FILE", help="Draw the models: FILE.svg, .png or .pdf."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def show(models: Path, beside: Path | None, plot: Path | None, as_json: bool) -> None:
    """Show the models of a file, and others beside them.

    Where the others are of another machine, compare shapes: both are also told in percent of
    their own highest rate.

    \b
    Example:
      stormcut model show models.json --beside examples/capacity/azure.json --plot models.svg
    """
    from stormcut.adapters.files.capacity_files import read_models
    from stormcut.adapters.files.json_document import write_bytes
    from stormcut.lab.report.model_picture import draw_models

    form = picture_form(plot, "--plot")
    ours = read_models(models)
    others = read_models(beside) if beside else {}
    if as_json:
        click.echo(json.dumps({name: asdict(each) for name, each in ours.items()}, indent=2))
    else:
        _table(ours, others).print(terminal())
    if plot:
        titles = (models.stem, beside.stem if beside else "")
        write_bytes(plot, draw_models(ours, others, titles, form))


def _table(models: Mapping[str, PerformanceModel], others: Mapping[str, PerformanceModel]) -> Grid:
    table = Grid().name("task")
    table.figures("threads", "tuples/s", "of its highest", "CPU %", "memory %")
    for name, ours in models.items():
        for each, who in ((ours, name), (others.get(name), f"{name}, beside")):
            for index in range(len(each.threads) if each else 0):
                assert each is not None
                table.row(
                    who if index == 0 else "",
                    f"{each.threads[index]:,}",
                    format_rate(each.rate[index]),
                    f"{each.rate[index] / each.best_rate:.0%}",
                    f"{each.cpu_percent[index]:.1f}",
                    f"{each.memory_percent[index]:.1f}",
                )
            if each:
                table.end_section()
    return table


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or numbers[0] != 1 or any(a >= b for a, b in pairwise(numbers)):
        raise InvalidInput(f"must be whole numbers that ascend from 1, not {text}", "--threads")
    return numbers
