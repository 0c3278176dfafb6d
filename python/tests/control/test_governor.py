"""What an operator allows: modes, orders, budgets, and what waits for what."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime

import pytest
from brain_clusters import clusters, dealt, profile_of, supervisors, topology
from governed import Stage, approve_past_guards, homes, spread
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.apply import settling
from stormcut.control.brain import UNBOUND
from stormcut.control.decide.allowed import Allowed
from stormcut.control.decide.decision import (
    Evidence,
    Ground,
    Guard,
    LessTraffic,
    MoreHeadroom,
    Worth,
)
from stormcut.control.decide.pace import Pace
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.gate.gate import Gate, GuardContext, gain_of
from stormcut.control.gate.ledger import Ledger
from stormcut.control.operations import draining, pausing
from stormcut.control.orders import NO_ORDERS, Orders, Undo
from stormcut.control.outlook import PartStatus
from stormcut.control.policy import Mode, Policy, QuietTime, Rule, TopologyRule
from stormcut.model.cluster import ClusterState, Slot, Supervisor
from stormcut.model.errors import InvalidInput

AUTOMATIC = Policy(Mode.AUTOMATIC)
PORTS = (6700, 6701, 6702, 6703)
HERE, THERE = [Slot("n0", 6700)], [Slot("n1", 6700)]


@pytest.mark.slow
@given(cluster=clusters())
def test_who_advises_touches_nothing(cluster):
    state, profiles = cluster
    for policy, orders in (
        (Policy(Mode.ADVISE), NO_ORDERS),
        (Policy(Mode.APPROVE), Orders(approved=frozenset({"12345678"}))),
        (AUTOMATIC, Orders(is_paused=True)),
    ):
        stage = Stage(state, profiles, policy, orders)
        stage.round()
        assert stage.homes() == homes(state)
        assert stage.brain.outlook()["paused"] == orders.is_paused


def test_which_guard_holds_a_change_is_logged_once(caplog):
    state, profiles = spread("a")
    stage = Stage(state, profiles, AUTOMATIC, Orders(is_paused=True))
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            stage.round()
        assert caplog.text.count("a kept: paused; it would be moved") == 1
        stage.store.ordered = NO_ORDERS
        stage.round()
    assert caplog.text.count("a: nothing is withheld any more") == 1


def test_another_guard_that_holds_the_same_change_is_logged_too(caplog):
    state, profiles = spread("a")
    policy = replace(AUTOMATIC, quiet_hours=(QuietTime(0, 1440),))
    stage = Stage(state, profiles, policy, Orders(is_paused=True))
    stage.round()
    stage.store.ordered = NO_ORDERS
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            stage.round()
    assert [each for each in caplog.messages if "it would be moved" in each and "quiet" in each]
    assert caplog.text.count("it would be moved") == 1


@pytest.mark.slow
@given(cluster=clusters())
def test_from_automatic_to_advice_what_plans_have_put_stays_planned(cluster):
    state, profiles = cluster
    stage = Stage(state, profiles, UNBOUND)
    stage.round()
    before = stage.brain.last_plan
    stage.policy(Policy(Mode.ADVISE))
    stage.round()
    # What a plan leaves to Storm would be spread over as many workers as it may use.
    assert stage.brain.last_plan.places_alike(before)


@given(cluster=clusters())
def test_what_is_approved_is_what_an_unbound_brain_does(cluster):
    state, profiles = cluster
    unbound = Stage(state, profiles, UNBOUND)
    unbound.round()
    stage = Stage(state, profiles, Policy(Mode.APPROVE))
    stage.round()
    proposal = stage.brain.outlook()["proposal"]
    assert (proposal is None) == (unbound.homes() == homes(state))
    stage.store.ordered = Orders(approved=frozenset({proposal} if proposal else ()))
    stage.round()
    assert stage.homes() == unbound.homes()


def shown(outlook):
    """Return what a plan says of each topology that it moves, as values."""
    return {
        line["topology"]: {(node, port, tuple(tasks)) for node, port, tasks in line["workers"]}
        for line in outlook["withheld"]
        if line["is_offered"]
    }


@given(
    cluster=clusters(),
    mode=st.sampled_from([Mode.APPROVE, Mode.AUTOMATIC]),
    pinned=st.sampled_from(["t0", "t1", "none"]),
    most=st.sampled_from([None, 2, 4]),
    drained=st.sampled_from([frozenset(), frozenset({"n0"})]),
)
def test_what_is_approved_is_what_was_shown_and_nothing_else(cluster, mode, pinned, most, drained):
    """Where a guard held one topology of a plan, what others did around that had not been shown."""
    state, profiles = cluster
    rules = (TopologyRule(pinned, pin=True),)
    policy = Policy(mode, restarts_per_round=most, topologies=rules)
    stage = Stage(state, profiles, policy, Orders(drained=drained))
    stage.round()
    outlook = stage.brain.outlook()
    if outlook["proposal"] is None:
        return
    plan, before = shown(outlook), homes(stage.state)
    moving = {
        line["topology"]: {(node, port, tuple(tasks)) for node, port, tasks in line["workers"]}
        for line in stage.brain.preview("none", None, None)["topologies"]
        if line["initiator"] is not None
    }
    stage.store.ordered = replace(
        NO_ORDERS, approved=frozenset({outlook["proposal"]}), drained=drained
    )
    stage.round()
    after = {
        name: {(w.slot.node, w.slot.port, w.executors) for w in workers}
        for name, workers in homes(stage.state).items()
        if workers != before[name]
    }
    assert after == {**moving, **plan}
    assert plan


@pytest.mark.slow
@given(cluster=clusters())
def test_whatever_is_withheld_no_slot_is_given_twice(cluster):
    state, profiles = cluster
    rules = (TopologyRule("t1", pin=True),)
    policy = Policy(Mode.AUTOMATIC, restarts_per_round=1, cool_down_s=0.0, topologies=rules)
    stage = Stage(state, profiles, policy)
    for _ in range(4):
        plan = stage.brain.plan(stage.state)
        told = {part.topology: part.workers for part in plan.topologies}
        used = [w.slot for t in stage.state.topologies for w in told.get(t.id, t.assignment)]
        assert len(used) == len(set(used))
        stage.round()


def test_the_name_of_a_proposal_stays_as_long_as_the_proposal_does():
    state, profiles = spread("a", "b")
    stage = Stage(state, profiles, Policy(Mode.APPROVE))
    names = set()
    for _ in range(3):
        stage.round()
        names.add(stage.brain.outlook()["proposal"])
    assert len(names) == 1
    stage.store.known = {}
    stage.round()
    assert stage.brain.outlook()["proposal"] is None


def test_history_names_the_hosts_of_reasons_and_limits_come_before_a_full_cpu():
    running = dealt(topology("a", (2, 2), acker=False), HERE)
    small = supervisors(1, cpu=15.0, meta={"stormcut.max.executors": "2"})
    state = ClusterState((*small, *supervisors(3)[1:]), (running,))
    stage = Stage(state, {"a": profile_of(running)}, AUTOMATIC)
    assert stage.round(1000) == ["a"]
    _, entry = stage.store.plans[-1]
    (line,) = entry["topologies"]
    assert "node n0 holds 4 executors, its limit is 2" in line["reason"]
    assert entry["hosts"] == {"n0": "h0"}


def test_advice_is_in_the_history():
    state, profiles = spread("a")
    stage = Stage(state, profiles, Policy())
    stage.round()
    (line,) = stage.store.plans[-1][1]["declined"]
    assert line["reason"].startswith("kept: ") is False
    assert "advise mode: will not act; it would be moved" in line["reason"]


def test_a_topology_that_moved_cools_down_and_time_alone_ends_that():
    state, profiles = spread("a")
    stage = Stage(state, profiles, AUTOMATIC)
    assert stage.round() == ["a"]
    stage.round()
    # The traffic changes: what was together is better apart on two nodes than on four.
    home = stage.state
    stage.state = replace(home, topologies=(replace(state.topologies[0]),))
    stage.store.known = {"a": replace(profiles["a"], to_epoch_s=200)}
    stage.brain.plan(home)
    assert stage.round(20) == []
    assert stage.waits() == {"a": "cool down"}
    assert stage.round(AUTOMATIC.cool_down_s) == ["a"]


@pytest.mark.slow
def test_one_topology_at_a_time_and_the_important_ones_first():
    state, profiles = spread("a", "b", "c")
    rules = (TopologyRule("c", priority=9), TopologyRule("a", pin=True))
    policy = Policy(Mode.AUTOMATIC, restarts_per_round=4, topologies=rules)
    stage = Stage(state, profiles, policy)
    assert stage.round() == ["c"]
    assert stage.waits()["a"] == "pinned"
    assert stage.round(20) == ["b"]
    assert stage.round(20) == []


@pytest.mark.slow
def test_no_more_workers_restart_in_an_hour_than_may():
    state, profiles = spread("a", "b")
    stage = Stage(state, profiles, Policy(Mode.AUTOMATIC, restarts_per_hour=5))
    assert stage.round() == ["a"]
    assert stage.round(1800) == []
    assert stage.waits() == {"b": "hour"}
    assert stage.round(1801) == ["b"]


def test_quiet_hours_are_quiet_and_end():
    state, profiles = spread("a")
    stage = Stage(state, profiles, AUTOMATIC)
    now = datetime.fromtimestamp(stage.clock.now() + 10)
    minute = 60 * now.hour + now.minute
    quiet = QuietTime(minute, (minute + 30) % 1440)
    stage = Stage(state, profiles, replace(AUTOMATIC, quiet_hours=(quiet,)))
    assert stage.round() == []
    assert stage.waits() == {"a": "quiet"}
    assert stage.round(1800) == ["a"]


def test_a_move_that_costs_more_than_it_gains_is_not_made():
    state, profiles = spread("a")
    policy = replace(AUTOMATIC, restart_seconds=20.0, horizon_s=10.0)
    stage = Stage(state, profiles, policy)
    assert stage.round() == []
    assert stage.waits() == {"a": "dear"}
    assert stage.brain.outlook()["topologies"][0]["reason"].startswith(
        "kept: its restarts would cost more than it gains ("
    )
    stage = Stage(state, profiles, replace(policy, horizon_s=1800.0))
    assert stage.round() == ["a"]


def test_never_moves_nothing_that_runs_and_places_what_is_new():
    state, profiles = spread("a")
    new = topology("b", (1, 1))
    both = replace(state, topologies=(*state.topologies, new))
    stage = Stage(both, profiles, replace(AUTOMATIC, rule=Rule.NEVER))
    assert stage.round() == []
    assert stage.state.topologies[1].assignment


@pytest.mark.parametrize("name", ["n0", "h0"])
def test_a_drained_node_is_left_and_used_again_when_it_may(name):
    state, profiles = spread("a", "b")
    stage = Stage(state, profiles, AUTOMATIC, Orders(drained=frozenset({name})))
    assert stage.round()
    nodes = {w.slot.node for t in stage.state.topologies for w in t.assignment}
    assert "n0" not in nodes
    policy = replace(AUTOMATIC, drained=("n[0-2]",))
    stage = Stage(state, profiles, policy)
    stage.round()
    assert {w.slot.node for t in stage.state.topologies for w in t.assignment} == {"n3"}


@pytest.mark.parametrize(
    ("named", "back"),
    [("n0", Supervisor("new", "h0", PORTS)), ("h0", Supervisor("n0", "h", PORTS))],
)
def test_a_drained_machine_that_returns_under_another_name_stays_empty(named, back):
    state, profiles = spread("a", nodes=2)
    orders = draining(named, state.supervisors)(NO_ORDERS)
    stage = Stage(state, profiles, AUTOMATIC, orders)
    stage.round()
    stage.round(100)
    stage.state = replace(stage.state, supervisors=(back,))
    stage.round(100)
    assert all(w.slot.node != back.id for t in stage.state.topologies for w in t.assignment)
    # A machine of which nobody knows a name is shown.
    stage.state = replace(stage.state, supervisors=(Supervisor("x", "y", PORTS),))
    stage.round(100)
    assert stage.brain.outlook()["drained_nowhere"] == [named]


@pytest.mark.slow
def test_a_budget_that_cannot_be_read_is_spent_and_one_whose_data_are_lost_is_remembered():
    state, profiles = spread("a")
    for spent, waits in ((None, {"a": "hour"}), ((), {})):
        stage = Stage(state, profiles, AUTOMATIC)
        stage.store.spent = spent
        stage.brain.take_over()
        stage.round()
        assert stage.waits() == waits
    policy = Policy(Mode.AUTOMATIC, restarts_per_hour=5, cool_down_s=0.0)
    for after_s, moved in ((10.0, []), (3600.0, ["b"])):
        stage = Stage(*spread("a", "b"), policy)
        assert stage.round() == ["a"]
        stage.policy(policy)
        assert stage.round(after_s) == moved, "who leads next counts on"
    stage = Stage(*spread("a", "b"), policy)
    assert stage.round() == ["a"]
    stage.store.spent = ()
    stage.brain.take_over()
    assert stage.round() == []
    assert stage.waits() == {"b": "hour"}


def test_less_traffic_is_worth_the_share_of_cpu_or_of_a_link_that_it_frees():
    now = Worth(2.0, None, 100.0, "bytes/s", burden=0.10)
    then = Worth(2.0, None, 10.0, "bytes/s", burden=0.02)
    assert gain_of(LessTraffic(now, then)) == pytest.approx(0.08)
    assert gain_of(LessTraffic(then, now)) == 0.0


def test_a_saving_that_nobody_would_notice_restarts_nothing():
    """4 kB/s at a head-room of 10 once ended six workers, for 16 to 21 s without acks."""
    t = dealt(
        topology("a-1-1", (3, 3), workers=6),
        [Slot(f"n{n}", p) for p in (6700, 6701) for n in range(3)],
    )
    quiet = profile_of(t, cpu=3.0, rate=lambda source, target: 2.0)
    stage = Stage(ClusterState(supervisors(3), (t,)), {t.id: quiet}, AUTOMATIC)
    stage.round()
    assert stage.waits() == {"a-1-1": "dear"}
    assert stage.homes() == homes(ClusterState((), (t,)))


@pytest.mark.parametrize(("headroom", "waits"), [(1.1, False), (1.5, True)])
def test_who_is_overloaded_does_not_wait_for_a_whole_cool_down(headroom, waits):
    now, then = (Worth(room, None, 100.0, "bytes/s") for room in (headroom, 9.0))
    pace = Pace(1100.0, changed={"a-1-1": 1000.0})
    moment = GuardContext(
        1100.0,
        datetime(2026, 1, 1, 12),
        NO_ORDERS,
        pace,
        Ledger(),
        Allowed({}),
    )
    home, target = (tuple(dealt(topology("a", (2, 2)), s).assignment) for s in (HERE, THERE))
    reason, evidence = MoreHeadroom(now, then), Evidence(Ground.MEASURED)
    change = Change(Initiator.GAIN, "a-1-1", home, target, reason, evidence)
    held = Gate(AUTOMATIC).judge([change], moment)
    assert [verdict.guard for verdict in held.values()] == ([Guard.COOL_DOWN] if waits else [])


def test_what_is_shown_under_a_name_is_what_is_done_under_it():
    """While what was approved past guards waited, its workers stood under the other plan's name."""
    stage, before = approve_past_guards(Policy(Mode.APPROVE))
    stage.store.ordered = pausing(True)(stage.store.ordered)
    stage.round()
    after = stage.brain.outlook()
    assert before["proposal"] == after["proposal"]
    assert before["override"]["proposal"] == after["override"]["proposal"]

    def workers_offered(outlook):
        return {x["topology"]: x["workers"] for x in outlook["withheld"] if x["is_offered"]}

    past_guards = {each["topology"]: each["workers"] for each in before["override"]["topologies"]}
    assert workers_offered(before)["b"] != past_guards["b"]
    assert workers_offered(after) == workers_offered(before)


def test_what_is_approved_past_guards_is_shown_as_it_waits_for_the_next_round():
    stage, shown = approve_past_guards(Policy(Mode.APPROVE))
    after = stage.brain.outlook()
    assert after["approved"] == [shown["override"]["proposal"]]
    waits = [{x["topology"]: x["waits_for"] for x in each["withheld"]} for each in (shown, after)]
    assert waits[0] == waits[1]
    assert sorted(waits[0]) == ["a", "b"]


def test_restarts_are_kept_by_how_long_ago_they_were():
    stage = Stage(*spread("a"), AUTOMATIC)
    assert stage.round(1000) == ["a"]
    assert {each.at_s for each in stage.store.spent} == {0.0}


def test_an_override_passes_a_budget_that_changes_exceed_only_together():
    """It named none, and the approved plan waited for ever."""
    stage, shown = approve_past_guards(Policy(Mode.APPROVE, restarts_per_round=5))
    assert shown["override"]["guards"] == ["pinned", "round"]
    assert sorted(stage.round()) == ["a", "b"]


def test_gauges_say_who_may_act_and_what_waits_for_what():
    stage = Stage(*spread("a"), Policy(Mode.APPROVE))
    stage.store.ordered = pausing(True)(NO_ORDERS)
    stage.round(1000)
    found = stage.brain.control()
    assert (found.mode, found.is_paused, found.silent) == (Mode.APPROVE, True, frozenset())
    assert (found.waiting, found.outcomes) == ({Guard.PAUSED: 1}, {})
    assert found.left_on_drained == {}


@pytest.mark.parametrize(
    ("drained", "initiator"),
    [(frozenset({"n0"}), Initiator.DRAIN), (frozenset(), Initiator.LIMIT)],
)
def test_who_wants_a_move_off_a_node_follows_from_why_it_may_hold_none(drained, initiator):
    state, profiles = spread("a")
    closed, *others = state.supervisors
    closed = replace(closed, meta={"stormcut.max.executors": "0"})
    state = replace(state, supervisors=(closed, *others))
    stage = Stage(state, profiles, Policy(Mode.AUTOMATIC), Orders(drained=drained))
    stage.round(1000)
    (step,) = stage.store.trails["a"]
    assert (step.initiator, step.at_s) == (initiator, stage.clock.now())
    (_, entry) = stage.store.plans[-1]
    assert [line["initiator"] for line in entry["topologies"]] == [initiator.value]


def test_gauges_count_what_is_left_on_drained_nodes():
    stage = Stage(*spread("a"), Policy(Mode.APPROVE))
    first, *_ = stage.state.supervisors
    stage.store.ordered = draining(first.id, stage.state.supervisors)(NO_ORDERS)
    stage.round(1000)
    (running,) = stage.state.topologies
    left = sum(len(w.executors) for w in running.assignment if w.slot.node == first.id)
    assert left and stage.brain.control().left_on_drained == {first.host: left}


def test_an_outlook_says_how_the_parts_beside_the_brain_are():
    stage = Stage(*spread("a"), AUTOMATIC)
    stage.brain.parts = {"spark": lambda: PartStatus(False, "nothing is measured now")}
    stage.round(1000)
    expected = {"spark": {"is_well": False, "words": "nothing is measured now"}}
    assert stage.brain.outlook()["parts"] == expected


def test_an_outlook_says_why_a_topology_is_not_measured():
    state, profiles = spread("a", "b")
    stage = Stage(state, {"a": profiles["a"]}, AUTOMATIC)
    stage.brain.unmeasured = lambda running: f"no log of {running.id}"
    stage.round(1000)
    assert stage.brain.outlook()["unmeasured"] == {"b": "no log of b"}


def test_what_is_ordered_is_shown_before_the_round_that_obeys():
    stage = Stage(*spread("a"), Policy(Mode.APPROVE))
    stage.round(1000)
    (proposed,) = stage.brain.outlook()["withheld"]
    assert proposed["waits_for"] == "approval"
    stage.store.ordered = replace(pausing(True)(NO_ORDERS), revision=1)
    for found in (stage.brain.outlook(settled=False), stage.brain.outlook()):
        assert found["paused"]
        (line,) = found["withheld"]
        assert (line["topology"], line["waits_for"]) == ("a", "paused")
    assert stage.brain.control().is_paused


def test_orders_that_never_rest_delay_no_plan():
    stage = Stage(*spread("a"), AUTOMATIC)
    asked = 0

    def restless():
        nonlocal asked
        asked += 1
        return replace(NO_ORDERS, revision=asked, is_paused=asked % 2 == 0)

    stage.store.orders = restless
    stage.round(1000)
    assert stage.store.plans
    assert asked < 10


def test_an_outlook_before_nimbus_has_asked_says_so():
    stage = Stage(*spread("a"), AUTOMATIC)
    with pytest.raises(InvalidInput, match="Nimbus has not asked this brain yet"):
        stage.brain.outlook(settled=False)
    found = stage.brain.control()
    assert (found.left_on_drained, found.waiting) == ({}, {})


def test_what_depends_on_anothers_answer_for_ever_is_withheld(monkeypatch):
    """One is pinned, and the other would be decided around it."""
    monkeypatch.setattr(settling, "MAX_ROUNDS", 1)
    policy = replace(AUTOMATIC, topologies=(TopologyRule("a", pin=True),))
    stage = Stage(*spread("a", "b"), policy)
    assert stage.round(1000) == []
    assert stage.waits() == {"a": "others", "b": "others"}


def test_a_step_predicts_what_travels_where_that_was_measured():
    """What was declared has no tuples a second."""
    state, profiles = spread("a")
    for known, is_predicted in ((profiles, True), ({}, False)):
        stage = Stage(state, known, AUTOMATIC)
        if not known:
            stage.store.back = {"a": Undo(dealt(state.topologies[0], HERE).assignment)}
        stage.round(1000)
        (step,) = stage.store.trails["a"]
        assert (step.between_nodes_per_s is not None) is is_predicted
