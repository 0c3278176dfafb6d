"""Which guard holds up whom: the table that `docs/policy.md` shows, and no other rule."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from stormcut.control.decide.decision import Guard
from stormcut.control.gate.change import Change, Initiator


class GuardAnswer(Enum):
    """What the gate says to a change while a guard stands."""

    GO = "go"
    WAIT = "wait"
    NEVER = "never"


GO, WAIT, NEVER = GuardAnswer.GO, GuardAnswer.WAIT, GuardAnswer.NEVER

#: In the order in which guards are asked; initiators in the order of `Initiator`.
_ROWS = {
    #                placement gain   limit  drain  back   stage  approve undo
    Guard.PINNED: (GO, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER),
    Guard.NEVER: (GO, NEVER, GO, GO, GO, GO, GO, GO),
    Guard.DRAINED: (NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER),
    Guard.SILENT: (GO, WAIT, GO, GO, WAIT, WAIT, WAIT, GO),
    Guard.CONTRADICTED: (GO, WAIT, GO, GO, GO, GO, GO, GO),
    Guard.PAUSED: (WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT),
    Guard.ADVICE: (WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, GO),
    Guard.APPROVAL: (WAIT, WAIT, WAIT, WAIT, WAIT, GO, GO, GO),
    Guard.QUIET: (GO, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT),
    Guard.COOL_DOWN: (GO, WAIT, GO, GO, GO, GO, GO, GO),
    Guard.DWELL: (GO, WAIT, WAIT, WAIT, WAIT, GO, GO, GO),
    Guard.DEAR: (GO, WAIT, GO, GO, GO, GO, GO, GO),
    Guard.STAGE: (GO, WAIT, WAIT, WAIT, WAIT, GO, WAIT, WAIT),
    Guard.ROUND: (GO, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT),
    Guard.NODE: (GO, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT),
    Guard.HOUR: (GO, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT, WAIT),
    Guard.REST: (GO, WAIT, WAIT, WAIT, WAIT, GO, WAIT, WAIT),
}

#: How much may restart.
BUDGETS = frozenset({Guard.ROUND, Guard.NODE, Guard.HOUR})

TABLE: Mapping[Guard, Mapping[Initiator, GuardAnswer]] = {
    guard: dict(zip(Initiator, answers, strict=True)) for guard, answers in _ROWS.items()
}

#: What no reason that a person gives can override: a drained node is to be undrained first, and
#: the others end by themselves.
FIRM = frozenset({Guard.DRAINED, Guard.ADVICE, Guard.STAGE, Guard.REST})


def answer(guard: Guard, change: Change, pauses: int) -> GuardAnswer:
    """Return what the gate says to a change while a guard stands.

    Parameters
    ----------
    pauses : int
        How often a pause was ordered by now: an override passes none that came after it.
    """
    override = change.override
    if override is not None and guard not in FIRM and override.passes(guard.key):
        is_later = guard is Guard.PAUSED and pauses != override.pauses
        return TABLE[guard][change.initiator] if is_later else GO
    return TABLE[guard][change.initiator]
