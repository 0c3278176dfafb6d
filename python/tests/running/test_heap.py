"""A worker's heap is a limit that packing respects."""

from dataclasses import replace

import numpy as np
import pytest
from brain_clusters import clusters, dealt, profile_of, supervisors, topology
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.control.decide.wording import sentence
from stormcut.model.cluster import ClusterState, Slot
from stormcut.running.heap import _packed, declared_mb

PACKING = Settings(packs_unmeasured=True)


def of_mb(running, mb, heap_mb=768.0):
    executors = tuple(replace(e, memory_mb=mb) for e in running.executors)
    return replace(running, executors=executors, worker_heap_mb=heap_mb)


def used_mb(decision, running):
    mb = {e.start_task: e.memory_mb for e in running.executors}
    return [sum(mb[task] for task in worker.executors) for worker in decision.workers]


def decided(running, nodes=None, profiles=None):
    state = ClusterState(nodes or supervisors(3, cpu=None, memory=None, slots=8), (running,))
    found = decide(Question(state, profiles or {}, None, PACKING))
    return found.decided[0] if found.decided else found.declined[0]


def test_executors_that_declare_their_memory_share_no_heap_that_is_too_small():
    """28 executors once were packed into one JVM, whatever its heap."""
    running = of_mb(topology("t", (7, 10, 10), workers=8), 200.0)
    decision = decided(running)
    assert len({w.slot.node for w in decision.workers}) == 2
    assert max(used_mb(decision, running)) <= 768.0
    assert len(decision.workers) == 10


def test_each_of_two_that_are_placed_together_stays_within_its_heaps():
    both = [of_mb(topology(name, (4, 4), workers=4, acker=False), 200.0) for name in "ab"]
    nodes = supervisors(3, cpu=None, memory=None, slots=8)
    found = decide(Question(ClusterState(nodes, tuple(both)), {}, None, PACKING))
    for decision, running in zip(found.decided, both, strict=True):
        assert max(used_mb(decision, running)) <= 768.0
        assert len(decision.workers) == 3


def test_what_nobody_has_declared_is_no_limit():
    running = of_mb(topology("t", (7, 10, 10)), 128.0)
    assert declared_mb(running) == {}
    assert len(decided(running).workers) == 1


def test_one_executor_that_is_larger_has_a_worker_of_its_own():
    decision = decided(of_mb(topology("t", (1, 1), acker=False), 1000.0))
    assert [len(w.executors) for w in decision.workers] == [1, 1]


@pytest.mark.parametrize(("nodes", "slots"), [(2, 2), (1, 7)])
def test_where_slots_do_not_suffice_it_says_so(nodes, slots):
    running = of_mb(topology("t", (4, 4), acker=False), 700.0)
    decision = decided(running, supervisors(nodes, memory=None, slots=slots))
    assert not decision.workers
    assert "in workers of 768 MB" in sentence(decision)


def test_a_measured_topology_that_moves_stays_within_its_heap():
    running = of_mb(topology("t", (4, 4), acker=False), 300.0)
    spread = dealt(running, [Slot(f"n{n}", 6700) for n in range(3)])
    decision = decided(spread, profiles={"t": profile_of(spread, cpu=1.0, memory=None)})
    assert decision.choice.action.value == "move"
    assert max(used_mb(decision, running)) <= 768.0


@given(clusters(), st.sampled_from([64.0, 200.0, 500.0]), st.sampled_from([None, 256.0, 768.0]))
def test_no_worker_of_a_plan_of_ours_holds_more(cluster, mb, heap_mb):
    state, profiles = cluster
    state = replace(state, topologies=tuple(of_mb(t, mb, heap_mb) for t in state.topologies))
    running = {t.id: t for t in state.topologies}
    for decision in decide(Question(state, profiles, None, PACKING)).decided:
        before = set(running[decision.topology].assignment)
        for worker in set(decision.workers) - before:
            if heap_mb is not None and decision.choice.algorithm == "cut":
                assert mb * len(worker.executors) <= max(heap_mb, mb)


def test_executors_share_as_few_heaps_as_the_largest_first_need():
    sizes = np.array([300.0, 400.0, 200.0, 600.0, 700.0, 800.0])
    workers = _packed(range(6), sizes, 1000.0)
    assert sorted(map(sorted, workers)) == [[0, 4], [1, 3], [2, 5]]
    # One that is larger than a heap shares with nobody.
    assert sorted(map(sorted, _packed(range(2), np.array([1200.0, 10.0]), 1000.0))) == [[0], [1]]
