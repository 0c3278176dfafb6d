"""A topology that has lost workers is completed; those that live are not restarted."""

from dataclasses import replace

import pytest
from brain_clusters import clusters, dealt, profile_of, supervisors, topology
from governed import Stage
from hypothesis import assume, given
from hypothesis import strategies as st

from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.completing import MAX_NODES
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import Ground
from stormcut.control.decide.question import Question
from stormcut.control.decide.wording import sentence
from stormcut.control.observe.hearing import EMPTIED_SECONDS
from stormcut.control.orders import Orders
from stormcut.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, Slot, Worker
from stormcut.model.plan import Plan, TopologyPlan


def loses(running, *nodes):
    """The topology after everything that ran on these nodes has died."""
    kept = tuple(w for w in running.assignment if w.slot.node not in nodes)
    return replace(running, assignment=kept)


def four_nodes():
    return dealt(topology("t", (4, 4)), [Slot(f"n{node}", 6700) for node in range(4)])


def completed(state, *, profiles=None, plan=None):
    (decision,) = decide(Question(state, profiles or {}, plan, Settings())).decided
    return decision


def test_the_largest_of_lost_workers_has_the_first_choice():
    """A smaller one fits elsewhere, too."""
    running = topology("t", (1, 1, 3), acker=False)
    source, small, *large = (executor.start_task for executor in running.executors)
    slots = [Slot("n0", 6700), Slot("n8", 6700), Slot("n9", 6700)]
    whole = tuple(map(Worker, slots, ((source,), (small,), tuple(large))))
    plan = Plan("p", "", 0, (TopologyPlan("t", whole, "cut", ""),), ())
    nodes = [
        replace(each, cpu_percent=cpu, meta={"stormcut.max.executors": most})
        for each, cpu, most in zip(
            supervisors(3), (400.0, 400.0, 100.0), ("1", "3", "1"), strict=True
        )
    ]
    state = ClusterState(tuple(nodes), (replace(running, assignment=whole[:1]),))
    workers = completed(state, plan=plan).workers
    assert {w.slot.node: len(w.executors) for w in workers} == {"n0": 1, "n1": 3, "n2": 1}


@pytest.mark.parametrize("present", [3, 2])
def test_those_that_live_stay_whether_it_was_measured_or_a_supervisor_is_away(present):
    whole = four_nodes()
    lost = loses(whole, "n3")
    for profiles in ({}, {"t": profile_of(whole)}):
        state = ClusterState(supervisors(4)[:present], (lost,))
        decision = completed(state, profiles=profiles)
        assert decision.evidence.ground is (Ground.MEASURED if profiles else Ground.DECLARED)
        assert set(lost.assignment) < set(decision.workers)
        assert len(decision.workers) == 4
        assert "lost workers start again, the others stay" in sentence(decision)


@pytest.mark.parametrize("measured", [False, True])
def test_where_no_slot_is_free_those_that_live_stay_and_storm_decides(measured):
    """All of it was placed again: every living worker ended, past pin, quiet hours and budgets."""
    whole = four_nodes()
    state = ClusterState(supervisors(3, slots=1), (loses(whole, "n3"),))
    profiles = {"t": profile_of(whole)} if measured else {}
    (declined,) = decide(Question(state, profiles, None, Settings())).declined
    assert sentence(declined) == (
        "no slot is free for its lost workers, except on nodes that have just lost them"
    )


def test_several_lost_workers_share_the_last_free_slot():
    slots = [Slot("n0", 6700), Slot("n1", 6700), Slot("n1", 6701)]
    whole = dealt(topology("t", (5, 5)), slots)
    workers = tuple(sorted(whole.assignment))
    plan = Plan("p", "", 0, (TopologyPlan("t", workers, "cut", ""),), ())
    one = replace(supervisors(1, slots=2)[0], ports=(6700, 6701))
    decision = completed(ClusterState((one,), (loses(whole, "n1"),)), plan=plan)
    assert {w.slot for w in decision.workers} == {Slot("n0", 6700), Slot("n0", 6701)}
    assert set(loses(whole, "n1").assignment) < set(decision.workers)


def test_a_node_without_room_takes_none():
    whole = four_nodes()
    full, roomy = {"stormcut.max.executors": "3"}, {"stormcut.max.executors": "6"}
    nodes = tuple(replace(s, meta=roomy if s.id == "n1" else full) for s in supervisors(4)[:3])
    decision = completed(ClusterState(nodes, (loses(whole, "n3"),)))
    (new,) = set(decision.workers) - set(whole.assignment)
    assert new.slot.node == "n1"


def test_of_many_nodes_that_which_exchanges_most_with_the_lost_is_tried():
    """There are more than can be tried; others have more room, and run more executors."""
    count = MAX_NODES + 6
    nodes = supervisors(count)
    # Wherever it goes the first is fullest, so that what travels decides.
    nodes = (
        replace(nodes[0], cpu_percent=80.0),
        *nodes[1:-1],
        replace(nodes[-1], cpu_percent=100.0),
    )
    running = topology("t", (1, 1, 2 * MAX_NODES), acker=False)
    source, lost, *others = running.executors
    workers = [Worker(Slot(f"n{count - 1}", 6700), (source.start_task,))]
    pairs = zip(others[::2], others[1::2], strict=True)
    workers += [
        Worker(Slot(f"n{node}", 6700), (one.start_task, two.start_task))
        for node, (one, two) in enumerate(pairs)
    ]
    running = replace(running, assignment=tuple(workers))
    profile = profile_of(running, rate=lambda s, t: 1000.0 if t == lost.start_task else 0.0)
    decision = completed(ClusterState(nodes, (running,)), profiles={"t": profile})
    (new,) = set(decision.workers) - set(workers)
    assert new.slot.node == f"n{count - 1}"


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
    whole = dealt(topology("t", (4, 4)), [Slot(f"n{n}", p) for n in range(2) for p in (6700, 6701)])
    stage = Stage(
        ClusterState(supervisors(4), (whole,)), {"t": profile_of(whole)}, Policy(Mode.AUTOMATIC)
    )
    stage.store.ordered = Orders(is_paused=True)
    stage.round()
    stage.store.ordered = Orders()
    kept = tuple(w for w in whole.assignment if w.slot != Slot("n1", 6701))
    stage.state = ClusterState(supervisors(4), (replace(whole, assignment=kept),))
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
    return stage


def test_nothing_lost_is_put_back_on_the_node_that_lost_it():
    """A dead node once got its executors back, and lost them again 45 s later."""
    stage = lost_node_still_listed(supervisors(3))
    assert "n1" not in {w.slot.node for w in stage.brain.plan(stage.state).of("t").workers}


def test_who_leads_next_knows_by_the_plan_which_node_lost_it():
    whole = dealt(topology("t", (4, 4)), [Slot(f"n{node}", 6700) for node in range(2)])
    plan = Plan("p", "", 0, (TopologyPlan("t", tuple(sorted(whole.assignment)), "cut", ""),), ())
    state = ClusterState(supervisors(3), (loses(whole, "n1"),))
    for profiles in ({}, {"t": profile_of(whole)}):
        decision = completed(state, profiles=profiles, plan=plan)
        assert "n1" not in {worker.slot.node for worker in decision.workers}


def test_nor_where_no_other_has_a_slot_until_nimbus_has_had_time_to_see_that_it_lives():
    first, second = supervisors(2)
    stage = lost_node_still_listed((replace(first, ports=(6700,)), second))
    for _ in range(3):
        assert stage.brain.plan(stage.state).of("t") is None
        stage.clock.seconds += EMPTIED_SECONDS / 4
    stage.clock.seconds += EMPTIED_SECONDS
    assert "n1" in {w.slot.node for w in stage.brain.plan(stage.state).of("t").workers}


@pytest.mark.slow
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
