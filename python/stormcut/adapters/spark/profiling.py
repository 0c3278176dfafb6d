"""The batch job: metrics logs in; profiles, what was measured, and tables if asked for out."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from stormcut.adapters.files.log_files import find_metrics_logs, text_bytes, unreadable, without
from stormcut.adapters.files.log_job import LocalJob, LogJob, LogsRead, ReadingFailed, TaskKey
from stormcut.adapters.files.log_splits import split_logs
from stormcut.adapters.files.profile_file import write_profile
from stormcut.model.errors import InvalidInput
from stormcut.profile.decay import Slice
from stormcut.profile.intervals import Interval, Stay, Window, find_runs
from stormcut.profile.line_counts import count_interval_lines, count_kinds, summarise_lines
from stormcut.profile.lines import SkippedFile
from stormcut.profile.measured import measure
from stormcut.profile.metric_lines import Lines, TaskLog
from stormcut.profile.own_metrics import (
    OwnTotals,
    complete_latency_ms,
    compute_rates,
    sum_own_metrics,
)
from stormcut.profile.result import ProfileResult
from stormcut.profile.summing import Places, TaskHistory, TaskSums, sum_task, trace_task
from stormcut.profile.topology_sums import TopologyHistory
from stormcut.profile.totals import profile_of, window_of

TABLES = ("traffic", "load", "components", "throughput", "lines")
#: Up to so much text (1.2 million lines) is read in this process: Spark's start takes longer.
MAX_LOCAL_BYTES = 256 * 2**20

Progress = Callable[[str], None]
Logs = Mapping[str, list[Path]]


def profile_logs(
    folders: Iterable[Path],
    output: Path,
    topology: str | None = None,
    from_epoch: float | None = None,
    to_epoch: float | None = None,
    warm_up: float = 10.0,
    master: str | None = None,
    progress: Progress = lambda _: None,
    with_tables: bool = False,
    with_csv: bool = False,
) -> ProfileResult:
    """Read workers' metrics logs; write one ``profile-<topology id>.json`` each, and tables.

    Linear in the logs' bytes. Inside ``with spark_session(...)`` that session is used where Spark
    is needed, else one is started and ended.

    Parameters
    ----------
    folders : iterable of Path
        Searched for ``workers-artifacts/<topology id>/<port>/worker.log.metrics`` and rolled ones.
    output : Path
        Made if missing; profiles, and tables if asked for, are replaced in it.
    from_epoch, to_epoch : float, optional
        Epoch seconds; only intervals wholly between them count for profiles and summary. Without
        ``from_epoch``, those since the topology moved last.
    warm_up : float
        Seconds after a task's start: intervals that begin in them do not count, nor, unless it
        is 0, does the first one.
    master : str, optional
        Spark's master. Without one, Spark runs on all cores of this machine, and up to
        `MAX_LOCAL_BYTES` are read without it.
    progress : callable
        Takes in a few words what is being done.
    with_tables : bool
        Write the Parquet tables, by Spark.
    with_csv : bool
        Write each of these tables as CSV, too.

    Raises
    ------
    InvalidInput
        No logs, no line of any metric, nothing inside the window, no Java for Spark, or a folder
        where a table should go.
    """
    logs, skipped = find_metrics_logs(folders, topology)
    window = Window(from_epoch, to_epoch, warm_up)
    writes_tables = with_tables or with_csv
    staging = _staging(output, writes_tables)
    try:
        with _job(logs, master, writes_tables, progress) as job:
            try:
                summed = _read_and_sum(job, logs, window, progress)
            except ReadingFailed as error:
                # Which file it was is not told, and to read them all first would take too long.
                progress("looking for damaged logs")
                damaged = unreadable(logs, whole=True)
                if not damaged:
                    raise error.reason from None
                logs, skipped = without(logs, damaged), skipped + damaged
                summed = _read_and_sum(job, logs, window, progress)
            if writes_tables:
                from stormcut.adapters.spark.tables import write_tables

                progress("writing tables")
                splits = split_logs(logs)
                known = (summed.now_s, summed.lines, summed.histories)
                write_tables(job, summed.logs, splits, *known, window, staging, with_csv)
        result = _make_result(logs, summed, skipped, warm_up)
        _publish(staging, output, result)
        return result
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _job(logs: Logs, master: str | None, writes_tables: bool, progress: Progress) -> Iterator[Any]:
    """Yield what reads the logs."""
    paths = [path for paths in logs.values() for path in paths]
    size = text_bytes(paths)
    if master is None and size <= MAX_LOCAL_BYTES and not writes_tables:
        yield LocalJob(lambda share: progress(f"parsing {len(paths)} metrics logs: {share:.0%}"))
        return
    # Spark takes half a second to import.
    from stormcut.adapters.spark.log_job import SparkJob
    from stormcut.adapters.spark.session import spark_session

    progress("starting Spark")
    with spark_session(master or "local[*]") as spark:
        progress(f"parsing {len(paths)} metrics logs")
        yield SparkJob(spark)


@dataclass(frozen=True)
class _Summed:
    """What a job found, by topology id: at a time, lines, and sums over the window."""

    now_s: float
    logs: Any
    lines: Mapping[str, Lines]
    histories: Mapping[str, TopologyHistory]
    slices: Mapping[str, Slice]
    own: Mapping[str, Sequence[tuple[str, OwnTotals]]]


def _read_and_sum(job: LogJob, logs: Logs, window: Window, progress: Progress) -> _Summed:
    now_s = time.time()
    lines, read = job.read(split_logs(logs), now_s)
    progress("computing sums")
    histories = _histories(read)
    has_hook = any(each.spans_s for each in histories.values())
    slices = _slices(read, histories, window) if has_hook else {}
    # Storm's own are needed only where the hook tells nothing, or sampled no tuple tree.
    sampled = {name for name, each in slices.items() if any(t.completed for t in each.tasks)}
    others = {name: paths for name, paths in logs.items() if name not in sampled}
    own = _own(job, others, now_s, window) if others else {}
    return _Summed(now_s, read, lines, histories, slices, own)


def _make_result(
    logs: Logs, summed: _Summed, skipped: tuple[SkippedFile, ...], warm_up: float
) -> ProfileResult:
    """Return the profile of each topology that was measured in the window."""
    lines = summarise_lines(summed.lines, sum(map(len, logs.values())))
    taken = sum(each.intervals for each in summed.histories.values())
    if taken and not summed.slices:
        raise _nothing_in_window(summed.histories.values(), warm_up)
    hooked = sum(count_interval_lines(count_kinds(summed.lines)).values())
    profiles, measured = {}, {}
    for topology, slice_ in summed.slices.items():
        span = window_of(slice_.from_epoch_s, slice_.to_epoch_s)
        profile, missing = profile_of(topology, span, slice_.tasks, slice_.pairs)
        latency_ms = complete_latency_ms(totals for _, totals in summed.own.get(topology, ()))
        profiles[topology] = profile
        measured[topology] = measure(profile, missing, slice_.tasks, latency_ms)
    unmeasured = tuple(topology for topology in logs if topology not in profiles)
    moved = {name: each.moved_s for name, each in summed.histories.items()}
    return ProfileResult(
        profiles,
        measured,
        unmeasured,
        replace(lines, repeated=hooked - taken, skipped=skipped),
        {topology: moved_s for topology, moved_s in moved.items() if moved_s is not None},
        {name: compute_rates(summed.own.get(name, ())) for name in unmeasured},
    )


def _histories(logs: LogsRead) -> dict[str, TopologyHistory]:
    """Return what is known of each topology's tasks, by its id."""
    tasks: dict[str, dict[int, TaskHistory]] = defaultdict(dict)
    for (topology, task), history in logs.ask_stays(_history):
        tasks[topology][task] = history
    return {topology: TopologyHistory(each) for topology, each in sorted(tasks.items())}


def _history(_: TaskKey, log: TaskLog[Stay]) -> TaskHistory:
    return trace_task(log.component, find_runs(log.intervals))


def _slices(
    logs: LogsRead, histories: Mapping[str, TopologyHistory], window: Window
) -> dict[str, Slice]:
    places = {name: (each.moved_s, each.places) for name, each in histories.items()}
    sums: dict[str, list[TaskSums]] = defaultdict(list)
    for (topology, _), each in logs.ask_tasks(partial(_sums, window, places)):
        if each is not None:
            sums[topology].append(each)
    slices = {name: each.make_slice(sums[name]) for name, each in histories.items()}
    return {name: each for name, each in slices.items() if each is not None}


def _sums(
    window: Window,
    places: Mapping[str, tuple[float | None, Places]],
    key: TaskKey,
    log: TaskLog[Interval],
) -> TaskSums | None:
    topology, task = key
    return sum_task(task, find_runs(log.intervals), window, *places[topology])


def _own(
    job: LogJob, logs: Logs, now_s: float, window: Window
) -> dict[str, list[tuple[str, OwnTotals]]]:
    """Return component and sums of each task by Storm's own metrics, by topology id."""
    _, read = job.read(split_logs(logs), now_s, with_reports=True)
    own: dict[str, list[tuple[str, OwnTotals]]] = defaultdict(list)
    for (topology, _), named in read.ask_stays(partial(_own_of, window)):
        own[topology] += named
    return own


def _own_of(window: Window, _: TaskKey, log: TaskLog[Stay]) -> list[tuple[str, OwnTotals]]:
    return [] if log.component is None else [(log.component, sum_own_metrics(log, window))]


def _nothing_in_window(histories: Iterable[TopologyHistory], warm_up: float) -> InvalidInput:
    spans = [span for each in histories for span in each.spans_s]
    first, last = min(begin_s for begin_s, _ in spans), max(end_s for _, end_s in spans)
    return InvalidInput(
        f"no whole interval of the hook after a task's first and the warm-up of {warm_up:g} s, and "
        f"between --from and --to if given; its lines span the epoch seconds {first:.0f} to "
        f"{last}: let the topology run longer",
        "window",
    )


def _staging(output: Path, writes_tables: bool) -> Path:
    """Return a new folder inside ``output`` for tables that are being written."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".stormcut-", dir=output))
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error}", str(output)) from error
    for name in TABLES if writes_tables else ():
        table = output / name
        if table.exists() and not (table / "_SUCCESS").is_file():
            staging.rmdir()
            what = "is in the way of a table of this name; choose another --output"
            raise InvalidInput(what, str(table))
    return staging


def _publish(staging: Path, output: Path, result: ProfileResult) -> None:
    for name in TABLES:
        table = output / name
        if (staging / name).exists():
            if table.exists():
                table.rename(staging / f"{name}.old")
            (staging / name).rename(table)
        if (text := staging / f"{name}.csv").exists():
            text.replace(output / text.name)
    for topology, profile in result.profiles.items():
        write_profile(output / f"profile-{topology}.json", profile)
