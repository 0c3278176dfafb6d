"""Cells of the papers' figures as one Spark job; each is a task, told as soon as it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from pyspark import AccumulatorParam, SparkContext

from stormcut.adapters.files.capacity_files import read_dag, read_models
from stormcut.adapters.spark.session import kill, spark_session
from stormcut.lab.papers.cells import Outcome, PaperCell
from stormcut.lab.papers.measures import measure
from stormcut.placement.algorithms.model_driven.allocation import Dag, PerformanceModel

#: How often it is looked whether cells have ended.
LOOK_S = 0.5

Ended = tuple[PaperCell, Outcome]


class _Ended(AccumulatorParam[list[Ended]]):
    """Collects what tasks found; the driver hears of each task as it ends."""

    def zero(self, value: list[Ended]) -> list[Ended]:
        """Return nothing found."""
        return []

    def addInPlace(self, value1: list[Ended], value2: list[Ended]) -> list[Ended]:  # noqa: N802
        """Return both, the first one extended."""
        value1.extend(value2)
        return value1


def run_cells(
    cells: Sequence[PaperCell],
    dataflows: Path,
    master: str,
    report: Callable[[PaperCell, Outcome], None],
) -> None:
    """Measure cells; each is told once, by the thread that called.

    Parameters
    ----------
    dataflows : Path
        Folder of the model-driven paper's dataflows and models, which every worker reads.
    master : str
        Spark's master; its workers need this package.
    """
    with spark_session(master) as spark:
        context = spark.sparkContext
        ended = context.accumulator([], _Ended())
        failures: list[BaseException] = []
        job = threading.Thread(
            target=_run, args=(context, cells, dataflows, ended, failures), daemon=True
        )
        job.start()
        done = 0
        try:
            while job.is_alive() or done < len(ended.value):
                job.join(LOOK_S)
                for cell, outcome in ended.value[done:]:
                    report(cell, outcome)
                    done += 1
        except BaseException:
            kill(spark)
            raise
    if failures:
        raise failures[0]


def _run(
    context: SparkContext,
    cells: Sequence[PaperCell],
    dataflows: Path,
    ended: object,
    failures: list[BaseException],
) -> None:
    try:
        jobs = context.parallelize(cells, max(1, len(cells)))
        jobs.foreach(partial(_measure, dataflows, ended))
    except BaseException as error:
        failures.append(error)


def _measure(dataflows: Path, ended: object, cell: PaperCell) -> None:
    ended.add([(cell, measure(cell, partial(_dataflow, dataflows)))])  # type: ignore[attr-defined]


def _dataflow(folder: Path, name: str) -> tuple[Dag, Mapping[str, PerformanceModel]]:
    file = read_dag(folder / f"{name}.json")
    return file.dag, file.models(read_models(folder / "azure.json"))
