"""Pairs in columns say what loops over the rows of a profile say."""

from collections import defaultdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stormcut.model.cluster import RunningExecutor
from stormcut.model.problem import Stream
from stormcut.model.profile import TaskTraffic
from stormcut.objective.anchoring import ACKER
from stormcut.running.measured_pairs import MESSAGE_ID_BYTES, pair_table

#: Two executors with two tasks each, one with one, and a component without traffic.
EXECUTORS = {
    "a": [RunningExecutor(1, 2, "a"), RunningExecutor(3, 4, "a")],
    "b": [RunningExecutor(5, 5, "b")],
    "c": [RunningExecutor(6, 6, "c")],
    ACKER: [RunningExecutor(7, 7, ACKER)],
}
OWNER = {1: ("a", 0), 2: ("a", 0), 3: ("a", 1), 4: ("a", 1), 5: ("b", 0), 6: ("c", 0)}
OWNER[7] = (ACKER, 0)
tasks = st.integers(1, 8)
rows = st.lists(
    st.builds(
        TaskTraffic,
        tasks,
        tasks,
        st.just(0.0) | st.floats(0.001, 1e6),
        st.none() | st.floats(20.0, 1e4),
    ),
    max_size=12,
)


def recounted(traffic):
    rates, contents, sized = defaultdict(float), defaultdict(float), defaultdict(float)
    for row in traffic:
        one, other = OWNER.get(row.source_task), OWNER.get(row.target_task)
        if one and other and one != other and row.tuples_per_second:
            for key in ((one, other), (one[0], other[0])):
                rates[key] += row.tuples_per_second
                if row.bytes_per_tuple:
                    own = row.bytes_per_tuple - MESSAGE_ID_BYTES * (ACKER in (one[0], other[0]))
                    sized[key] += row.tuples_per_second
                    contents[key] += row.tuples_per_second * own
    return rates, {key: contents[key] / sized[key] if sized[key] else None for key in rates}


@given(rows, st.sets(st.sampled_from([("a", "b"), ("b", "c"), ("a", "a")])))
@example([TaskTraffic(1, 5, 0.5, 100.0), TaskTraffic(1, 6, 0.5, None)], set())
@example([TaskTraffic(1, 7, 2.0, 21.0), TaskTraffic(7, 1, 1.0, 100.0)], set())
@example([TaskTraffic(5, 8, 1.0, None), TaskTraffic(8, 5, 1.0, None)], set())
def test_rates_and_sizes_are_those_of_the_rows(traffic, without):
    rates, sizes = recounted(traffic)
    table = pair_table(traffic, EXECUTORS)
    pairs = {(pair.source, pair.target): pair for pair in table.pairs(without)}
    expected = {
        key
        for key in rates
        if not isinstance(key[0], str) and (key[0][0], key[1][0]) not in without
    }
    assert set(pairs) == expected
    for key, pair in pairs.items():
        assert pair.tuples_per_second == pytest.approx(rates[key])
        assert pair.bytes_per_tuple == pytest.approx(sizes[key])
    streams = [Stream("a", "b", 1.0), Stream("a", "b", 1.0, stream="x"), Stream("c", "a", 1.0)]
    for stream, share in zip(table.measured(streams), (2, 2, 1), strict=True):
        edge = stream.source, stream.target
        assert stream.tuples_per_second == pytest.approx(rates.get(edge, 0.0) / share)
        assert stream.bytes_per_tuple == pytest.approx(sizes.get(edge))
    received = table.received()
    for name in EXECUTORS:
        own = sum(r for (_, to), r in rates.items() if isinstance(to, str) and to == name)
        assert received.get(name, 0.0) == pytest.approx(own)


def test_the_size_of_an_ack_is_never_nothing():
    table = pair_table([TaskTraffic(7, 1, 1.0, 13.0), TaskTraffic(1, 7, 1.0, None)], EXECUTORS)
    sizes = {pair.source[0]: pair.bytes_per_tuple for pair in table.pairs(set())}
    assert sizes == {ACKER: 1.0, "a": None}
