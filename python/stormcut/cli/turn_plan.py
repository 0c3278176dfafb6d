"""The middle of a turn: the brain starts, gets the profile, and Nimbus does as it plans."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormcut.cli.steps import Steps
from stormcut.model.errors import StormcutError

if TYPE_CHECKING:
    from stormcut.adapters.clusters.local import LocalCluster
    from stormcut.adapters.zookeeper.nodes import StormcutNodes
    from stormcut.application.waiting import Watch
    from stormcut.model.cluster import Worker
    from stormcut.model.profile import Profile

#: Served time: Python starts and imports what it needs.
BRAIN_S = 60.0
#: Served time: Nimbus asks every second, the brain thinks for less.
PLAN_S = 60.0

#: First tasks of the executors in each slot (host, port).
Workers = dict[tuple[str, int], frozenset[int]]


@dataclass(frozen=True)
class Brain:
    """A brain of this cluster alone; ``log`` is what it says."""

    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise StormcutError with its last words if it has ended."""
        if self.process.poll() is not None:
            code = self.process.returncode
            raise StormcutError(f"the brain ended with exit code {code}; {self.last_words()}")

    def last_words(self) -> str:
        """Return the last line of its log."""
        from stormcut.adapters.processes.last_words import of_process

        return of_process("the brain", self.log)


def start_brain(cluster: LocalCluster, steps: Steps, cleanup: ExitStack, keep: bool) -> Brain:
    """Start the brain as a process of the cluster: `down` ends whatever carries its mark."""
    from stormcut.application.waiting import Watch, wait_until

    log = cluster.folder / "brain" / "logs" / "brain.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "stormcut.cli.main", "brain"]
    environment = os.environ | cluster.environment() | {"STORMCUT_CLUSTER": str(cluster.folder)}
    with steps.step("starting the brain"), log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
        if not keep:
            cleanup.callback(_end, process)
        brain = Brain(process, log)

        def leads() -> bool:
            brain.check()
            return "leader:" in log.read_text(encoding="utf-8")

        watch = Watch(processes=lambda: [process.pid], last_words=brain.last_words)
        wait_until(leads, BRAIN_S, "the brain leads", watch=watch)
    return brain


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def place_anew(
    cluster: LocalCluster, brain: Brain, name: str, profile: Profile, steps: Steps
) -> dict[str, Any]:
    """Publish a profile, wait until Nimbus runs the plan that follows from it.

    Returns
    -------
    dict
        The plan's line of the history: docs/brain.md.

    Raises
    ------
    StormcutError
        The brain declines, or moves nothing; the text says why.
    """
    from stormcut.adapters.zookeeper.nodes import StormcutNodes, connected, read_auth_file

    with connected(cluster.zookeeper_address, read_auth_file(cluster.auth_file)) as client:
        nodes = StormcutNodes(client)
        with steps.step("publishing the profile; the brain plans"):
            nodes.write_profile(profile)
            line = _planned(cluster, brain, nodes, profile)
        plan = nodes.read_plan()
    parts = {part.topology: part.workers for part in plan.topologies} if plan else {}
    with steps.step("the plugin applies the plan"):
        _apply(cluster, brain, name, parts.get(profile.topology, ()))
    return line


def _planned(
    cluster: LocalCluster, brain: Brain, nodes: StormcutNodes, profile: Profile
) -> dict[str, Any]:
    """Return what the first plan that knows a profile says of its topology."""
    from stormcut.application.waiting import wait_until

    def entry() -> dict[str, Any] | None:
        brain.check()
        for each in nodes.read_history(10):
            if each["profiles"].get(profile.topology) == profile.to_epoch_s:
                return each
        return None

    what = "the brain makes a plan from the profile"
    found = wait_until(entry, PLAN_S, what, watch=_watch(cluster, brain.last_words))
    for declined in found["declined"]:
        if declined["topology"] == profile.topology:
            raise StormcutError(f"the brain declined: {declined['reason']}")
    line: dict[str, Any]
    (line,) = [each for each in found["topologies"] if each["topology"] == profile.topology]
    if line["workers_restarted"] == 0:
        raise StormcutError(f"the brain moves nothing: {line['reason']}")
    return line


def _apply(cluster: LocalCluster, brain: Brain, name: str, planned: tuple[Worker, ...]) -> None:
    """Wait until Nimbus shows a topology's executors exactly where the plan has them."""
    from stormcut.application.waiting import wait_until

    nimbus = cluster.nimbus

    def applied() -> bool:
        brain.check()
        host = {each.id: each.host for each in nimbus.cluster().supervisors}
        wanted: Workers = {
            (host[w.slot.node], w.slot.port): frozenset(w.executors) for w in planned
        }
        return nimbus.topology(name).workers == wanted

    what = "Nimbus runs the topology as planned"
    wait_until(applied, PLAN_S, what, watch=_watch(cluster, brain.last_words))


def _watch(cluster: LocalCluster, brain_said: Callable[[], str]) -> Watch:
    from stormcut.adapters.processes.last_words import of_nimbus
    from stormcut.application.waiting import Watch

    def last_words() -> str:
        return f"{brain_said()}; {of_nimbus(cluster.nimbus_log)}"

    return Watch(processes=cluster.pids, last_words=last_words)
