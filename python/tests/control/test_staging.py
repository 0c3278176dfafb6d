"""Moves of few workers at a time: each stage is whole, and the last one is the target."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from brain_clusters import clusters, dealt, profile_of, supervisors, topology
from governed import Stage
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.apply.staging import (
    MAX_SECONDS,
    STAGE_SECONDS,
    Part,
    Rollout,
    _StageRoom,
    parts,
)
from stormcut.control.brain import UNBOUND
from stormcut.control.decide.decision import (
    Action,
    Choice,
    Circumstance,
    Decision,
    Evidence,
    Ground,
    Guard,
    Withheld,
)
from stormcut.control.gate.change import Initiator, restarted
from stormcut.control.orders import NO_ORDERS, Undo
from stormcut.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, RunningExecutor, Slot, Worker

FEW = Policy(Mode.AUTOMATIC, cool_down_s=300.0, workers_at_a_time=1)


@st.composite
def homes(draw, tasks=tuple(range(1, 9))):
    """Where tasks run: each in one worker, each worker in a slot of its own."""
    slots = draw(st.permutations([Slot(f"n{n}", port) for n in range(4) for port in (1, 2)]))
    at = [draw(st.integers(0, len(slots) - 1)) for _ in tasks]
    return tuple(
        sorted(
            Worker(slots[slot], tuple(t for t, its in zip(tasks, at, strict=True) if its == slot))
            for slot in {*at}
        )
    )


@given(present=homes(), target=homes(), order=st.randoms())
def test_parts_may_go_in_any_order(present, target, order):
    found = parts("t", present, target)
    assert all(isinstance(part, Part) and part.before != part.after for part in found)
    order.shuffle(found)
    here = set(present)
    for part in found:
        here = (here - {*part.before}) | {*part.after}
        tasks = [task for worker in here for task in worker.executors]
        slots = [worker.slot for worker in here]
        assert sorted(tasks) == list(range(1, 9))
        assert len(slots) == len({*slots})
    assert here == {*target}
    assert parts("t", target, target) == []


@pytest.mark.parametrize(("limit", "fits"), [("5", True), ("4", False)])
def test_a_stage_counts_all_workers_of_a_node(limit, fits):
    moving = Worker(Slot("n1", 6700), (4, 5))
    here = [Worker(Slot("n0", 6700), (1, 2)), Worker(Slot("n0", 6701), (3,)), moving]
    state = ClusterState(supervisors(2, meta={"stormcut.max.executors": limit}), ())
    part = Part("a", (moving,), (Worker(Slot("n0", 6702), (4, 5)),))
    room = _StageRoom(state, here)
    # To ask takes nothing.
    assert [room.takes([part]) for _ in range(3)] == [fits] * 3


@pytest.mark.parametrize(("limit", "fits"), [("2", True), ("1", False)])
def test_a_node_that_is_empty_has_a_limit_too(limit, fits):
    moving = Worker(Slot("n0", 6700), (4, 5))
    state = ClusterState(supervisors(2, meta={"stormcut.max.executors": limit}), ())
    part = Part("a", (moving,), (Worker(Slot("n1", 6700), (4, 5)),))
    assert _StageRoom(state, [moving]).takes([part]) is fits


def swapped():
    """Three pairs that talk, each on two nodes: to bring them together needs three exchanges."""
    running = topology("a", (3, 3), acker=False)
    slots = [Slot(f"n{n}", 6700) for n in range(6)]
    nodes = supervisors(6, meta={"stormcut.max.executors": "2"})
    state = ClusterState(nodes, (dealt(running, slots),))
    first = [e.start_task for e in running.executors if e.component == "c0"]
    second = [e.start_task for e in running.executors if e.component == "c1"]
    pairs = {*zip(first, second, strict=True)}
    profile = profile_of(running, rate=lambda s, t: 100_000.0 if (s, t) in pairs else 0.0)
    return state, {"a": profile}


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_move_is_made_in_stages_that_say_so(most):
    state, profiles = swapped()
    at_once = Stage(state, profiles, UNBOUND)
    at_once.round()
    stage = Stage(state, profiles, replace(FEW, workers_at_a_time=most))
    seen = [stage.homes()["a"]]
    for _ in range(12):
        stage.round(STAGE_SECONDS / 2)
        if stage.homes()["a"] != seen[-1]:
            seen.append(stage.homes()["a"])
    assert seen[-1] == at_once.homes()["a"]
    assert len(seen) > 2
    reasons = [line["reason"] for _, entry in stage.store.plans for line in entry["topologies"]]
    assert any("(stage 1, " in reason and "to follow)" in reason for reason in reasons)
    numbers = [int(n) for reason in reasons for n in re.findall(r"stage (\d+)", reason)]
    assert numbers == list(range(1, len(seen)))
    for before, after in pairwise(seen):
        begun = {w for w in after if w not in before}
        assert len(begun) <= most
    assert stage.round(STAGE_SECONDS) == []
    reported = [line["workers_restarted"] for _, e in stage.store.plans for line in e["topologies"]]
    real = [len(restarted(tuple(was), tuple(now))) for was, now in pairwise(seen)]
    assert [each for each in reported if each] == real


@given(cluster=clusters(), most=st.integers(1, 2), forgets=st.booleans())
def test_every_stage_is_whole_and_they_end(cluster, most, forgets):
    state, profiles = cluster
    policy = replace(FEW, workers_at_a_time=most, cool_down_s=0.0)
    stage = Stage(state, profiles, policy)
    for number in range(24):
        before = stage.state
        stage.round(STAGE_SECONDS + 1)
        if forgets and number == 1:
            stage.brain._left = replace(stage.brain._left, rollout=None)
        slots = [worker.slot for t in stage.state.topologies for worker in t.assignment]
        assert len(slots) == len({*slots})
        for was, now in zip(before.topologies, stage.state.topologies, strict=True):
            assert was.unassigned or not now.unassigned
            tasks = [task for worker in now.assignment for task in worker.executors]
            assert len(tasks) == len({*tasks})
    assert stage.round(STAGE_SECONDS + 1) == []


def test_whoever_asks_again_during_a_stage_gets_the_same_answer_undecided():
    """Something new is placed together with the first stage."""
    state, profiles = swapped()
    state = replace(state, topologies=(*state.topologies, topology("b", (1, 1))))
    stage = Stage(state, profiles, replace(FEW, workers_at_a_time=1))
    decided = []
    stage.brain._listener = SimpleNamespace(decided=decided.append)
    first = stage.brain.plan(state)
    assert stage.brain.plan(state) == first
    assert len(decided) == 1
    assert first.of("b").workers
    assert [move["topology"] for move in stage.brain.outlook()["moving"]] == ["a"]


def test_an_outlook_tells_how_far_a_move_is():
    stage = Stage(*swapped(), FEW)
    stage.round()
    seen = []
    while moving := stage.brain.outlook(settled=False)["moving"]:
        (line,) = moving
        seen.append((line["workers_left"], line["left_s"]))
        stage.round(STAGE_SECONDS + 1)
    lefts = [left for left, _ in seen]
    assert lefts == sorted(lefts, reverse=True)
    assert lefts[0] == line["workers"]
    assert len(seen) > 1
    assert seen[0][1] > seen[-1][1]


def test_progress_counts_workers_and_the_time_of_all_stages_to_come():
    stage = Stage(*swapped(), FEW)
    stage.round()
    rollout, state = stage.brain._left.rollout, stage.state
    move = rollout.decisions["a"]
    all_ = sum(part.workers for part in parts("a", move.former, move.workers))
    left = sum(part.workers for part in parts("a", stage.homes()["a"], move.workers))
    assert 1 < left < all_

    def progress(most, budget, after_s):
        changed = replace(rollout, most=most, budget=budget)
        (line,) = changed.progress(state, rollout.staged_s + after_s)
        assert (line.topology, line.workers, line.workers_left) == ("a", all_, left)
        return line.left_s

    assert progress(1, 9, 0.0) == left * STAGE_SECONDS
    assert progress(1, 9, 12.0) == left * STAGE_SECONDS - 12.0
    # The next stage may begin, and begins with its round.
    assert progress(1, 9, STAGE_SECONDS + 5.0) == (left - 1) * STAGE_SECONDS
    # As many at a time as both allow; a part that needs more goes alone.
    assert progress(left, 9, 0.0) == STAGE_SECONDS
    assert progress(left - 1, 9, 0.0) == 2 * STAGE_SECONDS
    assert progress(9, left - 1, 0.0) == 2 * STAGE_SECONDS
    assert progress(0, 0, 0.0) == left * STAGE_SECONDS


def test_a_move_goes_on_while_what_moves_is_there_and_its_stages_follow():
    stage = Stage(*swapped(), FEW)
    stage.round()
    rollout, state = stage.brain._left.rollout, stage.state
    assert rollout.goes_on(state, rollout.staged_s + MAX_SECONDS)
    assert not rollout.goes_on(state, rollout.staged_s + MAX_SECONDS + 1)
    assert not rollout.goes_on(replace(state, topologies=()), rollout.staged_s)
    elsewhere = replace(state.topologies[0], id="b-2-1")
    assert not rollout.goes_on(replace(state, topologies=(elsewhere,)), rollout.staged_s)
    (running,) = state.topologies
    lost = replace(running, assignment=running.assignment[1:])
    gone = running.assignment[0].executors
    left = tuple(each for each in running.executors if each.start_task not in gone)
    fewer = replace(lost, executors=left)
    assert lost.unassigned and not fewer.unassigned
    for other in (lost, fewer):
        assert not rollout.goes_on(replace(state, topologies=(other,)), rollout.staged_s)
    # Rebalanced to one executor more, it runs as it was told, but not whole.
    grown = replace(running, executors=(*running.executors, RunningExecutor(99, 99, "c1")))
    assert not rollout.goes_on(replace(state, topologies=(grown,)), rollout.staged_s)
    # It may take every slot that there is.
    taken = {w.slot for each in (running.assignment, rollout.decisions["a"].workers) for w in each}
    full = tuple(
        replace(each, ports=tuple(sorted(slot.port for slot in taken if slot.node == each.id)))
        for each in state.supervisors
    )
    assert rollout.goes_on(replace(state, supervisors=full), rollout.staged_s)
    # A node that it would go to has gone.
    target = next(w.slot.node for w in rollout.decisions["a"].workers)
    gone = tuple(each for each in state.supervisors if each.id != target)
    assert not rollout.goes_on(replace(state, supervisors=gone), rollout.staged_s)


def rollout_of(ports, most, budget):
    """Return a move from n0 to the same ports of n1, a task a worker, and the state before it."""
    before, after = (
        tuple(Worker(Slot(node, port), (task,)) for task, port in enumerate(ports, 1))
        for node in ("n0", "n1")
    )
    running = replace(topology("a", (len(ports),), acker=False), assignment=before)
    choice = Choice(Action.MOVE, Circumstance.LATER, Ground.MEASURED, after)
    decision = Decision("a", choice, Evidence(Ground.MEASURED), former=before)
    return Rollout({"a": decision}, {}, most, budget, 0.0), ClusterState(supervisors(2), (running,))


def test_a_stage_takes_as_many_workers_as_may_restart_and_fit():
    def take(most, budget, others=None):
        rollout, state = rollout_of([6700, 6701, 6702], most, budget)
        chosen = rollout.next(state, others or {})
        return None if chosen is None else [w.slot.port for p in chosen for w in p.before]

    # Each restarts in two slots: the one that it leaves, and the one that it gets.
    assert take(2, 9) == take(9, 4) == take(9, 5) == [6700, 6701]
    assert take(9, 3) == [6700]
    assert take(9, 9) == [6700, 6701, 6702]
    # At least one.
    assert take(0, 0) == [6700]
    # What does not fit counts for nothing.
    there = {"b": (Worker(Slot("n1", 6700), (9,)),)}
    assert take(2, 4, there) == [6701, 6702]
    assert take(1, 2, there) == [6701]
    everywhere = {"b": tuple(Worker(Slot("n1", port), (port,)) for port in (6700, 6701, 6702))}
    assert take(2, 4, everywhere) is None


def test_a_move_that_waits_is_told_as_kept_with_what_holds_it():
    stage = Stage(*swapped(), FEW)
    stage.round()
    rollout, state = stage.brain._left.rollout, stage.state
    for guard in (Guard.STAGE, Guard.QUIET):
        (waiting,) = rollout.waiting(state, 12.0, guard)
        choice = waiting.choice
        assert (choice.action, choice.ground) == (Action.KEEP, Ground.KEPT)
        assert choice.reason == Withheld(guard, rollout.decisions["a"], 12.0)
        assert set(choice.workers) == stage.homes()["a"]
        assert waiting.before is not None
        assert (waiting.after, waiting.former) == (waiting.before, ())


@pytest.mark.slow
def test_a_stopped_move_goes_no_further_until_it_is_released():
    stage = Stage(*swapped(), FEW)
    before = stage.homes()["a"]
    stage.round()
    half = stage.homes()["a"]
    assert half != before
    stage.store.back = {"a": Undo(())}
    for _ in range(4):
        assert stage.round(STAGE_SECONDS + 1) == []
    assert stage.homes()["a"] == half
    outlook = stage.brain.outlook(settled=False)
    assert outlook["moving"] == outlook["pending"] == []
    (line,) = outlook["topologies"]
    assert line["reason"].startswith("kept: stopped where it ran")
    stage.store.back = {}
    assert any(stage.round(STAGE_SECONDS + FEW.cool_down_s) for _ in range(4))


def test_an_undo_after_a_stop_takes_back_the_stages_that_were_made():
    stage = Stage(*swapped(), FEW)
    before = stage.homes()["a"]
    stage.round()
    stage.store.back = {"a": Undo(())}
    stage.round(STAGE_SECONDS + 1)
    assert stage.homes()["a"] != before
    stage.store.back = {"a": Undo(stage.store.trails["a"][-1].before)}
    for _ in range(8):
        stage.round(STAGE_SECONDS + 1)
    assert stage.homes()["a"] == before


def test_the_stages_of_a_move_are_one_step_of_its_trail():
    stage = Stage(*swapped(), FEW)
    before = stage.homes()["a"]
    stage.round()
    first = stage.homes()["a"]
    stage.round(STAGE_SECONDS + 1)
    assert stage.homes()["a"] not in (before, first)
    (step,) = stage.store.trails["a"]
    assert step.initiator is Initiator.GAIN
    assert ({*step.before}, {*step.after}) == (before, stage.homes()["a"])


def test_a_stopped_topology_gets_its_lost_workers_back():
    state, profiles = swapped()
    stage = Stage(state, profiles, FEW)
    stage.store.back = {"a": Undo(())}
    stage.round()
    (running,) = stage.state.topologies
    _, *living = running.assignment
    stage.state = replace(stage.state, topologies=(replace(running, assignment=tuple(living)),))
    stage.round()
    assert {*living} < stage.homes()["a"]
    assert not stage.state.topologies[0].unassigned


def test_the_next_stage_begins_as_soon_as_it_may_and_no_sooner():
    stage = Stage(*swapped(), FEW)
    stage.round()
    assert stage.round(STAGE_SECONDS - 0.5) == []
    assert stage.round(0.5) == ["a"]


def test_a_move_to_a_node_that_is_drained_meanwhile_ends_where_it_is():
    stage = Stage(*swapped(), FEW)
    stage.round()
    rollout, half = stage.brain._left.rollout, stage.homes()["a"]
    (part, *_) = rollout.next(stage.state, {})
    node = part.after[0].slot.node
    stage.store.ordered = replace(NO_ORDERS, drained=frozenset({node}), revision=1)
    stage.round(STAGE_SECONDS)
    later = stage.brain._left.rollout
    assert later is None or later.decisions is not rollout.decisions
    begun = stage.homes()["a"] - half
    assert node not in {worker.slot.node for worker in begun}
