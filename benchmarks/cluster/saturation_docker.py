"""Is a cluster full where its head-room says so? Python bolt, JVM thread, other load, full link.

Run by hand, on a machine that does nothing else (a quarter of an hour):

    scripts/with-docker python -m benchmarks.cluster.saturation_docker --output FILE

Each case runs in a cluster of containers of its own. A `linear` topology runs at a moderate rate;
its profile and what the hook reports of the machines give the head-room, as in the brain. Then
the same topology runs with sources that send as fast as tuples are acknowledged: what they reach is
what the cluster sustains. Storm places both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil

from benchmarks.machine import made_by
from benchmarks.page import write_page
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.rig import ClusterRig
from stormcut.lab.adapters.bench.serving import serving
from stormcut.lab.adapters.bench.workers import CLUSTER_PATIENCE
from stormcut.lab.adapters.clusters.bandwidth import FREE, parse_bandwidth
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
from stormcut.lab.experiment.bench.planner import BenchPlanner
from stormcut.lab.experiment.ports import HOOK_INTERVAL_S
from stormcut.model.cluster import ClusterState
from stormcut.model.placement import Placement
from stormcut.model.plan import Plan
from stormcut.objective.headroom import Headroom, headroom
from stormcut.profile.result import ProfileResult
from stormcut.running.machines import with_real_capacity
from stormcut.running.situation import running_problem

CLUSTER, TOPOLOGY = "saturation", "linear"
SETTLE_S, WINDOW_S = 20.0, 40.0

PAGE = """\
# Head-room and real saturation

{doc}

| case | rate | predicted head-room | full first | predicted limit | measured limit | ratio |
| --- | ---: | ---: | --- | ---: | ---: | ---: |
{rows}

Rates are tuples/s of all sources in windows of {window:g} s. Ratio: predicted by measured limit.

{made}
"""

#: Programs: one uses a share of a core, the other sends UDP packets at a rate in Mbit/s to a host.
BURN = """
import os, sys, time
# It does not yield to Storm, which would have more than its share then.
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
share = float(sys.argv[1])
while True:
    began = time.thread_time()
    while time.thread_time() - began < share * 0.01: pass
    time.sleep((1 - share) * 0.01)
"""
SEND = """
import socket, sys, time
mbit, host = float(sys.argv[1]), sys.argv[2]
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began, sent = time.monotonic(), 0
while True:
    while sent * 8 < (time.monotonic() - began) * mbit * 1e6:
        sent += out.sendto(bytes(1400), (host, 9))
    time.sleep(0.005)
"""


@dataclass(frozen=True)
class Case:
    """One limit: the nodes, what the topology is like, and what else the machine does.

    ``cpus`` None: a node has all cores of the machine. ``burns`` are cores that another uses,
    ``sends_mbit`` what one sends over the first node's link.
    """

    name: str
    rate: float
    options: Mapping[str, object]
    nodes: int = 1
    cpus: float | None = 1.5
    bandwidth: str = ""
    burns: float = 0.0
    sends_mbit: float = 0.0


ONE = {"tasks": 1, "bolts": 1, "topology.workers": 1, "topology.acker.executors": 1}
CASES = (
    Case("Python bolt", 30, {**ONE, "setting": "cpu", "cpu.ms": 10}),
    Case("JVM thread", 40, {**ONE, "setting": "cpu", "cpu.ms": 10, "language": "java"}),
    Case(
        "other load on the machine",
        30,
        {**ONE, "tasks": 3, "setting": "cpu", "cpu.ms": 10, "language": "java"},
        cpus=None,
        burns=0.8,
    ),
    Case(
        "link that another program fills",
        40,
        {"tasks": 2, "bolts": 1, "topology.workers": 2, "language": "java"},
        nodes=2,
        cpus=0.8,
        bandwidth="20mbit",
        sends_mbit=10.0,
    ),
)


@dataclass(eq=False)
class Watching(BenchPlanner):
    """Leaves all to Storm, and remembers the state that Nimbus sent last."""

    state: ClusterState = field(default_factory=lambda: ClusterState((), ()))

    def __post_init__(self) -> None:
        super().__init__()

    def plan(self, state: ClusterState) -> Plan:
        """Return a plan that declines all."""
        self.state = state
        return super().plan(state)


@contextmanager
def others(case: Case, cluster: DockerCluster) -> Iterator[None]:
    """Let another program use the machine's CPU, or the first node's link, until the block ends."""
    with ExitStack() as stack:
        if case.burns:
            stack.enter_context(_running(*_code(BURN, case.burns)))
        if case.sends_mbit:
            inside = str(_supervisor(cluster))
            sending = _code(SEND, case.sends_mbit, cluster.host)
            stack.enter_context(_running("nsenter", "-t", inside, "-n", *sending))
        yield


def _code(code: str, *arguments: object) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *map(str, arguments))


@contextmanager
def _running(*command: str) -> Iterator[None]:
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.terminate()


def _supervisor(cluster: DockerCluster) -> int:
    """Return the process of the first node's supervisor, as this machine numbers it."""
    home = str(cluster.log_folders[0].parent.name)
    name = cluster.plan.container_name(cluster.plan.nodes[0])
    command = ["docker", "inspect", "--format", "{{.State.Pid}}", name]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not psutil.pid_exists(int(found)):
        raise SystemExit(f"{home}: its processes cannot be seen from here")
    return int(found)


def measured(
    case: Case, cluster: DockerCluster, profiler: Callable[..., ProfileResult], rate: float
) -> tuple[float, Headroom]:
    """Return the tuples/s that sources emit when asked for a rate, and the head-room then."""
    planner = Watching()
    name = f"{TOPOLOGY}-{'calm' if rate else 'full'}"
    with serving(planner, cluster):
        rig = ClusterRig(cluster)
        entrant = rig.start(name, TOPOLOGY, {**case.options, "rate": rate})
        with rig.running(entrant):
            time.sleep(SETTLE_S)
            begin = time.time()
            time.sleep(WINDOW_S)
            end = time.time()
            time.sleep(HOOK_INTERVAL_S + 1)
        found = profiler(topology=entrant.id, from_epoch=begin, to_epoch=end)
        profiles = {entrant.id: found.profiles[entrant.id]}
        state = with_real_capacity(planner.state, profiles)
        rig.end(entrant)
    problem = running_problem(state, profiles)
    told = headroom(problem, Placement(problem.current_slots()))
    return found.measured[entrant.id].acked_per_10_s / 10, told


def row(case: Case, steps: Steps) -> str:
    """Measure a case, and return its line of the table."""
    bandwidth = parse_bandwidth(case.bandwidth) if case.bandwidth else FREE
    shape = ClusterShape(case.nodes, case.cpus, bandwidth, memory_mb=6144, slots=2)
    config = {**CLUSTER_PATIENCE, "stormcut.hook.interval.secs": HOOK_INTERVAL_S}
    steps.say(f"{case.name}: starting")
    with (
        DockerCluster.up(shape, CLUSTER, config=config) as cluster,
        others(case, cluster),
    ):
        profiler = partial(profile_logs, cluster.log_folders, cluster.folder / "profile", warm_up=0)
        calm, told = measured(case, cluster, profiler, case.rate)
        full, _ = measured(case, cluster, profiler, 0)
    room = told.value or 0.0
    cells = (
        case.name,
        f"{calm:.1f}",
        f"{room:.2f}",
        str(told.bottleneck),
        f"{room * calm:.0f}",
        f"{full:.0f}",
        f"{room * calm / full:.2f}",
    )
    line = f"| {' | '.join(cells)} |"
    steps.say(line)
    return line


def main() -> None:
    """Measure all cases, or those named, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cases", nargs="*", help="Those whose names begin so; default: all.")
    given = parser.parse_args()
    wanted = [c for c in CASES if c.name.startswith(tuple(given.cases or [""]))]
    rows = [row(case, Steps("saturation")) for case in wanted]
    page = PAGE.format(
        doc=(__doc__ or "").split("\n\n", 3)[3].strip(),
        rows="\n".join(rows),
        window=WINDOW_S,
        made=made_by(),
    )
    write_page(given.output, page, ", ".join(given.cases or []))


if __name__ == "__main__":
    main()
