"""Costs that fit: no node is more than full, and nothing is cheaper than it must be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from capacity_problems import measured_problems
from hypothesis import assume, given
from hypothesis import strategies as st

from stormcut.capacity.evidence import costs_that_fit
from stormcut.model.placement import Placement
from stormcut.model.problem import Node
from stormcut.objective.resources import CPU, MIN_LEFT, costs_of, uses


def cpu_share(problem, placement):
    (use,) = (each for each in uses(problem, placement) if each.kind == CPU)
    return float(use.share.max(initial=0.0))


@given(measured_problems(), st.data(), st.floats(20.0, 400.0))
def test_the_fullest_node_is_just_full(problem, data, cpu):
    nodes = tuple(Node(f"n{at}", (1, 2), cpu_percent=cpu) for at in range(3))
    problem = replace(problem, nodes=nodes)
    slots = st.integers(0, problem.slot_count - 1)
    size = problem.executor_count
    placed = data.draw(st.lists(slots, min_size=size, max_size=size))
    placement = Placement(np.array(placed, dtype=np.int64))
    # The model keeps a part of a node whatever workers take: so far it is not linear.
    assume(costs_of(problem).worker_percent * 2 < (1 - MIN_LEFT) * cpu)
    found = costs_that_fit(problem, placement)
    if found is None:
        assert cpu_share(problem, placement) <= 1 + 1e-9
        return
    share = cpu_share(replace(problem, costs=found), placement)
    own = np.bincount(problem.slot_hosts[placement.slots], problem.executor_cpu).max()
    assert share <= 1 + 1e-9 or own >= cpu
    assert found.worker_percent == 0 or abs(share - 1) < 1e-6
    assert found.link_bytes_per_tuple == costs_of(problem).link_bytes_per_tuple
    assert "what runs fits" in found.source


@given(measured_problems(), st.floats(0.1, 0.9))
def test_one_worker_proves_nothing_about_transfer(problem, share):
    """A full node, on which a part of an idle worker's CPU has room."""
    known = costs_of(problem)
    cpu = float(problem.executor_cpu.sum()) + share * known.worker_percent
    problem = replace(problem, nodes=(Node("n", (1,), cpu_percent=cpu),))
    placement = Placement(np.zeros(problem.executor_count, dtype=np.int64))
    found = costs_that_fit(problem, placement)
    assert abs(found.worker_percent - share * known.worker_percent) < 1e-6
    assert found.receive_us_per_tuple == known.receive_us_per_tuple
    assert found.send_us_per_tuple == known.send_us_per_tuple
