"""Figures of Shukla and Simmhan (2018), or derived from their models by hand and by script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_driven_dataflows import AZURE_TASKS, DIAMOND, FINANCE, GRID, LINEAR, MICRO, STAR, TRAFFIC

from stormcut.model.errors import InvalidInput
from stormcut.placement.algorithms.model_driven.allocation import (
    Dag,
    Edge,
    PerformanceModel,
    acquire,
    lsa,
    mba,
)

TASKS = ("blob", "table", "parse", "pi", "file")


def row(allocation):
    """Return threads/CPU/memory of each task, as tables print them."""
    by_task = {each.task: each.total for each in allocation.tasks}
    return [
        f"{share.threads}/{share.cpu_percent:.2f}/{share.memory_percent:.2f}"
        for share in (by_task[task] for task in TASKS)
    ]


VECTORS = [
    (
        (LINEAR, 50, lsa),
        "25/168.25/598.00 17/17.00/19.17 1/13.66/5.75 1/43.98/0.99 1/0.05/0.01",
        (242.9, 623.9, 7),
    ),
    (
        (LINEAR, 50, mba),
        "80/154.18/128.74 70/111.22/103.45 1/13.66/5.75 1/43.98/0.99 1/0.05/0.01",
        (323.1, 238.9, 4),
    ),
    (
        (LINEAR, 100, lsa),
        "50/336.50/1196.00 34/34.00/38.33 1/27.32/11.49 1/87.95/1.97 1/0.10/0.02",
        (485.9, 1247.8, 13),
    ),
    (
        (LINEAR, 100, mba),
        "170/314.69/326.30 160/226.53/209.20 1/27.32/11.49 1/87.95/1.97 1/0.10/0.02",
        (656.6, 549.0, 7),
    ),
    (
        (LINEAR, 200, lsa),
        "100/673.00/2392.00 67/68.00/76.67 1/54.64/22.99 2/175.90/3.94 1/0.19/0.04",
        (971.7, 2495.6, 25),
    ),
    (
        (LINEAR, 200, mba),
        "330/654.18/628.74 300/500.00/500.00 1/54.64/22.99 3/179.16/101.77 1/0.19/0.04",
        (1388.2, 1253.5, 14),
    ),
    (
        (DIAMOND, 50, mba),
        "80/154.18/128.74 70/111.22/103.45 1/13.66/5.75 3/179.16/101.77 1/0.05/0.01",
        (458.3, 339.7, 5),
    ),
    (
        (DIAMOND, 100, mba),
        "170/314.69/326.30 160/226.53/209.20 1/27.32/11.49 7/361.57/301.38 1/0.10/0.02",
        (930.2, 848.4, 10),
    ),
    (
        (DIAMOND, 200, mba),
        "330/654.18/628.74 300/500.00/500.00 1/54.64/22.99 15/726.39/700.59 1/0.19/0.04",
        (1935.4, 1852.4, 20),
    ),
    (
        (STAR, 100, mba),
        "170/314.69/326.30 160/226.53/209.20 1/54.64/22.99 3/179.16/101.77 1/0.19/0.04",
        (775.2, 660.3, 8),
    ),
    (
        (STAR, 200, mba),
        "330/654.18/628.74 300/500.00/500.00 2/124.59/110.34 7/361.57/301.38 1/0.39/0.08",
        (1640.7, 1540.5, 17),
    ),
    (
        (LINEAR, 280, mba),
        "470/914.69/926.30 420/700.00/700.00 1/76.49/32.18 5/252.77/201.18 1/0.27/0.06",
        (1944.2, 1859.7, 20),
    ),
]


@pytest.mark.parametrize(("case", "tasks", "totals"), VECTORS)
def test_threads_and_resources_of_the_micro_dataflows(case, tasks, totals):
    dag, rate, allocate = case
    allocation = allocate(AZURE_TASKS, dag, rate)
    assert row(allocation) == tasks.split()
    sums = (round(allocation.cpu_percent, 1), round(allocation.memory_percent, 1))
    assert (*sums, allocation.slots) == totals


@pytest.mark.parametrize(
    ("dag", "slots", "memory"),
    [(DIAMOND, (7, 13, 26), (626.9, 1253.7, 2507.5)), (STAR, (7, 13, 26), (630.7, 1261.3, 2522.6))],
)
def test_linear_scaling_of_the_other_micro_dataflows(dag, slots, memory):
    allocations = [lsa(AZURE_TASKS, dag, rate) for rate in (50, 100, 200)]
    assert tuple(each.slots for each in allocations) == slots
    assert tuple(round(each.memory_percent, 1) for each in allocations) == memory


@pytest.mark.parametrize(
    ("application", "by_lsa", "by_mba"),
    [(TRAFFIC, (13, 26), (7, 14)), (GRID, (32, 63), (16, 32)), (FINANCE, (7, 13), (5, 10))],
)
def test_slots_of_the_applications(application, by_lsa, by_mba):
    dag, models = application
    assert tuple(lsa(models, dag, rate).slots for rate in (50, 100)) == by_lsa
    assert tuple(mba(models, dag, rate).slots for rate in (50, 100)) == by_mba


def test_input_rates_add_up():
    diamond = Dag(
        ("source", "a", "b", "c", "d"),
        tuple(Edge(*e) for e in (("source", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))),
    )
    rates = diamond.input_rates(10.0)
    assert rates == {"source": 10.0, "a": 10.0, "b": 10.0, "c": 10.0, "d": 20.0}


def test_selectivity_scales_a_rate():
    dag = Dag(("a", "b"), (Edge("a", "b", 0.25),))
    assert dag.input_rates(8.0)["b"] == 2.0


def test_a_cycle_is_refused():
    with pytest.raises(InvalidInput, match="cycle"):
        Dag(("a", "b"), (Edge("a", "b"), Edge("b", "a"))).input_rates(1.0)


def test_lookups_between_and_beyond_profiled_threads():
    blob, table = AZURE_TASKS["blob"], AZURE_TASKS["table"]
    assert (blob.threads_for(10), blob.full_bundle, blob.best_rate) == (20, 50, 30)
    assert (table.threads_for(20), table.full_bundle) == (40, 60)
    assert table.peak_rate(3) == 5.625
    assert table.peak_rate(9) == 9.375
    assert table.peak_rate(100) == 40.0
    assert blob.resources(55) == pytest.approx(
        (76.73 + 6.63 + (14.69 - 6.63) * 3 / 18, 31.38 + 23.98 + (26.30 - 23.98) * 3 / 18)
    )
    with pytest.raises(InvalidInput, match="at most 30"):
        blob.threads_for(30.5)


def test_a_residual_of_a_bundles_size_is_no_full_bundle():
    (table,) = mba(AZURE_TASKS, Dag(("table",), ()), 39.0).tasks
    assert (table.bundles, table.total.threads, table.residual.cpu_percent) == (0, 60, 54.08)


def test_rounding_adds_no_thread():
    model = {"a": PerformanceModel((1,), (0.1,), (50.0,), (5.0,))}
    assert lsa(model, Dag(("a",), ()), 0.1 + 0.2).threads == 3
    assert mba(model, Dag(("a",), ()), 0.1 + 0.2).tasks[0].bundles == 3


@pytest.mark.parametrize("allocate", [lsa, mba])
def test_a_task_without_input_keeps_a_thread(allocate):
    allocation = allocate(AZURE_TASKS, LINEAR, 0.0)
    assert (allocation.threads, allocation.slots) == (5, 0)


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(InvalidInput, match="input rate"):
        mba(AZURE_TASKS, LINEAR, rate)


def test_a_task_without_model_is_named():
    with pytest.raises(InvalidInput, match="'unknown'"):
        lsa(AZURE_TASKS, Dag(("unknown",), ()), 1.0)


@pytest.mark.parametrize(
    "columns",
    [
        ((), (), (), ()),
        ((2,), (1.0,), (1.0,), (1.0,)),
        ((1, 1), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)),
        ((1,), (0.0,), (1.0,), (1.0,)),
        ((1,), (1.0,), (101.0,), (1.0,)),
        ((1,), (1.0,), (1.0,), (1.0, 2.0)),
    ],
)
def test_impossible_models_are_refused(columns):
    with pytest.raises(InvalidInput, match="performance model"):
        PerformanceModel(*columns)


@pytest.mark.parametrize(
    ("slots", "machines"),
    [
        (0, ()),
        (5, (4, 1)),
        (6, (4, 2)),
        (7, (4, 4)),
        (13, (4, 4, 4, 1)),
        (20, (4,) * 5),
        (28, (4,) * 7),
        (65, (4,) * 16 + (1,)),
    ],
)
def test_machines_acquired(slots, machines):
    assert acquire(slots) == machines


def test_a_rest_may_be_filled_exactly():
    assert acquire(7, exact=True) == (4, 2, 1)


@given(slots=st.integers(0, 200), exact=st.booleans())
def test_machines_are_enough_and_hardly_more(slots, exact):
    acquired = sum(acquire(slots, exact=exact))
    assert slots <= acquired <= slots + (0 if exact else 1)


@given(rate=st.floats(0.0, 5000.0), name=st.sampled_from(sorted(MICRO)))
def test_models_need_no_more_slots_than_bundles_and_residuals(rate, name):
    allocation = mba(AZURE_TASKS, MICRO[name], rate)
    bundles = sum(each.bundles for each in allocation.tasks)
    assert bundles <= allocation.slots <= bundles + len(allocation.tasks)
    for each in allocation.tasks:
        assert each.residual.threads >= 0
        assert each.residual.threads <= each.full_bundle
