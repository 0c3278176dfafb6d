"""Decisions as a plan's parts, and as the JSON values of the history: docs/protocol.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from stormcut.control.decide.decision import Decision, Decisions, PlacementFigures
from stormcut.control.decide.wording import sentence
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.ports import HISTORY_VERSION
from stormcut.control.review.trail import Step
from stormcut.control.round import Governed
from stormcut.model.cluster import ClusterState, worker_rows
from stormcut.model.plan import Declined, Plan, TopologyPlan
from stormcut.model.profile import Profile


def plan_parts(decisions: Decisions) -> tuple[tuple[TopologyPlan, ...], tuple[Declined, ...]]:
    """Return what a plan says of topologies: where each runs, or that it has no opinion."""
    parts = (
        TopologyPlan(d.topology, d.workers, d.choice.algorithm, sentence(d))
        for d in decisions.decided
    )
    declined = (Declined(d.topology, sentence(d)) for d in decisions.declined)
    return tuple(parts), tuple(declined)


def history_entry(
    plan: Plan, governed: Governed, profiles: Mapping[str, Profile], state: ClusterState
) -> dict[str, Any]:
    """Return a plan with its reasons, and who initiated its changes, as JSON values."""
    entries = lines(governed.instructions, {change.topology: change for change in governed.changes})
    reasons = " ".join(line["reason"] for kind in entries.values() for line in kind)
    return {
        "version": HISTORY_VERSION,
        "plan": plan.id,
        "created_ms": plan.created_ms,
        "fingerprint": plan.fingerprint,
        "profiles": {name: profile.to_epoch_s for name, profile in sorted(profiles.items())},
        # People know no ids of supervisors.
        "hosts": {s.id: s.host for s in state.supervisors if s.id in reasons},
        **entries,
    }


def steps(plan: Plan, governed: Governed, state: ClusterState) -> dict[str, Step]:
    """Return a plan's changes as steps of their topologies' trails, by topology id."""
    decisions = {d.topology: d for d in governed.instructions.decided}
    return {
        change.topology: _step(plan, change, decisions[change.topology], state.hosts)
        for change in governed.changes
        if change.initiator is not Initiator.PLACEMENT
    }


def lines(decisions: Decisions, changes: Mapping[str, Change]) -> dict[str, Any]:
    """Return decisions as JSON values, with who initiated changes, by topology id."""
    return {
        "topologies": [
            {**line(decision), **_initiated(changes.get(decision.topology))}
            for decision in decisions.decided
        ],
        "declined": [
            {"topology": decision.topology, "reason": sentence(decision)}
            for decision in decisions.declined
        ],
    }


def line(decision: Decision) -> dict[str, Any]:
    """Return a decision as JSON values."""
    assert decision.after is not None
    return {
        "topology": decision.topology,
        "action": decision.choice.action.value,
        "algorithm": decision.choice.algorithm,
        "reason": sentence(decision),
        "evidence": decision.evidence.ground.value,
        "measured": decision.evidence.measured,
        "before": None if decision.before is None else _value(decision.before),
        "after": _value(decision.after),
        "workers_restarted": decision.after.metrics.workers_restarted,
        "workers_asked": decision.workers_asked,
        "workers_policy": decision.workers_policy,
        "workers": worker_rows(decision.workers),
        "former": worker_rows(decision.former),
    }


def _initiated(change: Change | None) -> dict[str, Any]:
    override = None if change is None else change.override
    return {
        "initiator": None if change is None else change.initiator.value,
        "override": None if override is None else override.reason,
        "passed": [] if change is None else list(change.passed),
        "who": "" if change is None else change.who,
    }


def _value(value: PlacementFigures) -> dict[str, Any]:
    worth = value.worth
    return {
        **asdict(value.metrics),
        "inter_node_bytes_per_second": value.bytes_per_second,
        "headroom": None if worth is None or math.isinf(worth.headroom) else worth.headroom,
        "fullest": None if worth is None or worth.bottleneck is None else str(worth.bottleneck),
    }


def _step(plan: Plan, change: Change, decision: Decision, hosts: Mapping[str, str]) -> Step:
    used = {worker.slot.node for worker in change.target}
    predicted = decision.after.metrics.inter_node_tuples_per_second if decision.after else None
    return Step(
        plan.id,
        plan.created_ms / 1000,
        change.origin or change.initiator,
        change.home,
        change.target,
        predicted if change.evidence.measured else None,
        {node: hosts[node] for node in sorted(used) if node in hosts},
        change.continues,
    )
