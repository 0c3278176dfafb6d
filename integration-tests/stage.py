"""The cluster under test: what can be done to it, and what can be seen of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, ClassVar, Generic, TypeVar

from benchmarks.cluster.fault_ground import worker_ports

from stormcut.adapters.machine import home
from stormcut.adapters.storm.nimbus import NimbusClient
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.docker import VIRTUALENV, DockerCluster
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.storm.sparse_submit import submit

TOPOLOGIES = ("alpha", "beta")

#: Before a command that Ctrl-C shall reach: a test run in the background ignores it, and passes on
#: that it does.
DEFAULT_SIGNAL = ["env", "--default-signal=INT"]


C = TypeVar("C", LocalCluster, DockerCluster)
#: Without a profile a brain would leave everything as Storm does.
PACKING = ("--unmeasured", "pack")


class Stage(Generic[C]):
    """The cluster under test, and what can be seen of it.

    ``topologies`` are those that the tests of this cluster start, ``nimbus_log`` is Nimbus's log.
    """

    topologies: tuple[str, ...] = TOPOLOGIES
    options: ClassVar[dict[str, object]] = {
        "rig.rate": 20,
        "rig.scale": 0.06,
        "stormcut.workers": "pack",  # the brain must be told
    }
    workers_virtualenv: Path | None = None
    #: How long workers may take to start and ack, and dead nodes to be given up.
    patience_s = 120.0

    def __init__(self, cluster: C, nimbus_log: Path) -> None:
        self.cluster = cluster
        self.nimbus = NimbusClient.at(cluster.nimbus_address)
        self._log = nimbus_log

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | self.cluster.environment()

    def submit(self, name: str) -> None:
        submit(
            project=home.topologies(),
            topology="taxi",
            name=name,
            nimbus=self.cluster.nimbus_address,
            workers=2,
            options=self.options,
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=self.cluster.folder / "sparse" / name,
            workers_virtualenv=self.workers_virtualenv,
        )

    def is_whole(self, name: str) -> bool:
        """Return whether Nimbus has a slot for every executor of an active topology."""
        (summary,) = [t for t in self.nimbus.cluster().topologies if t.name == name]
        info = self.nimbus.topology(name)
        return summary.status == "ACTIVE" and len(info.executors) == summary.executors > 0

    def wait_whole(self) -> None:
        for name in self.topologies:
            wait_until(lambda name=name: self.is_whole(name), 60, f"{name} is fully assigned")

    def wait_acks(self, name: str) -> None:
        """Wait until every spout acks tuples since its worker started."""

        def acked() -> bool:
            spouts = [e for e in self.nimbus.topology(name).executors if e.is_spout]
            return bool(spouts) and all(e.acked > 0 for e in spouts)

        wait_until(acked, self.patience_s, f"{name} acks tuples")

    def rebalance(self) -> None:
        """Have all topologies placed from nothing, and wait until they are."""
        for name in self.topologies:
            self.nimbus.rebalance(name, wait_secs=0)
        wait_until(
            lambda: all(t.status != "REBALANCING" for t in self.nimbus.cluster().topologies),
            60,
            "the rebalance is over",
        )
        self.wait_whole()

    def log_mark(self) -> int:
        return self._log.stat().st_size

    def log_text(self, mark: int) -> str:
        """Return what Nimbus logged since a mark."""
        with self._log.open("rb") as log:
            log.seek(mark)
            return log.read().decode(errors="replace")

    def log_since(self, mark: int) -> list[str]:
        """Return what stormcut logged in Nimbus since a mark."""
        return [line for line in self.log_text(mark).splitlines() if "stormcut: " in line]

    def wait_log(self, mark: int, *words: str) -> str:
        """Return stormcut's first line since a mark that has all these words."""

        def found() -> str | None:
            for line in self.log_since(mark):
                if all(word.lower() in line.lower() for word in words):
                    return line
            return None

        return wait_until(found, 75, f"Nimbus logs a line with {words}")

    @contextmanager
    def process(self, *command: str, ready: str) -> Iterator[subprocess.Popen[str]]:
        """Run a program until the block ends, from when it has printed a line with ``ready``."""
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )
        try:
            read_until(process, ready)
            yield process
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()

    def liar(self, mode: str) -> AbstractContextManager[subprocess.Popen[str]]:
        script = str(Path(__file__).with_name("liar.py"))
        return self.process(sys.executable, script, mode, ready="ready")

    def brain(self, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
        command = (sys.executable, "-m", "stormcut.cli.main", "brain", *PACKING, *options)
        return self.process(*command, ready="leader:")

    def command(self, *arguments: str) -> str:
        """Run a stormcut command as a user would; return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "stormcut.cli.main", *arguments],
            capture_output=True,
            text=True,
            env=self.environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def worker_processes(self) -> set[int]:
        """Return the ids of the workers' processes."""
        return set(worker_ports(self.cluster.pids()))

    def workers(self, name: str) -> dict[tuple[str, int], frozenset[int]]:
        """Return the first tasks of the executors in each slot of a topology."""
        return self.nimbus.topology(name).workers


class DockerStage(Stage[DockerCluster]):
    """A cluster in containers with one small topology; its brain runs on this machine."""

    topologies = ("alpha",)
    options: ClassVar[dict[str, object]] = {
        "rig.rate": 20,
        "rig.scale": 0.06,
        "stormcut.hook.interval.secs": 5,
        # What twenty trips a second need; Storm's 10 of 100 would fill the small nodes.
        "topology.component.cpu.pcore.percent": 5.0,
    }
    workers_virtualenv = VIRTUALENV
    patience_s = 240.0

    def brain(self, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
        return super().brain("--bind", self.cluster.host, "--insecure-bind", *options)


def read_until(process: subprocess.Popen[str], word: str, stream: IO[str] | None = None) -> None:
    """Read a process's lines up to one with ``word``; pytest-timeout guards the wait."""
    stream = stream or process.stdout
    assert stream is not None
    seen = []
    for line in stream:
        seen.append(line)
        if word in line:
            return
    raise AssertionError(f"it ended without {word!r}: {''.join(seen)}")
