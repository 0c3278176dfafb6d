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

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Most steps of Newton's method and halvings of one; the error that ends it.
STEPS, HALVINGS, STILL = 12, 3, 1e-9
#: By which rates differ, in their logarithms, to learn how queues follow them.
NUDGE = 1e-7
#: Part of the largest window that is on its way where the path begins: nobody waits yet.
FEW = 1e-3
#: The path ends after so many strides, those that fail included.
MOST_STRIDES = 200
#: Most of a station's time that other traffic takes. Of more, no tuple would ever come through: a
#: share of the station that is left whatever happens keeps the rates of a filled one finite.
MOST_TAKEN = 0.99

Excess = Callable[[Floats, float], "Floats | None"]


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


@dataclass(frozen=True, eq=False)
class Background:
    """What other traffic takes of each station, both of shape (stations,).

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
    stations: Stations, windows: Floats, background: Callable[[Floats], Background]
) -> Floats:
    """Return the rates of sources with so many tuples on their way, shape (sources,).

    Parameters
    ----------
    windows : array of shape (sources,)
        Tuples on their way, above 0.
    background : callable
        Returns what other traffic takes at such rates: it comes of what sources send, too.

    Notes
    -----
    Queues grow with every rate, without bound as a station fills. So rates are followed from where
    few tuples are on their way to where as many are as the windows hold, by Newton's method, with
    longer strides as long as they succeed. A step takes O(stations x sources^2). Where other
    traffic fills a station, the path may end before: rates are then those where it ends.

    E. Allgower and K. Georg, "Numerical Continuation Methods" (1990).
    """

    def excess(logs: Floats, part: float) -> Floats | None:
        """Return by how much a part of the windows exceeds queues; None: no such rates exist.

        Of one saturated station this is a straight line in 1 / rate, so that steps from below
        neither overshoot nor creep.
        """
        rates = np.exp(logs)
        queues = _queues(stations, rates, windows, background(rates))
        return None if queues is None else windows * part / queues - 1.0

    at = np.log(FEW / windows.max())
    logs = np.log(windows * np.exp(at) / np.maximum(stations.busy.sum(axis=0), 1e-300))
    stride = -at
    for _ in range(MOST_STRIDES):
        if at >= 0:
            break
        ahead = min(0.0, at + stride)
        found = _newton(excess, logs, float(np.exp(ahead)))
        if found is None:
            stride /= 2
        else:
            logs, at, stride = found, ahead, stride * 2
    rates: Floats = np.exp(logs)
    return rates


def _newton(excess: Excess, logs: Floats, part: float) -> Floats | None:
    """Return where there is no excess, from a place near it; None if it is not found."""
    error = excess(logs, part)
    for _ in range(STEPS):
        if error is None or np.abs(error).max() < STILL:
            break
        step = np.linalg.lstsq(_slopes(excess, logs, part, error), -error, rcond=None)[0]
        logs, error = _shortened(excess, logs, part, np.asarray(step), error)
    return None if error is None or np.abs(error).max() > STILL else logs


def _slopes(excess: Excess, logs: Floats, part: float, error: Floats) -> Floats:
    """Return how each source's error follows each rate; lower rates are always possible."""
    columns = []
    for at in range(len(logs)):
        nudged = logs.copy()
        nudged[at] -= NUDGE
        other = excess(nudged, part)
        assert other is not None
        columns.append((error - other) / NUDGE)
    slopes: Floats = np.array(columns).T
    return slopes


def _shortened(
    excess: Excess, logs: Floats, part: float, step: Floats, error: Floats
) -> tuple[Floats, Floats | None]:
    """Return where the longest of the halved steps that lessens the error leads, and the error."""
    size = float(np.abs(error).max())
    for halving in range(HALVINGS + 1):
        tried = logs + step / 2**halving
        found = excess(tried, part) if np.abs(tried).max() < np.log(1e30) else None
        if found is not None and float(np.abs(found).max()) < size:
            return tried, found
    return logs, None


def _queues(
    stations: Stations, rates: Floats, windows: Floats, background: Background
) -> Floats | None:
    """Return how many tuples of each source are on their way at such rates, shape (sources,).

    None: a station cannot serve so many. At a station the queues of all
    classes are linear in one another by a matrix of rank one beside its diagonal, which solves in
    closed form.
    """
    taken = np.minimum(background.share, MOST_TAKEN)
    left = (1.0 - taken)[:, None]
    busy, visits = stations.busy, stations.visits
    in_order = stations.in_order[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        service = np.where(in_order, np.where(visits > 0, busy / visits, 0.0), busy > 0)
    pull = rates * np.where(in_order, visits, busy) / left
    extra = (taken * background.service)[:, None]
    alone = np.where(in_order, rates * busy + pull * extra, pull)
    itself = 1.0 + pull * service / windows
    room = 1.0 - (service * pull / itself).sum(axis=1)
    if (room <= 0).any():
        return None
    waiting = (service * alone / itself).sum(axis=1) / room
    queues: Floats = ((alone + pull * waiting[:, None]) / itself).sum(axis=0)
    return queues
