"""The files of one cluster: ``<home>/clusters/<name>/`` and what it records about itself."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path

from stormcut.adapters.machine.home import home, move_logs
from stormcut.model.errors import InvalidInput

STATE_VERSION = 1

#: A cluster's name is a folder's name and stands in commands.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class Daemon:
    """One daemon of a cluster; ``pid`` and its start (seconds since 1970) name its process.

    ``namespace`` is the network namespace that it runs in; empty: this machine's.
    """

    name: str
    host: str
    ports: tuple[int, ...]
    pid: int | None = None
    started: float | None = None
    namespace: str = ""


@dataclass(frozen=True)
class LocalState:
    """What a cluster's folder tells: its daemons, ZooKeeper first, Nimbus second.

    Before ``ready`` the cluster is being started, or whoever started it died over it.
    """

    daemons: tuple[Daemon, ...]
    ready: bool = False

    @property
    def zookeeper(self) -> Daemon:
        """The ZooKeeper server."""
        return self.daemons[0]

    @property
    def nimbus(self) -> Daemon:
        """The Nimbus."""
        return self.daemons[1]

    @property
    def supervisors(self) -> tuple[Daemon, ...]:
        """The supervisors, whose ports are their slots."""
        return self.daemons[2:]

    def with_daemon(self, changed: Daemon) -> LocalState:
        """Return a copy with the daemon of this name replaced."""
        return replace(
            self,
            daemons=tuple(changed if d.name == changed.name else d for d in self.daemons),
        )


class Layout:
    """Paths of the cluster ``name``; nothing is created before it is needed."""

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                "must be 1 to 64 letters, digits, '-', '_' or '.', the first a letter or digit",
                f"cluster name {name!r}",
            )
        self.name = name
        self.clusters = home() / "clusters"
        self.folder = self.clusters / name
        self.state_file = self.folder / "state.json"
        self.auth_file = self.folder / "stormcut.auth"
        self.log4j2 = self.folder / "log4j2"
        # Beside the folder, which a stale cluster's removal takes away.
        self.lock_file = self.clusters / f".{name}.lock"

    def storm_home(self, daemon: str) -> Path:
        """Return the daemon's own Storm home."""
        return self.folder / daemon

    def logs(self, daemon: str) -> Path:
        """Return the daemon's ``storm.log.dir``."""
        return self.storm_home(daemon) / "logs"

    def log_file(self, daemon: str) -> Path:
        """Return the file that a daemon writes its log to."""
        return self.logs(daemon) / f"{daemon}.log"

    def output_file(self, daemon: str) -> Path:
        """Return the file with what a daemon's JVM prints, usually nothing."""
        return self.logs(daemon) / f"{daemon}.out"

    def storm_yaml(self, daemon: str) -> Path:
        """Return the daemon's configuration."""
        return self.storm_home(daemon) / "conf" / "storm.yaml"

    def create(self) -> None:
        """Make the folder with what all daemons share: log4j2 files and the secret."""
        self.folder.mkdir(parents=True)
        self.log4j2.mkdir()
        for file in ("cluster.xml", "worker.xml"):
            template = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
            (self.log4j2 / file).write_text(template, encoding="utf-8")
        descriptor = os.open(self.auth_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as secret:
            secret.write(f"stormcut:{secrets.token_hex(16)}\n")

    def create_storm_home(self, daemon: str, lib: Path) -> None:
        """Make a daemon's Storm home, its jars linked."""
        storm_home = self.storm_home(daemon)
        for folder in ("conf", "extlib", "extlib-daemon", "logs"):
            (storm_home / folder).mkdir(parents=True)
        (storm_home / "lib").symlink_to(lib)

    def write_state(self, state: LocalState) -> None:
        """Record the state; a reader sees the old or the new one, never half of it."""
        text = json.dumps({"version": STATE_VERSION, **asdict(state)}, indent=1)
        temporary = self.state_file.with_suffix(".tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.state_file)

    def read_state(self) -> LocalState | None:
        """Return the recorded state, None if there is none that can be used."""
        try:
            content = json.loads(self.state_file.read_text(encoding="utf-8"))
            if content["version"] != STATE_VERSION:
                return None
            daemons = tuple(Daemon(**{**d, "ports": tuple(d["ports"])}) for d in content["daemons"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return LocalState(daemons, bool(content["ready"])) if len(daemons) > 2 else None

    def remove(self) -> None:
        """Remove the folder and all in it; what another user owns is at least out of the way."""
        if not self.folder.exists():
            return
        aside = self.clusters / f".{self.name}.removed-{secrets.token_hex(4)}"
        self.folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)

    def keep_logs(self) -> Path:
        """Move all logs to ``<home>/logs/<name>-<local time>/<daemon>`` and return that folder."""
        return move_logs(self.folder, self.name)
