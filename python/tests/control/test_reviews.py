"""What became of moves, and what is learned from it."""

from dataclasses import replace

from stormcut.control.review.outcome import Outcome
from stormcut.control.review.reviews import (
    Review,
    restart_seconds,
    taken_back,
)

A = Review("a-1-1", "p1", 1000.0, Outcome.BETTER, 100, 150, 20.0, 10.0, 40.0, 41.0, 30.0)


def test_the_price_of_a_restart_is_its_own_median_else_that_of_all():
    reviews = [replace(A, restart_s=s) for s in (10.0, 90.0, 30.0, None)]
    reviews.append(replace(A, topology="b-2-1", restart_s=60.0))
    assert restart_seconds(reviews, "a-1-1") == 30.0
    assert restart_seconds(reviews, "b-2-1") == 60.0
    assert restart_seconds(reviews, "c-3-1") == 45.0
    assert restart_seconds([replace(A, restart_s=None)], "a-1-1") is None


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
