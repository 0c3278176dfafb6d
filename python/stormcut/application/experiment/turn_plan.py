"""The middle of a turn: the brain gets the profile, and Nimbus does as it plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stormcut.application.experiment.ports import Brain, BrainNodes, Cluster, Progress
from stormcut.application.waiting import Watch, wait_until
from stormcut.model.cluster import Worker
from stormcut.model.errors import StormcutError
from stormcut.model.profile import Profile

#: Served time: Nimbus asks every second, the brain thinks for less.
PLAN_S = 60.0

#: First tasks of the executors in each slot (host, port).
Workers = dict[tuple[str, int], frozenset[int]]


def place_anew(
    cluster: Cluster,
    brain: Brain,
    nodes: BrainNodes,
    name: str,
    profile: Profile,
    progress: Progress,
) -> Mapping[str, Any]:
    """Publish a profile, wait until Nimbus runs the plan that follows from it.

    Returns
    -------
    mapping
        The plan's line of the history: docs/brain.md.

    Raises
    ------
    StormcutError
        The brain declines, or moves nothing; the text says why.
    """
    with progress.step("publishing the profile; the brain plans"):
        nodes.write_profile(profile)
        line = _planned(cluster, brain, nodes, profile)
    plan = nodes.read_plan()
    parts = {part.topology: part.workers for part in plan.topologies} if plan else {}
    with progress.step("the plugin applies the plan"):
        _apply(cluster, brain, name, parts.get(profile.topology, ()))
    return line


def _planned(
    cluster: Cluster, brain: Brain, nodes: BrainNodes, profile: Profile
) -> Mapping[str, Any]:
    """Return what the first plan that knows a profile says of its topology."""

    def entry() -> Mapping[str, Any] | None:
        brain.check()
        for each in nodes.read_history(10):
            if each["profiles"].get(profile.topology) == profile.to_epoch_s:
                return each
        return None

    what = "the brain makes a plan from the profile"
    found = wait_until(entry, PLAN_S, what, watch=_watch(cluster, brain))
    for declined in found["declined"]:
        if declined["topology"] == profile.topology:
            raise StormcutError(f"the brain declined: {declined['reason']}")
    line: Mapping[str, Any]
    (line,) = [each for each in found["topologies"] if each["topology"] == profile.topology]
    if line["workers_restarted"] == 0:
        raise StormcutError(f"the brain moves nothing: {line['reason']}")
    return line


def _apply(cluster: Cluster, brain: Brain, name: str, planned: tuple[Worker, ...]) -> None:
    """Wait until Nimbus shows a topology's executors exactly where the plan has them."""
    nimbus = cluster.nimbus

    def applied() -> bool:
        brain.check()
        host = {each.id: each.host for each in nimbus.cluster().supervisors}
        wanted: Workers = {
            (host[w.slot.node], w.slot.port): frozenset(w.executors) for w in planned
        }
        return nimbus.topology(name).workers == wanted

    what = "Nimbus runs the topology as planned"
    wait_until(applied, PLAN_S, what, watch=_watch(cluster, brain))


def _watch(cluster: Cluster, brain: Brain) -> Watch:
    nimbus = cluster.nimbus_watch
    return replace(nimbus, last_words=lambda: f"{brain.last_words()}; {nimbus.last_words()}")
