"""What a brain has done since it started, counted (docs/monitoring.md)."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from stormcut.adapters.thrift.brain import KINDS, OUTCOMES, REFUSED, UNREAD
from stormcut.control.decide.decision import Action
from stormcut.control.ports import Clock, Decided

#: Upper ends in seconds; Nimbus waits for 2 s.
DECIDE_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Counters:
    """Counts what a brain does: a `DecisionListener`, and a `Tally` of its server.

    Attributes
    ----------
    registry : CollectorRegistry
        Of these counters, and of what else ``/metrics`` shall give.
    latest : Decided, optional
        What was decided last, None if nothing since the brain last took over.
    led_since : float
        When it did, in seconds since the epoch.
    """

    def __init__(self, clock: Clock) -> None:
        # When a counter began says nothing that process_start_time_seconds does not.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._clock = clock
        self.registry = registry = CollectorRegistry()
        self.latest: Decided | None = None
        self.led_since = clock.now()
        ProcessCollector(registry=registry)
        self._elections = Counter(
            "stormcut_elections_won", "Times that this brain took over.", registry=registry
        )
        self._plans = Counter("stormcut_plans", "Plans published.", registry=registry)
        self._moving = Counter(
            "stormcut_plans_moving", "Of these, those that move what runs.", registry=registry
        )
        self._restarted = Counter(
            "stormcut_workers_restarted",
            "Slots in which plans end a worker or start it again.",
            registry=registry,
        )
        self._actions = Counter(
            "stormcut_decisions",
            "What plans decided of topologies, by action.",
            ["action"],
            registry=registry,
        )
        self._seconds = Histogram(
            "stormcut_decide_seconds",
            "How long it took to decide a state of the cluster.",
            registry=registry,
            buckets=DECIDE_SECONDS,
        )
        self._questions = Counter(
            "stormcut_questions",
            "Questions over Thrift, by kind and outcome.",
            ["kind", "outcome"],
            registry=registry,
        )
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """Make every series now: Prometheus sees no rise from nothing to one."""
        for action in Action:
            self._actions.labels(action.value)
        for kind in KINDS:
            for outcome in OUTCOMES:
                self._questions.labels(kind, outcome)
        self._questions.labels(UNREAD, REFUSED)

    def took_over(self) -> None:
        """Forget what was decided when this brain led before."""
        self._elections.inc()
        self.latest, self.led_since = None, self._clock.now()

    def decided(self, what: Decided) -> None:
        """Count what is new of it."""
        self.latest = what
        self._seconds.observe(what.seconds)
        if not what.is_new:
            return
        decided = what.decisions.decided
        self._plans.inc()
        self._moving.inc(any(each.former for each in decided))
        self._restarted.inc(
            sum(each.after.metrics.workers_restarted for each in decided if each.after)
        )
        for each in (*decided, *what.decisions.declined):
            self._actions.labels(each.choice.action.value).inc()

    def count(self, kind: str, outcome: str) -> None:
        """Count a question."""
        self._questions.labels(kind, outcome).inc()
