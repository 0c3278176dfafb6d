"""One turn of the loop: a topology is measured, placed anew while it runs, measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from stormcut import __version__
from stormcut.application.experiment.loop import Loop, Phase, PlacedExecutor
from stormcut.application.experiment.ports import (
    HOOK_INTERVAL_S,
    Brain,
    BrainNodes,
    Cluster,
    Nimbus,
    Profiler,
    Progress,
)
from stormcut.application.experiment.turn_plan import place_anew
from stormcut.application.waiting import wait_until
from stormcut.model.errors import StormcutError
from stormcut.model.profile import Profile
from stormcut.model.summaries import TopologyInfo
from stormcut.profile.flows import flows

#: Host and port.
Slot = tuple[str, int]

TOPOLOGY = "taxi"
#: After a (re)start: JVMs compile, queues fill. Left out of every measured window.
WARM_UP_S = 15
#: So long that whole intervals of the hook lie in the window, whenever it begins.
SHORTEST_WINDOW_S = 3 * HOOK_INTERVAL_S
#: For workers that need not be fast: they take half the CPU time to start.
FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
#: Served time without progress: the start of a JVM with its Python processes.
ACKS_S = 120.0


@dataclass(frozen=True)
class Settings:
    """What the demo runs; the defaults need two cores and 4 GiB."""

    supervisors: int
    slots: int
    max_executors: int
    scale: float
    rate: float
    seconds: int


class Submit(Protocol):
    """Submits `TOPOLOGY`."""

    def __call__(self, *, options: Mapping[str, object]) -> None:
        """Submit it with options of Storm's and, after ``rig.``, its own."""
        ...


@dataclass(frozen=True)
class Stage:
    """What a turn works with: a cluster that is up, still without topology and brain.

    ``machine`` tells readers of the report what that runs on.
    """

    cluster: Cluster
    submit: Submit
    profiler: Profiler
    brain: Callable[[], AbstractContextManager[Brain]]
    nodes: Callable[[], AbstractContextManager[BrainNodes]]
    progress: Progress
    machine: str


@dataclass(frozen=True)
class Switch:
    """How the topology got its new placement; ``seconds`` until every spout acked again."""

    reason: str
    workers_restarted: int
    seconds: float


def run(settings: Settings, stage: Stage) -> Loop:
    """Run the topology, measure it, have the brain place it anew, measure it again."""
    _submit(settings, stage)
    before, profile = _measure(settings, stage, "Storm's default")
    with ExitStack() as stack:
        with stage.progress.step("starting the brain"):
            brain = stack.enter_context(stage.brain())
        switch = _place_anew(stage, brain, profile)
        after, _ = _measure(settings, stage, "stormcut")
    return _compare(settings, stage, before, after, switch)


def _submit(settings: Settings, stage: Stage) -> None:
    with stage.progress.step(f"sparse submit {TOPOLOGY}"):
        stage.submit(
            options={
                "rig.rate": settings.rate,
                "rig.scale": settings.scale,
                # At a set rate, speed is not what is measured.
                **({"topology.worker.childopts": FIRST_COMPILER} if settings.rate else {}),
            }
        )
    _wait_for_acks(stage, "waiting for every spout's first acked tuples", (), 0.0)


def _wait_for_acks(stage: Stage, title: str, restarted: Collection[Slot], since: float) -> None:
    """Wait until every spout executor has acked something since its worker started.

    Nimbus shows a worker's last statistics until a new one reports: those of the slots in
    ``restarted`` count only from workers younger than the moment ``since`` (`time.monotonic`).
    """
    nimbus = stage.cluster.nimbus
    up = ready = 0
    with stage.progress.step(title) as update:

        def all_ack() -> bool:
            nonlocal up, ready
            info = nimbus.topology(TOPOLOGY)
            age = time.monotonic() - since
            fresh = [
                executor
                for executor in info.executors
                if (executor.host, executor.port) not in restarted or executor.uptime_s <= age
            ]
            spouts = sum(executor.is_spout for executor in info.executors)
            up = sum(executor.uptime_s > 0 for executor in fresh)
            ready = sum(executor.is_spout and executor.acked > 0 for executor in fresh)
            update(f"{up} of {len(info.executors)} executors up, {ready} of {spouts} spouts ack")
            whole = len(fresh) == len(info.executors) and _is_whole(nimbus, info)
            return whole and 0 < spouts == ready

        watch = replace(stage.cluster.watch(TOPOLOGY), moves=lambda: (up, ready))
        wait_until(all_ack, ACKS_S, "every spout acks tuples", watch=watch)


def _is_whole(nimbus: Nimbus, info: TopologyInfo) -> bool:
    (summary,) = [each for each in nimbus.cluster().topologies if each.id == info.id]
    return len(info.executors) == summary.executors


def _measure(settings: Settings, stage: Stage, label: str) -> tuple[Phase, Profile]:
    """Let the topology run for a window, then profile that window alone."""
    nimbus, progress = stage.cluster.nimbus, stage.progress
    _watch(WARM_UP_S, progress, f"warming up under {label}")
    info = nimbus.topology(TOPOLOGY)
    begin = time.time()
    _watch(settings.seconds, progress, f"measuring under {label}")
    end = time.time()
    # The last interval's lines are written up to one interval after it ended.
    _watch(HOOK_INTERVAL_S + 1, progress, "waiting for the last metrics lines")
    if nimbus.topology(TOPOLOGY).workers != info.workers:
        raise StormcutError(f"Nimbus moved executors during the measurement under {label}")
    title = "profiling the metrics logs with Spark; the topology pauses meanwhile"
    with progress.step(title) as update, _paused(nimbus):
        result = stage.profiler(topology=info.id, from_epoch=begin, to_epoch=end, progress=update)
    measured = result.measured.get(info.id)
    if measured is None or measured.missing_executors:
        missing = ", ".join(measured.missing_executors) if measured else "all"
        raise StormcutError(f"executors without a measurement: {missing}; try a longer --seconds")
    profile = result.profiles[info.id]
    return Phase(label, measured, _placed(info), flows(profile.traffic)), profile


@contextmanager
def _paused(nimbus: Nimbus) -> Iterator[None]:
    """Have the topology's spouts emit nothing until the block ends: it leaves the cores to others.

    Workers stay, and so does the placement.
    """
    nimbus.deactivate(TOPOLOGY)
    try:
        yield
    finally:
        nimbus.activate(TOPOLOGY)


def _placed(info: TopologyInfo) -> tuple[PlacedExecutor, ...]:
    return tuple(
        PlacedExecutor(e.component, e.start_task, e.end_task, e.host, e.port)
        for e in info.executors
    )


def _watch(seconds: float, progress: Progress, title: str) -> None:
    end = time.monotonic() + seconds
    with progress.step(title) as update:
        while (left := end - time.monotonic()) > 0:
            update(f"{left:.0f} s left")
            time.sleep(min(1.0, left))


def _place_anew(stage: Stage, brain: Brain, profile: Profile) -> Switch:
    """Have the topology placed by a profile, and wait until tuples flow again."""
    nimbus = stage.cluster.nimbus
    before = nimbus.topology(TOPOLOGY).workers
    began = time.monotonic()
    with stage.nodes() as nodes:
        line = place_anew(stage.cluster, brain, nodes, TOPOLOGY, profile, stage.progress)
    after = nimbus.topology(TOPOLOGY).workers
    changed = {slot for slot in before | after if before.get(slot) != after.get(slot)}
    title = "waiting for acked tuples under the new placement"
    _wait_for_acks(stage, title, changed, began)
    return Switch(str(line["reason"]), len(changed), time.monotonic() - began)


def _compare(settings: Settings, stage: Stage, before: Phase, after: Phase, switch: Switch) -> Loop:
    rate = f"{settings.rate:g} trips/s" if settings.rate else "as fast as possible"
    return Loop(
        before=before,
        after=after,
        hosts=stage.cluster.supervisor_hosts,
        workers_restarted=switch.workers_restarted,
        reason=switch.reason,
        settings={
            "cluster": f"Storm 1.2.4, {settings.supervisors} supervisors of {settings.slots} slots "
            f"on one machine, each declared to hold {settings.max_executors} executors; workers "
            f"{f'with {FIRST_COMPILER}' if settings.rate else 'as fast as Java is'}",
            "topology": f"taxi at scale {settings.scale:g}, {len(before.executors)} executors, "
            f"{rate}, load-aware shuffle off (it would move traffic with the placement)",
            "windows": f"{settings.seconds} s each, after {WARM_UP_S} s of warm-up; the hook "
            f"writes every {HOOK_INTERVAL_S} s",
            "switch": f"{switch.seconds:.0f} s from the published profile to acks from every spout",
            "machine": stage.machine,
            "made by": f"scripts/demo of stormcut {__version__}, {time.strftime('%Y-%m-%d')}",
        },
    )
