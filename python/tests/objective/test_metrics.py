from collections import defaultdict

import numpy as np
from hypothesis import given
from problem_strategies import placed_problems

from stormcut.model.placement import Placement
from stormcut.objective.metrics import measure, workers_restarted


@given(placed_problems())
def test_counts_follow_their_definitions(given_):
    problem, placement = given_
    before, after = defaultdict(set), defaultdict(set)
    for executor, (old, new) in enumerate(
        zip(problem.current_slots().tolist(), placement.slots.tolist(), strict=True)
    ):
        before[old].add(executor)
        after[new].add(executor)
    ran_nowhere = before.pop(-1, set())
    after.pop(-1, None)
    changed = [
        slot
        for slot in {*before, *after}
        if before[slot] != after[slot] and (before[slot] or not after[slot] <= ran_nowhere)
    ]
    used = {slot for slot in placement.slots.tolist() if slot >= 0}
    metrics = measure(problem, placement)
    assert metrics.workers_restarted == len(changed)
    assert metrics.workers_used == len(used)
    assert metrics.nodes_used == len({problem.slot_ids[slot][0] for slot in used})


@given(placed_problems())
def test_leaving_everything_where_it_is_restarts_nothing(given_):
    problem, _ = given_
    assert measure(problem, Placement(problem.current_slots())).workers_restarted == 0


def test_starting_executors_that_ran_nowhere_is_no_restart():
    assert workers_restarted(np.array([-1, -1, 0]), np.array([2, 1, 0])) == 0


def test_a_running_worker_that_a_new_executor_joins_restarts():
    assert workers_restarted(np.array([-1, 0, 1]), np.array([0, 0, 1])) == 1


def test_a_move_restarts_the_worker_left_and_the_worker_joined():
    assert workers_restarted(np.array([0, 0, 1]), np.array([0, 2, 1])) == 2
