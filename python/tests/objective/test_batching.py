"""Batches between workers."""

import numpy as np
import pytest

from stormcut.objective.batching import batches, batches_per_tuple


def test_few_tuples_travel_one_by_one_and_many_in_as_many_batches_as_there_can_be():
    assert batches(np.array([0.0, 0.001, 1e9]), 25.0) == pytest.approx([0.0, 0.001, 25.0], rel=1e-4)
    assert batches(np.array([7.0]), np.inf) == 7.0


def test_pairs_of_the_same_workers_share_batches():
    source, target = np.array([0, 0, 1]), np.array([1, 1, 0])
    each = batches_per_tuple(source, target, np.array([10.0, 15.0, 25.0]), 25.0)
    assert each == pytest.approx([0.5, 0.5, 0.5])


def test_tuples_of_executors_that_run_nowhere_share_none():
    source, target = np.array([0, 1, -1]), np.array([1, -1, 1])
    each = batches_per_tuple(source, target, np.array([25.0, 1000.0, 1000.0]), 25.0)
    assert each[0] == pytest.approx(0.5)


def test_no_pairs_are_no_error():
    nothing = np.zeros(0, dtype=np.int64)
    assert batches_per_tuple(nothing, nothing, np.zeros(0), 25.0).shape == (0,)
