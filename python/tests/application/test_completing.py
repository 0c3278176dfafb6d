"""A topology that has lost workers is completed; those that live are not restarted."""

from dataclasses import replace

from brain_clusters import clusters, dealt, profile_of, supervisors, topology
from governed import Stage
from hypothesis import assume, given
from hypothesis import strategies as st

from stormcut.application.control.decide.adviser import Settings
from stormcut.application.control.decide.decide import decide
from stormcut.application.control.decide.question import Question
from stormcut.application.control.decide.wording import sentence
from stormcut.application.control.orders import Orders
from stormcut.application.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, Slot


def loses(running, *nodes):
    """The topology after everything that ran on these nodes has died."""
    kept = tuple(w for w in running.assignment if w.slot.node not in nodes)
    return replace(running, assignment=kept)


def four_nodes():
    return dealt(topology("t", (4, 4)), [Slot(f"n{node}", 6700) for node in range(4)])


def completed(state, *, profiles=None, plan=None):
    (decision,) = decide(Question(state, profiles or {}, plan, Settings())).decided
    return decision


def test_those_that_live_stay_whether_it_was_measured_or_not():
    whole = four_nodes()
    lost = loses(whole, "n3")
    for profiles in ({}, {"t": profile_of(whole)}):
        state = ClusterState(supervisors(4)[:3], (lost,))
        decision = completed(state, profiles=profiles)
        assert set(lost.assignment) < set(decision.workers)
        assert len(decision.workers) == 4
        assert "lost workers start anew, the others stay" in sentence(decision)


def test_no_free_slot_is_no_completion():
    whole = four_nodes()
    state = ClusterState(supervisors(3, slots=1), (loses(whole, "n3"),))
    decision = completed(state)
    assert "lost workers" not in sentence(decision)
    assert {task for w in decision.workers for task in w.executors} == {
        e.start_task for e in whole.executors
    }


def test_a_node_without_room_takes_none():
    whole = four_nodes()
    full, roomy = {"stormcut.max.executors": "3"}, {"stormcut.max.executors": "6"}
    nodes = tuple(replace(s, meta=roomy if s.id == "n1" else full) for s in supervisors(4)[:3])
    decision = completed(ClusterState(nodes, (loses(whole, "n3"),)))
    (new,) = set(decision.workers) - set(whole.assignment)
    assert new.slot.node == "n1"


def test_lost_executors_share_workers_as_they_did():
    """Two workers of a plan are lost with their node: they are two again."""
    slots = [Slot("n0", 6700), Slot("n1", 6700), Slot("n1", 6701)]
    whole = dealt(topology("t", (5, 5)), slots)
    stage = Stage(
        ClusterState(supervisors(3), (whole,)), {"t": profile_of(whole)}, Policy(Mode.AUTOMATIC)
    )
    stage.store.ordered = Orders(is_paused=True)
    stage.round()
    assert stage.brain.last_plan.of("t").workers == tuple(sorted(whole.assignment))
    stage.state = ClusterState(
        tuple(s for s in supervisors(3) if s.id != "n1"), (loses(whole, "n1"),)
    )
    stage.store.ordered = Orders()
    workers = stage.brain.plan(stage.state).of("t").workers
    before = {frozenset(w.executors) for w in whole.assignment}
    assert {frozenset(w.executors) for w in workers} == before


def test_what_the_last_plan_restores_restarts_nothing_that_lives():
    """A better place is another decision, which passes the gate."""
    whole = four_nodes()
    stage = Stage(
        ClusterState(supervisors(4), (whole,)), {"t": profile_of(whole)}, Policy(Mode.AUTOMATIC)
    )
    stage.store.ordered = Orders(is_paused=True)
    stage.round()
    stage.store.ordered = Orders()
    stage.state = ClusterState(supervisors(4), (loses(whole, "n3"),))
    assert set(stage.brain.plan(stage.state).of("t").workers) == set(whole.assignment)


def lost_node_still_listed(nodes):
    """Nimbus lists a dead node's other slots until its supervisor's time is over."""
    whole = dealt(topology("t", (4, 4)), [Slot(f"n{node}", 6700) for node in range(2)])
    policy = Policy(Mode.AUTOMATIC)
    stage = Stage(ClusterState(nodes, (whole,)), {"t": profile_of(whole)}, policy)
    stage.store.ordered = Orders(is_paused=True)
    stage.round()
    listed = tuple(
        replace(s, ports=tuple(p for p in s.ports if p != 6700)) if s.id == "n1" else s
        for s in nodes
    )
    stage.state = ClusterState(listed, (loses(whole, "n1"),))
    stage.store.ordered = Orders()
    return {w.slot.node for w in stage.brain.plan(stage.state).of("t").workers}


def test_nothing_lost_is_put_back_on_the_node_that_lost_it():
    """A dead node once got its executors back, and lost them again 45 s later."""
    assert "n1" not in lost_node_still_listed(supervisors(3))


def test_but_for_want_of_another():
    first, second = supervisors(2)
    assert "n1" in lost_node_still_listed((replace(first, ports=(6700,)), second))


@given(clusters(), st.data())
def test_whatever_is_lost_no_living_worker_is_restarted_and_no_slot_shared(cluster, data):
    state, profiles = cluster
    whole = [t for t in state.topologies if len(t.assignment) > 1 and not t.unassigned]
    assume(whole)
    chosen = data.draw(st.sampled_from(whole))
    gone = data.draw(st.sampled_from(sorted(w.slot.node for w in chosen.assignment)))
    damaged = replace(
        state,
        topologies=tuple(loses(t, gone) if t is chosen else t for t in state.topologies),
    )
    decisions = decide(Question(damaged, profiles, None, Settings()))
    for decision in decisions.decided:
        if "lost workers" in sentence(decision):
            lost = next(t for t in damaged.topologies if t.id == decision.topology)
            assert set(lost.assignment) <= set(decision.workers)
    used = [w.slot for d in decisions.decided for w in d.workers]
    used += [
        w.slot
        for d in decisions.declined
        for t in damaged.topologies
        if t.id == d.topology
        for w in t.assignment
    ]
    assert len(used) == len(set(used))
