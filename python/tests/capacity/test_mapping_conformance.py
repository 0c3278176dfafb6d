"""What every mapping must do with an allocation by MBA."""

import numpy as np
import pytest
from model_driven_dataflows import AZURE_TASKS, DIAMOND, LINEAR, STAR

from stormcut.capacity.mapping import map_acquired, map_to, mapper
from stormcut.capacity.options import MAPPINGS
from stormcut.model.errors import Infeasible
from stormcut.placement.algorithms.model_driven.allocation import Dag, Edge, PerformanceModel, mba
from stormcut.placement.algorithms.model_driven.prediction import predict

pytestmark = pytest.mark.parametrize("mapping", MAPPINGS)

LIGHT = PerformanceModel((1, 2), (10.0, 20.0), (5.0, 10.0), (1.0, 2.0))
#: No slot holds two of its threads.
LARGE = PerformanceModel((1,), (10.0,), (60.0,), (60.0,))

CASES = {
    "one task on one slot": (Dag(("a",), ()), {"a": LIGHT}, 15.0, (1,)),
    "no input": (Dag(("a", "b"), (Edge("a", "b"),)), {"a": LIGHT, "b": LIGHT}, 0.0, (2,)),
    "disconnected": (Dag(("a", "b"), ()), {"a": LIGHT, "b": LIGHT}, 20.0, (1, 1)),
    "more than a machine": (Dag(("a",), ()), {"a": LIGHT}, 100.0, (2, 2, 2)),
    "machines of several sizes": (LINEAR, AZURE_TASKS, 50.0, (4, 2, 1, 1)),
    "linear": (LINEAR, AZURE_TASKS, 100.0, (4, 4, 4)),
    "diamond": (DIAMOND, AZURE_TASKS, 50.0, (4, 4, 4)),
    "star": (STAR, AZURE_TASKS, 50.0, (4, 4, 4)),
}


def mapped(mapping, dag, models, rate, machines):
    return map_to(mapper(mapping, models, dag, rate), mba(models, dag, rate), machines).threads


@pytest.mark.parametrize("case", CASES)
def test_every_thread_has_a_slot(mapping, case):
    dag, models, rate, machines = CASES[case]
    threads = mapped(mapping, dag, models, rate, machines)
    assert threads.shape == (len(dag.tasks), sum(machines))
    wanted = [each.total.threads for each in mba(models, dag, rate).tasks]
    assert threads.sum(axis=1).tolist() == wanted


@pytest.mark.parametrize("case", CASES)
def test_the_same_question_has_the_same_answer(mapping, case):
    first, second = (mapped(mapping, *CASES[case]) for _ in range(2))
    assert (first == second).all()


def test_names_of_tasks_do_not_matter(mapping):
    dag, models, rate, machines = CASES["diamond"]
    other = {task: f"x{at}" for at, task in enumerate(dag.tasks)}
    renamed = Dag(
        tuple(other[task] for task in dag.tasks),
        tuple(Edge(other[e.source], other[e.target], e.selectivity) for e in dag.edges),
    )
    named = {other[task]: models[task] for task in dag.tasks}
    one, two = (mapped(mapping, d, m, rate, machines) for d, m in ((dag, models), (renamed, named)))
    assert (one == two).all()


def test_machines_to_spare_never_need_more_slots(mapping):
    dag, models, rate, machines = CASES["linear"]
    one, other = (mapped(mapping, dag, models, rate, given) for given in (machines, (*machines, 4)))
    few, many = (np.count_nonzero(each.any(axis=0)) for each in (one, other))
    if mapping == "dsm":  # Deals over all that there is.
        assert few == 12 and many == 16
    elif mapping == "cut":  # Takes what raises the rate.
        less, more = (predict(models, dag, each, shuffle=True).rate for each in (one, other))
        assert more >= less
    else:
        assert many <= few


def test_acquired_machines_are_as_few_as_the_mapping_needs(mapping):
    dag, models, rate, _ = CASES["linear"]
    allocation, chosen = mba(models, dag, rate), mapper(mapping, models, dag, rate)
    found = map_acquired(chosen, allocation, (1,))
    assert found.threads.shape[1] >= allocation.slots
    fewer = (1,) * (len(found.machines) - 1)
    if len(fewer) >= allocation.slots:
        with pytest.raises(Infeasible):
            map_to(chosen, allocation, fewer)


def test_what_fits_nowhere_is_refused_in_one_line(mapping):
    dag, models = Dag(("a", "b"), ()), {"a": LARGE, "b": LARGE}
    if mapping == "dsm":  # Deals in turn, whatever fits.
        assert mapped(mapping, dag, models, 10.0, (1,)).tolist() == [[1], [1]]
        return
    with pytest.raises(Infeasible) as refused:
        mapped(mapping, dag, models, 10.0, (1,))
    assert "\n" not in str(refused.value)
