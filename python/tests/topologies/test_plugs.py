import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugs.components import HousePrediction, PlugPrediction, Sink, Source
from plugs.prediction import Loads
from plugs.reading import Unusable, reading
from rig.records import lines

DATA = "smart-plugs/eco-2012-07-03-11h.csv.gz"
DAY = 3
readings = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 12), st.integers(0, 9_000)), max_size=60
)


def test_a_reading_names_its_plug() -> None:
    found = reading("6,1341306000,8.72,1,3,0,5")
    assert (found.house, found.plug, found.timestamp, found.milliwatts) == (
        "5",
        "5/0/3",
        1341306000,
        8720,
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "malformed"),
        ("1,2,x,1,3,0,5", "malformed"),
        ("1,2,inf,1,3,0,5", "malformed"),
        ("1,2,3,0,3,0,5", "not a load"),
    ],
)
def test_a_line_without_a_load_says_why(line: str, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        reading(line)


def test_every_line_of_the_file_can_be_read() -> None:
    found = [reading(line) for line in lines(DATA)]
    assert len(found) == 88_578
    assert len({each.plug for each in found}) == 25
    assert [each.timestamp for each in found] == sorted(each.timestamp for each in found)


def from_scratch(given_: list[tuple[str, int, int]], plug: str, target: int) -> float | None:
    def average(slice_: int) -> float | None:
        values = [load for name, at, load in given_ if (name, at) == (plug, slice_)]
        return sum(values) / len(values) / 1000 if values else None

    base = average(target - 2)
    past = [average(target - n * DAY) for n in range(1, target // DAY + 1)]
    known = [load for load in past if load is not None]
    if base is None:
        return None
    return (base + statistics.median(known)) / 2 if known else base


@given(readings, st.randoms(use_true_random=False))
def test_predictions_do_not_depend_on_the_order_of_readings(
    given_: list[tuple[str, int, int]], order: random.Random
) -> None:
    loads = Loads(DAY)
    found: dict[tuple[str, int], float | None] = {}
    shuffled = order.sample(given_, len(given_))
    for half in (shuffled[::2], shuffled[1::2]):
        for plug, slice_, milliwatts in half:
            loads.add(plug, slice_, milliwatts)
        found |= {key: loads.predict(*key) for key in loads.changed()}
    expected = {
        (plug, slice_ + 2): from_scratch(given_, plug, slice_ + 2) for plug, slice_, _ in given_
    }
    assert {key: load for key, load in found.items() if load is not None} == expected


def test_plugs_and_houses_are_predicted(bench: Callable[..., Any]) -> None:
    options = {"slice_seconds": 10, "slices_per_day": 2}
    plugs, houses = bench(PlugPrediction, **options), bench(HousePrediction, **options)
    for bolt in (plugs, houses):
        for plug, second, milliwatts in (("5/0/1", 0, 1000), ("5/0/1", 9, 2000), ("5/0/2", 3, 500)):
            assert bolt.give("5", plug, second, milliwatts) == []
    # a day has two slices: slice 0 is both the base of slice 2 and its past
    assert plugs.tick() == [["plug 5/0/1", 2, 1.5], ["plug 5/0/2", 2, 0.5]]
    assert houses.tick() == [["house 5", 2, 2.0]]
    assert plugs.tick() == []
    sink = bench(Sink)
    sink.give("house 5", 2, 1.0)
    sink.give("house 5", 2, 2.0)
    assert sink.component.answer() == {"house 5 @2": 2.0}


@pytest.mark.slow
def test_the_source_keeps_redis_filled(bench: Callable[..., Any], redis: str) -> None:
    source = bench(Source, data=DATA, replays=2, redis=redis)
    emitted = [*source.next(), *source.next()]
    assert emitted[0] == ["1", "1/0/1", 0, 0]
    assert len(emitted) == 20
    # a Redis that was restarted has lost everything
    source.component._table._store._client.flushall()
    source.component._next_report = 0.0
    assert len([*source.next(), *source.next()]) == 20


def test_each_replay_follows_in_time(bench: Callable[..., Any], redis: str) -> None:
    from rig.schedule import Departure

    source = bench(Source, data=DATA, redis=redis).component
    assert source.values("6,1341306001,8.72,1,3,0,5", Departure(88_578, 0.0))[2] == 3601
