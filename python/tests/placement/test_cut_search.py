from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import microbenchmark

from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.cut import search as search_module
from stormcut.placement.algorithms.cut.coarsening import coarsen, expand, of_nodes, part
from stormcut.placement.algorithms.cut.instance import instance
from stormcut.placement.algorithms.cut.loops import (
    EMPTIEST,
    _tabu_search,
    ejected,
    inserted,
    tabu_search,
)
from stormcut.placement.algorithms.cut.model import (
    blank,
    cost_at,
    interchangeable,
    model_of,
    state_at,
)
from stormcut.placement.algorithms.cut.options import Options
from stormcut.placement.algorithms.cut.search import search

PRICES = (1.0, 0.25, 0.0)
RACKS = ("r0", "r1")


@st.composite
def tiny(draw, most=6):
    """Problems with at most ``most`` executors and three nodes, tight more often than not."""
    parts, left = [], most
    for t in range(draw(st.integers(1, 2))):
        sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        sizes = sizes[: max(1, left // 2)]
        names = [f"c{i}" for i in range(len(sizes))]
        load = st.integers(1, 4).map(lambda n: 10.0 * n)
        own = tuple(
            Component.uniform(name, size, cpu_percent=draw(load), memory_mb=draw(load))
            for name, size in zip(names, sizes, strict=True)
        )
        left -= sum(part.executors for part in own)
        ends = st.sampled_from(names)
        rates = st.integers(1, 9).map(float)
        streams = st.lists(st.builds(Stream, ends, ends, rates), max_size=3, unique_by=_ends)
        parts.append(Topology(f"t{t}", own, tuple(draw(streams))))
        if left < 1:
            break
    limit = st.integers(3, 12).map(lambda n: 10.0 * n)
    nodes = tuple(
        Node(
            f"n{i}",
            tuple(range(draw(st.integers(1, 2)))),
            draw(st.sampled_from(RACKS)),
            draw(limit),
            draw(limit),
            draw(st.one_of(st.none(), st.integers(1, 5))),
        )
        for i in range(draw(st.integers(1, 3)))
    )
    return Problem(nodes, tuple(parts))


def _ends(stream):
    return stream.source, stream.target


def spreads(size, nodes):
    """Yield every way to spread ``size`` executors over nodes."""
    for counts in product(range(size + 1), repeat=nodes):
        if sum(counts) == size:
            yield counts


def brute_force(asked, model):
    """Return the least cost of all feasible placements, None if there is none."""
    nodes = len(asked.slots)
    ways = [list(spreads(int(size), nodes)) for size in asked.groups.size]
    feasible = [np.array(each) for each in product(*ways) if asked.admits(np.array(each))]
    return min((cost_at(model, counts) for counts in feasible), default=None)


def found_by_search(problem, seed=1, prices=PRICES, starts=(), effort=1.0):
    asked = instance(problem, Options())
    counts = search(asked, prices, effort, np.random.default_rng(seed), list(starts))
    return asked, model_of(asked, prices), counts


@given(tiny())
def test_equals_brute_force_on_tiny_problems(problem):
    asked, model, counts = found_by_search(problem, effort=0.1)
    best = brute_force(asked, model)
    if best is None:
        assert counts is None
        return
    assert counts is not None
    assert asked.admits(counts)
    assert (counts.sum(axis=1) == asked.groups.size).all()
    assert cost_at(model, counts) == pytest.approx(best)


def random_start(problem, seed):
    """Return an instance, its model, and a feasible placement made by greedy insertion."""
    asked = instance(problem, Options())
    model = model_of(asked, PRICES)
    order = np.random.default_rng(seed).permutation(len(asked.groups.size))
    empty = np.zeros(asked.shape, dtype=np.int64)
    counts = inserted(model, empty, order, EMPTIEST, np.array([seed + 1], dtype=np.uint64))
    return asked, model, counts


@given(tiny(most=12), st.integers(0, 99))
def test_never_worse_than_its_starts(problem, seed):
    asked, model, start = random_start(problem, seed)
    if start.sum() < asked.groups.size.sum():
        return
    counts = search(asked, PRICES, 0.1, np.random.default_rng(seed), [start])
    assert asked.admits(counts)
    assert cost_at(model, counts) <= cost_at(model, start) + 1e-9


@given(tiny(most=12), st.integers(0, 99))
def test_the_tabu_search_keeps_its_books(problem, seed):
    _, model, start = random_start(problem, seed)
    state, best = blank(model, start), np.empty_like(start)
    random = np.array([seed + 1], dtype=np.uint64)
    _tabu_search(model, state, 1e3, 1e-9, random, best)
    assert cost_at(model, best) <= cost_at(model, start) + 1e-9
    afresh = state_at(model, state.counts)
    for name, running, recomputed in zip(state._fields, state, afresh, strict=True):
        np.testing.assert_allclose(running, recomputed, atol=1e-6, err_msg=name)


@given(tiny(most=12), st.integers(0, 99))
def test_the_tabu_search_stays_within_limits(problem, seed):
    asked, model, start = random_start(problem, seed)
    better = tabu_search(model, start, 1e4, 1e-9, np.array([seed + 1], dtype=np.uint64))
    assert (better.sum(axis=1) == start.sum(axis=1)).all()
    used = better.T @ asked.load
    assert (used <= asked.bounds).all()


@given(tiny(most=12), st.integers(0, 99))
def test_contraction_keeps_totals(problem, seed):
    _, model, start = random_start(problem, seed)
    random = np.array([seed + 1], dtype=np.uint64)
    complete = start.sum() == model.size.sum()
    cells = start if complete else model.size[:, None]
    level = coarsen(model, cells, 1.0, random)
    sizes = level.model.size
    assert (expand(level.members, level.cells, len(model.size)) == cells).all()
    np.testing.assert_allclose(sizes @ level.model.load, model.size @ model.load)
    if complete:
        coarse = of_nodes(level.cells, np.arange(start.shape[1]), start.shape[1])
        # What clusters have inside is local wherever they are, and counted on neither side.
        assert cost_at(model, start) <= cost_at(level.model, coarse) + 1e-9


@given(tiny(most=12), st.integers(0, 99))
def test_a_part_costs_what_it_costs_in_the_whole(problem, seed):
    _, model, start = random_start(problem, seed)
    if start.shape[1] < 2:
        return
    nodes = np.array([0, 1])
    # Without racks: the rest of a rack pulls too, which the part does not see.
    model = model._replace(prices=np.array([1.0, 0.0, 0.0]))
    model_inside, groups, inside = part(model, start, nodes)
    assert (start[np.ix_(groups, nodes)] == inside).all()
    changed = tabu_search(model_inside, inside, 1e3, 1e-9, np.array([seed + 1], dtype=np.uint64))
    whole = start.copy()
    whole[np.ix_(groups, nodes)] = changed
    difference = cost_at(model_inside, changed) - cost_at(model_inside, inside)
    assert cost_at(model, whole) - cost_at(model, start) == pytest.approx(difference, abs=1e-9)


def packed(seed, slack, nodes=8, held=5):
    """Return a problem made from a placement that fills its nodes but for a share ``slack``."""
    random = np.random.default_rng(seed)
    cpu = random.integers(5, 40, (nodes, held)).astype(float)
    memory = random.integers(50, 400, (nodes, held)).astype(float)
    hosts = tuple(
        Node(f"n{i}", (1, 2), None, c * (1 + slack), m * (1 + slack))
        for i, (c, m) in enumerate(zip(cpu.sum(axis=1), memory.sum(axis=1), strict=True))
    )
    loads = random.permutation(np.stack((cpu.ravel(), memory.ravel()), axis=1))
    parts = tuple(
        Component(f"c{i}", "bolt", len(own), own[:, 0], own[:, 1])
        for i, own in enumerate(np.array_split(loads, nodes))
    )
    streams = tuple(Stream(f"c{i}", f"c{i + 1}", 100.0) for i in range(nodes - 1))
    return Problem(hosts, (Topology("t", parts, streams),))


@pytest.mark.parametrize("seed", range(5))
def test_ejection_packs_what_nearly_fills_all_nodes(seed):
    asked = instance(packed(seed, 0.06), Options())
    model = model_of(asked, PRICES)
    nothing = np.zeros(asked.shape, dtype=np.int64)
    random = np.array([seed + 1], dtype=np.uint64)
    counts = ejected(model, nothing, random)
    assert asked.admits(counts)
    assert (counts.sum(axis=1) == asked.groups.size).all()


def test_who_does_not_insist_gives_up_at_the_first_placement_that_is_not_completed(monkeypatch):
    """Balances that cannot be had took 30 of the 40 s that 20 topologies of 250 executors took."""
    nodes = tuple(Node(f"n{i}", (0,), cpu_percent=15.0) for i in range(4))
    parts = (Component.uniform("c", 5, "spout", cpu_percent=10.0),)
    asked = instance(Problem(nodes, (Topology("t", parts, ()),)), Options())
    tried = []
    kept = search_module.ejected
    monkeypatch.setattr(search_module, "ejected", lambda *a: tried.append(a) or kept(*a))
    tries = []
    for insists in (False, True):
        tried.clear()
        random = np.random.default_rng(1)
        assert search(asked, PRICES, 0.1, random, [], insists=insists) is None
        tries.append(len(tried))
    assert tries[0] == 1 < tries[1]


def test_the_same_seed_gives_the_same_placement():
    problem = packed(1, 0.2)
    first, second = (found_by_search(problem, 7, effort=0.25)[2] for _ in range(2))
    assert (first == second).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "layout, executors, cluster, optimum",
    [
        ("linear", 22, (6,) * 3 + (4,) * 3 + (2,) * 4, 12),
        ("diamond", 32, (4,) * 10, 168),
        # Its optimum fills three nodes to the brim, though almost as good ones are everywhere.
        ("star", 18, (6,) * 3 + (4,) * 3 + (2,) * 4, 38),
    ],
)
def test_reaches_proven_optima(layout, executors, cluster, optimum):
    asked, _, counts = found_by_search(microbenchmark(layout, executors, cluster))
    assert asked.groups.total - asked.groups.local(counts) == optimum


def test_nodes_are_alike_only_if_nothing_tells_them_apart():
    node = Node("n0", (1, 2), "r0", 100.0, None, 4)
    others = (
        replace(node, id="n1"),
        replace(node, id="n2", rack="r1"),
        replace(node, id="n3", ports=(1,)),
        replace(node, id="n4", cpu_percent=200.0),
    )
    topology = Topology("t", (Component.uniform("c", 2),), ())
    problem = Problem((node, *others), (topology,))
    by_rack = interchangeable(model_of(instance(problem, Options()), PRICES)).tolist()
    assert [by_rack.count(label) for label in by_rack] == [2, 2, 1, 1, 1]
    flat = interchangeable(model_of(instance(problem, Options()), (1.0, 0.0, 0.0))).tolist()
    assert [flat.count(label) for label in flat] == [3, 3, 3, 1, 1]
    pinned = instance(problem, Options(pin=("t/c[0]@n0",)))
    assert len(set(interchangeable(model_of(pinned, (1.0, 0.0, 0.0))).tolist())) == 4
