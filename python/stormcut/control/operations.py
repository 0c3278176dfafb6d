"""What people ask the controller to do, checked: the rules behind commands and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stormcut.control.decide.decision import Guard
from stormcut.control.gate.guards import FIRM
from stormcut.control.orders import Orders, Override, Undo
from stormcut.control.review.trail import Step, way_back
from stormcut.model.cluster import Supervisor, name_in
from stormcut.model.errors import InvalidInput

#: Nimbus describes the cluster every 10 s: what is older is not the present.
STALE_SECONDS = 60.0


def resolved(topology: str, known: Iterable[str], none: str = "no such topology") -> str:
    """Return the id of a topology that is named by its id or its name.

    Of several of one name it is the newest one's. ``none`` says that there is none.

    Raises
    ------
    InvalidInput
        None is known by it.
    """
    ids = sorted(known)
    if topology in ids:
        return topology
    named = [each for each in ids if name_in(each) == topology]
    if not named:
        there = ", ".join(ids) or "none"
        raise InvalidInput(f"{none} (known: {there})", topology)
    return max(named, key=_submitted)


def _submitted(topology: str) -> tuple[int, ...]:
    """Return the numbers that Storm appends to a name, the moment of submission first."""
    numbers = topology.rsplit("-", 2)[1:]
    return tuple(int(each) if each.isdigit() else 0 for each in reversed(numbers))


def undo_to(topology: str, trail: Sequence[Step]) -> Step:
    """Return the step that an undo takes back.

    Raises
    ------
    InvalidInput
        There is nothing further back.
    """
    step = way_back(trail)
    if step is None:
        raise InvalidInput("runs where it ran first: there is nothing further back", topology)
    return step


def approving(
    plan: str, override: str | None, outlook: Mapping[str, Any], who: str = ""
) -> Callable[[Orders], Orders]:
    """Return the order that approves a plan, given what the brain previews.

    Raises
    ------
    InvalidInput
        The controller only advises, or would do something else.
    """
    if outlook["mode"] == "advise":
        raise InvalidInput(
            "the controller only advises: set `mode: approve` or `automatic` in its file, and "
            "start it again",
            plan,
        )
    if override is not None:
        return _forcing(plan, override, outlook, who)
    proposal, forced = outlook["proposal"], outlook.get("override")
    if proposal != plan:
        if forced is not None and forced["proposal"] == plan:
            guards = ", ".join(forced["guards"])
            what = f"needs --override REASON: it passes what holds it now ({guards})"
            raise InvalidInput(what, plan)
        if proposal is None:
            raise InvalidInput("nothing waits for approval", plan)
        what = f"is not what would be done now: that is {proposal}; see `stormcut plan`"
        raise InvalidInput(what, plan)
    return lambda orders: replace(
        orders, approved=frozenset({plan}), approved_by={plan: who}, overrides={}
    )


def _forcing(
    plan: str, reason: str, outlook: Mapping[str, Any], who: str
) -> Callable[[Orders], Orders]:
    """Return the order that approves a plan and passes the guards that hold it now."""
    forced = outlook.get("override")
    if forced is None:
        raise InvalidInput("nothing waits for approval", plan)
    if forced["proposal"] != plan:
        what = f"with --override another plan would be done: {forced['proposal']}; see"
        raise InvalidInput(f"{what} `stormcut plan`", plan)
    override = Override(reason, frozenset(forced["guards"]), outlook["pauses"])
    return lambda orders: replace(
        orders,
        approved=frozenset({plan}),
        approved_by={plan: who},
        overrides={plan: override},
    )


def held_when_approved(outlook: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the changes of a plan that guards hold though it is approved, with what holds them."""
    return [
        (line["topology"], ", ".join(line["when_approved"]))
        for line in outlook["withheld"]
        if line.get("when_approved")
    ]


def pausing(is_paused: bool, why: str = "") -> Callable[[Orders], Orders]:
    """Return the order that pauses the controller, or ends the pause."""
    more = 1 if is_paused else 0
    return lambda orders: replace(
        orders, is_paused=is_paused, pauses=max(orders.pauses, 0) + more, why=why
    )


def draining(node: str, known: Sequence[Supervisor]) -> Callable[[Orders], Orders]:
    """Return the order that lets nothing run on a node.

    Raises
    ------
    InvalidInput
        No supervisor has this id or host.
    """
    matching = [each for each in known if node in (each.id, each.host)]
    if not matching:
        there = ", ".join(sorted({each.host for each in known})) or "none"
        raise InvalidInput(f"no supervisor has this id or host (there are: {there})", node)
    alias = _alias(node, matching, known)

    def change(orders: Orders) -> Orders:
        return replace(orders, drained=orders.drained | {node}, aliases={**orders.aliases, **alias})

    return change


def _alias(
    node: str, matching: Sequence[Supervisor], known: Sequence[Supervisor]
) -> dict[str, str]:
    """Return a node's other name, its id or host; none where that is not its alone."""
    names = {name for each in matching for name in (each.id, each.host)} - {node}
    shared = {each.host for each in known if each not in matching}
    return {node: names.pop()} if len(names) == 1 and not names & shared else {}


def undraining(node: str) -> Callable[[Orders], Orders]:
    """Return the order that lets a drained node be used again; it refuses any other node."""

    def change(orders: Orders) -> Orders:
        names = {name for name in orders.drained if node in (name, orders.aliases.get(name))}
        if not names:
            there = ", ".join(sorted(orders.drained)) or "none"
            raise InvalidInput(f"is not drained by an order (drained: {there})", node)
        aliases = {name: other for name, other in orders.aliases.items() if name not in names}
        return replace(orders, drained=orders.drained - names, aliases=aliases)

    return change


def all_drained(orders: Orders, known: Iterable[Supervisor]) -> bool:
    """Return whether orders leave no node to run anything on."""
    supervisors = tuple(known)
    return orders.drained_nodes(supervisors) == {each.id for each in supervisors}


def held(preview: Mapping[str, Any], topology: str) -> Mapping[str, Any] | None:
    """Return the change of a topology that a guard withholds, None if none is."""
    return next((each for each in preview["withheld"] if each["topology"] == topology), None)


def overriding(undo: Undo, preview: Mapping[str, Any] | None, topology: str, pauses: int) -> Undo:
    """Return an order back whose override names what it passes, as far as the preview says.

    Parameters
    ----------
    pauses : int
        How often a pause was ordered by now.
    """
    if undo.override is None:
        return undo
    lines = () if preview is None else preview["topologies"]
    guards = next(
        (
            frozenset(line["passed"])
            for line in lines
            if (line["topology"], line["initiator"]) == (topology, "undo")
        ),
        None,
    )
    return replace(undo, override=replace(undo.override, guards=guards, pauses=pauses))


def check_goes_back(preview: Mapping[str, Any], topology: str) -> None:
    """Refuse an undo that would never be carried out; one that waits will be.

    Raises
    ------
    InvalidInput
        A guard forbids it, or the topology cannot run there.
    """
    withheld = held(preview, topology)
    if withheld is not None:
        if withheld["action"] != "undo":
            # What waits is another move: there is no way back.
            what = f"cannot go back to where it ran before: {withheld['reason']}"
            raise InvalidInput(what, topology)
        if withheld["answer"] == "never":
            what = f"is not sent back: {_name_barred(preview, withheld) or withheld['guard']}"
            if withheld["waits_for"] in {guard.key for guard in FIRM}:
                raise InvalidInput(f"{what}; nothing overrides that", topology)
            raise InvalidInput(f"{what}; to do it all the same: --override REASON", topology)
        return
    lines = (*preview["topologies"], *preview["declined"])
    line = next((each for each in lines if each["topology"] == topology), None)
    if line is None or line.get("evidence") != "undone":
        why = "it does not run now" if line is None else line["reason"]
        raise InvalidInput(f"cannot go back to where it ran before: {why}", topology)


def _name_barred(preview: Mapping[str, Any], line: Mapping[str, Any]) -> str:
    """Return words for the barred nodes on which a change would start workers, empty without."""
    if line["waits_for"] != Guard.DRAINED.key:
        return ""
    # Brains that are older than this command do not say.
    why = preview.get("barred", {})
    begun = {worker[0] for worker in line["workers"] if worker not in line["former"]}
    return ", ".join(sorted(text for node, text in why.items() if node in begun))


def check_fresh(document: Mapping[str, Any], now_s: float) -> None:
    """Refuse what rests on a description that Nimbus has not renewed: it is of the past.

    Raises
    ------
    InvalidInput
        It is older than `STALE_SECONDS`.
    """
    age_s = now_s - document["described_ms"] / 1000
    if age_s > STALE_SECONDS:
        raise InvalidInput(
            f"Nimbus described the cluster {age_s:.0f} s ago, and since then no topology runs, or"
            " it does not ask the brain (its log says why not)",
            "brain",
        )
