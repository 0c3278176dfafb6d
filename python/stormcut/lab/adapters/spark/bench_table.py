"""A bench's cells as one Parquet file, to be read by whatever reads Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.experiment.bench.cells import Measurement, Placed
from stormcut.model.errors import InvalidInput

FILE = "cells.parquet"
#: As `Measurement`, then as `Placed`; null where nothing is known.
SCHEMA = """
    setting string, topology string, scheduler string, repetition int,
    begin_s double, end_s double, tuples_per_10s double,
    mean_ms double, p50_ms double, p95_ms double, p99_ms double,
    sent_mbit_s double, node_cores array<double>, other_cores double,
    replayed bigint, unsteady string, node_throttled array<double>,
    predicted_between double, predicted_total double, kept double, carried double, reachable double
"""


def read_cells(folder: Path) -> list[Mapping[str, Any]]:
    """Return the cells of a bench's journal, as in `SCHEMA`."""
    journal = FileJournal(folder)
    placed = {(each.topology, each.scheduler): each for each in journal.placements()}
    return [
        _row(journal.run.setting, cell, placed.get((cell.cell.topology, cell.cell.scheduler)))
        for cell in journal.measurements()
    ]


def write_parquet(spark: SparkSession, folder: Path) -> Path:
    """Write ``cells.parquet`` beside a bench's journal and return where it is.

    Raises
    ------
    InvalidInput
        The folder holds no bench, or cannot be written.
    """
    rows = read_cells(folder)
    try:
        # In the same folder: only there a part can be renamed into its place.
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{FILE}.") as staging:
            parts = Path(staging) / "parts"
            spark.createDataFrame(rows, SCHEMA).coalesce(1).write.parquet(str(parts.absolute()))
            (part,) = parts.glob("part-*.parquet")
            return part.rename(folder / FILE)
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error.strerror}", str(folder / FILE)) from None


def _row(setting: str, measured: Measurement, placed: Placed | None) -> Mapping[str, Any]:
    return {
        "setting": setting,
        "topology": measured.cell.topology,
        "scheduler": measured.cell.scheduler,
        "repetition": measured.cell.repetition,
        "begin_s": measured.begin,
        "end_s": measured.end,
        "tuples_per_10s": measured.tuples_per_10s,
        "mean_ms": measured.mean_ms,
        "p50_ms": measured.p50_ms,
        "p95_ms": measured.p95_ms,
        "p99_ms": measured.p99_ms,
        "sent_mbit_s": measured.sent_mbit_s,
        "node_cores": list(measured.node_cores),
        "other_cores": measured.other_cores,
        "replayed": measured.replayed,
        "unsteady": measured.unsteady,
        "node_throttled": list(measured.node_throttled) or None,
        "predicted_between": placed.predicted_between if placed else None,
        "predicted_total": placed.predicted_total if placed else None,
        "kept": placed.kept if placed else None,
        "carried": placed.carried if placed else None,
        "reachable": placed.reachable if placed else None,
    }
