"""What became of moves, and what is learned from it."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from brain_clusters import topology

from stormcut.control.gate.change import Initiator
from stormcut.control.gate.gate import RESTART_SECONDS
from stormcut.control.policy import Mode, Policy
from stormcut.control.review.outcome import Finding, Outcome
from stormcut.control.review.reviews import (
    Review,
    restart_seconds,
    review,
    review_line,
    taken_back,
)
from stormcut.control.review.trail import Step
from stormcut.control.round import MIN_RESTART_SECONDS, _restart_prices
from stormcut.model.cluster import ClusterState
from stormcut.profile.drift import MeanInterval

A = Review("a-1-1", "p1", 1000.0, Outcome.BETTER, 100, 150, 20.0, 10.0, 40.0, 41.0, 30.0)


def finding(acked_before, acked_after, latency=None):
    before, after = MeanInterval(acked_before, 1.0), MeanInterval(acked_after, 1.0)
    return Finding(Outcome.BETTER, before, after, latency, latency, 41.0, 30.0)


@pytest.mark.parametrize(
    ("acked_before", "acked_after", "predicted"),
    [(100.0, 150.0, 60.0), (0.5, 1.0, 80.0), (0.0, 150.0, 40.0)],
)
def test_what_was_predicted_grows_with_what_is_acked(acked_before, acked_after, predicted):
    """Where nothing was acked before it stays as it was."""
    step = Step("p1", 900.0, Initiator.GAIN, (), (), between_nodes_per_s=40.0)
    found = review("a-1-1", step, finding(acked_before, acked_after), 1000.0, 60.0)
    assert found == Review(
        "a-1-1", "p1", 1000.0, Outcome.BETTER, acked_before, acked_after,
        None, None, pytest.approx(predicted), 41.0, 30.0, 60.0,
    )  # fmt: skip


def test_latencies_are_kept_where_they_were_sampled():
    step = Step("p1", 900.0, Initiator.GAIN, (), ())
    found = review("a-1-1", step, finding(1.0, 2.0, MeanInterval(9.0, 1.0)), 1000.0, 0.0)
    assert (found.latency_before, found.latency_after, found.predicted) == (9.0, 9.0, None)


def test_the_price_of_a_restart_is_its_own_median_else_that_of_all():
    reviews = [replace(A, restart_s=s) for s in (10.0, 90.0, 30.0, None)]
    reviews.append(replace(A, topology="b-2-1", restart_s=60.0))
    assert restart_seconds(reviews, "a-1-1") == 30.0
    assert restart_seconds(reviews, "b-2-1") == 60.0
    assert restart_seconds(reviews, "c-3-1") == 45.0
    assert restart_seconds([replace(A, restart_s=None)], "a-1-1") is None


@pytest.mark.parametrize(
    ("measured", "price"), [(None, RESTART_SECONDS), (1.0, MIN_RESTART_SECONDS), (45.0, 45.0)]
)
def test_a_restart_costs_what_it_did_but_not_next_to_nothing(measured, price):
    state = ClusterState((), (topology("a-1-1"),))
    given = SimpleNamespace(
        policy=Policy(Mode.AUTOMATIC), state=state, reviews=[replace(A, restart_s=measured)]
    )
    assert _restart_prices(given) == {"a-1-1": price}
    given.policy = replace(given.policy, restart_seconds=3.0)
    assert _restart_prices(given) == {"a-1-1": 3.0}


def test_take_backs_in_a_row_are_counted():
    bad = replace(A, outcome=Outcome.WORSE, held_s=600.0)
    other = replace(A, topology="b-2-1")
    assert taken_back([bad, other, bad], A.topology) == 2
    assert taken_back([bad, A], A.topology) == 0


def test_it_reads_as_a_sentence():
    assert str(A) == (
        "better: 150 tuples/s acked, were 100; 10.0 ms, were 20.0; "
        "41 tuples/s between nodes, predicted 40; a restart costs 30 s of work"
    )
    bare = replace(A, latency_before=None, predicted=None, restart_s=None, held_s=60.0)
    assert str(bare) == (
        "better: 150 tuples/s acked, were 100; 41 tuples/s between nodes; taken back for 60 s"
    )


def test_a_review_is_kept_as_json_values_with_its_words():
    line = review_line(A)
    assert json.loads(json.dumps(line)) == line
    assert (line["outcome"], line["acked_after"], line["words"]) == ("better", 150, str(A))
