from hypothesis import given
from hypothesis import strategies as st

from stormcut.placement.algorithms.storm.java_order import (
    clojure_map_order,
    hash_map_order,
    hash_set_order,
    string_hash,
)


def test_ports_come_as_storm_lists_them():
    assert hash_set_order(range(6700, 6708)) == [6704, 6705, 6706, 6707, 6700, 6701, 6702, 6703]


def test_string_hash_is_javas():
    # The first is in the documentation of String.hashCode's formula; "Aa" and "BB" are known to
    # collide; the last overflows 32 bits and holds a surrogate pair.
    assert string_hash("Aa") == string_hash("BB") == 2112
    assert string_hash("") == 0
    assert string_hash("polygenelubricants") == 2**31
    assert string_hash("\U0001f600") == (0xD83D * 31 + 0xDE00) % 2**32


def test_clojure_keeps_eight_entries_in_order_of_insertion():
    keys = [f"n{i}" for i in range(9)]
    assert clojure_map_order(keys[:8]) == keys[:8]
    assert clojure_map_order(keys) != keys


@given(st.lists(st.text(max_size=6), unique=True, max_size=40))
def test_orders_lose_nothing(keys):
    assert sorted(hash_map_order(keys)) == sorted(clojure_map_order(keys)) == sorted(keys)


@given(st.lists(st.integers(0, 65535), unique=True, max_size=40))
def test_port_order_loses_nothing(ports):
    assert sorted(hash_set_order(ports)) == sorted(ports)
