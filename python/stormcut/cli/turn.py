"""One turn of the loop on a local cluster: measure, place anew, measure again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormcut import __version__
from stormcut.cli.steps import Steps
from stormcut.model.errors import StormcutError

if TYPE_CHECKING:
    from stormcut.adapters.local_cluster import LocalCluster
    from stormcut.adapters.nimbus import Nimbus, TopologyInfo
    from stormcut.adapters.zookeeper import StormcutNodes
    from stormcut.report.loop import Loop, Phase

#: Host and port.
Slot = tuple[str, int]

TOPOLOGY = "taxi"
HOOK_INTERVAL_S = 5
#: After a (re)start: JVMs compile, queues fill. Left out of every measured window.
WARM_UP_S = 15
FIRST_ACKS_S = 150.0
PLAN_APPLIED_S = 60.0


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


def run(settings: Settings, steps: Steps, keep: bool) -> Loop:
    """Run the loop; whatever happens, nothing stays behind but what ``keep`` asks for."""
    from stormcut.adapters.spark import spark_session

    with ExitStack() as cleanup:
        cluster = cleanup.enter_context(_cluster(settings, steps, keep))
        _submit(settings, cluster, steps)
        with steps.step("starting Spark"):
            cleanup.enter_context(spark_session("local[2]"))
        before = _measure(settings, cluster, steps, "Storm's default")
        _start_brain(cluster, steps, cleanup, keep)
        plan = _place_anew(settings, cluster, steps)
        after = _measure(settings, cluster, steps, "stormcut")
        return _compare(settings, cluster, before, after, plan)


@contextmanager
def _cluster(settings: Settings, steps: Steps, keep: bool) -> Iterator[LocalCluster]:
    from stormcut.adapters.local_cluster import LocalCluster

    nodes = f"{settings.supervisors} supervisors of {settings.slots} slots"
    with steps.step(f"starting Storm 1.2.4: ZooKeeper, Nimbus, {nodes}") as update:
        cluster = LocalCluster.up(
            settings.name,
            supervisors=settings.supervisors,
            slots=settings.slots,
            config={"stormcut.hook.interval.secs": HOOK_INTERVAL_S},
            supervisor_config={
                "supervisor.scheduler.meta": {"stormcut.max.executors": str(settings.max_executors)}
            },
            progress=update,
        )
    try:
        yield cluster
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            with steps.step("stopping the cluster"):
                cluster.end()


def _submit(settings: Settings, cluster: LocalCluster, steps: Steps) -> None:
    from stormcut.adapters.home import topologies
    from stormcut.adapters.sparse_submit import submit

    with steps.step(f"sparse submit {TOPOLOGY}"):
        submit(
            project=topologies(),
            topology=TOPOLOGY,
            name=TOPOLOGY,
            nimbus=cluster.nimbus_address,
            workers=settings.supervisors,
            options={"rig.rate": settings.rate, "rig.scale": settings.scale},
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
    from stormcut.adapters.nimbus import wait_until

    nimbus = cluster.nimbus
    with steps.step(title) as update:

        def all_ack() -> bool:
            info = nimbus.topology(TOPOLOGY)
            age = time.monotonic() - since
            new = [e for e in info.executors if (e.host, e.port) in restarted]
            spouts = [executor for executor in info.executors if executor.is_spout]
            ready = sum(executor.acked > 0 for executor in spouts)
            update(f"{ready} of {len(spouts)} spouts")
            fresh = all(executor.uptime_s <= age for executor in new)
            return fresh and _is_whole(nimbus, info) and 0 < len(spouts) == ready

        wait_until(all_ack, FIRST_ACKS_S, "every spout of the topology acks tuples")


def _is_whole(nimbus: Nimbus, info: TopologyInfo) -> bool:
    (summary,) = [each for each in nimbus.cluster().topologies if each.id == info.id]
    return len(info.executors) == summary.executors


def _measure(settings: Settings, cluster: LocalCluster, steps: Steps, label: str) -> Phase:
    """Let the topology run for a window, then profile that window alone."""
    from stormcut.adapters.spark import profile_logs
    from stormcut.report.loop import Phase
    from stormcut.report.picture import PlacedExecutor

    _watch(WARM_UP_S, steps, f"warming up under {label}")
    begin = time.time()
    _watch(settings.seconds, steps, f"measuring under {label}")
    end = time.time()
    # The last interval's lines are written up to one interval after it ended.
    _watch(HOOK_INTERVAL_S + 1, steps, "waiting for the last metrics lines")
    info = cluster.nimbus.topology(TOPOLOGY)
    with steps.step("profiling the metrics logs with Spark") as update:
        result = profile_logs(
            cluster.log_folders,
            _profile_folder(cluster),
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
    executors = tuple(
        PlacedExecutor(e.component, e.start_task, e.end_task, e.host, e.port)
        for e in info.executors
    )
    traffic = {
        (pair.source_task, pair.target_task): pair.tuples_per_second
        for pair in result.profiles[info.id].traffic
    }
    return Phase(label, measured, executors, traffic)


def _profile_folder(cluster: LocalCluster) -> Path:
    return cluster.folder / "profile"


def _watch(seconds: float, steps: Steps, title: str) -> None:
    end = time.monotonic() + seconds
    with steps.step(title) as update:
        while (left := end - time.monotonic()) > 0:
            update(f"{left:.0f} s left")
            time.sleep(min(1.0, left))


def _start_brain(cluster: LocalCluster, steps: Steps, cleanup: ExitStack, keep: bool) -> None:
    """Start the brain as a process of the cluster: `down` ends whatever carries its mark."""
    from stormcut.adapters.nimbus import wait_until

    log = cluster.folder / "brain.log"
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

        def leads() -> bool:
            if process.poll() is not None:
                raise StormcutError(f"the brain ended at once: {log.read_text().strip()}")
            return "leader:" in log.read_text()

        wait_until(leads, 30.0, f"the brain leads (its log is {log})")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class AppliedPlan:
    """What the brain's history says of the plan, and what the cluster shows of it."""

    reason: str
    predicted_before: float
    predicted_after: float
    workers_restarted: int
    seconds: float


def _place_anew(settings: Settings, cluster: LocalCluster, steps: Steps) -> AppliedPlan:
    """Publish the profile, wait until Nimbus runs the plan that follows and tuples flow again."""
    from stormcut.adapters.nimbus import wait_until
    from stormcut.adapters.profile_file import read_profile
    from stormcut.adapters.zookeeper import StormcutNodes, connected, read_auth_file

    nimbus = cluster.nimbus
    before = nimbus.topology(TOPOLOGY).workers
    name = f"profile-{nimbus.topology_id(TOPOLOGY)}.json"
    profile = read_profile(_profile_folder(cluster) / name)
    began = time.monotonic()
    credentials = read_auth_file(cluster.auth_file)
    with connected(cluster.zookeeper_address, credentials) as client:
        nodes = StormcutNodes(client)
        with steps.step("publishing the profile; the brain plans"):
            nodes.write_profile(profile)
            line = wait_until(
                lambda: _measured_line(nodes, profile.topology),
                PLAN_APPLIED_S,
                "the brain makes a plan from the profile",
            )
    if line["workers_restarted"] == 0:
        raise StormcutError(f"the brain sees nothing to gain: {line['reason']}")
    with steps.step("the plugin applies the plan"):
        wait_until(
            lambda: (
                nimbus.topology(TOPOLOGY).workers != before
                and _is_whole(nimbus, nimbus.topology(TOPOLOGY))
            ),
            PLAN_APPLIED_S,
            "Nimbus runs the topology as planned",
        )
    after = nimbus.topology(TOPOLOGY).workers
    changed = {slot for slot in before | after if before.get(slot) != after.get(slot)}
    title = "waiting for acked tuples under the new placement"
    _wait_for_acks(cluster, steps, title, changed, began)
    return AppliedPlan(
        reason=str(line["reason"]),
        predicted_before=float(line["before"]["inter_node_tuples_per_second"]),
        predicted_after=float(line["after"]["inter_node_tuples_per_second"]),
        workers_restarted=len(changed),
        seconds=time.monotonic() - began,
    )


def _measured_line(nodes: StormcutNodes, topology: str) -> dict[str, Any] | None:
    """Return what the newest plan made from measurements says of a topology."""
    for entry in nodes.read_history(10):
        for line in entry["topologies"]:
            if line["topology"] == topology and line["evidence"] != "declared" and line["before"]:
                found: dict[str, Any] = line
                return found
    return None


def _compare(
    settings: Settings, cluster: LocalCluster, before: Phase, after: Phase, plan: AppliedPlan
) -> Loop:
    from stormcut.adapters.machine import describe
    from stormcut.report.loop import Loop

    rate = f"{settings.rate:g} trips/s" if settings.rate else "as fast as possible"
    return Loop(
        before=before,
        after=after,
        hosts=cluster.supervisor_hosts,
        predicted_before=plan.predicted_before,
        predicted_after=plan.predicted_after,
        workers_restarted=plan.workers_restarted,
        reason=plan.reason,
        settings={
            "cluster": f"Storm 1.2.4, {settings.supervisors} supervisors of {settings.slots} slots "
            f"on one machine, each declared to hold {settings.max_executors} executors",
            "topology": f"taxi at scale {settings.scale:g}, {len(before.executors)} executors, "
            f"{rate}, load-aware shuffle off (it would move traffic with the placement)",
            "windows": f"{settings.seconds} s each, after {WARM_UP_S} s of warm-up; the hook "
            f"writes every {HOOK_INTERVAL_S} s",
            "switch": f"{plan.seconds:.0f} s from the published profile to acks from every spout",
            "machine": describe(),
            "made by": f"scripts/demo of stormcut {__version__}, {time.strftime('%Y-%m-%d')}",
        },
    )
