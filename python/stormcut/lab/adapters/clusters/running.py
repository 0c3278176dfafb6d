"""What every cluster that stormcut starts has in common, whatever its daemons run in."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from stormcut.adapters.storm.nimbus import NimbusClient
from stormcut.application.waiting import Watch
from stormcut.lab.adapters.processes import last_words

#: What accepts a connection at once may still be slow to answer, where all share one machine.
NIMBUS_TIMEOUT_S = 60.0


class RunningCluster(ABC):
    """A Storm cluster that runs; as a context manager it ends with the block."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The cluster's name."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder of everything the cluster writes."""

    @property
    @abstractmethod
    def host(self) -> str:
        """Address of this machine that its Nimbus reaches: where a brain can listen."""

    @property
    @abstractmethod
    def zookeeper_address(self) -> str:
        """ZooKeeper's ``host:port``."""

    @property
    @abstractmethod
    def nimbus_address(self) -> str:
        """``host:port`` of Nimbus's Thrift service."""

    @property
    @abstractmethod
    def auth_file(self) -> Path:
        """The file with ``user:password`` for stormcut's nodes in ZooKeeper."""

    @property
    @abstractmethod
    def log_folders(self) -> tuple[Path, ...]:
        """Each supervisor's ``workers-artifacts``: what `stormcut profile` reads."""

    @property
    @abstractmethod
    def nimbus_log(self) -> Path:
        """The file that Nimbus writes its log to."""

    @abstractmethod
    def pids(self) -> list[int]:
        """Return the ids of all of the cluster's processes that this machine can see."""

    @abstractmethod
    def end(self, keep_logs: bool = False) -> Path | None:
        """End the cluster and remove what it wrote; return where the logs are, if they are kept."""

    @property
    def nimbus(self) -> NimbusClient:
        """A client of the cluster's Nimbus."""
        return NimbusClient.at(self.nimbus_address, NIMBUS_TIMEOUT_S)

    @property
    def nimbus_watch(self) -> Watch:
        """What to look at while waiting for Nimbus."""
        return Watch(processes=self.pids, last_words=lambda: last_words.of_nimbus(self.nimbus_log))

    def watch(self, name: str) -> Watch:
        """Return what to look at while waiting for a topology that was submitted.

        Counts executors: those with a slot, with a heartbeat, that emitted, sources that acked.
        """

        def moves() -> tuple[int, ...]:
            executors = self.nimbus.topology(name).executors
            return (
                len(executors),
                sum(each.uptime_s > 0 for each in executors),
                sum(each.emitted > 0 for each in executors),
                sum(each.is_spout and each.acked > 0 for each in executors),
            )

        return Watch(moves, self.pids, lambda: self.last_words(name))

    def last_words(self, name: str) -> str:
        """Return what a topology's workers and Nimbus said last."""
        workers = last_words.of_workers(self.log_folders, f"{name}-[0-9]*-[0-9]*")
        return f"{workers}; {last_words.of_nimbus(self.nimbus_log)}"

    def environment(self) -> dict[str, str]:
        """Return the variables that point stormcut's other commands at this cluster."""
        return {
            "STORMCUT_ZOOKEEPER": self.zookeeper_address,
            "STORMCUT_AUTH_FILE": str(self.auth_file),
            "STORMCUT_NIMBUS": self.nimbus_address,
        }

    def exports(self) -> str:
        """Return the same as lines for a shell."""
        variables = self.environment().items()
        exports = [f"export {name}={shlex.quote(value)}" for name, value in variables]
        logs = " ".join(shlex.quote(str(folder)) for folder in self.log_folders)
        return "\n".join([*exports, f"export STORMCUT_LOGS={shlex.quote(logs)}"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
