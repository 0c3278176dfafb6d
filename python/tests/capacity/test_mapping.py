"""Properties of allocations and mappings, on random models and dataflows."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stormcut.capacity.cut import WORTH
from stormcut.capacity.mapping import map_acquired, mapper
from stormcut.capacity.options import MAPPINGS
from stormcut.model.errors import Infeasible
from stormcut.placement.algorithms.model_driven.allocation import (
    Dag,
    Edge,
    PerformanceModel,
    lsa,
    mba,
)
from stormcut.placement.algorithms.model_driven.prediction import cpu_by_slot, predict

SIZES = (4, 2, 1)


@st.composite
def models(draw, ascend=False):
    """Draw a model; ``ascend``: more threads never take less."""
    count = draw(st.integers(1, 4))
    steps = st.lists(st.integers(1, 6), min_size=count - 1, max_size=count - 1)
    threads = tuple(np.cumsum([1, *draw(steps)]).tolist())
    rates = draw(st.lists(st.floats(1, 200), min_size=count, max_size=count))
    cpu, memory = (
        draw(st.lists(st.floats(0.1, 100), min_size=count, max_size=count)) for _ in range(2)
    )
    if ascend:
        rates, cpu, memory = sorted(rates), sorted(cpu), sorted(memory)
    return PerformanceModel(threads, tuple(rates), tuple(cpu), tuple(memory))


@st.composite
def dataflows(draw, ascend=False):
    """Draw a dataflow and the model of each task."""
    tasks = [f"t{n}" for n in range(draw(st.integers(1, 5)))]
    edges = tuple(
        Edge(tasks[draw(st.integers(0, at - 1))], tasks[at], draw(st.sampled_from([0.5, 1, 2])))
        for at in range(1, len(tasks))
        if draw(st.booleans())
    )
    return Dag(tuple(tasks), edges), {task: draw(models(ascend)) for task in tasks}


rates = st.floats(0, 300)


@given(dataflows(), rates, st.floats(0, 200), st.sampled_from([lsa, mba]))
def test_more_rate_never_needs_fewer_threads(dataflow, rate, more, allocate):
    dag, known = dataflow
    before, after = (allocate(known, dag, each) for each in (rate, rate + more))
    for small, large in zip(before.tasks, after.tasks, strict=True):
        assert small.total.threads <= large.total.threads


@given(dataflows(ascend=True), rates, st.floats(0, 200), st.sampled_from([lsa, mba]))
def test_more_rate_never_needs_fewer_slots(dataflow, rate, more, allocate):
    dag, known = dataflow
    # Nor does it by a model whose threads take less the more they are; the paper's blob does.
    assert allocate(known, dag, rate).slots <= allocate(known, dag, rate + more).slots


@pytest.mark.parametrize("mapping", MAPPINGS)
@given(dataflows(), st.floats(1, 200))
def test_every_thread_is_mapped_and_no_slot_is_overfilled(mapping, dataflow, rate):
    dag, known = dataflow
    allocation = mba(known, dag, rate)
    assume(0 < allocation.slots <= 30)
    try:
        mapped = map_acquired(mapper(mapping, known, dag, rate), allocation, SIZES)
    except Infeasible:
        # A single thread that takes more than a slot leaves.
        assert mapping != "dsm"
        return
    assert mapped.threads.sum(axis=1).tolist() == [each.total.threads for each in allocation.tasks]
    assert sum(mapped.machines) == mapped.threads.shape[1]
    if mapping == "dsm":
        # Deals in turn, whatever fits.
        held = mapped.threads.sum(axis=0)
        assert held.max() - held.min() <= 1
        return
    used = np.array(
        [
            (row / max(1, each.total.threads))[:, None]
            * [each.total.cpu_percent, each.total.memory_percent]
            for row, each in zip(mapped.threads, allocation.tasks, strict=True)
        ]
    ).sum(axis=0)
    if mapping == "cut":
        assert_slots_carry_it(mapped.threads, dag, known, rate)
    elif mapping == "rsm":
        machine = np.repeat(np.arange(len(mapped.machines)), mapped.machines)
        cpu = np.bincount(machine, used[:, 0])
        assert (cpu <= 100 * np.array(mapped.machines) + 1e-6).all()
        assert (used[:, 1] <= 100 + 1e-6).all()
    else:
        assert_bundles_are_alone(mapped, allocation)


def assert_slots_carry_it(threads, dag, known, rate):
    """By the models, CPU and memory of every slot suffice, and so do its threads."""
    assert (cpu_by_slot(known, dag, threads, rate).sum(axis=0) <= 100 + 1e-6).all()
    memory = np.zeros(threads.shape[1])
    for task, row in zip(dag.order, threads, strict=True):
        memory += [known[task].resources(n)[1] for n in row.tolist()]
    assert (memory <= 100 + 1e-6).all()
    assert predict(known, dag, threads).rate >= rate * (1 - WORTH)


def assert_bundles_are_alone(mapped, allocation):
    """Each full bundle has a slot that nothing else is on."""
    alone = [row for row in mapped.threads.T if np.count_nonzero(row) == 1]
    for at, each in enumerate(allocation.tasks):
        own = [row for row in alone if row[at] == each.full_bundle]
        assert len(own) >= each.bundles
