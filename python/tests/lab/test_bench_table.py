"""A bench's cells as Spark writes and reads them."""

from dataclasses import replace
from pathlib import Path

import pytest
from bench_runs import PLACED, RUN, measured
from pyspark.sql import SparkSession

from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.adapters.spark.bench_table import SCHEMA, write_parquet
from stormcut.model.errors import InvalidInput

pytestmark = pytest.mark.spark


def test_cells_become_one_plain_file(tmp_path: Path, spark: SparkSession) -> None:
    folder = tmp_path / "a run [1]"
    journal = FileJournal.open(folder, RUN)
    journal.add_placement(replace(PLACED, kept=0.75))
    journal.add_measurement(measured())
    journal.add_measurement(measured("even", unsteady="stalled"))
    for _ in range(2):
        path = write_parquet(spark, folder)
    assert sorted(each.name for each in folder.iterdir()) == [
        "cells.jsonl",
        "cells.parquet",
        "placements.jsonl",
        "run.json",
    ]
    assert path.is_file()
    assert path.stat().st_size < 10_000
    (tmp_path / "plain.parquet").write_bytes(path.read_bytes())
    table = spark.read.parquet(str(tmp_path / "plain.parquet"))
    assert [" ".join(each) for each in table.dtypes] == " ".join(SCHEMA.split()).split(", ")
    cut, even = sorted(table.collect(), key=lambda row: row.scheduler)
    assert (cut.setting, cut.topology, cut.repetition) == ("network-bound", "linear", 1)
    assert (cut.tuples_per_10s, cut.p95_ms, cut.node_cores) == (900.25, None, [0.25, 0.5])
    assert cut.node_throttled == [0.0, 0.5]
    assert (cut.predicted_between, cut.predicted_total, cut.kept) == (10.5, 40.0, 0.75)
    assert (even.unsteady, even.predicted_between, even.kept) == ("stalled", None, None)


def test_a_bench_without_cells_is_an_empty_table(tmp_path: Path, spark: SparkSession) -> None:
    FileJournal.open(tmp_path, RUN)
    assert spark.read.parquet(str(write_parquet(spark, tmp_path))).count() == 0


def test_a_folder_without_a_bench_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    with pytest.raises(InvalidInput, match="holds no bench"):
        write_parquet(spark, tmp_path)
