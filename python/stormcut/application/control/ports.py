"""What the brain needs from outside; adapters implement it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from stormcut.application.place import Solution
from stormcut.model.cluster import Worker
from stormcut.model.plan import Plan
from stormcut.model.problem import Problem
from stormcut.model.profile import Profile


class PlanStore(Protocol):
    """Where plans outlive the brain that made them."""

    def last_plan(self) -> Plan | None:
        """Return the plan published last, None if there is none or it cannot be read."""
        ...

    def publish(self, plan: Plan, entry: Mapping[str, Any]) -> None:
        """Make ``plan`` the last plan and append ``entry`` to the history.

        Raises
        ------
        Unavailable
            It was not stored: nobody may act on the plan as if it were.
        """
        ...


class EvidenceSource(Protocol):
    """Where measurements and orders come from; answers at once and without waiting."""

    def profiles(self) -> Mapping[str, Profile]:
        """Return the published profiles by topology id."""
        ...

    def former(self) -> Mapping[str, tuple[Worker, ...]]:
        """Return where topologies shall run again as they did before a plan, by topology id."""
        ...


class Unavailable(Exception):
    """The store cannot be reached now."""


class Recorder(Protocol):
    """Keeps what an algorithm was asked and what it answered."""

    def record(self, problem: Problem, solution: Solution) -> None:
        """Keep a problem and its solution; never raises."""
