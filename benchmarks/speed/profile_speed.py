"""Time and memory of `stormcut profile` as logs and cores grow, beside a script written by hand.

Run by hand, on a machine that does nothing else (5 minutes, 3 GB of temporary files):

    python -m benchmarks.speed.profile_speed --output docs/results/profile-speed.md

The logs are ten seconds of a real one (25 tasks, the hook's lines every 5 s, Storm's own every
10 s), said again with later times, for up to eight topologies. They are removed afterwards.
"""

from __future__ import annotations

import argparse
import math
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path

import psutil

from benchmarks import CHECKOUT
from benchmarks.machine import made_by
from benchmarks.speed.profile_by_hand import rates
from stormcut.adapters.files.log_splits import SPLIT_BYTES
from stormcut.adapters.files.profile_file import read_profile
from stormcut.adapters.spark.profiling import MAX_LOCAL_BYTES

SAMPLE = CHECKOUT / "python/tests/data/metrics/taxi-10-seconds.metrics"
PERIOD_S = 10
TOPOLOGIES = 8
SPLIT_LINES = 1_000_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
WATCH_S = 0.05

PAGE = """\
# Speed of `stormcut profile`

The whole command over plain logs of {topologies} topologies (one up to 10,000 lines): {sample}
lines of a real log said again with later times. Beyond {local_mb} MB it takes Spark by itself; "on
Spark" is `--master local[*]`, start and end included. CPU is that of the command and all its
processes; memory is the most that they held at one moment (resident). "By hand" is
`benchmarks/speed/profile_by_hand.py`: it trusts every line, and finds the same rates between tasks,
but nothing else.

| lines | text | wall time | CPU time | lines/s | memory | on Spark | by hand |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

Medians of {repetitions}, alternating, with the least and the most.

{cores_lines:,} lines on Spark by cores:

| `--master` | wall time | CPU time | lines/s |
| --- | ---: | ---: | ---: |
{cores}

{split_lines:,} lines of one topology on `local[2]`, by the number of splits; each core reads one at
a time (splits are of {split_mb} MB unless set otherwise, as here):

| splits | wall time | CPU time | lines/s |
| ---: | ---: | ---: | ---: |
{splits}

By that, 100 million lines take {hundred_minutes:.0f} minutes of one core. They are
{hundred_splits:,} splits, each for any core. A core holds what its split says; a shuffle
carries what all of them say of each task.

{made}
"""


#: The command with another size of splits, which comes first.
WITH_SPLITS = """
import sys
from stormcut.adapters.files import log_splits
log_splits.SPLIT_BYTES = int(sys.argv.pop(1))
from stormcut.cli.main import main
main()
"""
SPLITS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Run:
    """What one command took."""

    wall_s: float
    cpu_s: float
    memory_bytes: int = 0
    text_bytes: int = 0


def main() -> None:
    """Measure all sizes and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="The page to write.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="Numbers of lines.")
    parser.add_argument("--repetitions", type=int, default=3, help="Of each size up to a million.")
    parser.add_argument("--cores-lines", type=int, default=10_000_000, help="For the second table.")
    arguments = parser.parse_args()
    rows = []
    for lines in arguments.sizes:
        rows.append(size_row(lines, 1 if lines > 1_000_000 else arguments.repetitions))
        print(rows[-1], flush=True)
    runs = core_runs(arguments.cores_lines)
    whole = runs["local[2]"]
    scale = 100_000_000 / arguments.cores_lines
    page = PAGE.format(
        topologies=TOPOLOGIES,
        sample=len(SAMPLE.read_text(encoding="utf-8").splitlines()),
        rows="\n".join(rows),
        repetitions=f"{arguments.repetitions} (of more than a million lines, one)",
        cores_lines=arguments.cores_lines,
        cores="\n".join(
            figures(f"`{name}`", run, arguments.cores_lines) for name, run in runs.items()
        ),
        split_lines=SPLIT_LINES,
        split_mb=SPLIT_BYTES >> 20,
        splits="\n".join(split_rows(SPLIT_LINES)),
        hundred_minutes=scale * whole.cpu_s / 60,
        hundred_splits=math.ceil(scale * whole.text_bytes / SPLIT_BYTES),
        local_mb=MAX_LOCAL_BYTES >> 20,
        made=made_by("pyspark"),
    )
    arguments.output.write_text(page, encoding="utf-8")


def size_row(lines: int, repetitions: int) -> str:
    """Profile so many lines, on Spark, too, and sum them up by hand, in turns."""
    ours, spark, hand = [], [], []
    with tempfile.TemporaryDirectory(prefix="stormcut-speed-") as name:
        folder = Path(name)
        text_bytes = write_logs(lines, folder / "logs")
        for _ in range(repetitions):
            ours.append(profile(folder / "logs", folder / "out"))
            if text_bytes <= MAX_LOCAL_BYTES:
                spark.append(profile(folder / "logs", folder / "out", "local[*]"))
            begin = time.monotonic()
            expected = rates(folder / "logs")
            hand.append(time.monotonic() - begin)
            check_equal(folder / "out", expected)
    wall_s = statistics.median(run.wall_s for run in ours)
    return (
        f"| {lines:,} | {text_bytes / 1e6:,.1f} MB | {spread([run.wall_s for run in ours])} "
        f"| {statistics.median(run.cpu_s for run in ours):.1f} s | {lines / wall_s:,.0f} "
        f"| {max(run.memory_bytes for run in ours) / 2**20:,.0f} MiB "
        f"| {spread([run.wall_s for run in spark or ours])} | {spread(hand)} |"
    )


def core_runs(lines: int) -> dict[str, Run]:
    """Profile so many lines with one core and with two."""
    with tempfile.TemporaryDirectory(prefix="stormcut-speed-") as name:
        folder = Path(name)
        text_bytes = write_logs(lines, folder / "logs")
        return {
            master: replace(profile(folder / "logs", folder / "out", master), text_bytes=text_bytes)
            for master in ("local[1]", "local[2]")
        }


def split_rows(lines: int) -> Iterator[str]:
    """Profile the log of one topology in ever more splits."""
    with tempfile.TemporaryDirectory(prefix="stormcut-speed-") as name:
        folder = Path(name)
        text_bytes = write_logs(lines, folder / "logs", most=1)
        for count_ in SPLITS:
            size = math.ceil(text_bytes / count_)
            run = profile(folder / "logs", folder / "out", "local[2]", size)
            yield figures(f"{count_}", run, lines)


def figures(name: str, run: Run, lines: int) -> str:
    """Return a row of what a run took."""
    speed = f"{lines / run.wall_s:,.0f}"
    return f"| {name} | {run.wall_s:.1f} s | {run.cpu_s:.1f} s | {speed} |"


def spread(seconds: list[float]) -> str:
    """Return the median of times, with the least and the most of several."""
    middle = f"{statistics.median(seconds):.1f} s"
    return middle if len(seconds) == 1 else f"{middle} ({min(seconds):.1f}-{max(seconds):.1f})"


def check_equal(output: Path, expected: dict[tuple[str, int, int], float]) -> None:
    """End with an error unless the profiles hold the rates that are expected."""
    found = {
        (path.stem.removeprefix("profile-"), pair.source_task, pair.target_task): (
            pair.tuples_per_second
        )
        for path in output.glob("profile-*.json")
        for pair in read_profile(path).traffic
    }
    wrong = [
        pair
        for pair in found.keys() | expected.keys()
        if not math.isclose(found.get(pair, 0.0), expected.get(pair, 0.0), rel_tol=1e-6)
    ]
    if wrong:
        raise SystemExit(f"{len(wrong)} rates are not those found by hand, such as {wrong[0]}")


def profile(
    logs: Path, output: Path, master: str | None = None, split_bytes: int = SPLIT_BYTES
) -> Run:
    """Profile logs by the command."""
    before = cpu_s()
    begin = time.monotonic()
    command = [str(Path(sys.executable).parent / "stormcut")]
    if split_bytes != SPLIT_BYTES:
        command = [sys.executable, "-c", WITH_SPLITS, str(split_bytes)]
    process = subprocess.Popen(
        [
            *command,
            "profile",
            str(logs),
            "--output",
            str(output),
            *(["--master", master] if master else []),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    memory, seen = 0, dict[int, float]()
    while process.poll() is None:
        memory = max(memory, watched(process.pid, seen))
        time.sleep(WATCH_S)
    wall_s = time.monotonic() - begin
    if process.returncode:
        raise SystemExit(f"stormcut profile ended with {process.returncode}")
    # Of Spark's Python workers nobody waits; of a short command the watch misses the end.
    return Run(wall_s, max(cpu_s() - before, sum(seen.values())), memory)


def write_logs(lines: int, folder: Path, most: int = TOPOLOGIES) -> int:
    """Write the logs of that many topologies at most, and return their bytes."""
    topologies = min(most, max(1, lines // 10_000))
    written = 0
    for number in range(topologies):
        share = lines // topologies + (number < lines % topologies)
        log = folder / "workers-artifacts" / f"taxi-{number}-1" / "6700" / "worker.log.metrics"
        log.parent.mkdir(parents=True)
        with log.open("w", encoding="utf-8") as out:
            out.writelines(islice(metric_lines(), share))
        written += log.stat().st_size
    return written


def metric_lines() -> Iterator[str]:
    """Yield the sample's lines over and over, later by a period each time."""
    split = re.compile(r"^(\S+ \S+ \d+ +)(\d+)(\t.*\n)$")
    text = SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
    parts = [(match[1], int(match[2]), match[3]) for match in map(split.match, text) if match]
    for later in count(step=PERIOD_S):
        for head, epoch, rest in parts:
            yield f"{head}{epoch + later}{rest}"


def cpu_s() -> float:
    """Return the CPU time of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watched(pid: int, seen: dict[int, float]) -> int:
    """Return the resident bytes of a process and all below it, and note their CPU seconds."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
                used = process.cpu_times()
                seen[process.pid] = used.user + used.system
    return total


if __name__ == "__main__":
    main()
