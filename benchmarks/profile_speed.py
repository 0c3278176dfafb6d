"""Time and memory of `stormcut profile` as the logs grow, from 1 thousand to 10 million lines.

Run by hand, on a machine that does nothing else (ten minutes, 10 GB of temporary files):

    .stormcut/venv/bin/python benchmarks/profile_speed.py --output docs/results/profile-speed.md

The logs are ten seconds of a real one (25 tasks, the hook's lines every 5 s, Storm's own every
10 s), said again with later times, for up to eight topologies. They are removed afterwards.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import psutil
from machine import made_by

SAMPLE = Path(__file__).parents[1] / "python/tests/data/metrics/taxi-10-seconds.metrics"
PERIOD_S = 10
TOPOLOGIES = 8
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
WATCH_S = 0.2

PAGE = """\
# Speed of `stormcut profile`

The whole command, start and end of Spark included, over plain logs of {topologies} topologies (one
up to 10,000 lines): {sample} lines of a real log said again with later times. CPU is that of the
command and all its processes; memory is the most that they held at one moment (resident).

| lines | text | wall time | CPU time | lines/s | memory |
| ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

{made}
"""


@dataclass(frozen=True)
class Run:
    """What one command took."""

    lines: int
    text_bytes: int
    wall_s: float
    cpu_s: float
    memory_bytes: int

    def __str__(self) -> str:
        return (
            f"| {self.lines:,} | {self.text_bytes / 1e6:,.1f} MB | {self.wall_s:.1f} s "
            f"| {self.cpu_s:.1f} s | {self.lines / self.wall_s:,.0f} "
            f"| {self.memory_bytes / 2**20:,.0f} MiB |"
        )


def main() -> None:
    """Measure all sizes and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="The page to write.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="Numbers of lines.")
    arguments = parser.parse_args()
    runs = []
    for lines in arguments.sizes:
        with tempfile.TemporaryDirectory(prefix="stormcut-speed-") as folder:
            runs.append(measure(lines, Path(folder)))
        print(runs[-1], flush=True)
    page = PAGE.format(
        topologies=TOPOLOGIES,
        sample=len(SAMPLE.read_text(encoding="utf-8").splitlines()),
        rows="\n".join(map(str, runs)),
        made=made_by("pyspark"),
    )
    arguments.output.write_text(page, encoding="utf-8")


def measure(lines: int, folder: Path) -> Run:
    """Profile so many lines."""
    text_bytes = write_logs(lines, folder)
    before = cpu_s()
    begin = time.monotonic()
    command = [str(Path(sys.executable).parent / "stormcut"), "profile", str(folder)]
    process = subprocess.Popen(
        [*command, "--output", str(folder / "out")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    memory = 0
    while process.poll() is None:
        memory = max(memory, resident(process.pid))
        time.sleep(WATCH_S)
    if process.returncode:
        raise SystemExit(f"stormcut profile ended with {process.returncode}")
    return Run(lines, text_bytes, time.monotonic() - begin, cpu_s() - before, memory)


def write_logs(lines: int, folder: Path) -> int:
    """Write the logs of all topologies and return their bytes."""
    topologies = min(TOPOLOGIES, max(1, lines // 10_000))
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


def resident(pid: int) -> int:
    """Return the resident bytes of a process and all below it."""
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        total = 0
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        return total
    return 0


if __name__ == "__main__":
    main()
