"""The brain: one plan per state and evidence, published before it is told."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from stormcut.application.decide import Decision, Decisions, Settings, decide
from stormcut.application.ports import PlanStore, ProfileSource
from stormcut.model.cluster import ClusterState
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger(__name__)

HISTORY_VERSION = 1


@dataclass(frozen=True)
class _Answer:
    """A plan with the question it answers; kept so that asking again costs nothing."""

    state: ClusterState
    profiles: Mapping[str, Profile]
    plan: Plan


class Brain:
    """Answers states with plans, one at a time.

    The same question gets the same plan, and so does a cluster that has done as the plan says:
    a plan is new only if it places something elsewhere, is for other executors or nodes, or rests
    on other measurements.

    Parameters
    ----------
    settings : Settings
        How to decide.
    store : PlanStore
        Gets every new plan before anybody is told of it.
    source : ProfileSource
        Gives the measurements.
    """

    def __init__(self, settings: Settings, store: PlanStore, source: ProfileSource) -> None:
        self._settings = settings
        self._store = store
        self._source = source
        self._deciding = threading.Lock()
        self._answer: _Answer | None = None
        self._last: Plan | None = None
        self.plans_served = 0

    @property
    def last_plan(self) -> Plan | None:
        """The plan published or taken over last."""
        return self._last

    def take_over(self) -> None:
        """Go on from the published plan: another brain may have led meanwhile.

        Where none is published, somebody has deleted it: this brain's own last plan stands.
        """
        with self._deciding:
            self._answer = None
            self._last = self._store.last_plan() or self._last

    def plan(self, state: ClusterState) -> Plan:
        """Return the plan for a state.

        Raises
        ------
        Unavailable
            A new plan could not be published.
        """
        with self._deciding:
            profiles = dict(self._source.profiles())
            if self._answer is None or not self._answers(state, profiles):
                self._answer = _Answer(state, profiles, self._decided(state, profiles))
            self.plans_served += 1
            return self._answer.plan

    def _answers(self, state: ClusterState, profiles: Mapping[str, Profile]) -> bool:
        answer = self._answer
        return answer is not None and answer.state == state and answer.profiles == profiles

    def _decided(self, state: ClusterState, profiles: Mapping[str, Profile]) -> Plan:
        began = datetime.now(UTC)
        decisions = decide(state, profiles, self._last, self._settings)
        plan = _plan(state, decisions, began)
        known = self._answer is None or self._answer.profiles == profiles
        if known and self._last and plan.places_like(self._last):
            return self._last
        self._store.publish(plan, history_entry(plan, decisions, profiles))
        self._last = plan
        _report(plan, decisions, (datetime.now(UTC) - began).total_seconds())
        return plan


def _plan(state: ClusterState, decisions: Decisions, now: datetime) -> Plan:
    return Plan(
        uuid.uuid4().hex,
        state.fingerprint(),
        int(now.timestamp() * 1000),
        tuple(decision.part for decision in decisions.decided),
        decisions.declined,
    )


def history_entry(
    plan: Plan, decisions: Decisions, profiles: Mapping[str, Profile]
) -> dict[str, Any]:
    """Return a plan with its reasons as JSON values: docs/brain.md."""
    return {
        "version": HISTORY_VERSION,
        "plan": plan.id,
        "created_ms": plan.created_ms,
        "fingerprint": plan.fingerprint,
        "profiles": {name: profile.to_epoch_s for name, profile in sorted(profiles.items())},
        "topologies": [_history_line(decision) for decision in decisions.decided],
        "declined": [asdict(declined) for declined in decisions.declined],
    }


def _history_line(decision: Decision) -> dict[str, Any]:
    return {
        "topology": decision.part.topology,
        "algorithm": decision.part.algorithm,
        "reason": decision.part.reason,
        "evidence": decision.evidence,
        "before": asdict(decision.before) if decision.before else None,
        "after": asdict(decision.after),
        "workers_restarted": decision.after.workers_restarted,
    }


def _report(plan: Plan, decisions: Decisions, seconds: float) -> None:
    reasons = [f"{d.part.topology} {d.part.reason}" for d in decisions.decided]
    reasons += [f"{d.topology} declined: {d.reason}" for d in decisions.declined]
    told = "; ".join(reasons) or "no topologies"
    log.info("plan %s in %.2f s: %s", plan.id[:8], seconds, told)
