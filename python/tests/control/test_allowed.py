"""Rules of nodes: patterns, quotas and nodes of one's own hold for all that is decided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from brain_clusters import clusters, dealt, supervisors, topology
from governed import Stage, spread
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.decide.allowed import allowed, in_order
from stormcut.control.orders import Undo
from stormcut.control.policy import Mode, Policy, TopologyRule
from stormcut.model.cluster import ClusterState, Slot

FREELY = Policy(Mode.AUTOMATIC, cool_down_s=0.0, restarts_per_hour=None, restart_seconds=0.0)


@st.composite
def rules(draw):
    """Rules of the topologies t0 to t2."""
    return tuple(
        TopologyRule(
            f"t{number}",
            priority=draw(st.integers(0, 2)),
            nodes=draw(st.sampled_from([(), ("n[0-1]",), ("h2", "n3"), ("nowhere",)])),
            most_nodes=draw(st.sampled_from([None, None, 1, 2])),
        )
        for number in range(3)
    )


def with_alone(draw, chosen):
    at = draw(st.integers(0, 2))
    alone = tuple(
        replace(rule, alone=True, most_nodes=rule.most_nodes or 1) if number == at else rule
        for number, rule in enumerate(chosen)
    )
    return draw(st.sampled_from([chosen, alone]))


@given(cluster=clusters(), data=st.data())
def test_nothing_is_put_where_a_rule_forbids_and_all_is_decided(cluster, data):
    state, profiles = cluster
    policy = replace(FREELY, topologies=with_alone(data.draw, data.draw(rules())))
    stage = Stage(state, profiles, policy)
    for _ in range(4):
        before = stage.state
        may = allowed(before, policy.rule_of)
        stage.round(20)
        told = stage.brain.governed.instructions
        assert {d.topology for d in (*told.decided, *told.declined)} == {
            t.id for t in before.topologies
        }
        for was, now in zip(before.topologies, stage.state.topologies, strict=True):
            if {*was.assignment} != {*now.assignment}:
                new = [worker for worker in now.assignment if worker not in was.assignment]
                assert may.has(now.id, new)
            assert was.unassigned or not now.unassigned
    last = stage.brain.last_plan
    assert stage.round(1) == []
    assert stage.brain.last_plan is last


def nodes_of(stage, name):
    (found,) = (t for t in stage.state.topologies if t.id == name)
    return {worker.slot.node for worker in found.assignment}


def settled(stage, rounds=4):
    for _ in range(rounds):
        stage.round(400)
    return stage


def test_a_topology_leaves_the_nodes_that_are_not_its_own():
    state, profiles = spread("a", "b")
    here = TopologyRule("a", nodes=("h1", "n2"))
    stage = settled(Stage(state, profiles, replace(FREELY, topologies=(here,))))
    assert nodes_of(stage, "a") <= {"n1", "n2"}


def test_who_is_alone_has_its_nodes_for_itself_and_stays_there():
    state, profiles = spread("a", "b", "c")
    alone = TopologyRule("b", alone=True, most_nodes=2)
    stage = settled(Stage(state, profiles, replace(FREELY, topologies=(alone,))))
    own = nodes_of(stage, "b")
    assert 1 <= len(own) <= 2
    assert not own & (nodes_of(stage, "a") | nodes_of(stage, "c"))
    homes = stage.homes()
    assert settled(stage).homes() == homes


@pytest.mark.parametrize("most", [1, 2])
def test_a_quota_of_nodes_holds_for_what_is_new_and_what_runs(most):
    state, profiles = spread("a")
    new = topology("b", (3, 3))
    state = replace(state, topologies=(*state.topologies, new))
    rule = TopologyRule("*", most_nodes=most)
    stage = settled(Stage(state, profiles, replace(FREELY, topologies=(rule,))))
    assert len(nodes_of(stage, "a")) <= most
    assert 1 <= len(nodes_of(stage, "b")) <= most


def test_a_rule_that_cannot_be_kept_leaves_the_topology_to_storm():
    state, profiles = spread("a")
    new = topology("b", (1, 1))
    state = replace(state, topologies=(*state.topologies, new))
    rule = TopologyRule("*", nodes=("nowhere",))
    stage = Stage(state, profiles, replace(FREELY, topologies=(rule,)))
    stage.round()
    told = stage.brain.governed.instructions
    assert [d.topology for d in told.declined] == ["b"]
    # What runs there runs on.
    assert stage.homes()["a"] == {*state.topologies[0].assignment}


def test_the_important_ones_get_their_places_first():
    nodes = supervisors(1, slots=2, meta={"stormcut.max.executors": "2"})
    state = ClusterState(nodes, tuple(topology(name, (1, 1), acker=False) for name in "ab"))
    policy = replace(FREELY, topologies=(TopologyRule("b", priority=5),))
    stage = Stage(state, {}, policy)
    stage.round()
    assert nodes_of(stage, "b") == {"n0"}
    assert nodes_of(stage, "a") == set()
    assert [t.id for t in in_order(state.topologies, policy.rule_of)] == ["b", "a"]


def test_a_pinned_topology_keeps_its_node_from_who_is_alone():
    state, _ = spread("a", "b")
    pinned = dealt(topology("c", (1,), acker=False), [Slot("n1", 6702)])
    state = replace(state, topologies=(*state.topologies, pinned))
    rules = (TopologyRule("c", pin=True), TopologyRule("a", alone=True, most_nodes=4))
    may = allowed(state, replace(FREELY, topologies=rules).rule_of)
    assert may.of("a") == {"n0", "n2", "n3"}
    assert may.of("b") == {"n1"}


def test_nodes_are_chosen_where_it_runs_then_where_others_do_least():
    nodes = supervisors(4)
    here = dealt(topology("a", (2,)), [Slot("n2", 6700)])
    other = dealt(topology("b", (2, 2)), [Slot("n0", 6700), Slot("n3", 6700)])
    state = ClusterState(nodes, (here, other))
    policy = replace(FREELY, topologies=(TopologyRule("a", alone=True, most_nodes=2),))
    may = allowed(state, policy.rule_of)
    assert may.of("a") == {"n2", "n1"}
    assert may.of("b") == {"n0", "n3"}


@pytest.mark.parametrize(
    ("said", "rule", "count"), [(None, "keep", 4), ("any", "keep", 4), ("keep", "any", 1)]
)
def test_a_rule_keeps_the_number_of_workers(said, rule, count):
    state, profiles = spread("a")
    (running,) = state.topologies
    asks = replace(running, workers=4, workers_policy=said)
    # All may share a node: only a rule has it keep four workers.
    policy = Policy(Mode.AUTOMATIC, topologies=(TopologyRule("a", workers=rule),))
    stage = Stage(replace(state, topologies=(asks,)), profiles, policy)
    stage.round()
    assert len(stage.homes()["a"]) == count


def test_what_went_where_its_rule_forbids_does_not_go_back_there():
    state, profiles = spread("a")
    home = tuple(sorted(state.topologies[0].assignment))
    here = TopologyRule("a", nodes=("h1", "n2"))
    stage = settled(Stage(state, profiles, replace(FREELY, topologies=(here,))))
    stage.store.back = {"a": Undo(home)}
    assert nodes_of(settled(stage), "a") <= {"n1", "n2"}
