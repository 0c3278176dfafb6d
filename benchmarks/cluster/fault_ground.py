"""What faults strike: a cluster under load, two controllers on it, and the books of every tuple.

`suffer` strikes once and tells what held. The faults are in `fault_list.py`; the tests
(`integration-tests/test_fault_matrix.py`) and the page (`fault_matrix.py`) use both.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psutil
import yaml

from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.clusters.running import RunningCluster
from stormcut.lab.adapters.storm.sparse_submit import submit

LEDGER = Path(__file__).resolve().with_name("ledger")
TOPOLOGIES = ("alpha", "beta")
SUPERVISORS, SLOTS, WORKERS = 3, 4, 2
SAMPLE_S = 0.25
#: Nimbus asks every second here, and only if something runs.
ASKED_S = 15.0
#: Of the controllers' processes: what is cut off is what others send them.
GROUP = 54321
#: Of the disks that fill: Spark's scratch folder takes some MB.
DISK_MB = 96
SHIFTED_CLOCK = Path(__file__).resolve().with_name("shifted_clock.c")

CONFIG: dict[str, object] = {
    "topology.disruptor.batch.timeout.millis": 50,
    "topology.sleep.spout.wait.strategy.time.ms": 20,
    "worker.childopts": "-Xmx%HEAP-MEM%m -XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1",
    # Storm's own patience with lost nodes is two minutes.
    "nimbus.task.launch.secs": 60,
    "nimbus.task.timeout.secs": 20,
    "nimbus.supervisor.timeout.secs": 20,
}
OPTIONS: dict[str, object] = {"ledger.rate": 25, "stormcut.hook.interval.secs": 5}


@dataclass(frozen=True)
class Books:
    """What sources and sinks have written down, as numbers of tuples."""

    sent: frozenset[str]
    acked: frozenset[str]
    arrived: frozenset[str]
    again: int

    @property
    def lost(self) -> int:
        """How many were acked and never arrived."""
        return len(self.acked - self.arrived)


def read_books(folders: list[Path]) -> Books:
    """Return what the books in these folders say."""

    def lines(kind: str) -> list[str]:
        paths = [path for folder in folders for path in folder.rglob(f"{kind}-*")]
        # A line that is being written counts the next time.
        return [line for path in paths for line in path.read_text().split("\n")[:-1]]

    # Acked first: what is acked meanwhile has arrived before.
    acked = frozenset(lines("acked"))
    arrived = frozenset(lines("arrived"))
    return Books(frozenset(lines("sent")), acked, arrived, len(lines("again")))


class Controller:
    """A `stormcut operate` in automatic mode, which is started again when it is told to."""

    def __init__(
        self,
        name: str,
        cluster: RunningCluster,
        folder: Path,
        bind: str,
        config: Mapping[str, object],
    ) -> None:
        self.name, self.folder = name, folder
        self.port, self.http = free_port(bind), free_port("127.0.0.1")
        self.spool, self.scratch = folder / "spool", folder / "scratch"
        self.clock = folder / "clock"
        for each in (self.spool, self.scratch):
            each.mkdir(parents=True)
        self.log = folder / "operate.log"
        self._cluster = cluster
        self._group: int | None = GROUP if os.geteuid() == 0 else None
        self._config = folder / "stormcut.yaml"
        self._config.write_text(yaml.safe_dump({**self._document(bind), **config}))
        self.process: subprocess.Popen[bytes] | None = None

    def _document(self, bind: str) -> dict[str, object]:
        return {
            "mode": "automatic",
            "zookeeper": {
                "servers": self._cluster.zookeeper_address,
                "auth_file": str(self._cluster.auth_file),
            },
            "listen": {"address": bind, "port": self.port, "insecure": bind != "127.0.0.1"},
            "http": {"port": self.http},
            "observe": {
                "logs": [str(folder) for folder in self._cluster.log_folders],
                "spool": str(self.spool),
                "every": 3,
            },
        }

    def start(self) -> None:
        """Start it."""
        environment = {**os.environ, "TMPDIR": str(self.scratch)}
        if self.clock.exists():
            library = self.clock.with_suffix(".so")
            environment |= {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(self.clock)}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stormcut.cli.main", "operate", str(self._config)],
                env=environment,
                stderr=log,
                group=self._group,
            )

    def give_clock(self) -> None:
        """Give it a clock that can be set, also while it runs; before it starts."""
        library = self.clock.with_suffix(".so")
        command: list[str | Path] = [
            "cc",
            "-shared",
            "-fPIC",
            "-O1",
            "-o",
            library,
            SHIFTED_CLOCK,
            "-ldl",
        ]
        subprocess.run(command, check=True)
        self.clock.write_bytes(_seconds(0))

    def set_clock(self, seconds: int) -> None:
        """Set its clock by this much off the machine's."""
        with self.clock.open("r+b") as clock:
            clock.write(_seconds(seconds))

    @property
    def pid(self) -> int | None:
        """Its process id, None if it does not run."""
        return self.process.pid if self.process and self.process.poll() is None else None

    def spark(self) -> list[psutil.Process]:
        """Return the processes of its Spark."""
        return psutil.Process(self.pid).children(recursive=True) if self.pid else []

    def metrics(self) -> dict[str, float]:
        """Return what it tells of itself, nothing if it does not answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=3) as page:
                text = page.read().decode()
        except (URLError, OSError):
            return {}
        found = re.findall(r"^(stormcut_\S+) (\S+)$", text, re.MULTILINE)
        return {name: float(value) for name, value in found}

    def leads(self) -> bool:
        """Return whether it says that it leads."""
        return self.metrics().get("stormcut_leader") == 1

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it without warning."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def end(self) -> None:
        """End it, with its Spark."""
        if self.pid is None:
            return
        children = self.spark()
        for each in (psutil.Process(self.pid), *children):
            with suppress(psutil.Error):
                each.send_signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            assert self.process is not None
            self.process.wait(60)
        for each in children:
            with suppress(psutil.Error):
                each.kill()
        self.kill()


def worker_ports(pids: Iterable[int]) -> dict[int, int]:
    """Return the ports of those processes that are workers' JVMs, by process id.

    Storm starts another process with the same command, which copies what the worker prints.
    """
    found = {}
    for pid in pids:
        with suppress(psutil.Error):
            command = psutil.Process(pid).cmdline()
            ports = [each for each in command if each.startswith("-Dworker.port=")]
            if ports and "org.apache.storm.LogWriter" not in command:
                found[pid] = int(ports[0].partition("=")[2])
    return found


class Ground:
    """The embedded cluster, its topologies and its controllers."""

    cluster: LocalCluster
    #: How long workers may take to start.
    patience_s = 180.0

    def __init__(
        self,
        cluster: LocalCluster,
        folder: Path,
        controllers: int,
        topologies: int,
        config: Mapping[str, object] = MappingProxyType({}),
        workers: int = WORKERS,
    ) -> None:
        self.cluster, self.folder, self._workers = cluster, folder, workers
        self._disks: list[Path] = []
        #: The supervisor that a fault has taken away.
        self.lost = 0
        self.topologies = TOPOLOGIES[:topologies]
        self.controllers = [
            Controller(f"controller-{n}", cluster, folder / f"controller-{n}", self.bind, config)
            for n in range(1, controllers + 1)
        ]

    @property
    def bind(self) -> str:
        """Where the cluster reaches a controller."""
        return "127.0.0.1"

    @property
    def books_folders(self) -> list[Path]:
        """Where the topologies' components write."""
        return [self.folder / "books"]

    @property
    def workers_virtualenv(self) -> Path | None:
        """Where the supervisors have Python, if not at the same path as this process."""
        return None

    def books_of(self, name: str) -> str:
        """Return the folder of a topology's books as its workers see it."""
        return str(self.folder / "books" / name)

    def give_disks(self) -> None:
        """Put small disks under the folders that controllers write to; needs root."""
        for path in (path for c in self.controllers for path in (c.spool, c.scratch)):
            options = ["-t", "tmpfs", "-o", f"size={DISK_MB}m"]
            subprocess.run(["mount", *options, "tmpfs", str(path)], check=True)
            self._disks.append(path)

    def begin(self) -> None:
        """Start the controllers and the topologies; return when all is as it should be."""
        for each in self.controllers:
            each.start()
        for name in self.topologies:
            self.submit(name)
        self.await_calm()

    def end(self) -> None:
        """End the controllers."""
        for each in self.controllers:
            each.end()
        for path in self._disks:
            subprocess.run(["umount", str(path)], check=True)

    def submit(self, name: str) -> None:
        """Submit a topology."""
        submit(
            project=LEDGER,
            topology="ledger",
            name=name,
            nimbus=self.cluster.nimbus_address,
            workers=self._workers,
            options={**OPTIONS, "ledger.folder": self.books_of(name)},
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=self.folder / "sparse" / name,
            workers_virtualenv=self.workers_virtualenv,
        )

    def await_calm(self) -> None:
        """Wait until all is as it should be."""
        recovery = recovered(self, self.acked(), time.time(), 2 * self.patience_s)
        if recovery.wrong:
            raise TimedOut("; ".join(recovery.wrong))

    def acked(self) -> Mapping[str, int]:
        """Return the bytes of the lines of acked tuples of each topology."""
        return {
            name: sum(
                path.stat().st_size
                for folder in self.books_folders
                for path in folder.rglob(f"{name}/acked-*")
            )
            for name in self.topologies
        }

    def books(self) -> Books:
        """Return what the books say."""
        return read_books(self.books_folders)

    def nimbus_pid(self) -> int | None:
        """Return the process id of Nimbus."""
        return next(d.pid for d in self.cluster.status().daemons if d.name == "nimbus" and d.up)

    @property
    def nimbus(self) -> NimbusClient:
        """A client of the Nimbus that leads."""
        return self.cluster.nimbus

    def leader(self) -> Controller:
        """Return the controller that leads."""
        return wait_until(
            lambda: next((each for each in self.running() if each.leads()), None), 60, "one leads"
        )

    def standby(self) -> Controller:
        """Return a controller that stands by."""
        leader = self.leader()
        return next(each for each in self.running() if each is not leader)

    def running(self) -> list[Controller]:
        """Return the controllers that run."""
        return [each for each in self.controllers if each.pid is not None]

    def wrong_in_storm(self, acked: Mapping[str, int]) -> Iterator[str]:
        """Yield what is wrong with the topologies, given the bytes of what was acked before."""
        now = self.acked()
        for name in self.topologies:
            if now[name] <= acked[name]:
                yield f"{name} acks nothing"
        try:
            nimbus = self.nimbus
            summaries = {each.name: each for each in nimbus.cluster().topologies}
            for name in self.topologies:
                assigned = len(nimbus.topology(name).executors)
                if summaries[name].status != "ACTIVE":
                    yield f"{name} is {summaries[name].status}"
                if not 0 < assigned == summaries[name].executors:
                    yield f"{name}: {assigned} of {summaries[name].executors} executors assigned"
        except NimbusUnavailable:
            yield "Nimbus does not answer"
        except Exception as error:
            yield f"Nimbus: {error}"

    def wrong_in_control(self, since: float) -> Iterator[str]:
        """Yield what is wrong with the controllers, which must have measured since then."""
        told = {each.name: each.metrics() for each in self.running()}
        leaders = [name for name, each in told.items() if each.get("stormcut_leader") == 1]
        if len(leaders) != 1:
            yield f"{len(leaders)} controllers lead"
        for name in leaders:
            asked = told[name].get("stormcut_nimbus_asked_age_seconds", 0.0)
            if not asked < ASKED_S:
                yield f"Nimbus has not asked for {asked:.0f} s"
            if told[name].get("stormcut_profiles", 0) < len(self.topologies):
                yield "what was measured is not stored"
        for name, each in told.items():
            yield from (f"{name} {what}" for what in self._wrong_in_measuring(each, since))

    def _wrong_in_measuring(self, told: Mapping[str, float], since: float) -> Iterator[str]:
        if told.get("stormcut_zookeeper_connected") != 1:
            yield "has no ZooKeeper"
        if told.get("stormcut_observer_up") != 1:
            yield "reads no metrics"
        for name in self.topologies:
            key = f'stormcut_topology_measured_age_seconds{{topology="{name}-'
            ages = [age for label, age in told.items() if label.startswith(key)]
            if not any(age < time.time() - since for age in ages):
                yield f"measures nothing of {name}"

    # What is struck, here by its process.

    def daemon(self, name: str) -> psutil.Process:
        """Return the process of a daemon."""
        pid = self.cluster.daemon(name).pid
        assert pid is not None
        return psutil.Process(pid)

    def restart(self, name: str) -> None:
        """Start a daemon again; with ZooKeeper all of them, which end with it."""
        self.cluster.restart(name)

    def dead(self) -> list[str]:
        """Return the daemons that do not run."""
        return [each.name for each in self.cluster.status().daemons if not each.up]

    @contextmanager
    def thrift(self) -> Iterator[Any]:
        """Yield a client of Nimbus's whole Thrift service."""
        from streamparse.thrift import Nimbus as Service
        from thriftpy2.rpc import client_context
        from thriftpy2.transport import TFramedTransportFactory

        host, port = self.cluster.nimbus_address.split(":")
        with client_context(
            Service,
            host,
            int(port),
            trans_factory=TFramedTransportFactory(),
            socket_timeout=60_000,
            connect_timeout=60_000,
        ) as client:
            yield client

    def busy_supervisor(self) -> int:
        """Return the number of the supervisor that has a source."""
        executors = self.nimbus.topology(self.topologies[0]).executors
        first = next(each.host for each in executors if each.is_spout)
        return self.cluster.supervisor_hosts.index(first)

    def worker(self) -> psutil.Process:
        """Return the JVM of a worker that has a source."""
        executors = self.nimbus.topology(self.topologies[0]).executors
        port = next(each.port for each in executors if each.is_spout)
        for pid, at in self.workers().items():
            if at == port:
                return psutil.Process(pid)
        raise LookupError(f"no worker at port {port}")

    def workers(self) -> dict[int, int]:
        """Return the ports of the workers' JVMs by process id."""
        return worker_ports(self.cluster.pids())

    def command(self, *arguments: str) -> str:
        """Run a stormcut command as a user would; return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "stormcut.cli.main", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **self.cluster.environment()},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lose_zookeepers_data(self) -> None:
        """Delete what ZooKeeper has stored; it must not run."""
        for path in (self.cluster.folder / "zookeeper" / "data").glob("version-2/*"):
            path.unlink()


@contextmanager
def embedded(
    name: str,
    folder: Path,
    topologies: int = 2,
    whole: bool = True,
    config: Callable[[RunningCluster], Mapping[str, object]] = lambda cluster: {},
    workers: int = WORKERS,
    slots: int = SLOTS,
    storm: Mapping[str, object] = MappingProxyType({}),
) -> Iterator[Ground]:
    """Yield the embedded cluster under load, with controllers, until the block ends.

    ``whole``: the controllers have disks that can be filled, and clocks that can be set.
    ``config`` returns further keys of their file, ``storm`` holds further keys of Storm's, and
    ``workers`` is what each topology asks for, ``slots`` what each supervisor has.
    """
    with LocalCluster.up(name, SUPERVISORS, slots, config={**CONFIG, **storm}) as cluster:
        ground = Ground(cluster, folder, 2, topologies, config(cluster), workers)
        try:
            if whole and is_there("root"):
                ground.give_disks()
            if whole and is_there("cc"):
                for each in ground.controllers:
                    each.give_clock()
            ground.begin()
            yield ground
        finally:
            ground.end()


def is_there(needed: str) -> bool:
    """Return whether this machine has what a fault needs."""
    return {"": True, "root": os.geteuid() == 0, "cc": shutil.which("cc") is not None}[needed]


#: Takes the ground.
Step = Callable[[Any], None]

NIMBUS = frozenset({"nimbus"})
CONTROLLERS = frozenset({"controllers"})


def nothing(ground: Ground) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Fault:
    """What is done, for how long, how it is undone, and in which time all must be well again.

    Attributes
    ----------
    seconds : float or None
        How long it lasts. None: until all that still runs is as it should be, without help.
    bound_s : float
        Most seconds, from when it was undone (None: from the strike) until all is well.
    ends : set of str
        Processes that it ends: ``nimbus``, ``controllers``. All others must live on.
    short : bool
        Whether the short form has it.
    needs : str
        What must be there: ``root``, whose rights it needs, or ``cc``, a C compiler.
    """

    name: str
    strike: Step
    undo: Step = nothing
    seconds: float | None = None
    bound_s: float = 180.0
    ends: frozenset[str] = frozenset()
    short: bool = False
    needs: str = ""


@dataclass(frozen=True)
class Recovery:
    """Seconds until topologies were well, until controllers were; ``wrong``: what never was."""

    topologies_s: float
    controllers_s: float
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a fault; ``wrong`` is what did not hold, nothing if all did."""

    fault: str
    recovery: Recovery
    silent_s: float
    again: int
    lost: int
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        held = "; ".join(self.wrong) or "all held"
        recovery = self.recovery
        return (
            f"{self.fault}: {held}; topologies well in {recovery.topologies_s:.0f} s, controllers"
            f" in {recovery.controllers_s:.0f} s, silent {self.silent_s:.0f} s,"
            f" {self.again} sent again, {self.lost} lost"
        )


class Silence:
    """Measures, from a thread, the longest time in which a topology acks nothing."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.longest_s = 0.0

    def _run(self) -> None:
        acked = self._ground.acked()
        since = dict.fromkeys(acked, time.monotonic())
        while not self._stop.wait(SAMPLE_S):
            now = time.monotonic()
            for name, size in self._ground.acked().items():
                self.longest_s = max(self.longest_s, now - since[name])
                if size > acked.get(name, 0):
                    since[name] = now
                    acked = {**acked, name: size}

    def __enter__(self) -> Silence:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def suffer(ground: Ground, fault: Fault) -> Outcome:
    """Strike, undo, wait until all is well again as it was before, and tell what held."""
    before, nimbus = ground.books(), ground.nimbus_pid()
    pids = {each.name: each.pid for each in ground.controllers}
    sparks = [process for each in ground.controllers for process in each.spark()]
    with Silence(ground) as silence:
        try:
            fault.strike(ground)
            since, acked = time.time(), ground.acked()
            if fault.seconds is None:
                recovery = recovered(ground, acked, since, fault.bound_s)
            else:
                time.sleep(fault.seconds)
        finally:
            since, acked = time.time(), ground.acked()
            fault.undo(ground)
        if fault.undo is nothing:
            after = recovery
        else:
            after = recovered(ground, acked, since, fault.bound_s)
    recovery = after if fault.seconds is not None else recovery
    wrong = [*dict.fromkeys((*recovery.wrong, *after.wrong)), *_ended(ground, fault, nimbus, pids)]
    alive = {process for each in ground.controllers for process in each.spark()}
    wrong += [f"Spark {p.pid} is left" for p in sparks if p not in alive and _lives(p)]
    books = ground.books()
    if books.lost:
        wrong.append(f"{books.lost} acked tuples never arrived")
    again = books.again - before.again
    return Outcome(fault.name, recovery, silence.longest_s, again, books.lost, tuple(wrong))


def _ended(
    ground: Ground, fault: Fault, nimbus: int | None, pids: Mapping[str, int | None]
) -> Iterator[str]:
    """Yield the processes that have ended though the fault does not end them."""
    if "nimbus" not in fault.ends and ground.nimbus_pid() != nimbus:
        yield "Nimbus ended"
    if "controllers" not in fault.ends:
        yield from (f"{c.name} ended" for c in ground.controllers if c.pid != pids[c.name])


def recovered(ground: Ground, acked: Mapping[str, int], since: float, bound_s: float) -> Recovery:
    """Wait until all is well since a moment (epoch seconds), but no longer than the bound."""
    topologies: float | None = None
    while True:
        wrong = list(ground.wrong_in_storm(acked)) if topologies is None else []
        took = time.time() - since
        if not wrong and topologies is None:
            topologies = took
        wrong += ground.wrong_in_control(since)
        if not wrong or took > bound_s:
            return Recovery(took if topologies is None else topologies, took, tuple(wrong))
        time.sleep(SAMPLE_S)


def settled(ground: Ground) -> Counter[str]:
    """Wait until everything that was sent has been acked; return how often what was counted."""
    until = ground.books().sent
    wait_until(
        lambda: until <= ground.books().acked, ground.patience_s, "all that was sent is acked"
    )
    books = ground.books()
    return Counter(sent=len(until), again=books.again, lost=len(until - books.arrived))


def faults_in_logs(ground: Ground) -> list[str]:
    """Return the lines of the controllers' logs that are a fault of stormcut's own."""
    marks = ("a bug in stormcut", "Traceback", "py4j", "Received command")
    lines = [line for each in ground.controllers for line in each.log.read_text().splitlines()]
    return [line for line in lines if any(mark in line for mark in marks)]


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _seconds(seconds: int) -> bytes:
    return struct.pack("=q", seconds)


#: Ports that were given away: nobody may listen there yet, so that the kernel gives them again.
_given: set[int] = set()


def free_port(host: str) -> int:
    """Return a port of a host that nobody listens at, and that was not returned before."""
    while True:
        with socket.create_server((host, 0)) as listener:
            port = int(listener.getsockname()[1])
        if port not in _given:
            _given.add(port)
            return port
