"""Starting daemons, and finding and ending every process that belongs to a cluster.

A daemon gets its cluster's folder in an environment variable. Supervisors pass it on to workers,
their log writers and their Python subprocesses, so whoever carries it belongs to the cluster,
even after the parent died and whatever a stale file says. The shell of a user never has it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from stormcut.application.served_time import ServedTime
from stormcut.lab.adapters.clusters.local import storm_yaml
from stormcut.lab.adapters.clusters.local.layout import Daemon, Layout
from stormcut.model.errors import StormcutError

CLUSTER_MARK = "STORMCUT_CLUSTER"
DAEMON_MARK = "STORMCUT_DAEMON"

#: Storm's processes force themselves to end 1 s after a termination signal.
GRACE_S = 5.0
KILL_TIMEOUT_S = 15.0

#: Variables of the caller that would change which Java options or classes Storm uses.
_UNWANTED_PREFIXES = ("STORM_", "JAVA_", "CLASSPATH")
_UNWANTED = ("_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "LD_PRELOAD")

_ZOOKEEPER = "org.apache.storm.shade.org.apache.zookeeper.server.quorum.QuorumPeerMain"
_NIMBUS = "org.apache.storm.daemon.nimbus"
_SUPERVISOR = "org.apache.storm.daemon.supervisor.Supervisor"


def start(
    layout: Layout, daemon: Daemon, java: Path, inherited: Sequence[socket.socket] = ()
) -> subprocess.Popen[bytes]:
    """Start a daemon whose Storm home is ready, in its own session: Ctrl-C does not reach it.

    Parameters
    ----------
    java : Path
        The Java home for the daemon, and for the workers of a supervisor.
    inherited : sequence of sockets
        Kept open by the daemon for as long as it lives.
    """
    with layout.output_file(daemon.name).open("ab") as output:
        return subprocess.Popen(
            [
                *_inside(daemon),
                *(str(java / "bin" / "java"), *_options(layout, daemon), *_main(layout, daemon)),
            ],
            cwd=layout.storm_home(daemon.name),
            env=_environment(layout, daemon, java),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[each.fileno() for each in inherited],
        )


def _inside(daemon: Daemon) -> list[str]:
    # It becomes the daemon: the process stays the same.
    return ["ip", "netns", "exec", daemon.namespace] if daemon.namespace else []


def _main(layout: Layout, daemon: Daemon) -> list[str]:
    if daemon.name == "zookeeper":
        return [_ZOOKEEPER, str(layout.storm_home(daemon.name) / "conf" / "zoo.cfg")]
    return [_NIMBUS if daemon.name == "nimbus" else _SUPERVISOR]


def _options(layout: Layout, daemon: Daemon) -> list[str]:
    home = layout.storm_home(daemon.name)
    class_path = [home / "conf", home / "lib/*", home / "extlib/*", home / "extlib-daemon/*"]
    return [
        *_child_options(layout, daemon),
        f"-Dstorm.home={home}",
        f"-Dstorm.log.dir={layout.logs(daemon.name)}",
        "-Dstorm.conf.file=",
        "-Dstorm.options=",
        f"-Dlogfile.name={layout.log_file(daemon.name).name}",
        f"-Dlog4j.configurationFile={layout.log4j2 / 'cluster.xml'}",
        "-cp",
        ":".join(map(str, class_path)),
    ]


def _child_options(layout: Layout, daemon: Daemon) -> list[str]:
    if daemon.name == "zookeeper":
        # Nobody needs this data after a power cut, so a write does not wait for the disk.
        zookeeper = ["-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024"]
        quiet = ["-Dzookeeper.jmx.log4j.disable=true"]
        return ["-Xmx128m", *storm_yaml.DAEMON_JVM.split(), *zookeeper, *quiet]
    key = "nimbus.childopts" if daemon.name == "nimbus" else "supervisor.childopts"
    options = storm_yaml.read(layout.storm_yaml(daemon.name))[key]
    return str(options).split()


def _environment(layout: Layout, daemon: Daemon, java: Path) -> dict[str, str]:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(_UNWANTED_PREFIXES) and key not in _UNWANTED
    }
    # Supervisors start workers with the Java of JAVA_HOME and PATH, not with their own.
    path = f"{java / 'bin'}:{kept.get('PATH', os.defpath)}"
    marks = {CLUSTER_MARK: str(layout.folder), DAEMON_MARK: daemon.name}
    return {**kept, "JAVA_HOME": str(java), "PATH": path, **marks}


def of_cluster(folder: Path, daemon: str | None = None) -> list[psutil.Process]:
    """Return the live processes of a cluster; of one daemon and what it started, if given."""
    mark = f"{CLUSTER_MARK}={folder}".encode()
    wanted = {mark} if daemon is None else {mark, f"{DAEMON_MARK}={daemon}".encode()}
    members = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # A zombie's environment is empty, another user's is unreadable.
            process = psutil.Process(int(entry.name))
            if wanted <= set((entry / "environ").read_bytes().split(b"\0")):
                members.append(process)
        except (OSError, psutil.Error):
            continue
    return members


def is_running(daemon: Daemon) -> bool:
    """Return whether the very process recorded for the daemon lives."""
    if daemon.pid is None or daemon.started is None:
        return False
    try:
        process = psutil.Process(daemon.pid)
        # The start time is a multiple of 10 ms since boot; boot time itself may shift a little.
        same = abs(process.create_time() - daemon.started) < 1.0
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def end_daemon(daemon: Daemon, grace_s: float = GRACE_S) -> None:
    """End the daemon's own process, if it lives; workers of a supervisor go on.

    Raises
    ------
    StormcutError
        It survives a kill signal.
    """
    begin = time.monotonic()
    # Not psutil's wait: a daemon whose parent lives stays as a zombie until that one looks.
    while is_running(daemon):
        elapsed = time.monotonic() - begin
        if elapsed > grace_s + KILL_TIMEOUT_S:
            raise StormcutError(f"{daemon.name} does not end: process {daemon.pid}")
        with suppress(psutil.NoSuchProcess):
            _signal(psutil.Process(daemon.pid), force=elapsed >= grace_s)
        time.sleep(0.1)


def end(folder: Path, daemon: str | None = None, grace_s: float = GRACE_S) -> int:
    """End all processes of a cluster, or of one daemon, and return how many there were.

    Looks again until none is left: a supervisor may start a worker while it is being ended.

    Raises
    ------
    StormcutError
        Some survive a kill signal.
    """
    clock = ServedTime(lambda: [process.pid for process in of_cluster(folder, daemon)])
    ended: set[psutil.Process] = set()
    empty_looks = 0
    while empty_looks < 2:
        processes = of_cluster(folder, daemon)
        empty_looks = 0 if processes else empty_looks + 1
        elapsed = clock.seconds
        if processes and elapsed > grace_s + KILL_TIMEOUT_S:
            pids = ", ".join(str(process.pid) for process in processes)
            raise StormcutError(f"processes of {folder} do not end: {pids}")
        for process in processes:
            if elapsed >= grace_s:
                _signal(process, force=True)
            elif process not in ended:
                _signal(process, force=False)
        ended.update(processes)
        time.sleep(0.1)
    return len(ended)


def _signal(process: psutil.Process, force: bool) -> None:
    try:
        if force:
            process.kill()
        else:
            process.terminate()
    except psutil.NoSuchProcess:
        pass
