"""What an operator wants of the controller: how far it may go, when, and with which topologies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fnmatch import fnmatchcase

MINUTES_PER_DAY = 24 * 60
ALL_DAYS = frozenset(range(7))


class Mode(Enum):
    """How far the controller goes by itself."""

    ADVISE = "advise"
    APPROVE = "approve"
    AUTOMATIC = "automatic"


class Rule(Enum):
    """By what a running topology moves; ``OWN``: the algorithm's own `Acceptance`."""

    WORTH = "worth"
    PERIODIC = "periodic"
    OWN = "own"
    NEVER = "never"


@dataclass(frozen=True)
class QuietTime:
    """A time of the local day in which nothing is moved.

    Parameters
    ----------
    start, end : int
        Minutes since midnight, the end excluded and up to 1440; an end that is not after the start
        is on the next day.
    days : frozenset of int
        Days of the week on which it starts, Monday is 0.
    """

    start: int
    end: int
    days: frozenset[int] = ALL_DAYS

    def has(self, moment: datetime) -> bool:
        """Return whether a local moment lies within it."""
        minute, today = 60 * moment.hour + moment.minute, moment.weekday()
        if self.start < self.end:
            return today in self.days and self.start <= minute < self.end
        began_today = today in self.days and minute >= self.start
        began_yesterday = (today - 1) % 7 in self.days and minute < self.end
        return began_today or began_yesterday


@dataclass(frozen=True)
class TopologyRule:
    """What holds for the topologies whose name matches.

    Parameters
    ----------
    match : str
        Pattern of the name, as in a shell.
    pin : bool
        Never move it while it runs.
    priority : int
        Where not all may restart at once, or not all fit, higher ones go first.
    drain_s : float, optional
        So long its spouts rest before it moves; None: they do not.
    nodes : tuple of str
        Patterns of the nodes, by name or host, on which alone it may run; empty: on all.
    most_nodes : int, optional
        It runs on no more than so many; None: on any number.
    alone : bool
        Nothing else runs there; with ``most_nodes``.
    workers : str, optional
        ``keep``: as many workers as it asks for, ``any``: the algorithm decides, whatever its own
        ``stormcut.workers`` says; None: what that says.
    """

    match: str
    pin: bool = False
    priority: int = 0
    drain_s: float | None = None
    nodes: tuple[str, ...] = ()
    most_nodes: int | None = None
    alone: bool = False
    workers: str | None = None


#: Of a topology that no rule names.
FREE = TopologyRule("*")


@dataclass(frozen=True)
class Policy:
    """When the controller acts, and what it must leave alone.

    Parameters
    ----------
    mode : Mode
    rule : Rule
    period_s : float, optional
        Seconds between two decisions of `Rule.PERIODIC`.
    horizon_s : float
        Seconds over which a move must pay.
    cool_down_s : float
        Seconds in which a topology that has moved stays.
    restarts_per_round, restarts_per_hour, restarts_per_node : int, optional
        Most workers that may restart in a round, in an hour, on one node in a round; None: any
        number.
    workers_at_a_time : int, optional
        Most workers that a move restarts at once; None: as many as budgets allow.
    quiet_hours : tuple of QuietTime
    restart_seconds : float, optional
        What a worker's restart costs, in seconds of its work; None: the shipped value.
    topologies : tuple of TopologyRule
        The first that matches a topology counts.
    drained : tuple of str
        Patterns of the nodes, by name or host, that shall run nothing.
    """

    mode: Mode = Mode.ADVISE
    rule: Rule = Rule.WORTH
    period_s: float | None = None
    horizon_s: float = 1800.0
    cool_down_s: float = 300.0
    restarts_per_round: int | None = None
    restarts_per_hour: int | None = 60
    restarts_per_node: int | None = None
    workers_at_a_time: int | None = None
    quiet_hours: tuple[QuietTime, ...] = ()
    restart_seconds: float | None = None
    topologies: tuple[TopologyRule, ...] = ()
    drained: tuple[str, ...] = ()

    @property
    def workers_at_once(self) -> float:
        """Most workers that a stage of a move may restart, infinite without a limit."""
        return math.inf if self.workers_at_a_time is None else self.workers_at_a_time

    @property
    def restarts_at_once(self) -> float:
        """In how many slots a stage may, so that it exceeds no budget; infinite without any."""
        budgets = (self.restarts_per_round, self.restarts_per_hour, self.restarts_per_node)
        return min((each for each in budgets if each is not None), default=math.inf)

    def is_quiet(self, moment: datetime) -> bool:
        """Return whether nothing may be moved at a local moment."""
        return any(each.has(moment) for each in self.quiet_hours)

    def rule_of(self, topology: str) -> TopologyRule:
        """Return what holds for the topology of that name."""
        return next((each for each in self.topologies if fnmatchcase(topology, each.match)), FREE)

    def is_drained(self, *names: str) -> bool:
        """Return whether a node with these names (its id, its host) shall run nothing."""
        return matches(self.drained, names)


def matches(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether any name matches any pattern of a shell, upper and lower case told apart."""
    known = tuple(names)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in known)
