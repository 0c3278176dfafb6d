"""What a person may approve, under a name that is a hash of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from stormcut.control.decide.decision import Decision
from stormcut.control.gate.change import Change
from stormcut.model.cluster import worker_rows


@dataclass(frozen=True)
class Proposal:
    """Changes that are made together or not at all once they are approved.

    Parameters
    ----------
    decisions : tuple of Decision
        One for each change, in its order.
    changes : tuple of Change
        At most one for each topology.
    guards : mapping of str to tuple of str
        By topology id: the keys of the guards that still hold it when it is approved.
    """

    decisions: tuple[Decision, ...]
    changes: tuple[Change, ...]
    guards: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """Names every worker of before and after, and why: other content has another name."""
        by_topology = {decision.topology: decision for decision in self.decisions}
        rows = [
            [
                change.topology,
                worker_rows(change.home),
                worker_rows(change.target),
                by_topology[change.topology].choice.action.value,
                change.evidence.ground.value,
            ]
            for change in sorted(self.changes, key=lambda change: change.topology)
        ]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:8]
