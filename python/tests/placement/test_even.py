"""Storm's EvenScheduler; the states and answers here were given by Storm 1.2.4's own class."""

import numpy as np
from small_problems import chain, nodes

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.objective.cut import executor_nodes, inter_node_tuples_per_second
from stormcut.placement.algorithms.storm import even


def slots(problem):
    placement = even.place(problem, np.random.default_rng(0), even.Options())
    return [
        "-" if slot < 0 else ":".join(map(str, problem.slot_ids[slot]))
        for slot in placement.slots.tolist()
    ]


def test_executors_are_dealt_over_nodes_before_ports():
    problem = Problem(nodes(2, slots=8), (chain([5], workers=3),))
    assert slots(problem) == ["n01:6704", "n00:6704", "n01:6705", "n01:6704", "n00:6704"]


def test_components_are_numbered_by_name():
    topology = Topology(
        "t", (Component.uniform("words", 2), Component.uniform("Count", 1)), workers=3
    )
    problem = Problem(nodes(3, slots=1), (topology,))
    assert slots(problem) == ["n01:6700", "n00:6700", "n02:6700"]


def test_what_runs_stays_and_what_is_complete_is_left_alone():
    problem = Problem(nodes(2, slots=2), (chain([3], workers=2), chain([1], name="b", workers=1)))
    problem = Problem(problem.nodes, problem.topologies, Placement(np.array([3, -1, 3, 0])))
    assert slots(problem) == ["n01:6701", "n01:6700", "n01:6701", "n00:6700"]


def test_more_than_eight_nodes_come_in_the_order_of_clojures_hash_map():
    problem = Problem(nodes(12, slots=2), (chain([14], workers=14),))
    order = (5, 7, 1, 4, 0, 10, 9, 3, 6, 8, 11, 2)
    expected = [f"n{node:02d}:6700" for node in order] + ["n05:6701", "n07:6701"]
    assert slots(problem) == expected


def test_topologies_without_a_number_of_workers_share_the_free_slots():
    problem = Problem(nodes(1), (chain([8]), chain([8], name="b")))
    assert len(set(slots(problem)[:8])) == len(set(slots(problem)[8:])) == 2


def test_a_topology_that_holds_its_workers_gets_no_more():
    problem = Problem(nodes(2), (chain([2], workers=1),), Placement(np.array([0, -1])))
    assert slots(problem) == ["n00:6700", "-"]


def test_an_executor_in_a_lost_slot_is_dead():
    problem = Problem(
        nodes(1, slots=1), (chain([1], workers=1),), Placement(np.array([1])), (("gone", 6700),)
    )
    assert slots(problem) == ["n00:6700"]


def test_example_of_the_thesis():
    """Section 5.4: tasks 1..6 go to n1 n2 n3 n4 n1 n2, all 8 pairs cross nodes.

    The thesis takes slot 1 of every node, then slot 2. Storm puts nodes with more free slots first
    and starts at the highest port here (HashSet order), which leaves the nodes the same.
    """
    topology = Topology(
        "wordcount",
        tuple(Component.uniform(name, 2) for name in ("C1", "C2", "C3")),
        (Stream("C1", "C2", 4.0), Stream("C2", "C3", 4.0, "fields")),
    )
    cluster = tuple(
        Node(name, ports, max_executors=capacity)
        for name, ports, capacity in (
            ("n1", (6700, 6701), 6),
            ("n2", (6700, 6701), 6),
            ("n3", (6700,), 3),
            ("n4", (6700,), 3),
        )
    )
    problem = Problem(cluster, (topology,))
    placement = even.place(problem, np.random.default_rng(0), even.Options())
    assert executor_nodes(problem, placement).tolist() == [0, 1, 2, 3, 0, 1]
    assert inter_node_tuples_per_second(problem, placement) == 8.0
