"""Faults under load, with the controller in automatic mode: what held, and how long it took.

Run by hand, on a machine that does nothing else, as root for the faults of networks and disks, with
a C compiler for those of clocks (an hour):

    python -m benchmarks.cluster.fault_matrix --output docs/results/fault-matrix.md

Two topologies of 25 tuples/s each write down every tuple that is sent, has arrived, was acked. Two
controllers run in automatic mode. Topologies are well when every executor is assigned and acks come
again; controllers, when one leads and is asked by Nimbus, and all read metrics and have measured
every topology since (which takes 10 s at least: the hook reports every 5 s, Spark reads every 3 s).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.cluster.fault_ground import (
    Fault,
    Ground,
    Outcome,
    embedded,
    is_there,
    settled,
    suffer,
)
from benchmarks.cluster.fault_list import FAULTS
from benchmarks.machine import made_by
from benchmarks.page import write_page

PAGE = """\
# {title}

{doc}

| fault | held | topologies s | controllers s | silent s | sent again | lost |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
{rows}

Held: no topology is left unassigned, Nimbus and both controllers are the processes that they were
(but for those that the fault ends), no process is left over, and nothing that was acked is missing.
Topologies s, controllers s: from when the fault was undone until they are well; of faults that
nobody undoes, and of those that end one of two controllers, from the strike. Silent: the longest
time in which a topology acked nothing. Sent again: tuples that sources sent more than once. Lost:
acked tuples that never arrived.
{end}

{made_by} {day}.
"""


def row(outcome: Outcome) -> str:
    held = "; ".join(outcome.wrong) or "all"
    recovery = outcome.recovery
    seconds = (recovery.topologies_s, recovery.controllers_s, outcome.silent_s)
    figures = (*(f"{each:.0f}" for each in seconds), outcome.again, outcome.lost)
    return f"| {outcome.fault} | {held} | {' | '.join(map(str, figures))} |"


def write(
    output: Path, title: str, only: str, outcomes: list[Outcome], end: Counter[str] | None
) -> None:
    doc = (__doc__ or "").split("\n\n", 3)[3].strip()
    told = ""
    if end is not None:
        told = f"\nIn the end: {end['sent']} tuples sent, {end['again']} again, {end['lost']} lost."
    page = PAGE.format(
        title=title,
        doc=doc,
        rows="\n".join(map(row, outcomes)),
        end=told,
        made_by=made_by(),
        day=time.strftime("%Y-%m-%d"),
    )
    write_page(output, page, only)


def main() -> None:
    """Start all, strike, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--docker", action="store_true", help="in containers")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    arguments = parser.parse_args()
    begun: Callable[[str, Path], AbstractContextManager[Ground]] = embedded
    faults: Sequence[Fault] = FAULTS
    title = "On local daemons"
    if arguments.docker:
        from benchmarks.cluster.fault_docker import FAULTS_IN_CONTAINERS, in_containers

        begun, faults, title = in_containers, FAULTS_IN_CONTAINERS, "In containers"
    outcomes: list[Outcome] = []
    name = f"matrix-{os.getpid()}"
    # Also without a terminal what was started ends with this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with (
        tempfile.TemporaryDirectory(prefix="fault-matrix-") as folder,
        begun(name, Path(folder)) as ground,
    ):
        for fault in faults:
            if arguments.only not in fault.name or not is_there(fault.needs):
                continue
            outcomes.append(suffer(ground, fault))
            print(f"{time.strftime('%H:%M:%S')} {outcomes[-1]}", flush=True)
            write(arguments.output, title, arguments.only, outcomes, None)
        # In containers a source that has moved to another node finds no books of what is due.
        end = None if arguments.docker else settled(ground)
        write(arguments.output, title, arguments.only, outcomes, end)


if __name__ == "__main__":
    main()
