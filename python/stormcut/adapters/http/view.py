"""A brain as it is at this moment: its health, and what it decided last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stormcut.adapters.http.counters import Counters
from stormcut.control.decide.decision import Decision
from stormcut.control.decide.wording import sentence
from stormcut.control.outlook import Control
from stormcut.control.ports import Clock, Decided
from stormcut.control.standing import Standing

STATUS_VERSION = 1


class View:
    """What can be seen of a brain; never waits for it.

    Only of one that leads there are topologies: what another one knows is of the past.

    Parameters
    ----------
    identity, algorithm : str, str
        Its name, and how it decides.
    counters : Counters
        Its listener.
    in_session : callable
        Whether its ZooKeeper session lives.
    """

    def __init__(
        self,
        identity: str,
        algorithm: str,
        standing: Standing,
        counters: Counters,
        in_session: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._identity = identity
        self._algorithm = algorithm
        self._standing = standing
        self._counters = counters
        self._clock = clock
        self._started = clock.now()
        self.in_session = in_session

    @property
    def leads(self) -> bool:
        """Whether it leads."""
        return self._standing.leads

    def trouble(self) -> str | None:
        """Return why it neither leads nor can take over, None if it does or can."""
        if not self.in_session():
            return "it has no session with ZooKeeper: nobody can tell whether it leads"
        if not self._standing.stands:
            return "it is starting, and does not stand for election yet"
        return None

    def asked_age(self) -> float:
        """Return the seconds since Nimbus asked last, or since it leads if nobody has asked."""
        described = self._standing.brain.last_described
        since = self._counters.led_since if described is None else described.moment_ms / 1000
        return max(self._clock.now() - since, 0.0)

    def profile_ages(self) -> dict[str, float]:
        """Return the seconds since the end of each profile, by topology's name or else its id."""
        names, now = _names(self._counters.latest), self._clock.now()
        return {
            names.get(topology, topology): max(now - profile.to_epoch_s, 0.0)
            for topology, profile in self._standing.profiles().items()
        }

    def decisions(self) -> dict[str, Decision]:
        """Return the last decision of each topology, by its name."""
        latest = self._counters.latest
        if latest is None:
            return {}
        names = _names(latest)
        every = (*latest.decisions.decided, *latest.decisions.declined)
        return dict(sorted((names[each.topology], each) for each in every))

    def control(self) -> Control:
        """Return who may act now, and what waits for what."""
        return self._standing.brain.control()

    def status(self) -> dict[str, Any]:
        """Return the brain as JSON values: docs/monitoring.md."""
        brain, trouble = self._standing.brain, self.trouble()
        plan, described = (brain.last_plan, brain.last_described) if self.leads else (None, None)
        return {
            "version": STATUS_VERSION,
            "brain": self._identity,
            "leads": self.leads,
            "ready": trouble is None,
            "reason": trouble,
            "started_ms": int(1000 * self._started),
            "algorithm": self._algorithm,
            "plan": plan
            and {
                "id": plan.id,
                "created_ms": plan.created_ms,
                "age_seconds": max(self._clock.now() - plan.created_ms / 1000, 0.0),
            },
            "described_ms": described and described.moment_ms,
            "topologies": [
                {
                    "topology": decision.topology,
                    "name": name,
                    "action": decision.choice.action.value,
                    "reason": sentence(decision),
                }
                for name, decision in (self.decisions() if self.leads else {}).items()
            ],
        }


def _names(latest: Decided | None) -> Mapping[str, str]:
    """Return the names of topologies by their ids."""
    return {} if latest is None else {each.id: each.name for each in latest.state.topologies}
