"""Decisions by algorithms' own rules: StroMAX's skew, OLS's least time, Bframework's monitor."""

from dataclasses import replace

import pytest
from brain_clusters import (
    applied,
    assert_worth_is_shown,
    dealt,
    profile_of,
    supervisors,
    swapping,
    topology,
)
from simulated import SimulatedClock, ids
from test_brain import Memory as Store
from test_brain_headroom import busy, cpu_by_node

from stormcut.control.brain import Brain
from stormcut.control.decide.adviser import Adviser, Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import Action, BreaksLimit
from stormcut.control.decide.memory import Memory
from stormcut.control.decide.pace import Pace
from stormcut.control.decide.question import Question
from stormcut.control.decide.rules import Rules
from stormcut.control.decide.wording import sentence
from stormcut.model.cluster import ClusterState, Slot, Worker
from stormcut.model.plan import Plan, TopologyPlan
from stormcut.placement.acceptance import Overuse, Pause, Saving, Skew, Unconfirmed

RUNNING, PROFILE = busy()
TASKS = tuple(e.start_task for e in RUNNING.executors)


def cluster(*workers):
    """Return 8 executors of 55 points on three nodes of 400, workers given as (node, tasks)."""
    ports = {}
    assignment = []
    for node, tasks in workers:
        port = ports[node] = ports.get(node, 6699) + 1
        assignment.append(Worker(Slot(node, port), tasks))
    return ClusterState(supervisors(3), (replace(RUNNING, assignment=tuple(assignment)),))


def asked(state, settings, profile=PROFILE, memory=None, **known):
    (decision,) = decide(Question(state, {"t": profile}, None, settings, **known), memory).decided
    return decision


def test_stromax_reassigns_what_is_above_the_mean_by_the_skew():
    state = cluster(("n0", TASKS[:6]), ("n1", TASKS[6:7]), ("n2", TASKS[7:]))
    decision = asked(state, Settings("stromax"))
    assert decision.choice.action is Action.MOVE
    assert decision.choice.reason == Skew("n0", pytest.approx(2.25), 1.12)
    assert_worth_is_shown(decision)
    assert cpu_by_node(decision, PROFILE)[0] <= 220.0
    assert sentence(decision).startswith(
        "moved, as node n0 has 2.25 times the mean load, above 1.12: "
    )
    kept = asked(state, Settings("stromax", {"skew": "1.25"}))
    assert sentence(kept) == "kept: no node has more than 2.25 times the mean load: n0 has 2.25"


def test_an_own_rule_counts_where_nothing_travels():
    """All on one of three idle nodes: that nothing travels is no part of StroMAX's rule."""
    calm = profile_of(RUNNING, 15.0, memory=1.0)
    state = cluster(("n0", TASKS[:4]), ("n0", TASKS[4:]))
    decision = asked(state, Settings("stromax"), profile=calm)
    assert decision.choice.action is Action.MOVE
    assert decision.choice.reason == Skew("n0", pytest.approx(3.0), 1.12)


def test_a_broken_limit_moves_whatever_the_rule_says():
    state = cluster(("n0", TASKS))
    for name, options in (
        ("stromax", {"skew": "9"}),
        ("ols", {"improvement": "1"}),
        ("bframework", {"k_stable": "9"}),
    ):
        pace = Pace()
        decision = asked(state, Settings(name, options), pace=pace)
        assert decision.choice.action is Action.MOVE
        assert isinstance(decision.choice.reason, BreaksLimit)


def test_what_was_placed_just_now_is_not_moved_before_it_runs():
    state = ClusterState(supervisors(3), (RUNNING,))
    memory = Memory()
    placed = asked(state, Settings("stromax"), memory=memory)
    assert placed.choice.action is Action.PLACE
    runs = applied(state, [placed])
    decision = asked(runs, Settings("stromax", {"skew": "0"}), memory=memory)
    assert not sentence(decision).startswith("kept: as planned")


#: Pairs that exchange most: those on one node, or those apart.
NEAR, FAR = ({(1, 3), (2, 4)}, {(1, 4), (2, 3)})


def pairs(heavy, seconds):
    """Return a profile in which some pairs of four executors exchange most."""
    running = topology("t", (2, 2), acker=False)
    profile = profile_of(running, rate=lambda s, t: 10.0 if (s, t) in heavy else 1.0)
    return replace(profile, to_epoch_s=seconds)


def test_ols_waits_its_least_time_and_is_asked_again_after_it():
    clock, store = SimulatedClock(), Store({"t": pairs(FAR, 60)})
    brain = Brain(Settings("ols"), store, store, clock, ids())
    running = dealt(topology("t", (2, 2), acker=False), [Slot("n0", 6700), Slot("n1", 6700)])
    state = ClusterState(supervisors(2, meta={"stormcut.max.executors": "2"}), (running,))

    def plan():
        nonlocal state
        before, part = state, brain.plan(state).of("t")
        state = applied(state, [part])
        clock.seconds += 10
        (line,) = brain.outlook(settled=False)["topologies"]
        return line["reason"], state != before

    reason, moves = plan()
    assert moves
    assert reason.startswith("moved by measured traffic")
    moments = []
    for _ in range(30):
        store.known = {"t": pairs(NEAR if moments else FAR, 120)}
        began = clock.now()
        reason, moves = plan()
        moments.append((began, moves, reason))
    # The cluster has done as told by the first of these questions.
    changed = moments[0][0]
    (moved,) = [at for at, moves, _ in moments if moves]
    assert moved - changed == 180.0
    assert "it moved 10 s ago; no other move before 180 s have passed" in moments[1][2]


def test_ols_does_not_wait_for_a_change_that_nobody_made():
    state = ClusterState(
        supervisors(2, meta={"stormcut.max.executors": "2"}),
        (dealt(topology("t", (2, 2), acker=False), [Slot("n0", 6700), Slot("n1", 6700)]),),
    )
    memory, pace = Memory(), Pace()
    for now in (0.0, 10.0, 20.0):
        pace = pace.observe(state, None, now)
        decision = asked(state, Settings("ols"), pairs(FAR, 60), memory=memory, pace=pace)
        assert decision.choice.action is Action.MOVE


def test_bframework_saves_traffic_when_several_measurements_say_so():
    """What passes is not settled; to ask twice of one measurement does not count as two."""
    running = dealt(topology("t", (2, 2), acker=False), [Slot("n0", 6700), Slot("n1", 6700)])
    state, settings = ClusterState(supervisors(2), (running,)), Settings("bframework")
    memory, pace = Memory(), Pace()
    for seconds, held in ((60, 1), (60, 1), (120, 2)):
        decision = asked(state, settings, pairs(FAR, seconds), memory=memory, pace=pace)
        assert decision.choice.reason == Unconfirmed(held, 3)
        load = memory.workload(running, pairs(FAR, seconds), None)
        assert memory.settled(load, *now(state)) is None
    assert sentence(decision) == (
        "kept: what calls for a move held in 2 of 3 measurements in a row"
    )
    third = pairs(FAR, 180)
    previewed = asked(state, settings, third, memory=memory.copy(), pace=pace)
    decision = asked(state, settings, third, memory=memory, pace=pace)
    assert decision == previewed
    assert decision.choice.action is Action.MOVE
    assert isinstance(decision.choice.reason, Saving)
    assert decision.after.metrics.inter_node_tuples_per_second == 0


def now(state):
    """Return where the only topology of a state runs, and the state."""
    return tuple(sorted(state.topologies[0].assignment)), state


def test_bframework_acts_on_an_overload_at_once():
    state = cluster(("n0", TASKS[:3]), ("n0", TASKS[3:6]), ("n1", TASKS[6:7]), ("n2", TASKS[7:]))
    decision = asked(state, Settings("bframework"))
    assert decision.choice.reason == Overuse("n0", pytest.approx(0.825), 0.8)
    assert cpu_by_node(decision, PROFILE)[0] < 330.0
    said = sentence(decision)
    assert said.startswith("moved, as 82% of node n0 is in use, above 80% (t: 1 partition, R none")
    assert "0 of 2 operators in the same one): " in said


def test_time_alone_may_change_a_decision_that_waits_for_it():
    state = cluster(("n0", TASKS[:6]), ("n1", TASKS[6:7]), ("n2", TASKS[7:]))
    home = tuple(sorted(state.topologies[0].assignment))
    pace = Pace().observe(
        state, Plan("p", "", 0, (TopologyPlan("t", home, "stromax", "moved"),)), 20.0, 20.0
    )
    decisions = decide(Question(state, {"t": PROFILE}, None, Settings("stromax"), pace=pace))
    assert decisions.decided[0].choice.reason == Pause(20.0, 60.0)
    assert decisions.again_in == 40.0
    pace = Pace()
    decisions = decide(Question(state, {"t": PROFILE}, None, Settings("stromax"), pace=pace))
    assert decisions.again_in == float("inf")


def test_a_node_that_is_full_by_what_measurements_are_off_is_left_to_the_rule():
    """105 of 100 points, where the best place for them fills a node to 95."""
    state, profile, (loads,) = swapping((50.0, 60.0, 45.0))
    kept = Question(state, {"a": profile(loads, 160)}, None, Settings("stromax", {"skew": "9"}))
    (decision,) = decide(kept).decided
    assert decision.choice.action is Action.KEEP
    assert isinstance(decision.choice.reason, Skew)


def test_what_the_rule_has_settled_is_not_judged_again(monkeypatch):
    """What is full by no more than measurements are off is looked at again: a limit is broken."""
    asked = calls(monkeypatch, Adviser, "advice")
    judged = calls(monkeypatch, Rules, "own")
    even = cluster(("n0", TASKS[:4]), ("n1", TASKS[4:6]), ("n2", TASKS[6:])), {"t": PROFILE}
    full, profile, (loads,) = swapping((50.0, 60.0, 45.0))
    for (state, profiles), again in ((even, 0), ((full, {"a": profile(loads, 160)}), 1)):
        memory, settings = Memory(), Settings("stromax", {"skew": "9"})
        first, second = (
            decide(Question(state, profiles, None, settings), memory).decided for _ in range(2)
        )
        assert first == second
        assert first[0].choice.action is Action.KEEP
        assert isinstance(first[0].choice.reason, Skew)
        assert (len(asked), len(judged)) == (1 + again, 1)
        asked.clear()
        judged.clear()


def calls(monkeypatch, owner, name):
    """Return a list that has one more entry whenever a method is called."""
    entries, method = [], getattr(owner, name)

    def note(self, *its):
        entries.append(its)
        return method(self, *its)

    monkeypatch.setattr(owner, name, note)
    return entries


@pytest.mark.parametrize("name", ["stromax", "ols", "bframework"])
def test_what_has_no_other_placement_stays_and_says_why(name):
    state = cluster(("n0", TASKS[:3]), ("n1", TASKS[3:6]), ("n2", TASKS[6:]))
    decision = asked(replace(state, supervisors=supervisors(3, cpu=100.0)), Settings(name))
    assert decision.choice.action is Action.KEEP
    assert "440 % CPU are needed, nodes have 300" in decision.choice.reason.error
