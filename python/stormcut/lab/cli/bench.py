"""`stormcut bench`: schedulers side by side on a real cluster with limits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stormcut import __version__
from stormcut.cli import completion
from stormcut.cli.contenders import Commands, commands, scheduler_of
from stormcut.cli.interruption import interruptible
from stormcut.cli.numbers import Finite, Whole
from stormcut.cli.outputs import OutputFolder, check_folder, csv_text
from stormcut.cli.steps import Steps
from stormcut.lab.cli import completion as lab_completion
from stormcut.lab.cli.own_cluster import ended
from stormcut.model.errors import InvalidInput

if TYPE_CHECKING:
    from stormcut.application.compare import Scheduler
    from stormcut.lab.experiment.bench.cells import BenchRun
    from stormcut.lab.experiment.bench.plan import BenchPlan, Setting

#: The papers' and ours; a setting adds variants.
PAPERS = ("even", "r-storm", "ols", "p-scheduler", "t3-scheduler", "i-scheduler", "stromax")
SCHEDULERS = (*PAPERS, "cut")


@click.command()
@click.option(
    "--setting",
    default="network",
    show_default=True,
    metavar="NAME|FILE",
    shell_complete=lab_completion.settings,
    help="Name of a setting, or a YAML file (keys: docs/bench.md).",
)
@click.option(
    "--topologies",
    metavar="NAME,...",
    shell_complete=lab_completion.topology_names,
    help="Those to measure; without it all that the setting has.",
)
@click.option(
    "--schedulers",
    metavar="NAME,...",
    shell_complete=completion.algorithms,
    help="Those to compare. Default: eight, and the setting's.",
)
@commands
@click.option("--nodes", type=Whole(2), help="Number of nodes; default: the setting's.")
@click.option(
    "--cpus", type=Finite(0, min_open=True), help="Cores of a node; default: the setting's."
)
@click.option(
    "--bandwidth", metavar="RATE", help="A node's link each way: 5mbit, or out=5mbit,in=2mbit."
)
@click.option("--heterogeneous", metavar="NODESxSIZE,...", help="Sizes of the nodes.")
@click.option(
    "--repetitions",
    default=5,
    show_default=True,
    type=Whole(1),
    help="Windows measured of each cell.",
)
@click.option(
    "--window",
    default=10.0,
    show_default=True,
    type=Finite(4),
    help="Seconds measured in each cell.",
)
@click.option("--output", type=OutputFolder(), help="Folder of the results.")
@click.option(
    "--name", default="bench", show_default=True, metavar="NAME", help="Name of the cluster."
)
@click.option("--report-only", is_flag=True, help="Measure nothing, make the pages again.")
def bench(
    setting: str,
    topologies: str | None,
    schedulers: str | None,
    commands: Commands,
    nodes: int | None,
    cpus: float | None,
    bandwidth: str | None,
    heterogeneous: str | None,
    repetitions: int,
    window: float,
    output: Path | None,
    name: str,
    report_only: bool,
) -> None:
    """Measure schedulers side by side on a Docker cluster.

    Each topology runs under each scheduler's placement, on the same nodes with the same limits, in
    alternating order, until all repetitions are measured. Results go to a folder (default:
    bench-SETTING): bench.html, bench.md, cells.parquet and .csv, and a journal. After an
    interruption, rerun the command to resume.

    The YAML file of a setting has the keys summary, nodes, cpus and topologies, and may have
    bandwidth, heterogeneous, room, storm and variants.

    \b
    Examples:
      stormcut bench --topologies linear,word_count --schedulers even,cut --repetitions 3
      stormcut bench --setting cpu --output results/bench-cpu
      stormcut bench --setting network --heterogeneous 1x3,2x2,2x1
      stormcut bench --schedulers even,cut,mine --command 'mine=python3 my_scheduler.py'
    """
    from stormcut.lab.adapters.bench.setting import read_setting
    from stormcut.lab.experiment.bench.plan import BenchPlan, Timing

    chosen = _changed(read_setting(setting), nodes, cpus, bandwidth, heterogeneous)
    plan = BenchPlan(
        chosen,
        tuple(dict.fromkeys([*_schedulers(schedulers, chosen), *commands])),
        _listed(topologies) if topologies else tuple(chosen.topologies),
        repetitions,
        Timing(window_s=window),
    )
    folder = output or Path(f"bench-{chosen.name}")
    find = partial(scheduler_of, commands=commands)
    _check(plan, folder, find)
    steps = Steps("bench")
    with interruptible():
        if not report_only:
            _measure(plan, folder, name, find, steps)
        _report(folder, steps)


def _schedulers(names: str | None, setting: Setting) -> tuple[str, ...]:
    return (*SCHEDULERS, *setting.variants) if names is None else _listed(names)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _changed(
    setting: Setting,
    nodes: int | None,
    cpus: float | None,
    bandwidth: str | None,
    heterogeneous: str | None,
) -> Setting:
    return replace(
        setting,
        nodes=setting.nodes if nodes is None else nodes,
        cpus=setting.cpus if cpus is None else cpus,
        bandwidth=setting.bandwidth if bandwidth is None else bandwidth,
        heterogeneous=setting.heterogeneous if heterogeneous is None else heterogeneous,
    )


def _check(plan: BenchPlan, folder: Path, find: Callable[[str], Scheduler]) -> None:
    """Refuse what would only fail once the cluster is up."""
    from stormcut.lab.adapters.bench.setting import shape_of
    from stormcut.lab.adapters.storm.topology_project import check_options

    check_folder(folder)
    shape_of(plan)
    for name in plan.schedulers:
        find(name)
    for topology in plan.topologies:
        check_options(topology, plan.setting.topologies.get(topology, {}))
    if not plan.schedulers:
        raise InvalidInput("names no scheduler", "--schedulers")


def _measure(
    plan: BenchPlan, folder: Path, name: str, find: Callable[[str], Scheduler], steps: Steps
) -> None:
    from stormcut.adapters.spark.profiling import profile_logs
    from stormcut.lab.adapters.bench.journal import FileJournal
    from stormcut.lab.adapters.bench.rig import ClusterRig
    from stormcut.lab.adapters.bench.serving import serving
    from stormcut.lab.adapters.bench.setting import shape_of
    from stormcut.lab.adapters.bench.workers import CLUSTER_PATIENCE
    from stormcut.lab.adapters.clusters.docker import DockerCluster
    from stormcut.lab.adapters.storm import topology_project
    from stormcut.lab.experiment.bench.ports import Equipment
    from stormcut.lab.experiment.bench.run import Bench
    from stormcut.lab.experiment.ports import HOOK_INTERVAL_S

    FileJournal.check(folder, _run(plan, {}))
    shape = shape_of(plan)
    title = f"starting Storm 1.2.4 in {shape.nodes + 2} containers"
    config = {
        **CLUSTER_PATIENCE,
        "stormcut.hook.interval.secs": HOOK_INTERVAL_S,
        # The profile's window is short: of every hundredth tuple there would be too few.
        "stormcut.hook.byte.sample.every": 10,
    }
    with steps.step(title) as update:
        cluster = DockerCluster.up(shape, name, config=config, progress=update)
    with ended(cluster, steps):
        journal = FileJournal.open(folder, _run(plan, dict(cluster.refused)))
        for note in journal.notes:
            steps.say(note)
        profiler = partial(profile_logs, cluster.log_folders, cluster.folder / "profile", warm_up=0)
        rig = ClusterRig(cluster)
        bench = Bench(plan, Equipment(find, rig, journal, profiler, topology_project, steps))
        steps.say(bench.left())
        with serving(bench.planner, cluster):
            bench.run()


def _run(plan: BenchPlan, refused: dict[str, str]) -> BenchRun:
    from stormcut.adapters.machine.home import commit
    from stormcut.adapters.machine.needs import command_line, describe
    from stormcut.lab.adapters.bench.setting import shape_of
    from stormcut.lab.experiment.bench.cells import LINK_FACT, BenchRun

    setting, timing, bandwidth = plan.setting, plan.timing, shape_of(plan).bandwidth
    sizes = setting.heterogeneous or "all alike"
    return BenchRun(
        setting=setting.name,
        summary=setting.summary,
        schedulers=plan.schedulers,
        topologies=plan.topologies,
        repetitions=plan.repetitions,
        options={name: plan.options(name) for name in plan.topologies},
        facts={
            "cluster": f"Storm 1.2.4 in containers, {setting.nodes} nodes ({sizes}), each with one "
            "slot for each scheduler",
            "limits": f"{setting.cpus:g} cores a node on average in periods of 100 ms; its link: "
            f"{bandwidth}",
            LINK_FACT: bandwidth.mbit or "not limited",
            "room": f"a node may hold {setting.room:g} times its even share of the executors; "
            "even and default know no capacity",
            "profile": f"{timing.profile_s:g} s under even, limits in force; all schedulers place "
            "by it",
            "cells": f"continued, {timing.settle_s:g} s left out, {timing.window_s:g} s measured "
            f"(again if not steady, for up to {timing.patience_s:g} s), drained, stopped",
            "machine": describe(),
            "version": __version__,
            "commit": commit() or "not of a checkout",
            "command": command_line("stormcut", sys.argv[1:]),
            "day": time.strftime("%Y-%m-%d"),
        },
        refused=refused,
    )


def _report(folder: Path, steps: Steps) -> None:
    from stormcut.adapters.files.json_document import write_text
    from stormcut.adapters.spark.session import spark_session
    from stormcut.lab.adapters.bench.journal import FileJournal
    from stormcut.lab.adapters.bench.yardsticks import read_yardsticks
    from stormcut.lab.adapters.spark.bench_table import read_cells, write_parquet
    from stormcut.lab.report.bench import markdown, page
    from stormcut.lab.report.bench_figures import BenchResults

    journal = FileJournal(folder)
    with steps.step("writing the pages"):
        results = BenchResults(
            journal.run,
            journal.measurements(),
            journal.placements(),
            journal.starts(),
            read_yardsticks(),
        )
        write_text(folder / "bench.md", markdown([results]))
        write_text(folder / "bench.html", page([results]))
        write_text(folder / "cells.csv", f"{csv_text(read_cells(folder))}\n")
    with steps.step("writing cells.parquet"), spark_session("local[2]") as spark:
        write_parquet(spark, folder)
    written = ("bench.html", "bench.md", "cells.parquet", "cells.csv")
    click.echo(", ".join(str(folder / name) for name in written))
