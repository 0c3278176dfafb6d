"""Online Bscheduler: processes that move between nodes while queries run (phase 2).

RECONSTRUCTED: the paper compares operators without an estimate with the two other partitions, has
two strategies for overloaded nodes and two further reactions, of which little more is said. One
call is one period of it, on one measurement, in this order:

1. partitions again: unknown operators take the strategies of the nearer partition, others change
   beyond ``hysteresis`` (periods of confirmation are the monitor's, see `acceptance`);
2. processes whose partition changed move where that partition's rule puts them, if traffic between
   nodes falls (first) or the spread of load does (second);
3. overloaded nodes give away a light process, else a group of heavy ones;
4. the least used node takes a light process from the most used while they differ by ``imbalance``,
   and heavy processes move to where their traffic between nodes falls by ``gain``.

At most ``moves_max`` processes move; the predicted latency is left out, since no service times are
known. Processes are the workers of the current placement: nothing is split.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.bframework.assigner import Process
from stormcut.placement.algorithms.bframework.deployment import Deployment
from stormcut.placement.algorithms.bframework.partitioner import (
    HEAVY,
    LIGHT,
    UNKNOWN,
    Partition,
    steady,
)
from stormcut.placement.algorithms.bframework.query import Query


@dataclass(frozen=True)
class Triggers:
    """When the scheduler acts, and how much it may do (names as in the specification)."""

    overload: float
    imbalance: float
    gain: float
    moves_max: int


def nearer(volume: float, heavy: float | None, light: float | None) -> int:
    """Return the partition whose mean volume is nearer to that of a thread.

    Examples
    --------
    >>> nearer(300_000, 1_500_000, 110_000)
    2
    """
    if heavy is None or light is None:
        return LIGHT if heavy is None else HEAVY
    return HEAVY if abs(volume - heavy) <= abs(volume - light) else LIGHT


def measured_labels(
    query: Query, offline: Partition, online: Partition, theta: float, hysteresis: float
) -> Ints:
    """Return the partition of each operator after a measurement, still unknown if not measured.

    Parameters
    ----------
    offline, online : Partition
        By declared volumes; by measured ones.
    """
    if (offline.labels == UNKNOWN).all():
        return online.labels
    return steady(offline.labels, query.measured, online, theta, hysteresis)


def executor_labels(query: Query, labels: Ints, workers: Ints) -> Ints:
    """Return the partition of each executor of a query, unknown threads by the nearer partition.

    Parameters
    ----------
    labels : array of shape (operators,)
    workers : array of shape (executors of the query,)
        Executors of one partition in one worker are a thread; -1 runs nowhere.
    """
    operators = np.repeat(np.arange(len(query.size)), query.size)
    result = labels[operators].copy()
    volumes = np.array([np.nan if v is None else v for v in query.measured])
    means = {HEAVY: [], LIGHT: [], UNKNOWN: []}  # type: dict[int, list[tuple[float, Ints]]]
    keys = np.stack((result, workers), axis=1)
    for label, worker in np.unique(keys[workers >= 0], axis=0).tolist():
        members = np.flatnonzero((result == label) & (workers == worker))
        known = volumes[np.unique(operators[members])]
        if not np.isnan(known).all():
            means[label].append((float(np.nanmean(known)), members))
    heavy, light = (
        float(np.mean([mean for mean, _ in means[label]])) if means[label] else None
        for label in (HEAVY, LIGHT)
    )
    if heavy is not None or light is not None:
        for mean, members in means[UNKNOWN]:
            result[members] = nearer(mean, heavy, light)
    return result


def majority(labels: Ints) -> int:
    """Return the partition of most executors of a process; ties: the first of them."""
    return int(np.argmax(np.bincount(labels)))


def high(deployment: Deployment, overload: float) -> Floats:
    """Return the utilisation above which each host is overloaded, shape (hosts,)."""
    return np.where(deployment.share < 1, overload, 1.0)


class Period:
    """One period of the scheduler on a deployment.

    Attributes
    ----------
    notes : list of str
        What people should know.
    """

    def __init__(self, deployment: Deployment, limits: Triggers) -> None:
        self.deployment, self.limits = deployment, limits
        self.moves = 0
        self.notes: list[str] = []
        self._high = high(deployment, limits.overload)

    def run(self, changed: Sequence[Process]) -> None:
        """Move processes; ``changed`` are those whose partition is another than before."""
        for process in changed:
            self._replace(process)
        for host in np.argsort(-self.deployment.utilisation(), kind="stable").tolist():
            self._relieve(host)
        self._level()
        self._gather()

    def _may_move(self) -> bool:
        return self.moves < self.limits.moves_max

    def _move(self, process: Process, host: int) -> None:
        self.deployment.take(process)
        self.deployment.put(process, host)
        self.moves += 1

    def _targets(self, process: Process) -> npt.NDArray[np.bool_]:
        """Return which other hosts take a process without an overload, shape (hosts,)."""
        deployment = self.deployment
        fits = deployment.within_limits(process) & deployment.free_slot()
        fits &= deployment.utilisation(process) <= self._high + 1e-9
        fits[deployment.host_of[process]] = False
        return fits

    def _replace(self, process: Process) -> None:
        if process.partition == HEAVY:
            self._attract(process)
        elif self._may_move():
            self._spread(process)

    def _attract(self, process: Process) -> None:
        """Move a heavy process to its traffic if enough of what crosses nodes is saved."""
        if not self._may_move():
            return
        traffic, targets = self.deployment.traffic(process), self._targets(process)
        here = traffic[self.deployment.host_of[process]]
        if not targets.any():
            return
        best = int(np.argmax(np.where(targets, traffic, -np.inf)))
        crossing = float(traffic.sum() - here)
        if traffic[best] > here and traffic[best] - here >= self.limits.gain * crossing:
            self._move(process, best)

    def _spread(self, process: Process) -> bool:
        """Move a light process to the least used host if the busier of the two gets less busy."""
        targets, here = self._targets(process), self.deployment.host_of[process]
        after = self.deployment.utilisation(process)
        if not targets.any():
            return False
        best = int(np.argmin(np.where(targets, after, np.inf)))
        if after[best] >= self.deployment.utilisation()[here] - 1e-9:
            return False
        self._move(process, best)
        return True

    def _relieve(self, host: int) -> None:
        """Bring an overloaded host to its limit, light processes first, then a heavy group."""
        while self.deployment.utilisation()[host] > self._high[host] + 1e-9 and self._may_move():
            processes = self.deployment.on(host)
            light = [p for p in processes if p.partition != HEAVY]
            done = self._give_away(host, light) if light else self._give_group(processes)
            if not done:
                self.notes.append(
                    f"capacity short: {self.deployment.names[host]} stays at "
                    f"{self.deployment.utilisation()[host]:.0%}"
                )
                return

    def _give_away(self, host: int, processes: Sequence[Process]) -> bool:
        """Move the smallest process that ends the overload, else the largest."""
        rising = sorted(processes, key=lambda process: self._weight(process, host))
        excess = self.deployment.utilisation()[host] - self._high[host]
        enough = [p for p in rising if self._weight(p, host) >= excess - 1e-9]
        process = enough[0] if enough else rising[-1]
        targets = self._targets(process)
        if not targets.any():
            return False
        after = self.deployment.utilisation(process)
        self._move(process, int(np.argmin(np.where(targets, after, np.inf))))
        return True

    def _weight(self, process: Process, host: int) -> float:
        after = self.deployment.utilisation(process)[host]
        return float(after - self.deployment.utilisation()[host])

    def _give_group(self, processes: Sequence[Process]) -> bool:
        """Move the heavy processes of one query; if they fit nowhere, the one least attached."""
        groups: dict[int, list[Process]] = {}
        for process in processes:
            groups.setdefault(process.topology, []).append(process)
        for group in groups.values():
            whole = _joined(group)
            targets = self._group_targets(group, whole)
            if targets.any() and self.moves + len(group) <= self.limits.moves_max:
                best = int(np.argmax(np.where(targets, self.deployment.available(), -np.inf)))
                for process in group:
                    self._move(process, best)
                return True
        loose = sorted(processes, key=self._attachment)
        for process in loose:
            targets = self._targets(process)
            if targets.any():
                available = np.where(targets, self.deployment.available(), -np.inf)
                self._move(process, int(np.argmax(available)))
                return True
        return False

    def _group_targets(self, group: Sequence[Process], whole: Process) -> npt.NDArray[np.bool_]:
        deployment = self.deployment
        room = deployment.slots_left() >= len(group)
        fits: npt.NDArray[np.bool_] = deployment.within_limits(whole) & room
        fits &= deployment.utilisation(whole) <= self._high + 1e-9
        fits[deployment.host_of[group[0]]] = False
        return fits

    def _attachment(self, process: Process) -> float:
        """Return a process's traffic with its own host."""
        return float(self.deployment.traffic(process)[self.deployment.host_of[process]])

    def _level(self) -> None:
        """Move light processes from the most to the least used host while they differ much."""
        while self._may_move():
            used = self.deployment.utilisation()
            most = int(np.argmax(used))
            if used[most] - used.min() <= self.limits.imbalance:
                return
            light = [p for p in self.deployment.on(most) if p.partition == LIGHT]
            if not any(self._spread(process) for process in light):
                return

    def _gather(self) -> None:
        heavy = [p for p in self.deployment.host_of if p.partition == HEAVY]
        for process in heavy:
            self._attract(process)


def _joined(group: Sequence[Process]) -> Process:
    return replace(
        group[0],
        executors=np.concatenate([process.executors for process in group]),
        load=np.sum([process.load for process in group], axis=0),
    )
