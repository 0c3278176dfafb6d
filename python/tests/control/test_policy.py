"""Quiet hours against a plain count of minutes; rules and drained nodes by pattern."""

from datetime import datetime, timedelta

import pytest
from brain_clusters import supervisors
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.observe.nodes import drained_nodes
from stormcut.control.orders import NO_ORDERS
from stormcut.control.policy import FREE, Policy, QuietTime, TopologyRule
from stormcut.model.cluster import ClusterState

MONDAY = datetime(2024, 1, 1)
DAY = 24 * 60

quiet_times = st.builds(
    QuietTime,
    st.integers(0, DAY - 1),
    st.integers(0, DAY),
    st.frozensets(st.integers(0, 6), min_size=1),
)
minutes = st.integers(0, 4 * 7 * DAY - 1)


def counted(quiet, minute):
    """Whether a minute since a Monday lies within, by going through every time it ever began."""
    length = quiet.end - quiet.start + (0 if quiet.end > quiet.start else DAY)
    begins = (
        day * DAY + quiet.start for day in range(-1, minute // DAY + 1) if day % 7 in quiet.days
    )
    return any(begin <= minute < begin + length for begin in begins)


@given(st.lists(quiet_times, max_size=3), minutes, st.integers(0, 59))
def test_a_moment_is_quiet_if_it_lies_within_a_quiet_time(quiet_hours, minute, second):
    moment = MONDAY + timedelta(minutes=minute, seconds=second)
    expected = any(counted(each, minute) for each in quiet_hours)
    assert Policy(quiet_hours=tuple(quiet_hours)).is_quiet(moment) == expected


@given(quiet_times)
def test_a_quiet_time_starts_with_its_first_minute_and_ends_before_its_last(quiet):
    day = min(quiet.days)
    begin = MONDAY + timedelta(days=day, minutes=quiet.start)
    over_midnight = quiet.end <= quiet.start
    end = MONDAY + timedelta(days=day + over_midnight, minutes=quiet.end)
    assert quiet.has(begin)
    assert quiet.has(end - timedelta(seconds=1))
    if len(quiet.days) == 1 and quiet.start != quiet.end:
        assert not quiet.has(end)
        assert not quiet.has(begin - timedelta(seconds=1))


def test_a_night_belongs_to_the_day_on_which_it_begins():
    fridays = Policy(quiet_hours=(QuietTime(22 * 60, 6 * 60, frozenset({4})),))
    assert fridays.is_quiet(datetime(2024, 1, 5, 23))
    assert fridays.is_quiet(datetime(2024, 1, 6, 5, 59))
    assert not fridays.is_quiet(datetime(2024, 1, 5, 5))
    assert not fridays.is_quiet(datetime(2024, 1, 6, 6))


def test_the_first_rule_that_matches_counts():
    taxi, all_ = TopologyRule("taxi-*", pin=True), TopologyRule("*")
    policy = Policy(topologies=(taxi, all_), drained=("old-*",))
    assert policy.rule_of("taxi-2") is taxi
    assert policy.rule_of("Taxi-2") is all_
    assert Policy().rule_of("taxi-2") is FREE
    assert policy.is_drained("id", "old-1")
    assert not policy.is_drained("id", "new-1")


@pytest.mark.parametrize("pattern", ["n0", "h0", "h[0]"])
def test_a_policy_drains_nodes_by_their_id_or_host(pattern):
    state = ClusterState(supervisors(2), ())
    assert drained_nodes(state, NO_ORDERS, Policy(drained=(pattern,))) == {"n0"}
