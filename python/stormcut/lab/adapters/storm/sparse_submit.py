"""Submitting a streamparse project's topology with `sparse submit`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from stormcut.application.waiting import Watch, wait_until
from stormcut.model.errors import InvalidInput, StormcutError

#: How long Nimbus may take to answer one call: whoever waits for the whole gives up earlier.
NIMBUS_TIMEOUT_MS = 3_600_000

#: Served time without any work done by the submission after which it is given up: Nimbus hangs.
IDLE_S = 60.0

#: What builds and checks leave in a project; a private copy starts without.
BUILD_FOLDERS = ("_build", "_resources", "logs", "java", "__pycache__", ".*")

#: What streamparse, Leiningen and Storm say, and what it means to the user.
KNOWN_FAILURES = (
    (r"Could not connect to", "Nimbus does not answer; is the cluster up?"),
    (r"timed out|TSocket read 0 bytes", "Nimbus did not answer"),
    (r"AlreadyAliveException", "a topology of this name is running; kill it first"),
    (
        r"is an invalid name for a Storm topology",
        "a topology of this name is running (kill it first), or the name holds one of / . : \\",
    ),
)


def submit(
    project: Path,
    topology: str,
    name: str,
    nimbus: str,
    workers: int,
    options: Mapping[str, object],
    environment: Mapping[str, str],
    virtualenv: Path,
    work_folder: Path,
    patience_s: float = IDLE_S,
    jar: Path | None = None,
    workers_virtualenv: Path | None = None,
) -> None:
    """Submit a topology of a streamparse project, without ssh.

    The submission runs in a private copy of the project that is gone afterwards, so the project
    is not changed and two submissions can run side by side.

    Parameters
    ----------
    project : Path
        Folder with `project.clj`, `topologies/` and `src/`. Its `config.json` is not used.
    topology : str
        Module in `topologies/` without `.py`.
    name : str
        Name under which the topology runs.
    nimbus : str
        `host:port` of Nimbus's Thrift server.
    workers : int
        `topology.workers`.
    options : Mapping
        Further topology options; the values must be representable as JSON.
    environment : Mapping
        Variables for the topology's module, added to this process's own.
    virtualenv : Path
        Python environment with streamparse.
    work_folder : Path
        Where the private copy is made.
    patience_s : float
        Seconds without any work done until the submission is given up.
    jar : Path, optional
        The topology's jar, if its components are in Java; else one is made of `src/`.
    workers_virtualenv : Path, optional
        Where the supervisors have such an environment, if not at the same path.

    Raises
    ------
    InvalidInput
        If there is no such project, topology or environment, or Leiningen is missing.
    StormcutError
        If the submission fails; the text says why.
    """
    sparse = _require_parts(project, topology, virtualenv)
    work_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="submit-", dir=work_folder) as folder:
        copy = Path(folder) / "project"
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(*BUILD_FOLDERS))
        _write_config(copy, nimbus, workers_virtualenv or virtualenv.absolute())
        command = [str(sparse), "submit", "-n", topology, "-N", name, "-w", str(workers)]
        command += ["--timeout", str(NIMBUS_TIMEOUT_MS)]
        if jar is not None:
            command += ["--local_jar_path", str(jar)]
        for key, value in options.items():
            command += ["-o", f"{key}={json.dumps(value)}"]
        code, output = _run(command, copy, _environment(environment), patience_s)
    if code != 0:
        raise StormcutError(f"topology {name} was not submitted to {nimbus}: {_reason(output)}")


def _require_parts(project: Path, topology: str, virtualenv: Path) -> Path:
    definition = project / "topologies" / f"{topology}.py"
    if not definition.is_file():
        raise InvalidInput("no such topology", str(definition))
    sparse = virtualenv.absolute() / "bin" / "sparse"
    if not sparse.is_file():
        raise InvalidInput(
            "not a Python environment with streamparse; run scripts/setup", str(virtualenv)
        )
    if shutil.which("lein") is None:
        raise InvalidInput(
            "Leiningen is missing; install it (Debian: apt install leiningen)", "lein"
        )
    return sparse


def _write_config(project: Path, nimbus: str, home: Path) -> None:
    """Write the config.json that makes streamparse use this environment, as it is, without ssh."""
    production = {
        "user": "",
        "nimbus": nimbus,
        # Only the length of this list is ever used without ssh, and -w overrides that.
        "workers": [nimbus.rsplit(":", 1)[0]],
        "use_ssh_for_nimbus": False,
        "use_virtualenv": True,
        "install_virtualenv": False,
        "virtualenv_root": str(home.parent),
        "virtualenv_name": home.name,
    }
    config = {
        "serializer": "json",
        "topology_specs": "topologies/",
        "virtualenv_specs": "virtualenvs/",
        "envs": {"prod": production},
    }
    (project / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def _environment(additions: Mapping[str, str]) -> dict[str, str]:
    # STREAMPARSE_NIMBUS would override config.json; the warnings are about libraries of
    # streamparse's own and would hide the line that matters.
    own = {key: value for key, value in os.environ.items() if key != "STREAMPARSE_NIMBUS"}
    own |= {"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
    if os.geteuid() == 0:
        own["LEIN_ROOT"] = "1"
    return own | dict(additions)


def _run(
    command: list[str], folder: Path, environment: Mapping[str, str], patience_s: float
) -> tuple[int, str]:
    """Run a command in a process group of its own, ended as a whole when it is given up."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        watch = Watch(lambda: [_cpu_s(process.pid)], lambda: _family(process.pid))
        try:
            what = "sparse submit ends: Nimbus takes connections, but does not answer"
            wait_until(lambda: process.poll() is not None, patience_s, what, watch=watch)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace")


def _family(pid: int) -> list[int]:
    """Return the ids of a process and of all that it started."""
    with suppress(psutil.Error):
        return [pid, *(each.pid for each in psutil.Process(pid).children(recursive=True))]
    return []


def _cpu_s(pid: int) -> int:
    """Return the seconds of CPU that a process and all that it started have used."""
    used = 0.0
    for each in _family(pid):
        with suppress(psutil.Error):
            times = psutil.Process(each).cpu_times()
            used += sum(times[:4])
    return int(used)


def _reason(output: str) -> str:
    """Return the line of a failed submission's output that says why."""
    for pattern, meaning in KNOWN_FAILURES:
        if re.search(pattern, output):
            return meaning
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "sparse submit said nothing"
