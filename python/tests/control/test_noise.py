"""Profiles that differ by noise alone: no topology moves back and forth between equal places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brain_clusters import dealt, profile_of, supervisors, topology
from governed import Stage

from stormcut.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, Slot

NOISE, PROFILES = 0.1, 20


def noisy(profile, second, random):
    def off():
        return float(np.exp(random.normal(0, NOISE)))

    return replace(
        profile,
        to_epoch_s=second,
        executors=tuple(replace(e, cpu_percent=e.cpu_percent * off()) for e in profile.executors),
        traffic=tuple(
            replace(pair, tuples_per_second=pair.tuples_per_second * off())
            for pair in profile.traffic
        ),
    )


#: Points of CPU of an executor, Mbit/s of a link. One in between in every run, the ends in `full`.
LOADS = [
    pytest.param(10.0, "2", marks=pytest.mark.full),
    (20.0, "2"),
    pytest.param(38.0, "1000", marks=pytest.mark.full),
]


@pytest.mark.slow
@pytest.mark.parametrize(("cpu", "mbit"), LOADS)
def test_noise_moves_nothing_back_and_forth(cpu, mbit):
    """Before: up to 8 moves and 24 restarts."""
    random = np.random.default_rng(1)
    slots = [Slot(f"n{n}", 6700) for n in range(4)]
    running = dealt(topology("a", (4, 6, 6), acker=False, workers=4), slots)
    nodes = supervisors(4, cpu=200.0, meta={"stormcut.link.mbit": mbit})
    known = profile_of(running, cpu, lambda s, t: 100.0 + 10 * ((s * 7 + t) % 5))
    traffic = tuple(replace(pair, bytes_per_tuple=100.0) for pair in known.traffic)
    known = replace(known, traffic=traffic)
    stage = Stage(ClusterState(nodes, (running,)), {"a": known}, Policy(Mode.AUTOMATIC))
    moves = 0
    for number in range(PROFILES):
        stage.store.known = {"a": noisy(known, 200 + number, random)}
        for _ in range(2):
            moves += bool(stage.round(200))
    assert moves <= 2
