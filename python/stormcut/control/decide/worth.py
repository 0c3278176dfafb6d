"""Whether another placement of a running topology is worth its restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stormcut.control.decide.decision import (
    LessHeadroom,
    LessTraffic,
    LittleGained,
    LittleReached,
    LittleSaved,
    MoreHeadroom,
    Reason,
    Worth,
)
from stormcut.model.placement import Placement
from stormcut.model.problem import CORE_PERCENT
from stormcut.objective.cut import executor_nodes
from stormcut.objective.headroom import Bottleneck, Headroom, headroom
from stormcut.objective.resources import CPU, EXECUTOR, uses
from stormcut.objective.throughput import predict_throughput
from stormcut.profile.drift import LEAST
from stormcut.running.situation import Situation

#: Loads may be off by so much before they are told again: `stormcut.profile.drift.LEAST`.
NOISE = LEAST
#: A gain in head-room must be so many standard deviations (95 % of a normal one): the best of many
#: places looks better than it is, by what is off.
SURE_GAIN = 1.64
#: The units of traffic.
BYTES, TUPLES = "bytes/s", "tuples/s"


def worth(situation: Situation, placement: Placement) -> Worth:
    """Return what a placement is worth in its situation."""
    room: Headroom = headroom(situation.problem, placement)
    value = math.inf if room.value is None else room.value
    unit = BYTES if situation.has_sizes else TUPLES
    noise = 0.0 if room.bottleneck is None else _noise(situation, placement, room.bottleneck)
    travels, deviation = situation.travels(placement), situation.deviation(placement)
    burden = _burden(situation, placement) if travels else 0.0
    reached = _predict_reach(situation, placement) if situation.is_held_back else ()
    return Worth(value, room.bottleneck, travels, unit, deviation, noise, burden, reached)


def _predict_reach(situation: Situation, placement: Placement) -> tuple[float, ...]:
    """Return what the sources of each topology reach for ever, empty if the model cannot tell."""
    problem = situation.problem
    predicted = predict_throughput(problem, placement)
    if predicted is None:
        return ()
    of = problem.executor_topology[predicted.sources]
    rates = np.bincount(of, predicted.rates * predicted.carried, len(problem.topologies))
    return tuple(rates.tolist())


def _burden(situation: Situation, placement: Placement) -> float:
    """Return which share of nodes' CPU travelling takes, or of the fullest link, if that is more.

    Of a node whose CPU nobody states, a core counts.
    """
    used = uses(situation.problem, placement)
    load = {use.kind: use.load for use in used}
    nodes = executor_nodes(situation.problem, placement)
    ran = np.unique(nodes[(nodes >= 0) & (nodes < len(situation.problem.nodes))])
    offered = sum(
        situation.problem.nodes[node].cpu_percent or CORE_PERCENT for node in ran.tolist()
    )
    transfer = max(float(load[CPU].sum() - load[EXECUTOR].sum()), 0.0)
    links = [float(use.share.max(initial=0.0)) for use in used if use.kind not in (CPU, EXECUTOR)]
    return min(max(transfer / max(offered, 1e-9), *links), 1.0)


def _noise(situation: Situation, placement: Placement, bottleneck: Bottleneck) -> float:
    """Return the standard deviation of a head-room, as a share of it.

    The loads of executors that share the bottleneck are off independently of one another.
    """
    ordinals = [n for n, node in enumerate(situation.problem.nodes) if node.id == bottleneck.name]
    on_node = np.isin(executor_nodes(situation.problem, placement), ordinals)
    loads = situation.problem.executor_cpu[on_node]
    squares = float((loads**2).sum())
    return NOISE * math.sqrt(squares) / float(loads.sum()) if squares > 0 else NOISE


@dataclass(frozen=True)
class WorthVerdict:
    """Whether a move is worth it, and why."""

    moves: bool
    reason: Reason


def verdict(now: Worth, then: Worth, least: float, enough: float) -> WorthVerdict:
    """Return whether a placement is better by what counts: head-room first, then traffic.

    A move must raise the head-room by the share ``least``, and by more than noise may, or lower the
    traffic by it, and by more than chance may, and leave as much head-room; what is beyond
    ``enough`` does not count. So every move is to a better place in one order.

    Where a full node holds sources back, others send more in their place, and head-room says little
    of what they send together. There a move must also raise what sources reach, of one topology at
    least, by the share ``least``.
    """
    room, room_then = min(now.headroom, enough), min(then.headroom, enough)
    chance = SURE_GAIN * math.hypot(now.noise, then.noise)
    if room_then > room * (1 + max(least, chance)):
        little = LittleReached(now, then, least)
        gains = little.growth > 1 + least
        return WorthVerdict(gains, MoreHeadroom(now, then) if gains else little)
    if room_then < room * (1 - 1e-9):
        return WorthVerdict(False, LessHeadroom(now, then))
    saving = LittleSaved(now, then, max(least, NOISE))
    if saving.share > saving.chance and saving.share >= saving.least:
        return WorthVerdict(True, LessTraffic(now, then))
    if room_then > room * (1 + least):
        return WorthVerdict(False, LittleGained(now, then, chance))
    return WorthVerdict(False, saving)
