"""`stormcut calibrate`: what transfer costs here, fitted to measured runs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from stormcut.adapters.files.costs_file import write_costs
from stormcut.adapters.files.json_document import write_text
from stormcut.adapters.machine.home import commit
from stormcut.adapters.machine.needs import command_line, describe
from stormcut.cli.outputs import OutputFile
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.experiment.calibrate import Calibration, ObservedWindow
from stormcut.lab.experiment.calibrate import calibrate as fit
from stormcut.lab.experiment.prediction import predictions, quality
from stormcut.lab.report.prediction import SettingPrediction, sections
from stormcut.model.errors import InvalidInput
from stormcut.model.network import SHIPPED, Costs
from stormcut.model.problem import CORE_PERCENT
from stormcut.placement.registry import BASELINE
from stormcut.report.tables import markdown


@click.command()
@click.argument("benches", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--schedulers",
    metavar="NAME,...",
    help="Fit to the runs of these alone; all are predicted. Left out: to all runs.",
)
@click.option(
    "--except",
    "left_out",
    metavar="BENCH/TOPOLOGY,...",
    help="Leave out a topology of a bench, such as one that was profiled under other records.",
)
@click.option("--output", type=OutputFile(), help="Costs file, for `import cluster` and `brain`.")
@click.option("--page", type=OutputFile(), help="Markdown page of both tables.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def calibrate(
    benches: tuple[Path, ...],
    schedulers: str | None,
    left_out: str | None,
    output: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Fit transfer costs to bench results, and test the fit.

    BENCHES are folders that `stormcut bench` wrote, or .zip archives of them. At least two windows
    are needed, under placements of which some cross nodes. Predicted and measured are throughputs
    over even's.

    \b
    Example:
      stormcut calibrate bench-network bench-cpu --schedulers even --output costs.json
    """
    journals = _without([FileJournal(folder) for folder in benches], _names(left_out or ""))
    wanted = None if schedulers is None else _names(schedulers)
    source = output.name if output else "this fit"
    fitted = fit(observed(journals, wanted), source)
    predictions = {
        "shipped": _predictions(journals, lambda _: SHIPPED),
        "fitted": _predictions(journals, lambda _: fitted.costs),
        "without": _predictions(journals, fitted.without.get),
    }
    facts = {
        "Machine": describe(),
        "Day": time.strftime("%Y-%m-%d"),
        "Command": command_line("stormcut", sys.argv[1:]),
        "Commit": commit() or "not of a checkout",
    }
    if output:
        intervals = {key: (each.low, each.high) for key, each in fitted.intervals.items()}
        write_costs(output, fitted.costs, intervals, facts)
    if as_json:
        click.echo(json.dumps(_document(fitted, predictions), indent=2))
    else:
        click.echo(markdown(sections(fitted, predictions)))
    if page:
        said = [f"{key}: {text}." for key, text in facts.items()]
        write_text(page, markdown(sections(fitted, predictions, said)))


def _names(given: str) -> list[str]:
    return [name for each in given.split(",") if (name := each.strip())]


def _without(journals: Sequence[FileJournal], left_out: Sequence[str]) -> Sequence[FileJournal]:
    """Return journals without some topologies, each given as BENCH/TOPOLOGY."""
    known = {f"{each.folder.stem}/{name}" for each in journals for name in each.run.topologies}
    if strange := sorted(set(left_out) - known):
        raise InvalidInput("no topology of these benches", f"--except {strange[0]}")
    for each in journals:
        kept = [t for t in each.run.topologies if f"{each.folder.stem}/{t}" not in left_out]
        each.run = replace(each.run, topologies=tuple(kept))
    return journals


def observed(
    journals: Sequence[FileJournal], schedulers: Sequence[str] | None
) -> list[ObservedWindow]:
    """Return the steady windows whose problem and placement were kept.

    Raises
    ------
    InvalidInput
        A bench has none: it was made before they were kept.
    """
    windows: list[ObservedWindow] = []
    for journal in journals:
        before = len(windows)
        for cell in journal.measurements():
            where = cell.cell.topology, cell.cell.scheduler
            if where[0] not in journal.run.topologies or cell.unsteady:
                continue
            if schedulers is not None and where[1] not in schedulers:
                continue
            if (kept := journal.solution(*where)) and cell.node_sent_mbit_s:
                windows.append(
                    ObservedWindow(
                        *kept,
                        cell.tuples_per_10s / 10,
                        CORE_PERCENT * np.array(cell.node_cores),
                        np.array(cell.node_sent_mbit_s),
                        np.array(cell.node_received_mbit_s),
                        where[0],
                    )
                )
        if len(windows) == before:
            what = "has no steady window whose placement was kept (older benches kept none)"
            raise InvalidInput(what, str(journal.folder))
    return windows


def _predictions(
    journals: Sequence[FileJournal], costs: Callable[[str], Costs | None]
) -> list[SettingPrediction]:
    return [
        (journal.run.setting, each)
        for journal in journals
        for each in predictions(
            journal.run, journal.measurements(), journal.solution, costs, BASELINE
        )
    ]


def _document(
    fitted: Calibration, predictions: Mapping[str, Sequence[SettingPrediction]]
) -> dict[str, Any]:
    return {
        "costs": {key: value for key, value in asdict(fitted.costs).items() if key != "source"},
        "intervals": {key: [each.low, each.high] for key, each in fitted.intervals.items()},
        "cpu_r2": fitted.cpu_r2,
        "link_r2": fitted.link_r2,
        "cells": fitted.cells,
        "quality": {
            setting: {
                costs: asdict(each)
                for costs, some in predictions.items()
                if (each := quality([each for of, each in some if of == setting]))
            }
            for setting in dict.fromkeys(setting for setting, _ in predictions["fitted"])
        },
        "predictions": [
            {
                "setting": setting,
                **asdict(after),
                "error": after.error,
                "error_with_shipped_costs": before.error,
            }
            for (setting, after), (_, before) in zip(
                predictions["fitted"], predictions["shipped"], strict=True
            )
        ],
    }
