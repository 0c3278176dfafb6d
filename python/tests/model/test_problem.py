import numpy as np
from hypothesis import given
from problem_strategies import problems

from stormcut.model.problem import Problem


@given(problems())
def test_ordinals_agree_with_each_other(problem):
    names = list(problem.executor_names())
    assert len(names) == problem.executor_count == len(problem.executor_cpu)
    ids = [problem.topologies[t].id for t in problem.executor_topology]
    assert [name[0] for name in names] == ids
    assert all(problem.slot_ids[at] == slot for slot, at in problem.slot_ordinals.items())
    assert len(problem.slot_hosts) == len(problem.slot_ids)
    ports = [port for node in problem.nodes for port in node.ports]
    for slot, port in enumerate(ports):
        node = problem.nodes[problem.slot_node[slot]]
        assert problem.slot_ids[slot] == (node.id, port)


@given(problems())
def test_unfolding_keeps_the_traffic(problem):
    rate = problem.traffic.unfolded()[2]
    assert np.isclose(rate.sum(), problem.traffic.total)


def test_nodes_that_only_lost_slots_name_get_ordinals_of_their_own():
    problem = Problem((), ()).with_lost_slots((("a", 1), ("b", 1), ("a", 2)))
    assert problem.slot_hosts.tolist() == [0, 1, 0]
