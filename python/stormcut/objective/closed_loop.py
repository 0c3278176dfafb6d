"""The rates at which a closed network of queues settles, beside traffic that no window holds back.

Each source is a class of as many customers as its window. At a station a tuple waits for those that
it finds there (Schweitzer's approximation: its own class's queue, all but the part that is itself),
and for a background of other traffic, which takes its share of the station whatever waits.

A CPU or a thread serves tuples of all classes alike, in turns; a link is served first come, first
served, so that a small tuple waits for large ones.

References
----------
P. Schweitzer, "Approximate analysis of multiclass closed networks of queues" (1979);
E. Lazowska et al., "Quantitative System Performance" (1984), chapters 7 and 8 (mixed networks).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats

#: Most steps of Newton's method and halvings of one; the error that ends it.
STEPS, HALVINGS, STILL = 12, 3, 1e-7
#: No rate is above or below this, as a logarithm.
MAX_LOG = float(np.log(1e30))
#: By which rates differ, in their logarithms, to learn how the background follows them.
NUDGE = 1e-7
#: Part of the largest window that is on its way where the path begins: nobody waits yet.
FEW = 1e-3
#: The path ends after so many strides, those that fail included.
MAX_STRIDES = 200
#: Most of a station's time that other traffic takes. Of more, no tuple would ever come through: a
#: share of the station that is left whatever happens keeps the rates of a filled one finite.
MAX_TAKEN = 0.99


@dataclass(frozen=True, eq=False)
class Stations:
    """What a tuple of each source asks of each station; all of shape (stations, sources).

    Parameters
    ----------
    busy : array
        Seconds for which it keeps the station to itself.
    visits : array
        How often it comes there; what it is for stations that serve in turns does not matter.
    in_order : array of bool, shape (stations,)
        Whether the station serves in the order of arrival.
    """

    busy: Floats
    visits: Floats
    in_order: npt.NDArray[np.bool_]

    def beside(self, busy: Floats) -> Stations:
        """Return the same and a station of each source's own, that its tuples keep so long."""
        return Stations(
            np.vstack((self.busy, np.diag(busy))),
            np.vstack((self.visits, np.eye(len(busy)))),
            np.concatenate((self.in_order, np.zeros(len(busy), dtype=np.bool_))),
        )


@dataclass(frozen=True, eq=False)
class Background:
    """What other traffic takes of each station, of shape (stations,) or (stations, columns).

    Parameters
    ----------
    share : array
        Part of its time.
    service : array
        Seconds that one of its tuples takes.
    """

    share: Floats
    service: Floats


def settled(
    stations: Stations,
    windows: Floats,
    background: Callable[[Floats], Background],
    near: Floats | None = None,
) -> Floats:
    """Return the rates of sources with so many tuples on their way, shape (sources,).

    Parameters
    ----------
    windows : array of shape (sources,)
        Tuples on their way, above 0.
    background : callable
        Returns what other traffic takes at such rates, of shape (sources,) or a column each,
        (sources, columns): it comes of what sources send, too.
    near : array of shape (sources,), optional
        Rates of a loop that is nearly the same, from which one step may do.

    Notes
    -----
    Queues grow with every rate, without bound as a station fills. So rates are followed from where
    few tuples are on their way to where as many are as the windows hold, by Newton's method, with
    longer strides as long as they succeed. A step takes O(stations x sources^2), in products of
    matrices. Where other traffic fills a station, the path may end before: rates are then those
    where it ends.

    E. Allgower and K. Georg, "Numerical Continuation Methods" (1990).
    """
    loop = ClosedLoop(stations, windows, background)
    if near is not None and (close := _newton(loop, np.log(near), 1.0)) is not None:
        return np.asarray(np.exp(close))
    level = np.log(FEW / windows.max())
    logs = np.log(windows * np.exp(level) / np.maximum(stations.busy.sum(axis=0), 1e-300))
    stride = -level
    for _ in range(MAX_STRIDES):
        if level >= 0:
            break
        ahead = min(0.0, level + stride)
        solved = _newton(loop, logs, float(np.exp(ahead)))
        if solved is None:
            stride /= 2
        else:
            logs, level, stride = solved, ahead, stride * 2
    rates: Floats = np.exp(logs)
    return rates


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """A closed loop: its stations, its windows, and the background at any rates."""

    stations: Stations
    windows: Floats
    background: Callable[[Floats], Background]

    def at(self, logs: Floats) -> Queues | None:
        """Return the queues at rates, given as logarithms; None: a station cannot serve so many."""
        rates = np.exp(logs)
        queues = Queues(self.stations, rates, self.windows, self.background(rates))
        return queues if (queues.room > 0).all() else None

    def slopes(self, queues: Queues, part: float) -> Floats:
        """Return how each source's excess follows each rate's logarithm, (sources, sources)."""
        # A column for each source, in which it alone sends a little less.
        less = np.where(np.eye(len(queues.rates), dtype=np.bool_), np.exp(-NUDGE), 1.0)
        here, there = queues.background, self.background(queues.rates[:, None] * less)
        taken = (_taken(here)[:, None] - _taken(there)) / NUDGE
        service = (here.service[:, None] - there.service) / NUDGE
        steepness = -self.windows * part / queues.lengths**2
        slopes: Floats = steepness[:, None] * queues.slopes(taken, service)
        return slopes


class Queues:
    """How many tuples of each source are on their way at such rates.

    At a station the queues of all classes are linear in one another by a matrix of rank one beside
    its diagonal, which solves in closed form. What is kept is of shape (stations, sources).

    Attributes
    ----------
    rates, lengths : array of shape (sources,)
    room : array of shape (stations,)
        What the station has left; at 0 or below it cannot serve so many.
    """

    def __init__(
        self, stations: Stations, rates: Floats, windows: Floats, background: Background
    ) -> None:
        self.rates, self.background, self._windows = rates, background, windows
        self._in_order = stations.in_order[:, None]
        self._taken = _taken(background)[:, None]
        self._left = 1.0 - self._taken
        busy, visits = stations.busy, stations.visits
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(visits > 0, busy / visits, 0.0)
            self._service = np.where(self._in_order, each, busy > 0)
        self._pull = rates * np.where(self._in_order, visits, busy) / self._left
        self._extra = self._taken * background.service[:, None]
        first = rates * busy + self._pull * self._extra
        self._alone = np.where(self._in_order, first, self._pull)
        self._others = 1.0 / (1.0 + self._pull * self._service / windows)
        self.room = 1.0 - (self._service * self._pull * self._others).sum(axis=1)

    @cached_property
    def _waiting(self) -> Floats:
        waiting: Floats = (self._service * self._alone * self._others).sum(axis=1) / self.room
        return waiting

    @cached_property
    def lengths(self) -> Floats:
        """Tuples of each source, shape (sources,)."""
        met = self._alone + self._pull * self._waiting[:, None]
        lengths: Floats = (met * self._others).sum(axis=0)
        return lengths

    def excess(self, part: float) -> Floats:
        """Return by how much a part of the windows exceeds these queues, shape (sources,).

        Of one saturated station this is a straight line in 1 / rate, so that steps from below
        neither overshoot nor creep.
        """
        excess: Floats = self._windows * part / self.lengths - 1.0
        return excess

    def slopes(self, taken: Floats, service: Floats) -> Floats:
        """Return how `lengths` follow each rate's logarithm, shape (sources, sources).

        Parameters
        ----------
        taken, service : arrays of shape (stations, sources)
            How the background's share and service follow them.
        """
        s, pull, alone, u = self._service, self._pull, self._alone, self._others
        room, waiting = self.room[:, None], self._waiting[:, None]
        # A rate pulls at its own class, and by way of the background (`taken`, `extra`) at all.
        pulled = pull / self._left
        extra = taken * self.background.service[:, None] + self._taken * service
        alone_taken = np.where(self._in_order, self._extra, 1.0) * pulled
        alone_extra = np.where(self._in_order, pull, 0.0)
        own = s / self._windows * u  # Of a change of pull, what becomes of 1 / u, times u.
        less = s * u**2  # How `room` shrinks with pull.
        room_slopes = -(less * pull + (less * pulled).sum(axis=1, keepdims=True) * taken)
        met = s * u * alone
        met_slopes = (
            met * (1.0 - own * pull)
            + (s * u * alone_taken - met * own * pulled).sum(axis=1, keepdims=True) * taken
            + (s * u * alone_extra).sum(axis=1, keepdims=True) * extra
        )
        waiting_slopes = (met_slopes - waiting * room_slopes) / room
        whole = (alone + pull * waiting) * u
        by_taken = u * (alone_taken + waiting * pulled) - whole * own * pulled
        slopes: Floats = (
            by_taken.T @ taken + (u * alone_extra).T @ extra + (u * pull).T @ waiting_slopes
        )
        slopes[np.diag_indices_from(slopes)] += (whole * (1.0 - own * pull)).sum(axis=0)
        return slopes


def _taken(background: Background) -> Floats:
    taken: Floats = np.minimum(background.share, MAX_TAKEN)
    return taken


def _newton(loop: ClosedLoop, logs: Floats, part: float) -> Floats | None:
    """Return where there is no excess, from a place near it; None if it is not found."""
    queues = loop.at(logs)
    for _ in range(STEPS):
        if queues is None or _error(queues, part) < STILL:
            break
        slopes, excess = loop.slopes(queues, part), queues.excess(part)
        step = np.linalg.lstsq(slopes, -excess, rcond=None)[0]
        queues = _backtrack(loop, queues, part, np.asarray(step))
    return None if queues is None or _error(queues, part) > STILL else np.log(queues.rates)


def _backtrack(loop: ClosedLoop, queues: Queues, part: float, step: Floats) -> Queues | None:
    """Return the queues where the longest of the halved steps that lessens the error leads."""
    logs, error = np.log(queues.rates), _error(queues, part)
    for halving in range(HALVINGS + 1):
        tried = logs + step / 2**halving
        there = loop.at(tried) if np.abs(tried).max() < MAX_LOG else None
        if there is not None and _error(there, part) < error:
            return there
    return None


def _error(queues: Queues, part: float) -> float:
    return float(np.abs(queues.excess(part)).max())
