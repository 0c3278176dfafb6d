from __future__ import annotations

import numpy as np
import pytest
from brain_clusters import dealt, profile_of, situation_of, supervisors, topology

from stormcut.model.cluster import ClusterState, Slot


def test_the_deviation_of_traffic_is_that_of_counts():
    running = dealt(topology("t", (3, 3), acker=False), [Slot(f"n{i}", 6700) for i in range(3)])
    state, random = ClusterState(supervisors(3), (running,)), np.random.default_rng(0)

    def measured(count):
        profile = profile_of(running, rate=lambda *_: count(20) / 60)
        at, here = situation_of(state, profile)
        return at.travels(here), at.deviation(here)

    travels = [measured(random.poisson)[0] for _ in range(500)]
    assert measured(lambda mean: mean)[1] == pytest.approx(np.std(travels), rel=0.15)
