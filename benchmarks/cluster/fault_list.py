"""The faults of the matrix: what is struck, for how long, how it is undone, what must hold.

After each: every topology is assigned and acks, Nimbus is the same process, one controller leads,
is asked, reads and measures, no process of another ended, and nothing that was acked is missing.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
from kazoo.exceptions import NotEmptyError

from benchmarks import CHECKOUT
from benchmarks.cluster.fault_ground import CONTROLLERS, GROUP, NIMBUS, Fault, Ground, Step
from stormcut.adapters.zookeeper.nodes import StormcutNodes, nodes_at
from stormcut.application.waiting import wait_until

LIAR = CHECKOUT / "integration-tests" / "liar.py"
CHURN, SHORT_CHURN = 500, 20
#: Of topologies that are submitted and killed at once.
CHURN_BATCH = 10
JUNK = b"\x00\xff\xfe junk {]\r\t\x80" * 50
#: What a slow link lets through.
PACKETS = ("--limit", "4/second", "--limit-burst", "4")


# Which process a fault is about: chosen when it strikes, and found again when it is undone.
_struck: list[psutil.Process] = []


def _strike(find: Callable[[Ground], Iterable[psutil.Process]], number: int) -> Step:
    def strike(ground: Ground) -> None:
        _struck[:] = find(ground)
        reached = 0
        for process in _struck:
            # Spark's Python ends by itself as soon as its JVM has been killed.
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
                reached += 1
        if not reached:
            raise LookupError("the fault struck nothing")

    return strike


def goes_on(ground: Ground) -> None:
    for process in _struck:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)


def killed(find: Callable[[Ground], Iterable[psutil.Process]]) -> Step:
    return _strike(find, signal.SIGKILL)


def stopped(find: Callable[[Ground], Iterable[psutil.Process]]) -> Step:
    return _strike(find, signal.SIGSTOP)


def daemon(name: str) -> Callable[[Ground], Iterable[psutil.Process]]:
    return lambda ground: [ground.daemon(name)]


def leader(ground: Ground) -> list[psutil.Process]:
    return [psutil.Process(ground.leader().pid)]


def standby(ground: Ground) -> list[psutil.Process]:
    return [psutil.Process(ground.standby().pid)]


def spark(ground: Ground) -> list[psutil.Process]:
    return ground.leader().spark()


def worker(ground: Ground) -> list[psutil.Process]:
    return [ground.worker()]


def supervisor(ground: Ground) -> list[psutil.Process]:
    return [ground.daemon(f"supervisor-{ground.busy_supervisor()}")]


def controllers_start(ground: Ground) -> None:
    """Start those that do not run, as a service manager does."""
    for each in ground.controllers:
        if each.pid is None:
            each.start()


def controllers_killed(ground: Ground) -> None:
    for each in ground.controllers:
        each.kill()


def comes_back(name: str) -> Step:
    """Start a daemon again if it has ended, also one that has been stopped."""

    def back(ground: Ground) -> None:
        goes_on(ground)
        if name in ground.dead():
            ground.restart(name)

    return back


def supervisor_lost(ground: Ground) -> None:
    ground.lost = ground.busy_supervisor()
    ground.cluster.kill_supervisor(ground.lost, workers=False)


def node_lost(ground: Ground) -> None:
    ground.lost = ground.busy_supervisor()
    ground.cluster.kill_supervisor(ground.lost)


def node_returns(ground: Ground) -> None:
    ground.cluster.start_supervisor(ground.lost)


def zookeeper_loses_its_data(ground: Ground) -> None:
    ground.daemon("zookeeper").kill()
    ground.lose_zookeepers_data()


def zookeeper_without_data(ground: Ground) -> None:
    """Start it and all of Storm; what ran is unknown to Storm now, and submitted again."""
    ground.restart("zookeeper")
    for name in ground.topologies:
        ground.submit(name)


# Network: what others than the controllers send to the controllers.


def _firewall(change: str, ground: Ground, *rule: str) -> None:
    for each in ground.controllers:
        own = ("-p", "tcp", "--dport", str(each.port), "-m", "owner", "!", "--gid-owner")
        command = ("iptables", change, "OUTPUT", "-o", "lo", *own, str(GROUP), *rule)
        subprocess.run(command, check=True)


def cut_off(ground: Ground) -> None:
    _firewall("-I", ground, "-j", "DROP")


def joined(ground: Ground) -> None:
    _firewall("-D", ground, "-j", "DROP")


def slow_link(ground: Ground) -> None:
    cut_off(ground)
    _firewall("-I", ground, "-m", "limit", *PACKETS, "-j", "ACCEPT")


def fast_link(ground: Ground) -> None:
    _firewall("-D", ground, "-m", "limit", *PACKETS, "-j", "ACCEPT")
    joined(ground)


# Disks: small ones, under the folders that controllers write to.


def _mounted(ground: Ground, folder: str) -> Iterable[Path]:
    return (each.folder / folder for each in ground.controllers)


def full(folder: str) -> Step:
    def fill(ground: Ground) -> None:
        for path in _mounted(ground, folder):
            with suppress(OSError), (path / "ballast").open("wb", buffering=0) as ballast:
                while True:
                    ballast.write(bytes(4096))

    return fill


def emptied(folder: str) -> Step:
    def empty(ground: Ground) -> None:
        for path in _mounted(ground, folder):
            (path / "ballast").unlink(missing_ok=True)

    return empty


def _remount(mode: str) -> Step:
    def remount(ground: Ground) -> None:
        for path in _mounted(ground, "spool"):
            # As long as a file is being written it is refused.
            wait_until(partial(_remounted, path, mode), 30, f"{path} is {mode}", poll_s=0.02)

    return remount


def _remounted(path: Path, mode: str) -> bool:
    command = ["mount", "-o", f"remount,{mode}", str(path)]
    return subprocess.run(command, capture_output=True).returncode == 0


def spool_gone(ground: Ground) -> None:
    for each in ground.controllers:
        # A disk under it stays.
        shutil.rmtree(each.spool, ignore_errors=True)


# Clocks.


def clock_set(seconds: int) -> Step:
    def set_clocks(ground: Ground) -> None:
        for each in ground.controllers:
            each.set_clock(seconds)

    return set_clocks


# What is stored.


def _nodes(ground: Ground, change: Callable[[StormcutNodes], None]) -> None:
    with nodes_at(ground.cluster.zookeeper_address, ground.cluster.auth_file) as nodes:
        change(nodes)


def junk_in_nodes(kind: str) -> Step:
    def corrupt(nodes: StormcutNodes) -> None:
        path = nodes.path(kind)
        paths = [f"{path}/{each}" for each in nodes.children(kind)] if kind != "plan" else [path]
        assert paths, f"nothing in {path} to corrupt"
        for each in paths:
            nodes.client.set(each, JUNK)

    return lambda ground: _nodes(ground, corrupt)


def nodes_deleted(ground: Ground) -> None:
    def delete(nodes: StormcutNodes) -> None:
        def gone() -> bool:
            with suppress(NotEmptyError):  # a controller has put something back meanwhile
                nodes.client.delete(nodes.root, recursive=True)
                return True
            return False

        wait_until(gone, 30, "all nodes are deleted")

    _nodes(ground, delete)


def junk_in_metrics(ground: Ground) -> None:
    """Put junk into every metrics log, in the middle of a line, too."""
    logs = [p for f in ground.cluster.log_folders for p in f.rglob("worker.log.metrics")]
    assert logs, "no metrics to corrupt"
    for path in logs:
        with path.open("ab") as log:
            log.write(JUNK + b"\n" + JUNK)
            log.write(b"\n2026-01-01 00:00:00,000 1 \t{\n" + bytes(100_000) + b"\n")


def metrics_cut_short(ground: Ground) -> None:
    """Truncate every metrics log to the middle of a line."""
    for folder in ground.cluster.log_folders:
        for path in folder.rglob("worker.log.metrics"):
            os.truncate(path, path.stat().st_size // 2)


# Others.


def churn(count: int) -> Step:
    """Submit so many topologies and kill them at once; their workers end before they begin."""

    def submit_and_kill(ground: Ground) -> None:
        from streamparse.thrift import (
            ComponentCommon,
            ComponentObject,
            KillOptions,
            ShellComponent,
            SpoutSpec,
            StormTopology,
            StreamInfo,
        )

        spout = SpoutSpec(
            ComponentObject(shell=ShellComponent("true", "none")),
            ComponentCommon({}, {"default": StreamInfo(["n"], False)}, 1, "{}"),
        )
        topology = StormTopology(spouts={"spout": spout}, bolts={}, state_spouts={})
        conf = (
            '{"topology.workers": 1, "topology.acker.executors": 0,'
            ' "topology.worker.logwriter.childopts": "-version"}'
        )
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as jar:
            jar.writestr("resources/none", "")
        with ground.thrift() as nimbus:
            where = nimbus.beginFileUpload()
            nimbus.uploadChunk(where, packed.getvalue())
            nimbus.finishFileUpload(where)
            for first in range(0, count, CHURN_BATCH):
                names = [f"churn-{n}" for n in range(first, min(first + CHURN_BATCH, count))]
                for name in names:
                    nimbus.submitTopology(name, where, conf, topology)
                for name in names:
                    nimbus.killTopologyWithOpts(name, KillOptions(wait_secs=0))
        wait_until(
            lambda: len(ground.cluster.nimbus.cluster().topologies) == len(ground.topologies),
            120,
            "the topologies that were killed are gone",
        )

    return submit_and_kill


def of_the_next_version(ground: Ground) -> None:
    """Let a brain lead that speaks the next version of the protocol."""
    controllers_killed(ground)
    process = subprocess.Popen(
        [sys.executable, str(LIAR), "next-version"],
        env={**os.environ, **ground.cluster.environment()},
        stdout=subprocess.PIPE,
        text=True,
    )
    _struck[:] = [psutil.Process(process.pid)]
    assert process.stdout is not None
    while "asked" not in (line := process.stdout.readline()):
        assert line, "the brain of the next version has ended"


def of_this_version(ground: Ground) -> None:
    for process in _struck:
        process.kill()
        process.wait()
    controllers_start(ground)


ROOT, COMPILER = "root", "cc"

FAULTS = (
    Fault("the spool deleted", spool_gone),
    Fault(
        "the controllers' clocks 1 h ahead for 30 s",
        clock_set(3600),
        clock_set(0),
        30,
        300,
        needs=COMPILER,
    ),
    Fault(
        "the controllers' clocks 1 h behind for 30 s",
        clock_set(-3600),
        clock_set(0),
        30,
        300,
        needs=COMPILER,
    ),
    Fault("junk in the stored profiles", junk_in_nodes("profiles")),
    Fault("junk in the stored plan", junk_in_nodes("plan")),
    Fault("junk in the history", junk_in_nodes("history")),
    Fault("stormcut's nodes deleted", nodes_deleted),
    Fault("junk in the metrics", junk_in_metrics),
    Fault("the metrics logs truncated", metrics_cut_short),
    Fault(f"{SHORT_CHURN} topologies submitted and killed", churn(SHORT_CHURN), short=True),
    Fault(
        "a brain of the next protocol version leads for 10 s",
        of_the_next_version,
        of_this_version,
        10,
        ends=CONTROLLERS,
    ),
    Fault(
        "the leading controller killed",
        killed(leader),
        controllers_start,
        ends=CONTROLLERS,
        short=True,
    ),
    Fault("the leading controller stopped for 30 s", stopped(leader), goes_on, 30),
    Fault("the stand-by killed", killed(standby), controllers_start, ends=CONTROLLERS),
    Fault("the stand-by stopped for 30 s", stopped(standby), goes_on, 30),
    Fault("both controllers killed", controllers_killed, controllers_start, 10, ends=CONTROLLERS),
    Fault("Spark killed", killed(spark), short=True),
    Fault("Spark stopped for 30 s", stopped(spark), goes_on, 30),
    Fault(
        "Nimbus killed, back after 10 s",
        killed(daemon("nimbus")),
        comes_back("nimbus"),
        10,
        ends=NIMBUS,
    ),
    Fault(
        "Nimbus stopped for 15 s", stopped(daemon("nimbus")), comes_back("nimbus"), 15, ends=NIMBUS
    ),
    Fault(
        "ZooKeeper killed, all of Storm started again after 10 s",
        killed(daemon("zookeeper")),
        comes_back("zookeeper"),
        10,
        240,
        NIMBUS,
    ),
    Fault("ZooKeeper stopped for 8 s", stopped(daemon("zookeeper")), goes_on, 8),
    Fault(
        "ZooKeeper stopped for 40 s",
        stopped(daemon("zookeeper")),
        comes_back("zookeeper"),
        40,
        240,
        NIMBUS,
    ),
    Fault(
        "ZooKeeper back without its data, topologies submitted again",
        zookeeper_loses_its_data,
        zookeeper_without_data,
        10,
        240,
        NIMBUS,
    ),
    Fault("a supervisor killed, back after 28 s", supervisor_lost, node_returns, 28),
    Fault("a supervisor stopped for 15 s", stopped(supervisor), goes_on, 15),
    Fault("a node lost, back after 30 s", node_lost, node_returns, 30, 240),
    Fault("a worker killed", killed(worker), short=True),
    Fault("a worker stopped for 15 s", stopped(worker), goes_on, 15),
    Fault("Nimbus cut off from the controllers for 30 s", cut_off, joined, 30, needs=ROOT),
    Fault("4 packets a second from Nimbus for 30 s", slow_link, fast_link, 30, needs=ROOT),
    Fault("the spool's disk full for 30 s", full("spool"), emptied("spool"), 30, needs=ROOT),
    Fault("the spool's disk read-only for 30 s", _remount("ro"), _remount("rw"), 30, needs=ROOT),
    Fault(
        "the disk of Spark's scratch folder full for 30 s",
        full("scratch"),
        emptied("scratch"),
        30,
        240,
        needs=ROOT,
    ),
    Fault(f"{CHURN} topologies submitted and killed", churn(CHURN), bound_s=240),
)
