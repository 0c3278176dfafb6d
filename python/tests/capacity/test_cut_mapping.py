"""`cut` as a mapping: it splits what binds, and leaves no slot full where another is empty."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_mapping import dataflows

from stormcut.capacity.mapping import map_to, mapper
from stormcut.model.errors import Infeasible
from stormcut.placement.algorithms.model_driven.allocation import Dag, Edge, PerformanceModel, mba
from stormcut.placement.algorithms.model_driven.prediction import cpu_by_slot, predict

#: Waits for a server: many threads, little CPU; a slot serves 30 tuples/s.
WAITS = PerformanceModel((1, 5, 20, 40), (2.0, 10.0, 29.0, 30.0), (2, 5, 10, 16), (1, 1, 1, 2))
#: Computes: a slot serves 500 tuples/s.
COMPUTES = PerformanceModel((1,), (500.0,), (100.0,), (1.0,))
DAG = Dag(("compute", "more", "wait"), (Edge("compute", "more"), Edge("more", "wait")))
MODELS = {"compute": COMPUTES, "more": COMPUTES, "wait": WAITS}


def mapped(name, dag, models, rate, machines):
    return map_to(mapper(name, models, dag, rate), mba(models, dag, rate), machines).threads


def carried(models, dag, threads, rate):
    """Return the rate by threads and by CPU."""
    full = cpu_by_slot(models, dag, threads, rate).sum(axis=0).max()
    by_cpu = rate * 100 / full if full else np.inf
    return min(predict(models, dag, threads, shuffle=True).rate, by_cpu)


def test_what_computes_is_spread_beside_what_waits():
    # SAM leaves one slot to both tasks that compute.
    sam, cut = (mapped(each, DAG, MODELS, 119.0, (1,) * 4) for each in ("sam", "cut"))
    assert np.count_nonzero(sam[:2].any(axis=0)) == 1
    assert np.count_nonzero(cut[:2].any(axis=0)) == 2
    assert cut[2].tolist() == [35] * 4


def test_slots_to_spare_carry_more():
    rates = [
        carried(MODELS, DAG, mapped("cut", DAG, MODELS, 119.0, (1,) * slots), 119.0)
        for slots in (4, 6, 8)
    ]
    assert rates == sorted(rates) and rates[-1] > 1.5 * rates[0]


def test_of_slots_as_empty_the_one_with_most_traffic_is_taken():
    model = PerformanceModel((1,), (100.0,), (90.0,), (1.0,))
    dag = Dag(("a", "far", "b"), (Edge("a", "far", 0.01), Edge("a", "b"), Edge("far", "b")))
    models = dict.fromkeys(dag.tasks, model)
    # a and b take 45 % of a slot each, and leave one empty.
    threads = mapped("cut", dag, models, 50.0, (3,))
    assert (threads.sum(axis=0) == 1).all()
    # 1.8 % each: no slot is emptier than another.
    threads = mapped("cut", dag, models, 2.0, (3,))
    assert np.count_nonzero(threads.any(axis=0)) == 1


@given(dataflows(), st.floats(1, 200), st.sampled_from(["sam", "dsm"]))
def test_no_other_mapping_carries_much_more(dataflow, rate, other):
    dag, models = dataflow
    allocation = mba(models, dag, rate)
    assume(0 < allocation.slots <= 12)
    machines = (1,) * allocation.slots
    try:
        ours = mapped("cut", dag, models, rate, machines)
        theirs = mapped(other, dag, models, rate, machines)
    except Infeasible:
        return
    found = carried(models, dag, theirs, rate)
    assert carried(models, dag, ours, rate) >= 0.95 * min(found, rate)


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_too_few_slots_are_refused_by_the_task_that_binds(slots):
    with pytest.raises(Infeasible, match="task wait"):
        mapped("cut", DAG, MODELS, 119.0, (1,) * slots)
