"""How long each command takes to show its help, and how many modules it loads for it.

Run by hand, on a machine that does nothing else (two minutes):

    python -m benchmarks.speed.startup --output docs/results/startup.md
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import made_by
from stormcut.cli.main import COMMANDS

#: Runs a command and prints how many modules it has loaded.
PROGRAM = """
import json, sys
sys.argv[0] = "stormcut"
from stormcut.cli.main import main
try:
    main()
except SystemExit:
    pass
print(json.dumps(len(sys.modules)), file=sys.stderr)
"""

PAGE = """\
# Start-up of every command

`stormcut COMMAND --help`, the start of Python included: medians of {repetitions} rounds over all
commands, with the least and the most. Python alone takes {python}, with numpy {numpy}.

| command | wall time | CPU time | modules |
| --- | ---: | ---: | ---: |
{rows}

{made}
"""


@dataclass(frozen=True)
class Run:
    """What one start took, in seconds."""

    wall_s: float
    cpu_s: float
    modules: int


def main() -> None:
    """Measure all commands in turns and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="The page to write.")
    parser.add_argument("--repetitions", type=int, default=5, help="Rounds over all commands.")
    arguments = parser.parse_args()
    started: dict[str, list[Run]] = {"": [], **{name: [] for name in sorted(COMMANDS)}}
    bare: dict[str, list[Run]] = {"": [], "import numpy;": []}
    for _ in range(arguments.repetitions):
        for name, runs in started.items():
            runs.append(start(PROGRAM, *name.split(), "--help"))
        for code, runs in bare.items():
            runs.append(start(f"import sys;{code}print(len(sys.modules), file=sys.stderr)"))
    page = PAGE.format(
        repetitions=arguments.repetitions,
        python=f"{middle(bare[''])} s",
        numpy=f"{middle(bare['import numpy;'])} s",
        rows="\n".join(row(name, runs) for name, runs in started.items()),
        made=made_by(),
    )
    arguments.output.write_text(page, encoding="utf-8")


def start(code: str, *arguments: str) -> Run:
    """Run Python code in a process of its own."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(wall_s, used.ru_utime + used.ru_stime, json.loads(said.splitlines()[-1]))


def middle(runs: list[Run]) -> str:
    """Return the median wall time."""
    return f"{statistics.median(run.wall_s for run in runs):.2f}"


def row(name: str, runs: list[Run]) -> str:
    """Return a command's row of the table."""
    walls = [run.wall_s for run in runs]
    cpu_s = statistics.median(run.cpu_s for run in runs)
    wall = f"{middle(runs)} s ({min(walls):.2f}-{max(walls):.2f})"
    command = f"stormcut {name}".strip()
    return f"| `{command}` | {wall} | {cpu_s:.2f} s | {runs[0].modules:,} |"


if __name__ == "__main__":
    main()
