"""What the gate counts and weighs: budgets add up, gains and prices are those that are told."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

import pytest

from stormcut.control.decide.allowed import Allowed
from stormcut.control.decide.decision import (
    Circumstance,
    Evidence,
    Ground,
    Guard,
    LessTraffic,
    MoreHeadroom,
    Together,
    Worth,
)
from stormcut.control.decide.pace import Pace
from stormcut.control.gate.change import Change, Initiator
from stormcut.control.gate.gate import ROUND_SECONDS, Gate, GuardContext, gain_of
from stormcut.control.gate.guards import GuardAnswer
from stormcut.control.gate.ledger import HOUR_SECONDS, Ledger, Restarts
from stormcut.control.orders import NO_ORDERS
from stormcut.control.policy import Mode, Policy, TopologyRule
from stormcut.model.cluster import Slot, Worker

AUTOMATIC = Policy(Mode.AUTOMATIC, cool_down_s=0.0)
MOMENT = GuardContext(10_000.0, datetime(2026, 1, 1, 12), NO_ORDERS, Pace(), Ledger(), Allowed({}))


def worth(headroom=9.0, burden=0.0):
    return Worth(headroom, None, 9.0, "bytes/s", burden=burden)


ROOM = MoreHeadroom(worth(1.3), worth(9.0))


def change(name="a", nodes=("n2", "n3"), home=("n0", "n1"), reason=ROOM, initiator=Initiator.GAIN):
    """Return a move of as many workers of one executor each as there are nodes."""
    before, after = (
        tuple(Worker(Slot(node, 6700), (task,)) for task, node in enumerate(each, start=1))
        for each in (home, nodes)
    )
    return Change(initiator, f"{name}-1-1", before, after, reason, Evidence(Ground.MEASURED))


def held(policy, changes, **differs):
    return Gate(policy).judge(changes, replace(MOMENT, **differs))


class TestBudgets:
    """Each change ends two workers and begins two: four slots."""

    @pytest.mark.parametrize(
        ("budget", "guard"),
        [("restarts_per_round", Guard.ROUND), ("restarts_per_hour", Guard.HOUR)],
    )
    def test_changes_of_a_round_add_up(self, budget, guard):
        changes = [
            change(name, (f"{name}2", f"{name}3"), (f"{name}0", f"{name}1")) for name in "abcd"
        ]
        for most, going in ((16, 4), (15, 3), (12, 3), (11, 2), (8, 2), (4, 1)):
            found = held(replace(AUTOMATIC, **{budget: most}), changes)
            assert set(found) == {f"{name}-1-1" for name in "abcd"[going:]}, most
            assert all(verdict.guard is guard for verdict in found.values())
            assert all(verdict.answer is GuardAnswer.WAIT for verdict in found.values())

    def test_restarts_on_a_node_add_up_too(self):
        changes = [change(name, (f"{name}2", "n9"), (f"{name}0", f"{name}1")) for name in "abc"]
        found = held(replace(AUTOMATIC, restarts_per_node=2), changes)
        assert set(found) == {"c-1-1"}
        assert found["c-1-1"].guard is Guard.NODE
        assert (found["c-1-1"].answer, found["c-1-1"].left_s) == (GuardAnswer.WAIT, ROUND_SECONDS)

    def test_what_waits_for_the_next_round_says_when_that_is(self):
        changes = [change("a"), change("b", ("m2", "m3"), ("m0", "m1"))]
        found = held(replace(AUTOMATIC, restarts_per_round=4), changes)
        assert found["b-1-1"].left_s == ROUND_SECONDS

    def test_a_part_that_is_larger_than_a_budget_never_goes(self):
        pair = Worker(Slot("n0", 6700), (1, 2)), Worker(Slot("n0", 6701), (3, 4))
        mixed = Worker(Slot("n0", 6700), (1, 3)), Worker(Slot("n0", 6701), (2, 4))
        whole = replace(change(), home=pair, target=mixed)
        assert held(AUTOMATIC, [whole]) == {}
        for budget, guard in (
            ("restarts_per_round", Guard.ROUND),
            ("restarts_per_node", Guard.NODE),
        ):
            found = held(replace(AUTOMATIC, **{budget: 1}), [whole])
            assert found["a-1-1"].guard is guard
            assert (found["a-1-1"].answer, found["a-1-1"].left_s) == (GuardAnswer.NEVER, math.inf)

    def test_all_budgets_that_hold_a_change_are_told(self):
        policy = replace(AUTOMATIC, restarts_per_round=1, restarts_per_node=1, restarts_per_hour=1)
        pair = Worker(Slot("n0", 6700), (1, 2)), Worker(Slot("n0", 6701), (3, 4))
        mixed = Worker(Slot("n0", 6700), (1, 3)), Worker(Slot("n0", 6701), (2, 4))
        whole = replace(change(), home=pair, target=mixed)
        assert Gate(policy).guards([whole], MOMENT) == {"a-1-1": ("round", "node", "hour")}

    @pytest.mark.parametrize("left", [0.5, 5.0])
    def test_what_waits_for_the_hour_says_how_long(self, left):
        old = Restarts(10_000.0 - HOUR_SECONDS + left, "z-1-1", 4)
        policy = replace(AUTOMATIC, restarts_per_hour=4)
        found = held(policy, [change()], ledger=Ledger((old,)))
        assert found["a-1-1"].guard is Guard.HOUR
        assert found["a-1-1"].left_s == pytest.approx(left)

    @pytest.mark.parametrize("count", [1, 2])
    def test_what_was_told_before_goes_before_what_is_new(self, count):
        """A restart that is counted already takes nothing from others."""
        slots = [Slot(f"n{at}", 6700) for at in range(count)]
        home = tuple(Worker(slot, (at + 1,)) for at, slot in enumerate(slots))
        # Each worker gets an executor that ran nowhere: as many slots restart.
        target = tuple(Worker(slot, (at + 1, at + 11)) for at, slot in enumerate(slots))
        told = replace(change("z"), home=home, target=target)
        new = replace(told, topology="a-1-1")
        assert told.restart_count == count
        policy = replace(AUTOMATIC, restarts_per_round=count)
        ledger = Ledger().spend([told], 9_999.0)
        assert set(held(policy, [new, told], ledger=ledger)) == {"a-1-1"}
        assert set(held(policy, [new, told])) == {"z-1-1"}


class TestPrices:
    def test_a_move_is_weighed_by_what_its_own_restart_costs(self):
        """Two of three workers restart; a restart of all costs so many seconds of work."""
        gain = MoreHeadroom(worth(1.0), worth(1.1))
        move = change(nodes=("n0", "n2", "n3"), home=("n0", "n1", "n3"), reason=gain)
        assert move.restart_count == 2
        policy = replace(AUTOMATIC, horizon_s=100.0)
        for price, going in ((14.9, True), (15.1, False)):
            found = held(policy, [move], prices={"a-1-1": price, "b-1-1": 1e9})
            assert (found == {}) is going
        found = held(policy, [move], prices={"a-1-1": 30.0})["a-1-1"]
        assert found.guard is Guard.DEAR
        assert found.pay.gain_s == pytest.approx(10.0)
        assert found.pay.cost_s == pytest.approx(20.0)

    @pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3)])
    def test_the_larger_number_of_workers_counts(self, before, after):
        gain = MoreHeadroom(worth(1.0), worth(1.0))
        move = change(
            nodes=[f"m{at}" for at in range(after)],
            home=[f"n{at}" for at in range(before)],
            reason=gain,
        )
        found = held(AUTOMATIC, [move], prices={"a-1-1": 30.0})["a-1-1"]
        assert found.pay.cost_s == pytest.approx(30.0 * move.restart_count / 3)

    @pytest.mark.parametrize(
        ("reason", "gain"),
        [
            (MoreHeadroom(worth(1.0), worth(1.5)), 0.5),
            (MoreHeadroom(worth(0.5), worth(0.6)), 0.2),
            (MoreHeadroom(worth(1.0), worth(9.0)), 1.0),
            (MoreHeadroom(worth(0.0), worth(1.0)), 1.0),
            (MoreHeadroom(worth(2.0), worth(1.0)), -0.5),
            (LessTraffic(worth(burden=0.5), worth(burden=0.2)), 0.3),
            (LessTraffic(worth(burden=0.2), worth(burden=0.5)), 0.0),
            (Together(("b",), MoreHeadroom(worth(1.0), worth(1.5))), 0.5),
            (Circumstance.LOST, None),
        ],
    )
    def test_a_gain_is_the_work_or_the_share_that_it_frees(self, reason, gain):
        assert gain_of(reason) == (gain if gain is None else pytest.approx(gain))


class TestScope:
    def test_nodes_that_a_rule_leaves_out_are_barred_for_its_topology_alone(self):
        only = Allowed({"a-1-1": frozenset({"n0", "n1", "n2"})})
        found = held(AUTOMATIC, [change("a"), change("b", ("n2", "n3"))], allowed=only)
        assert {name: verdict.guard for name, verdict in found.items()} == {"a-1-1": Guard.DRAINED}

    def test_where_it_runs_already_no_rule_bars_it(self):
        only = Allowed({"a-1-1": frozenset({"n2"})})
        stays = change(nodes=("n0", "n2"), home=("n0", "n1"))
        assert held(AUTOMATIC, [stays], allowed=only) == {}

    @pytest.mark.parametrize(
        ("headroom", "together", "guard"),
        [
            (1.0, False, Guard.DWELL),
            (1.0, True, Guard.DWELL),
            (1.24, False, Guard.DWELL),
            (1.25, False, Guard.COOL_DOWN),
            (1.25, True, Guard.COOL_DOWN),
            (2.0, False, Guard.COOL_DOWN),
        ],
    )
    def test_what_is_overloaded_waits_for_the_dwell_alone(self, headroom, together, guard):
        reason = MoreHeadroom(worth(headroom), worth(9.0))
        move = change(reason=Together(("b-1-1",), reason) if together else reason)
        policy = Policy(Mode.AUTOMATIC, cool_down_s=600.0)
        for seconds, standing in ((50.0, True), (70.0, guard is Guard.COOL_DOWN), (601.0, False)):
            pace = Pace(10_000.0, changed={"a-1-1": 10_000.0 - seconds})
            assert bool(held(policy, [move], pace=pace)) is standing

    def test_spouts_rest_for_those_whose_rule_says_so(self):
        rules = (TopologyRule("a", drain_s=5.0),)
        gate = Gate(replace(AUTOMATIC, topologies=rules))
        changes = [change("a"), change("b", ("m2", "m3"), ("m0", "m1"))]
        assert gate.resting(changes) == (changes[0],)
        assert gate.resting([change("a", initiator=Initiator.PLACEMENT)]) == ()
        assert set(gate.unrested(changes, MOMENT)) == {"a-1-1", "b-1-1"}
        assert gate.unrested(changes, replace(MOMENT, rested={"a-1-1"})) == {}
