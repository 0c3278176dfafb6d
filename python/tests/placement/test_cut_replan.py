from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import problems
from test_cut_construct import cluster, line

from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.cut.construction import constructed
from stormcut.placement.algorithms.cut.instance import instance
from stormcut.placement.algorithms.cut.least_traffic import replan
from stormcut.placement.algorithms.cut.model import cost_at, model_of
from stormcut.placement.algorithms.cut.options import Options

PRICES = (1.0, 0.01, 5.0)


def replanned(asked, prices=PRICES, effort=1.0):
    return replan(asked, prices, np.random.default_rng(1), effort)


def moved(asked, counts):
    """Return how many executors that ran left their node."""
    return int(np.maximum(asked.start - counts, 0).sum())


def after_loss(asked, counts, lost):
    """Return the instance where some nodes of a placement are gone."""
    limits, slots, start = asked.limits.copy(), asked.slots.copy(), counts.copy()
    limits[lost], slots[lost], start[:, lost] = 0.0, 0, 0
    return replace(asked, limits=limits, slots=slots, start=start)


@pytest.fixture(scope="module")
def running():
    """An instance with 60 nodes and a placement of it."""
    topologies = tuple(line(f"t{i:02d}", (20, 30, 25)) for i in range(10))
    asked = instance(Problem(cluster(60), topologies), Options())
    counts = constructed(asked, np.random.default_rng(1), 1.0)
    return asked, counts


@pytest.mark.slow
def test_only_executors_of_lost_nodes_move(running):
    asked, counts = running
    lost = np.flatnonzero(counts.any(axis=0))[:4]
    rest = after_loss(asked, counts, lost)
    found = replanned(rest)
    assert rest.admits(found)
    assert (found.sum(axis=1) == asked.groups.size).all()
    # Where nothing else pays for its restart, nothing else moves.
    assert moved(rest, replanned(rest, (1.0, 0.01, 1e9))) == 0


def test_whole_and_within_limits_and_expensive_to_restart_is_left_alone(running):
    asked, counts = running
    rest = replace(asked, start=counts)
    assert (replanned(rest, (1.0, 0.01, 1e9)) == counts).all()


def test_a_move_pays_or_is_not_made():
    """One executor sits apart from the one that it exchanges 10 tuples/s with."""
    topology = replace(line("t", (1, 1)), streams=(Stream("c0", "c1", 10.0, "shuffle"),))
    asked = instance(Problem(cluster(2, 1), (topology,)), Options())
    asked = replace(asked, start=np.eye(2, dtype=np.int64))
    # Two workers would change: one ends, one has an executor more.
    assert moved(asked, replanned(asked, (1.0, 0.0, 4.9))) == 1
    assert moved(asked, replanned(asked, (1.0, 0.0, 5.1))) == 0


def test_executors_change_places_where_there_is_no_room_to_move():
    topology = line("t", (1, 1), cpu=800.0)
    other = line("u", (1, 1), cpu=800.0)
    asked = instance(Problem(cluster(2, 1), (topology, other)), Options())
    asked = replace(asked, start=np.array([[1, 0], [0, 1], [1, 0], [0, 1]]))
    found = replanned(asked, (1.0, 0.0, 0.1))
    assert asked.groups.local(found) == pytest.approx(asked.groups.total)


def test_others_make_room_for_what_fits_nowhere():
    """Two small executors hold half of a node each; the large one needs one of them whole."""
    small, large = (
        Component.uniform("s", 2, "spout", 60.0),
        Component.uniform("l", 1, "bolt", 100.0),
    )
    nodes = tuple(Node(f"n{i}", (6700,), None, 120.0) for i in range(2))
    asked = instance(Problem(nodes, (Topology("t", (small, large)),)), Options())
    asked = replace(asked, start=np.array([[1, 1], [0, 0]]))
    found = replanned(asked)
    assert asked.admits(found)
    assert moved(asked, found) == 1


def test_none_if_there_is_no_way():
    parts = (Component.uniform("large", 2, "spout", 100.0),)
    asked = instance(Problem(cluster(2, 1, cpu_percent=90.0), (Topology("t", parts),)), Options())
    asked = replace(asked, start=np.zeros((1, 2), dtype=np.int64))
    assert replanned(asked) is None


def test_what_a_limit_forbids_moves_out(running):
    asked, counts = running
    crowded = int(counts.sum(axis=0).argmax())
    limits = asked.limits.copy()
    limits[crowded, 0] /= 2
    rest = replace(asked, limits=limits, start=counts)
    found = replanned(rest, (1.0, 0.0, 1e9))
    assert rest.admits(found)
    assert found[:, crowded].sum() < counts[:, crowded].sum()
    # Workers that nothing had to enter or leave are as they were.
    same = (found == counts).all(axis=0)
    assert same.sum() >= len(same) - 6


@given(problems(), st.sampled_from((0.0, 1.0, 50.0)), st.randoms(use_true_random=False))
def test_complete_within_limits_and_no_dearer_than_a_feasible_start(problem, price, random):
    if not problem.executor_count:
        return
    asked = instance(problem, Options())
    if not len(asked.slots):
        return
    start = np.zeros(asked.shape, dtype=np.int64)
    for group, size in enumerate(asked.groups.size.tolist()):
        for _ in range(size):
            start[group, random.randrange(len(asked.slots))] += random.random() < 0.8
    asked = replace(asked, start=start)
    prices = (1.0, 0.01, price)
    found = replanned(asked, prices, 0.1)
    if found is None:
        return
    assert asked.admits(found)
    assert (found.sum(axis=1) == asked.groups.size).all()
    if asked.admits(start) and start.sum() == asked.groups.size.sum():
        model = model_of(asked, prices)
        assert cost_at(model, found) <= cost_at(model, start) + 1e-6
