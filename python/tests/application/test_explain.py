import numpy as np
import pytest
from hypothesis import given
from problem_strategies import placed_problems, prefers_near
from small_problems import chain, nodes

from stormcut.application.explain import explain, find_executor, worth_a_look
from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.cut import executor_nodes, inter_node_tuples_per_second

WORDS = Problem(nodes(3, slots=2, max_executors=2), (chain([2, 2], rate=40.0),))


def test_an_executor_beside_all_it_talks_to():
    found = explain(Problem(nodes(2), WORDS.topologies), Placement(np.zeros(4, int)), "c0[1]")
    assert (found.in_worker, found.on_node, found.to_other_nodes) == (20.0, 0.0, 0.0)
    assert (
        found.verdict
        == "no other node is better: n01, the next best, would cost 20.0 tuples/s more"
    )


def test_what_stands_in_the_way():
    found = explain(WORDS, Placement(np.array([0, 2, 2, 4])), "chain/c0[0]")
    assert found.slot == "n00:6700"
    assert (
        found.alternatives[0].blocked_by
        == "node n01 holds 3 executors, its limit is 2 (max_executors)"
    )
    assert (
        found.verdict
        == "a move to n02 alone would be better: 20 tuples/s between nodes instead of 30"
    )


def test_names():
    two = Problem(nodes(2), (chain([1]), chain([2], name="b")))
    assert find_executor(two, "b/c0[1]") == 2
    assert find_executor(two, "c0[1]") == 2
    with pytest.raises(InvalidInput, match="several topologies"):
        find_executor(two, "c0[0]")
    with pytest.raises(InvalidInput, match="no such executor"):
        find_executor(two, "c9[0]")
    with pytest.raises(InvalidInput, match="unassigned"):
        explain(two, Placement(np.array([-1, 0, 0])), "chain/c0[0]")


@given(placed_problems())
def test_reported_changes_are_those_of_the_judge(case):
    problem, placement = case
    if not problem.slot_count:
        return
    placement = Placement(placement.slots % problem.slot_count)
    name = next(f"{t}/{c}[{i}]" for t, c, i in problem.executor_names())
    found = explain(problem, placement, name)
    now = inter_node_tuples_per_second(problem, placement)
    nodes_of = {problem.nodes[n].id: n for n in set(problem.slot_node.tolist())}
    for other in found.alternatives:
        if other.blocked_by is None:
            own = np.flatnonzero(problem.slot_node == nodes_of[other.node])
            cuts = []
            for slot in own:
                moved = placement.slots.copy()
                moved[0] = slot
                cuts.append(inter_node_tuples_per_second(problem, Placement(moved)) - now)
            assert any(np.isclose(other.change, cut) for cut in cuts)
    topology = problem.topologies[0]
    if not any(prefers_near(topology, stream) for stream in topology.streams):
        here = executor_nodes(problem, placement)
        assert found.to_other_nodes >= 0
        if (here == here[0]).all():
            assert found.to_other_nodes == 0


@given(placed_problems())
def test_the_overview_names_executors_that_talk_to_other_nodes(case):
    problem, placement = case
    if not problem.slot_count:
        return
    placement = Placement(placement.slots % problem.slot_count)
    for name in worth_a_look(problem, placement, 2):
        assert explain(problem, placement, name).to_other_nodes > 0
