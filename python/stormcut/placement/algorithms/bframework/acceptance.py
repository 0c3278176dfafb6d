"""Bframework's monitor: what the online scheduler may act on, how long it looks, how it rests.

RECONSTRUCTED, as all of Bframework. The monitor calls for a period of the online scheduler if a
node is overloaded, if nodes are used too unequally, or if what a period would do takes enough
traffic from between nodes: these are what its steps answer.

- B-13: what would only save traffic must do so in ``k_stable`` measurements in a row. The
  specification has that for operators that change partition; but a brain's declared volumes are
  measured ones, so that such a change shows only by what it saves. An overload and an imbalance,
  as of a node that joins, are acted on at once.
- B-14: after an applied change there is none for ``t_cool`` seconds.
- The predicted latency is left out, as in `online`.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019, section 4.
"""

from __future__ import annotations

import numpy as np

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import executor_nodes, inter_node_tuples_per_second, moves_executors
from stormcut.placement.acceptance import (
    SLIGHT,
    AcceptanceVerdict,
    Condition,
    Imbalance,
    MoveTiming,
    NoMove,
    Overuse,
    Saving,
    Unconfirmed,
    pause,
)
from stormcut.placement.algorithms.bframework.assigner import Process
from stormcut.placement.algorithms.bframework.deployment import Deployment
from stormcut.placement.algorithms.bframework.online import high
from stormcut.placement.algorithms.bframework.partitioner import UNKNOWN
from stormcut.placement.algorithms.bframework.place import Options
from stormcut.placement.packing.groups import fold


def condition(
    problem: Problem, present: Placement, proposed: Placement, options: Options
) -> Condition | None:
    """Return what the monitor reports: an overload, else an imbalance, else what can be saved."""
    deployment = _deployed(problem, present, options)
    used, most = deployment.utilisation(), high(deployment, options.overload)
    worst = int(np.argmax(used - most))
    if used[worst] > most[worst] + SLIGHT:
        return Overuse(deployment.names[worst], float(used[worst]), float(most[worst]))
    busiest, idlest = int(np.argmax(used)), int(np.argmin(used))
    difference = float(used[busiest] - used[idlest])
    if difference > options.imbalance:
        names = deployment.names
        return Imbalance(names[busiest], names[idlest], difference, options.imbalance)
    saving = _saving(problem, present, proposed, options)
    return saving if saving.is_enough else None


def verdict(
    problem: Problem,
    present: Placement,
    proposed: Placement,
    moment: MoveTiming,
    options: Options,
) -> AcceptanceVerdict:
    """Return whether a condition holds, long enough if it is one of traffic, and it is time."""
    if not moves_executors(problem, present, proposed):
        return AcceptanceVerdict(False, NoMove.STAYS)
    reason = condition(problem, present, proposed, options)
    if reason is None:
        return AcceptanceVerdict(False, _saving(problem, present, proposed, options))
    if isinstance(reason, Saving) and moment.held < options.k_stable:
        return AcceptanceVerdict(False, Unconfirmed(moment.held, options.k_stable))
    too_early = pause(moment, options.t_cool)
    return AcceptanceVerdict(False, too_early) if too_early else AcceptanceVerdict(True, reason)


def _deployed(problem: Problem, present: Placement, options: Options) -> Deployment:
    """Return the deployment of a placement, all that a host holds as one process."""
    deployment = Deployment(problem, fold(problem), options.utilisation)
    nodes = executor_nodes(problem, present)
    for host, node in enumerate(deployment.able.ordinals.tolist()):
        members = np.flatnonzero(nodes == node)
        load = deployment.loads[members].sum(axis=0)
        deployment.put(Process(0, UNKNOWN, members, load), host)
    return deployment


def _saving(problem: Problem, present: Placement, proposed: Placement, options: Options) -> Saving:
    now, then = (inter_node_tuples_per_second(problem, each) for each in (present, proposed))
    return Saving(now, then, options.gain)
