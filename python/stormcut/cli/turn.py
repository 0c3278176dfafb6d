"""One turn of the loop on a local cluster: measure, place anew, measure again."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stormcut import __version__
from stormcut.cli.own_cluster import own_cluster
from stormcut.cli.steps import Steps
from stormcut.cli.turn_plan import Brain, place_anew, start_brain
from stormcut.model.errors import StormcutError

if TYPE_CHECKING:
    from stormcut.adapters.clusters.local import LocalCluster
    from stormcut.adapters.storm.nimbus import Nimbus, TopologyInfo
    from stormcut.model.profile import Profile
    from stormcut.report.loop import Loop, Phase
    from stormcut.report.picture import PlacedExecutor

#: Host and port.
Slot = tuple[str, int]

TOPOLOGY = "taxi"
HOOK_INTERVAL_S = 5
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

    name: str
    supervisors: int
    slots: int
    max_executors: int
    scale: float
    rate: float
    seconds: int


@dataclass(frozen=True)
class Switch:
    """How the topology got its new placement; ``seconds`` until every spout acked again."""

    reason: str
    workers_restarted: int
    seconds: float


def run(settings: Settings, steps: Steps, keep: bool) -> Loop:
    """Run the loop; nothing stays behind but what ``keep`` asks for, and the logs of a failure."""
    from stormcut.adapters.spark import spark_session

    with ExitStack() as cleanup:
        cluster = cleanup.enter_context(
            own_cluster(
                settings.name,
                settings.supervisors,
                settings.slots,
                steps,
                plugin=True,
                config={"stormcut.hook.interval.secs": HOOK_INTERVAL_S},
                supervisor_config={
                    "supervisor.scheduler.meta": {
                        "stormcut.max.executors": str(settings.max_executors)
                    }
                },
                keep=keep,
            )
        )
        # Now, while the cores are free.
        with steps.step("starting Spark"):
            cleanup.enter_context(spark_session("local[2]"))
        _submit(settings, cluster, steps)
        before, profile = _measure(settings, cluster, steps, "Storm's default")
        brain = start_brain(cluster, steps, cleanup, keep)
        switch = _place_anew(cluster, brain, profile, steps)
        after, _ = _measure(settings, cluster, steps, "stormcut")
        return _compare(settings, cluster, before, after, switch)


def _submit(settings: Settings, cluster: LocalCluster, steps: Steps) -> None:
    from stormcut.adapters.machine.home import topologies
    from stormcut.adapters.storm.sparse_submit import submit

    with steps.step(f"sparse submit {TOPOLOGY}"):
        submit(
            project=topologies(),
            topology=TOPOLOGY,
            name=TOPOLOGY,
            nimbus=cluster.nimbus_address,
            workers=settings.supervisors,
            options={
                "rig.rate": settings.rate,
                "rig.scale": settings.scale,
                # At a set rate, speed is not what is measured.
                **({"topology.worker.childopts": FIRST_COMPILER} if settings.rate else {}),
            },
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=cluster.folder / "sparse",
        )
    _wait_for_acks(cluster, steps, "waiting for every spout's first acked tuples", (), 0.0)


def _wait_for_acks(
    cluster: LocalCluster, steps: Steps, title: str, restarted: Collection[Slot], since: float
) -> None:
    """Wait until every spout executor has acked something since its worker started.

    Nimbus shows a worker's last statistics until a new one reports: those of the slots in
    ``restarted`` count only from workers younger than the moment ``since`` (`time.monotonic`).
    """
    from stormcut.application.waiting import wait_until

    nimbus = cluster.nimbus
    up = ready = 0
    with steps.step(title) as update:

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

        watch = replace(cluster.watch(TOPOLOGY), moves=lambda: (up, ready))
        wait_until(all_ack, ACKS_S, "every spout acks tuples", watch=watch)


def _is_whole(nimbus: Nimbus, info: TopologyInfo) -> bool:
    (summary,) = [each for each in nimbus.cluster().topologies if each.id == info.id]
    return len(info.executors) == summary.executors


def _measure(
    settings: Settings, cluster: LocalCluster, steps: Steps, label: str
) -> tuple[Phase, Profile]:
    """Let the topology run for a window, then profile that window alone."""
    from stormcut.adapters.spark import profile_logs
    from stormcut.report.flows import flows
    from stormcut.report.loop import Phase

    _watch(WARM_UP_S, steps, f"warming up under {label}")
    info = cluster.nimbus.topology(TOPOLOGY)
    begin = time.time()
    _watch(settings.seconds, steps, f"measuring under {label}")
    end = time.time()
    # The last interval's lines are written up to one interval after it ended.
    _watch(HOOK_INTERVAL_S + 1, steps, "waiting for the last metrics lines")
    if cluster.nimbus.topology(TOPOLOGY).workers != info.workers:
        raise StormcutError(f"Nimbus moved executors during the measurement under {label}")
    title = "profiling the metrics logs with Spark; the topology pauses meanwhile"
    with steps.step(title) as update, _paused(cluster.nimbus):
        result = profile_logs(
            cluster.log_folders,
            cluster.folder / "profile",
            topology=info.id,
            from_epoch=begin,
            to_epoch=end,
            warm_up=0,
            progress=update,
        )
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
    from stormcut.report.picture import PlacedExecutor

    return tuple(
        PlacedExecutor(e.component, e.start_task, e.end_task, e.host, e.port)
        for e in info.executors
    )


def _watch(seconds: float, steps: Steps, title: str) -> None:
    end = time.monotonic() + seconds
    with steps.step(title) as update:
        while (left := end - time.monotonic()) > 0:
            update(f"{left:.0f} s left")
            time.sleep(min(1.0, left))


def _place_anew(cluster: LocalCluster, brain: Brain, profile: Profile, steps: Steps) -> Switch:
    """Have the topology placed by a profile, and wait until tuples flow again."""
    before = cluster.nimbus.topology(TOPOLOGY).workers
    began = time.monotonic()
    line = place_anew(cluster, brain, TOPOLOGY, profile, steps)
    after = cluster.nimbus.topology(TOPOLOGY).workers
    changed = {slot for slot in before | after if before.get(slot) != after.get(slot)}
    title = "waiting for acked tuples under the new placement"
    _wait_for_acks(cluster, steps, title, changed, began)
    return Switch(str(line["reason"]), len(changed), time.monotonic() - began)


def _compare(
    settings: Settings, cluster: LocalCluster, before: Phase, after: Phase, switch: Switch
) -> Loop:
    from stormcut.adapters.machine.needs import describe
    from stormcut.report.loop import Loop

    rate = f"{settings.rate:g} trips/s" if settings.rate else "as fast as possible"
    return Loop(
        before=before,
        after=after,
        hosts=cluster.supervisor_hosts,
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
            "machine": describe(),
            "made by": f"scripts/demo of stormcut {__version__}, {time.strftime('%Y-%m-%d')}",
        },
    )
