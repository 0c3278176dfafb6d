"""`stormcut compare`: algorithms side by side on one problem."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.console import Console

from stormcut.adapters.files.json_document import write_bytes
from stormcut.adapters.files.problem_file import read_problem
from stormcut.application.compare import (
    TRADE_OFF,
    Contender,
    Scheduler,
    Trial,
    best_bound,
    best_trial,
    gap,
)
from stormcut.application.compare import compare as run
from stormcut.application.shortfall import shortfall
from stormcut.cli import completion
from stormcut.cli.contenders import Commands, commands, scheduler_of
from stormcut.cli.numbers import seed_option
from stormcut.cli.outputs import OutputFile, csv, csv_text, picture_form, wide
from stormcut.cli.score import headroom_document, latencies_document, throughput_document
from stormcut.cli.steps import waiting
from stormcut.model.problem import Problem
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.placement.registry import ALGORITHMS, FEATURES
from stormcut.report.comparison import draw_comparison
from stormcut.report.tables import format_rate
from stormcut.report.terminal import WIDE, Grid, terminal
from stormcut.simulator.tuple_times import slowest


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--algorithms",
    "names",
    metavar="NAME,...",
    shell_complete=completion.algorithms,
    help="Those to run, also as NAME:KEY=VALUE+KEY=VALUE; all of them without it.",
)
@commands
@click.option(
    "--trade-off",
    is_flag=True,
    help="Also run cut from least traffic to most head-room.",
)
@seed_option
@click.option(
    "--picture",
    type=OutputFile(),
    metavar="FILE",
    help="Draw the traffic that travels as a picture: FILE.svg, .png or .pdf.",
)
@click.option("--from-scratch", is_flag=True, help="Place as if nothing of PROBLEM ran yet.")
@wide
@csv
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def compare(
    problem: Path,
    names: str | None,
    commands: Commands,
    trade_off: bool,
    seed: int,
    picture: Path | None,
    from_scratch: bool,
    is_wide: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Run algorithms side by side on PROBLEM.

    The best one (*) keeps within all limits, carries the rates asked for, has room to double them,
    and then has the shorter tuple times, fewer tuples/s between nodes, and fewer restarts. What
    comes first decides; differences below 1 % do not.

    The gap is how much of the tuples/s between nodes an optimum could save at most, by the best
    bound that any of the algorithms has proven. Acked: tuples/s that sources reach within their
    windows (topology.max.spout.pending), by the cost model. Sustained: the part at which unanchored
    tuples do not pile up either. p99: how long the slowest hundredth of the tuples takes at least,
    at PROBLEM's rates, simulated; nothing where something is full.

    \b
    Examples:
      stormcut compare problem.json --algorithms even,r-storm,cut --picture comparison.svg
      stormcut compare problem.json --algorithms even,caps --trade-off
      stormcut compare problem.json --algorithms cut --command 'mine=python3 my_scheduler.py'
    """
    chosen = _contenders(names, commands, trade_off)
    form = picture_form(picture, "--picture")
    console = Console(stderr=True)
    with waiting(console, f"reading {problem}"):
        question = read_problem(problem)
    if from_scratch:
        question = replace(question, current=None, lost_slots=())
    trials = _run(console, question, chosen, seed)
    if picture is not None:
        title = f"{problem.name}: {question.executor_count:,} executors"
        write_bytes(picture, draw_comparison(trials, question.traffic.total, title, form))
    if as_json or as_csv:
        documents = [_document(question, trial, trials) for trial in trials]
        click.echo(csv_text(documents) if as_csv else json.dumps(documents, indent=2))
        return
    _table(question, trials).print(terminal(), is_wide)
    if best := best_trial(question, trials):
        click.echo(f"* best: {best[1]}")
    if kept := [trial.algorithm for trial in trials if _keeps(question, trial)]:
        click.echo(f"kept what runs: {', '.join(kept)} (--from-scratch places again)")
    for feature in FEATURES:
        blind = [trial.algorithm for trial in trials if feature in trial.ignores]
        if blind:
            click.echo(f"not counted by {', '.join(blind)}: {feature}")
    for trial in trials:
        if warning := _warning(question, trial):
            click.echo(f"{trial.algorithm}: {warning}")
        if trial.refusal is not None:
            named = trial.refusal.startswith(trial.algorithm)
            click.echo(trial.refusal if named else f"{trial.algorithm}: {trial.refusal}")


def _contenders(names: str | None, commands: Commands, trade_off: bool) -> list[Scheduler]:
    """Return what to run: algorithms by name, without any all of them or the trade-off alone."""
    every = [] if trade_off else list(ALGORITHMS)
    chosen = names.split(",") if names is not None else every
    settings = [Contender(DEFAULT_ALGORITHM, options) for options in TRADE_OFF] if trade_off else []
    named = [scheduler_of(name, commands) for name in dict.fromkeys([*chosen, *commands])]
    return [*(each for each in named if each not in settings), *settings]


def _run(
    console: Console, problem: Problem, contenders: Sequence[Scheduler], seed: int
) -> list[Trial]:
    trials: list[Trial] = []
    running = run(problem, contenders, seed)
    for position, contender in enumerate(contenders, start=1):
        with waiting(console, f"{contender} ({position} of {len(contenders)})"):
            trials.append(next(running))
    return trials


def _table(problem: Problem, trials: Sequence[Trial]) -> Grid:
    table = Grid().name("algorithm").figures("between\nnodes\nt/s")
    table.figures("between\nworkers\nt/s", rank=WIDE).figures("head-\nroom")
    table.labels("full\nfirst", rank=1).figures("acked\nt/s", rank=5).figures("sus-\ntained")
    table.figures("p99\nms", rank=2).figures("nodes,\nwork-\ners", rank=3)
    table.figures("re-\nstarts", rank=4).figures("gap", rank=6).figures("s", rank=7)
    bound, best = best_bound(trials), best_trial(problem, trials)
    for index, trial in enumerate(trials):
        is_best = best is not None and best[0] == index
        name = f"* {trial.algorithm}" if is_best else f"  {trial.algorithm}"
        table.row(name, *_cells(trial, bound), style="bold" if is_best else "")
    return table


def _keeps(problem: Problem, trial: Trial) -> bool:
    """Return whether an algorithm left everything where it runs."""
    return trial.solution is not None and problem.current == trial.solution.placement


def _warning(problem: Problem, trial: Trial) -> str | None:
    solution = trial.solution
    if solution is None:
        return None
    return shortfall(problem, solution.placement, solution.headroom)


def _cut(trial: Trial) -> float:
    assert trial.solution is not None
    return trial.solution.metrics.inter_node_tuples_per_second


def _cells(trial: Trial, bound: float | None) -> list[str]:
    seconds = f"{trial.seconds:.2f}"
    if trial.solution is None:
        return ["none", *[""] * 9, seconds]
    reached = trial.throughput
    metrics, room = trial.solution.metrics, trial.solution.headroom
    return [
        format_rate(metrics.inter_node_tuples_per_second),
        format_rate(metrics.inter_worker_tuples_per_second),
        "no limit" if room.value is None else f"{room.value:,.2f}",
        "" if room.bottleneck is None else room.bottleneck.kind.replace("_", " "),
        "" if reached is None else f"{reached.total:,.0f}",
        "" if reached is None else f"{reached.sustained:,.0f}",
        f"{slow[1].p99:,.1f}" if (slow := slowest(trial.times or {})) else "",
        f"{metrics.nodes_used:,}, {metrics.workers_used:,}",
        f"{metrics.workers_restarted:,}",
        "" if bound is None else f"{gap(_cut(trial), bound):.1%}",
        seconds,
    ]


def _document(problem: Problem, trial: Trial, trials: Sequence[Trial]) -> dict[str, object]:
    document: dict[str, object] = {"algorithm": trial.algorithm, "s": trial.seconds}
    if trial.solution is None:
        return {**document, "refusal": trial.refusal}
    best = best_trial(problem, trials)
    bound, certificate = best_bound(trials), trial.solution.certificate
    return {
        **document,
        "ignores": list(trial.ignores),
        "best": best is not None and trials[best[0]] is trial,
        "kept": _keeps(problem, trial),
        "warning": _warning(problem, trial),
        "metrics": asdict(trial.solution.metrics),
        "headroom": headroom_document(trial.solution.headroom),
        "throughput": throughput_document(trial.throughput),
        "latency_ms": None if trial.times is None else latencies_document(trial.times),
        "gap": None if bound is None else gap(_cut(trial), bound),
        "certificate": None if certificate is None else asdict(certificate),
        "notes": list(trial.solution.notes),
    }
