"""The ledger of restarts: each counts once, when it was last told, and for an hour."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.gate.change import Change, Initiator
from stormcut.control.gate.ledger import HOUR_SECONDS, Ledger, Restarts
from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Worker,
)

SLOTS = [Slot(f"n{at}", 6700) for at in range(4)]


def workers(*slots):
    """Return a worker of one executor for each slot, in turn."""
    return tuple(Worker(SLOTS[at], (task,)) for task, at in enumerate(slots, start=1))


def change(home, target, topology="t"):
    """Return a move; what it is for and what is known of it do not matter here."""
    return Change(Initiator.GAIN, topology, workers(*home), workers(*target), None, None)


def state(home, topology="t"):
    """Return a cluster in which a topology runs so."""
    tasks = range(1, len(home) + 1)
    executors = tuple(RunningExecutor(task, task, "c") for task in tasks)
    running = RunningTopology(topology, topology, 1, executors, (), workers(*home))
    return ClusterState((), (running,))


#: Both executors go to other slots: two workers end, and two begin.
MOVE = change((0, 1), (2, 3))
COUNT = MOVE.restart_count


def test_a_change_that_is_told_again_counts_once_and_from_then():
    once = Ledger().spend([MOVE], 10.0)
    again = once.observe(state((0, 1)), 20.0).spend([MOVE], 20.0)
    assert once.spent == (Restarts(10.0, "t", COUNT),)
    assert again.spent == (Restarts(20.0, "t", COUNT),)
    assert again.count(MOVE) == 0


def test_a_change_that_may_have_been_made_counts_anew():
    made = Ledger().spend([MOVE], 10.0).observe(state((2, 3)), 20.0)
    assert made.open == {}
    assert made.count(MOVE) == COUNT
    assert made.spend([MOVE], 20.0).spent == (
        Restarts(10.0, "t", COUNT),
        Restarts(20.0, "t", COUNT),
    )


def test_what_runs_as_it_did_stays_open():
    seen = Ledger().spend([MOVE], 10.0).observe(state((0, 1)), 20.0)
    assert seen.open == {"t": (MOVE.home, MOVE.target)}


def test_a_topology_that_is_gone_is_not_open():
    seen = Ledger().spend([MOVE], 10.0).observe(state((0, 1), "another"), 20.0)
    assert seen.open == {}
    assert seen.spent == (Restarts(10.0, "t", COUNT),)


def test_a_restart_counts_for_an_hour():
    spent = Ledger().spend([MOVE], 10.0)
    assert spent.observe(state((0, 1)), 10.0 + HOUR_SECONDS - 0.1).spent
    assert not spent.observe(state((0, 1)), 10.0 + HOUR_SECONDS).spent


def test_an_open_change_whose_restarts_are_an_hour_old_counts_again_when_told():
    old = Ledger().spend([MOVE], 10.0).observe(state((0, 1)), 10.0 + HOUR_SECONDS)
    assert old.spend([MOVE], 5_000.0).spent == (Restarts(5_000.0, "t", COUNT),)


def test_what_restarts_nothing_hides_no_other():
    nothing = change((), (0, 1), "new")
    spent = Ledger().spend([nothing, MOVE], 10.0)
    assert nothing.restart_count == 0
    assert spent.spent == (Restarts(10.0, "t", COUNT),)
    assert set(spent.open) == {"new", "t"}


def test_told_again_replaces_its_own_last_restart_alone():
    other = change((0, 1), (2, 3), "u")
    before = Ledger((Restarts(1.0, "t", 5),)).spend([MOVE], 10.0).spend([other], 11.0)
    again = before.spend([MOVE], 20.0)
    assert again.spent == (
        Restarts(1.0, "t", 5),
        Restarts(11.0, "u", COUNT),
        Restarts(20.0, "t", COUNT),
    )


@pytest.mark.parametrize(
    ("count", "most", "left"),
    [
        (1, 6, 0.0),
        (2, 6, 3_500.0),
        (3, 6, 3_500.0),
        (4, 6, 3_550.0),
        (5, 6, 3_550.0),
        (6, 6, 3_600.0),
        (7, 6, HOUR_SECONDS),
    ],
)
def test_a_budget_frees_as_restarts_grow_an_hour_old(count, most, left):
    ledger = Ledger((Restarts(0.0, "a", 2), Restarts(50.0, "b", 2), Restarts(100.0, "c", 1)))
    assert ledger.frees_in(count, most, 100.0) == left


@given(st.lists(st.integers(1, 5), max_size=8), st.integers(0, 10), st.integers(0, 30))
def test_it_frees_exactly_when_enough_has_grown_old(counts, count, most):
    spent = tuple(Restarts(float(at), "t", each) for at, each in enumerate(counts))
    now = float(len(counts))
    left = Ledger(spent).frees_in(count, most, now)

    def total(at):
        return sum(each.count for each in spent if each.at_s + HOUR_SECONDS > at) + count

    if count > most:
        assert left == HOUR_SECONDS
    else:
        assert total(now + left) <= most
        assert left == 0.0 or total(now + left - 0.5) > most
