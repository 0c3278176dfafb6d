import numpy as np
from hypothesis import given
from problem_strategies import problems

from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.packing.groups import fold


@given(problems())
def test_groups_stand_for_all_pairs_of_executors(problem):
    groups = fold(problem)
    graph = traffic_graph(problem.traffic, problem.executor_count).toarray()
    unfolded = groups.pair_rate.toarray()[np.ix_(groups.of, groups.of)]
    np.fill_diagonal(unfolded, 0)
    assert np.allclose(graph, unfolded)
    assert np.isclose(groups.total, graph.sum() / 2)
