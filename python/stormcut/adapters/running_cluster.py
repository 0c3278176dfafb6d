"""What every cluster that stormcut starts has in common, whatever its daemons run in."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from stormcut.adapters.nimbus import Nimbus


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

    @abstractmethod
    def end(self) -> None:
        """End the cluster and remove what it wrote."""

    @property
    def nimbus(self) -> Nimbus:
        """A client of the cluster's Nimbus."""
        return Nimbus.at(self.nimbus_address)

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
        return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
