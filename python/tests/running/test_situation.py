from __future__ import annotations

from dataclasses import replace

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


@pytest.mark.parametrize(
    ("load", "part", "held"),
    [
        # Of 200 points on the first node its executors take 240, and its sources send less.
        (60.0, 0.8, True),
        (60.0, 0.95, False),
        (60.0, 1.2, False),
        # What is not full holds nobody back.
        (40.0, 0.8, False),
    ],
)
def test_sources_on_a_full_node_that_send_less_are_held_back(load, part, held):
    running = dealt(topology("t", (4, 4), acker=False), [Slot("n0", 6700), Slot("n1", 6700)])
    profile = profile_of(running, 10.0, rate=lambda source, _: part if source % 2 else 1.0)
    first = {task for worker in running.assignment[:1] for task in worker.executors}
    loads = tuple(
        replace(each, cpu_percent=load) if each.start_task in first else each
        for each in profile.executors
    )
    state = ClusterState(supervisors(2, cpu=200.0), (running,))
    found, _ = situation_of(state, replace(profile, executors=loads))
    assert found.is_held_back == held
