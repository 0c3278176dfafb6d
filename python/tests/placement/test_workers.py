from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import chain, nodes

from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.metrics import workers_restarted
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.slots.workers import onto_slots, share_slots, split_into_workers


@pytest.mark.parametrize(
    ("tasks", "limit", "workers"), [(10, 5, 2), (15, 5, 3), (4, 2, 2), (6, 6, 1)]
)
def test_worker_counts_of_the_thesis(tasks, limit, workers):
    """Load prediction and taxi (1.6 here), the examples of sections 7.4 and 8.3."""
    graph = traffic_graph(
        Problem(nodes(1), (chain([tasks // 2, tasks - tasks // 2]),)).traffic, tasks
    )
    result = split_into_workers(graph, np.zeros(tasks, dtype=np.int64), 4, limit, 1)
    counts = np.bincount(result)
    assert len(counts) == workers
    assert counts.max() <= limit


@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(0, 6), st.integers(1, 5))
def test_slots_are_shared_so_that_the_fullest_worker_is_least_full(counts, spare, limit):
    slots = len(counts) + spare
    given_ = share_slots(np.array(counts), slots, limit)
    assert sum(given_) <= slots
    assert all(1 <= got <= -(-count // limit) for count, got in zip(counts, given_, strict=True))
    if sum(given_) < slots:
        assert all(got == -(-count // limit) for count, got in zip(counts, given_, strict=True))


@given(st.data())
def test_slots_are_kept_so_that_the_fewest_workers_restart(data):
    size = data.draw(st.integers(1, 6))
    current = data.draw(st.lists(st.integers(-1, 3), min_size=size, max_size=size))
    workers = np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
    workers = np.unique(workers, return_inverse=True)[1]
    problem = Problem(nodes(1), (chain([size]),), Placement(np.array(current)))
    chosen = onto_slots(problem, np.arange(size), workers, np.arange(4))
    assert len(set(chosen.tolist())) == workers.max() + 1
    best = min(
        workers_restarted(np.array(current), np.array(slots)[workers])
        for slots in permutations(range(4), int(workers.max()) + 1)
    )
    assert workers_restarted(np.array(current), chosen[workers]) == best
