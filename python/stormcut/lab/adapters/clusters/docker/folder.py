"""The host's folder of one cluster: ``<home>/docker/<name>/`` and what it records of itself."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import yaml

from stormcut.adapters.files.json_document import write_text
from stormcut.adapters.machine.home import home, move_logs
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.docker.plan import ClusterPlan, ClusterShape, Container, plan
from stormcut.model.errors import InvalidInput

_VERSION = 2

#: It is part of the names of containers and networks.
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,40}")


@dataclass(frozen=True)
class DockerState:
    """A cluster that is up.

    ``refused`` tells by kind (cpu, memory, bandwidth out, bandwidth in) why a limit that was
    asked for is not there; what is measured without it must be marked so.
    """

    plan: ClusterPlan
    refused: Mapping[str, str] = field(default_factory=dict)


class Folder:
    """Paths of the cluster ``name``; nothing is created before it is needed."""

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                "must be 1 to 41 small letters, digits, '-', '_' or '.', the first a letter or"
                " digit",
                f"cluster name {name!r}",
            )
        self.name = name
        self.clusters = home() / "docker"
        self.path = self.clusters / name
        self.lock_file = self.clusters / f".{name}.lock"

    @property
    def auth_file(self) -> Path:
        """The file with ``user:password`` for stormcut's nodes in ZooKeeper."""
        return self.storm_home("nimbus") / "conf" / "stormcut.auth"

    def storm_home(self, container: str) -> Path:
        """Return a container's Storm home, ``/storm`` in the container."""
        return self.path / container

    def logs(self, container: str) -> Path:
        """Return a container's ``storm.log.dir``."""
        return self.storm_home(container) / "logs"

    def create_storm_home(self, container: Container, config: Mapping[str, object]) -> None:
        """Make a container's Storm home with its storm.yaml."""
        storm_home = self.storm_home(container.name)
        # Without artifacts a node's first worker would make the folder that readers look for.
        for folder in ("conf", "extlib", "extlib-daemon", "logs/workers-artifacts"):
            (storm_home / folder).mkdir(parents=True)
        text = yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False)
        (storm_home / "conf" / "storm.yaml").write_text(text, encoding="utf-8")

    def create_secret(self) -> None:
        """Write the secret, for this user's eyes alone."""
        descriptor = os.open(self.auth_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as secret:
            secret.write(f"stormcut:{secrets.token_hex(16)}\n")

    def write_state(self, state: DockerState) -> None:
        """Record the state."""
        document = {
            "version": _VERSION,
            "subnet": str(state.plan.subnet),
            "shape": asdict(state.plan.shape),
            "refused": dict(state.refused),
        }
        write_text(self.path / "state.json", json.dumps(document, indent=1))

    def read_state(self) -> DockerState | None:
        """Return the recorded state, None if there is none that can be used."""
        try:
            content = json.loads((self.path / "state.json").read_text(encoding="utf-8"))
            if content["version"] != _VERSION:
                return None
            shape = content["shape"]
            shape["sizes"] = tuple(shape["sizes"])
            shape["bandwidth"] = Bandwidth(**shape["bandwidth"])
            subnet = ipaddress.IPv4Network(content["subnet"])
            return DockerState(plan(self.name, ClusterShape(**shape), subnet), content["refused"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep_logs(self) -> Path:
        """Move all logs to ``<home>/logs/<name>-<local time>/<container>``; return that folder."""
        return move_logs(self.path, self.name)

    def remove(self) -> None:
        """Remove the folder, and that of all clusters if this was the last."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():
            raise InvalidInput("holds files of another user: remove it as root", str(self.path))
        self.lock_file.unlink(missing_ok=True)
        with suppress(OSError):
            self.clusters.rmdir()
