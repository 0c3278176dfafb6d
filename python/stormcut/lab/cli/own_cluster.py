"""A local cluster for one command: gone afterwards, but what tells of a failure stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stormcut.cli.invocation import command
from stormcut.cli.steps import Steps

if TYPE_CHECKING:
    from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
    from stormcut.lab.adapters.clusters.local import LocalCluster
    from stormcut.lab.adapters.clusters.running import RunningCluster


@contextmanager
def own_cluster(
    name: str,
    supervisors: int,
    slots: int,
    steps: Steps,
    *,
    plugin: bool,
    config: Mapping[str, object] | None = None,
    supervisor_config: Mapping[str, object] | None = None,
    link: Bandwidth | None = None,
    keep: bool = False,
) -> Iterator[LocalCluster]:
    """Yield a new cluster, patient enough for a busy machine, and end it with the block.

    When the block fails, the logs stay and their folder is named; with ``keep`` the cluster itself
    stays, whether the block fails or not. When the block is interrupted, nothing stays.
    """
    from stormcut.lab.adapters.clusters.local import LocalCluster
    from stormcut.lab.adapters.clusters.local.storm_yaml import PATIENT

    nodes = f"{supervisors} supervisors of {slots} slots"
    with steps.step(f"starting Storm 1.2.4: ZooKeeper, Nimbus, {nodes}") as update:
        cluster = LocalCluster.up(
            name,
            supervisors=supervisors,
            slots=slots,
            plugin=plugin,
            config={**PATIENT, **(config or {})},
            supervisor_config=supervisor_config,
            link=link,
            progress=update,
        )
    with ended(cluster, steps, keep):
        yield cluster


@contextmanager
def ended(cluster: RunningCluster, steps: Steps, keep: bool = False) -> Iterator[None]:
    """End a cluster with the block; see `own_cluster`."""
    try:
        yield
    except Exception:
        if keep:
            steps.say(
                f"The cluster is still up; its logs and data: {cluster.folder}\n"
                f"This ends it: {command()} cluster down --name {cluster.name}"
            )
        else:
            _stop(cluster, steps, keep_logs=True)
        raise
    except BaseException:
        _stop(cluster, steps, keep_logs=False)
        raise
    if not keep:
        _stop(cluster, steps, keep_logs=False)


def _stop(cluster: RunningCluster, steps: Steps, keep_logs: bool) -> None:
    with steps.step("stopping the cluster"):
        kept = cluster.end(keep_logs)
    if kept:
        steps.say(f"The logs are kept: {kept}")
