"""What is done, what waits for what, and how the parts fare: for `stormcut plan` and gauges."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stormcut.control.apply.proposal import Proposal
from stormcut.control.decide.decision import Decision, Decisions, Guard, Withheld
from stormcut.control.decide.wording import sentence
from stormcut.control.gate.guards import FIRM
from stormcut.control.history import line, lines
from stormcut.control.observe.nodes import drained_nodes, executors_left
from stormcut.control.orders import Orders, Undo
from stormcut.control.policy import Mode, Policy
from stormcut.control.review.outcome import Outcome
from stormcut.control.review.reviews import Review, review_line
from stormcut.control.round import Governed, RoundState
from stormcut.model.cluster import Described
from stormcut.model.errors import InvalidInput
from stormcut.running.machines import Machine, Machines, SharedMachine

log = logging.getLogger(__name__)

PREVIEW_VERSION = OUTLOOK_VERSION = 1

#: Of what became of moves, in an outlook.
SHOWN_REVIEWS = 5


@dataclass(frozen=True)
class PartStatus:
    """How somebody is that works beside the brain: whether that is well, and in words."""

    is_well: bool
    words: str


@dataclass(frozen=True)
class Control:
    """Who may act now, and what waits for what.

    ``left_on_drained`` are executors that still run on each drained node, by host; ``waiting``
    changes that are withheld, by guard; ``outcomes`` what became of the last moves.
    """

    mode: Mode
    is_paused: bool
    left_on_drained: Mapping[str, int]
    silent: frozenset[str]
    waiting: Mapping[Guard, int]
    outcomes: Mapping[Outcome, int]


@dataclass(frozen=True)
class Snapshot:
    """A brain at one moment: what Nimbus described, what was decided, and who may act.

    ``described`` and ``governed`` are None before Nimbus has asked; ``left`` is what rounds have
    left, ``now_s`` is by the clock that
    never runs back, ``plan`` the id of the last one.
    """

    described: Described | None
    governed: Governed | None
    left: RoundState
    orders: Orders
    undos: Mapping[str, Undo]
    policy: Policy
    reviews: Sequence[Review]
    plan: str | None
    now_s: float

    def pending(self) -> list[dict[str, str]]:
        """Return which topologies do not run yet where they were ordered back to, and by whom."""
        running = () if self.described is None else self.described.state.topologies
        return [
            {"topology": t.id, "by": undo.by.value, "who": undo.who}
            for t in running
            if (undo := self.undos.get(t.id)) and undo.target(t) != tuple(sorted(t.assignment))
        ]

    def moving(self) -> list[dict[str, Any]]:
        """Return how far moves are that are made in stages."""
        rollout = self.left.rollout
        if rollout is None or self.described is None:
            return []
        return [asdict(each) for each in rollout.progress(self.described.state, self.now_s)]

    def describe_barred_nodes(self) -> dict[str, str]:
        """Return words for each node on which nothing may start, such as "host1 is silent"."""
        if self.described is None:
            return {}
        state = self.described.state
        barred = self.left.bar_nodes(drained_nodes(state, self.orders, self.policy), self.now_s)
        hosts = state.hosts
        return {node: f"{hosts[node]} is {how}" for node, how in barred.items() if node in hosts}

    def left_on_drained(self) -> dict[str, int]:
        """Return how many executors still run on each drained node, by host."""
        if self.described is None:
            return {}
        state = self.described.state
        return executors_left(state, drained_nodes(state, self.orders, self.policy))


def preview_document(snapshot: Snapshot, governed: Governed) -> dict[str, Any]:
    """Return as JSON values what would be planned for the state of a snapshot."""
    described = snapshot.described
    assert described is not None
    return {
        "version": PREVIEW_VERSION,
        "described_ms": described.moment_ms,
        "fingerprint": described.state.fingerprint(),
        "barred": snapshot.describe_barred_nodes(),
        **_lines(governed, snapshot.left.machines.shared),
    }


def outlook_document(snapshot: Snapshot, parts: Mapping[str, PartStatus]) -> dict[str, Any]:
    """Return as JSON values what was decided last, and how the parts beside the brain fare.

    Raises
    ------
    InvalidInput
        Nimbus has not asked yet.
    """
    if snapshot.described is None or snapshot.governed is None:
        raise InvalidInput("Nimbus has not asked this brain yet")
    return {
        "version": OUTLOOK_VERSION,
        "described_ms": snapshot.described.moment_ms,
        "mode": snapshot.policy.mode.value,
        "paused": snapshot.orders.is_paused,
        "why_paused": snapshot.orders.why,
        "pauses": snapshot.orders.pauses,
        "approved": sorted(snapshot.orders.approved),
        "pending": snapshot.pending(),
        "moving": snapshot.moving(),
        "drained": sorted(snapshot.orders.drained),
        "drained_nodes": sorted(
            snapshot.orders.drained_nodes(snapshot.described.state.supervisors)
        ),
        "drained_nowhere": list(
            snapshot.orders.drained_nowhere(snapshot.described.state.supervisors)
        ),
        "left_on_drained": snapshot.left_on_drained(),
        "nodes": snapshot.described.state.hosts,
        "silent": sorted(snapshot.left.silence.nodes),
        "machines": _machine_news(snapshot.left.machines),
        "on_probation": list(snapshot.left.probation.present(snapshot.now_s)),
        "plan": snapshot.plan,
        "parts": {name: asdict(part) for name, part in parts.items()},
        "reviews": [review_line(each) for each in snapshot.reviews[-SHOWN_REVIEWS:]],
        **_lines(snapshot.governed, snapshot.left.machines.shared),
    }


def _machine_news(machines: Machines) -> dict[str, str]:
    every: dict[str, Machine | SharedMachine] = {**machines.shared, **machines.known}
    return {node: str(its) for node, its in every.items() if its.is_news}


def control(snapshot: Snapshot) -> Control:
    """Return who may act now, and what waits for what."""
    held = () if snapshot.governed is None else withheld(snapshot.governed.instructions)
    return Control(
        snapshot.policy.mode,
        snapshot.orders.is_paused,
        snapshot.left_on_drained(),
        snapshot.left.silence.nodes,
        Counter(reason.guard for _, reason in held),
        Counter(review.outcome for review in snapshot.reviews),
    )


class GuardLog:
    """Logs which guard holds a topology's change, once, and when nothing does any more."""

    def __init__(self) -> None:
        self._held: dict[str, Guard] = {}

    def note(self, instructions: Decisions, is_logged: bool) -> None:
        """Take note of decisions; ``is_logged``: a plan has just said what is new of them."""
        held = {decision.topology: reason.guard for decision, reason in withheld(instructions)}
        for decision, reason in withheld(instructions):
            if not is_logged and reason.guard is not self._held.get(decision.topology):
                log.info("%s %s", decision.topology, sentence(decision))
        for name in self._held.keys() - held.keys():
            log.info("%s: nothing is withheld any more", name)
        self._held = held


def withheld(instructions: Decisions) -> list[tuple[Decision, Withheld]]:
    """Return which decisions a guard holds, with the guard."""
    both = ((d, d.choice.reason) for d in (*instructions.decided, *instructions.declined))
    return [(decision, reason) for decision, reason in both if isinstance(reason, Withheld)]


def _lines(governed: Governed, shared: Mapping[str, SharedMachine]) -> dict[str, Any]:
    """Return what is done, what is withheld, and under which names it can be approved.

    Where several nodes share a machine, a head-room is the machine's if that is less: no node has a
    share of its own, and decisions go by what nodes declare.
    """
    offered, forced = governed.offered, governed.forced
    is_done = bool(governed.approved)
    entries = lines(governed.instructions, {change.topology: change for change in governed.changes})
    return {
        "proposal": None if offered is None or is_done else offered.name,
        "withheld": [_withheld_line(each, offered, shared) for each in governed.withheld],
        "override": None if forced is None or is_done else _forced_lines(forced, shared),
        **entries,
        "topologies": [_limited(each, shared) for each in entries["topologies"]],
    }


def _limited(line: dict[str, Any], shared: Mapping[str, SharedMachine]) -> dict[str, Any]:
    """Return a decision with the head-room that shared machines leave where it runs."""
    return {
        **line,
        "before": _limit_figures(line["before"], line["former"], shared),
        "after": _limit_figures(line["after"], line["workers"], shared),
    }


def _limit_figures(
    figures: dict[str, Any] | None, workers: Sequence[Any], shared: Mapping[str, SharedMachine]
) -> dict[str, Any] | None:
    its = {shared[node] for node, *_ in workers if node in shared}
    if figures is None or figures["headroom"] is None or not its:
        return figures
    least = min(its, key=lambda machine: machine.headroom)
    if least.headroom >= figures["headroom"]:
        return figures
    return {**figures, "headroom": least.headroom, "fullest": f"CPU of {least.name}"}


def _withheld_line(
    held: Withheld, offered: Proposal | None, shared: Mapping[str, SharedMachine]
) -> dict[str, Any]:
    topology = held.proposed.topology
    guards = {} if offered is None else offered.guards
    return {
        **_limited(line(held.proposed), shared),
        "waits_for": held.guard.key,
        "answer": "never" if held.is_final else "wait",
        "guard": held.guard.value,
        "is_offered": topology in guards,
        "when_approved": list(guards.get(topology, ())),
    }


def _forced_lines(forced: Proposal, shared: Mapping[str, SharedMachine]) -> dict[str, Any]:
    firm = {guard.key for guard in FIRM}
    guards = {key for keys in forced.guards.values() for key in keys} - firm
    return {
        "proposal": forced.name,
        "guards": sorted(guards),
        "topologies": [_limited(line(decision), shared) for decision in forced.decisions],
    }
