import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scipy.stats import chisquare

from highway.components import Accidents, Parse, Source, Statistics, Stopped, Toll
from highway.reports import (
    CARS,
    CRASHES,
    FEET,
    PERIOD_S,
    ROAD,
    ROUNDS,
    SEGMENTS,
    STOP_S,
    car,
    report,
    reports,
)
from rig import source

#: Reports are the same in every run: a wrong bound falls far below this, luck plays no part.
UNLIKELY = 1e-3
#: Those of a crash share start and speed.
FREE = range(2 * CRASHES, CARS)
FEET_PER_PERIOD = 44


def seen(number: int, turn: int) -> tuple[int, int, int, int]:
    """Second, speed, segment and feet of a car's report."""
    kind, second, reported, mph, *rest, segment, feet = map(
        int, report(turn * CARS + number).split(",")
    )
    assert (kind, reported, rest) == (0, number, [0, 1, 0])
    return second, mph, segment, feet


def uniform(counts: Counter[int], values: Sequence[int]) -> bool:
    """Whether these values, all of them and no others, are equally frequent."""
    alike = set(counts) == set(values)
    return alike and chisquare([counts[value] for value in values]).pvalue > UNLIKELY


def test_starts_and_speeds_are_drawn_alike() -> None:
    starts = [car(number).start for number in FREE]
    assert uniform(Counter(start * 20 // ROAD for start in starts), range(20))
    speeds = Counter(car(number).mph for number in FREE)
    assert uniform(speeds, range(10, 61))
    quick = [car(number).mph > 35 for number in FREE]
    ahead = [start > ROAD / 2 for start in starts]
    both = Counter(2 * one + other for one, other in zip(quick, ahead, strict=True))
    assert uniform(both, range(4))


def test_cars_report_every_30_s_each_at_its_own_second() -> None:
    assert (PERIOD_S, CARS, SEGMENTS) == (30, 1000, 10)
    assert len(reports()) == CARS * ROUNDS
    for number in range(0, CARS, 7):
        seconds = [seen(number, turn)[0] for turn in range(ROUNDS)]
        assert seconds == [number % 30 + 30 * turn for turn in range(ROUNDS)]


def test_cars_go_round_at_their_speed() -> None:
    rounds = 0
    for number in FREE[::7]:
        for turn in range(1, ROUNDS):
            _, _, _, before = seen(number, turn - 1)
            _, mph, segment, feet = seen(number, turn)
            assert mph == car(number).mph
            assert segment == feet // FEET < SEGMENTS
            # within a foot, as feet are whole
            assert abs((feet - before) % ROAD - mph * FEET_PER_PERIOD) <= 1
            rounds += feet < before
    assert rounds > 50


def test_five_pairs_of_cars_stop_for_four_minutes_and_drive_on() -> None:
    assert (CRASHES, STOP_S) == (5, 240)
    standing = {}
    for number in range(CARS):
        rows = [seen(number, turn) for turn in range(ROUNDS)]
        stopped = [row for row in rows if row[1] == 0]
        if stopped:
            standing[number] = {row[3] for row in stopped}
            # 240 s hold eight reports; the one at the moment of the stop is of a moving car
            assert len(stopped) in (7, 8)
            assert stopped[-1][0] - stopped[0][0] == (len(stopped) - 1) * PERIOD_S
            assert stopped[0][0] < STOP_S + PERIOD_S
            # it drives on from there, 240 s late for the rest of its way
            second, mph, _, feet = rows[rows.index(stopped[-1]) + 1]
            assert mph == car(number).mph
            late = car(number).start + (second - 240) * mph * FEET_PER_PERIOD / PERIOD_S
            assert abs(feet - late % ROAD) <= 1
    assert sorted(standing) == list(range(2 * CRASHES))
    for first in range(0, 2 * CRASHES, 2):
        assert len(standing[first]) == 1
        assert standing[first] == standing[first + 1]
    assert len({car(number).stop_s for number in range(2 * CRASHES)}) == CRASHES


def test_a_report_is_a_function_of_its_number_alone() -> None:
    numbers = list(range(0, CARS * ROUNDS, 37))
    straight = {number: reports()[number] for number in numbers}
    random.Random(1).shuffle(numbers)
    random.seed(2)
    car.cache_clear()
    assert {number: reports()[number] for number in numbers} == straight


def test_the_source_replays_its_share(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "RETRY_S", 0.0)
    spout = bench(Source, replays=2)
    first = spout.next()
    spout.component.fail("4")
    assert spout.next()[0] == [reports()[4]]
    for _ in range(2 * CARS * ROUNDS // 20 - 2):
        last = spout.next()
    # task 2 of the tasks 2 and 3, ten at a time
    assert [line for (line,) in first] == reports()[0:20:2]
    assert [line for (line,) in last] == reports()[-20::2]
    assert spout.next() == []
    counts = spout.component.tally(0.0)
    assert (counts["sent"], counts["replayed"]) == (CARS * ROUNDS, 1)


def test_positions_are_read_and_the_rest_is_dropped(bench: Callable[..., Any]) -> None:
    parse = bench(Parse)
    assert parse.give("0,30,107,55,0,1,0,3,16000") == [[107, 3, 30, 55, 16000]]
    # a request for the account's balance
    assert parse.give("2,30,107,55,0,1,0,3,16000") == []
    for line in ("", "0,30,107", "0,30,x,55,0,1,0,3,16000"):
        assert parse.give(line) == []
    assert parse.dropped == {"not a position": 1, "malformed": 3}
    assert len(parse.acked) == 5


def stops(bench: Callable[..., Any], rows: Sequence[tuple[int, int]]) -> list[list[int]]:
    """What is found of car 7 that reported seconds and feet, in this order."""
    stopped = bench(Stopped)
    found = []
    for second, feet in rows:
        found += stopped.give(7, feet // FEET, second, 0, feet)
    return found


def test_a_car_has_stopped_after_four_reports_of_one_place(bench: Callable[..., Any]) -> None:
    rows = [(second, 6000) for second in range(0, 150, 30)]
    assert stops(bench, rows[:3]) == []
    assert stops(bench, rows) == [[6000, 1, 90, 7], [6000, 1, 120, 7]]
    # three of one place and one of the next
    assert stops(bench, [*rows[:3], (90, 6001)]) == []
    # four, but not in a row
    assert stops(bench, [*rows[:2], (60, 6001), *rows[3:]]) == []
    assert stops(bench, [*rows[:2], *rows[3:]]) == []


def test_stops_do_not_depend_on_the_order_of_reports(bench: Callable[..., Any]) -> None:
    rows = [(second, 6000) for second in range(0, 240, 30)] + [(240, 7000)]
    expected = [[6000, 1, second, 7] for second in range(90, 240, 30)]
    draw = random.Random(4)
    for _ in range(20):
        draw.shuffle(rows)
        # replayed ones change nothing
        assert sorted(stops(bench, [*rows, *rows[:3]])) == expected


def test_two_cars_at_one_place_are_an_accident(bench: Callable[..., Any]) -> None:
    accidents = bench(Accidents)
    assert accidents.give(6000, 1, 90, 7) == []
    # the same car again, another place, another minute
    assert accidents.give(6000, 1, 100, 7) == []
    assert accidents.give(6001, 1, 100, 8) == []
    assert accidents.give(6000, 1, 120, 8) == []
    reached = [[segment, 1, -1, 0.0] for segment in (1, 0, 9, 8, 7)]
    assert accidents.give(6000, 1, 119, 8) == reached
    # one accident, however often it is told and however many cars
    assert accidents.give(6000, 1, 119, 8) == []
    assert accidents.give(6000, 1, 119, 9) == []


def test_statistics_are_those_of_a_segment_and_minute(bench: Callable[..., Any]) -> None:
    statistics = bench(Statistics)
    for number, second, mph in ((7, 0, 30), (7, 30, 40), (8, 59, 50), (8, 60, 10)):
        assert statistics.give(number, 3, second, mph, 16000) == []
    statistics.give(9, 2, 0, 60, 11000)
    # two cars, three reports
    assert statistics.tick() == [[2, 0, 1, 60.0], [3, 0, 2, 40.0], [3, 1, 1, 10.0]]
    assert statistics.tick() == []
    # a late report corrects its minute, and only that is told again
    statistics.give(9, 3, 15, 80, 16000)
    assert statistics.tick() == [[3, 0, 3, 50.0]]


@pytest.mark.parametrize(
    ("cars", "mph", "expected"),
    [
        (40, 30.0, {}),
        (49, 30.0, {}),
        (50, 30.0, {}),
        (51, 30.0, {"3 @6": 2}),
        (60, 39.9, {"3 @6": 200}),
        (60, 40.0, {}),
    ],
)
def test_slow_and_crowded_segments_cost_a_toll(
    bench: Callable[..., Any], cars: int, mph: float, expected: dict[str, int]
) -> None:
    toll = bench(Toll)
    toll.give(3, 5, cars, mph)
    assert toll.component.answer() == expected


def test_accidents_keep_a_toll_at_zero_whenever_they_are_told(bench: Callable[..., Any]) -> None:
    crowd, accident = (3, 5, 60, 30.0), (3, 5, -1, 0.0)
    for order in ([crowd, accident], [accident, crowd]):
        toll = bench(Toll)
        for values in order:
            toll.give(*values)
        assert toll.component.answer() == {}
        # neither the next minute nor the next segment
        toll.give(3, 6, 60, 30.0)
        toll.give(4, 5, 60, 30.0)
        assert toll.component.answer() == {"3 @7": 200, "4 @6": 200}
    # newer statistics replace older ones
    toll.give(3, 6, 61, 50.0)
    assert toll.component.answer() == {"4 @6": 200}


def query(bench: Callable[..., Any], lines: Sequence[str]) -> tuple[set[Any], dict[str, int]]:
    """Accidents and tolls of reports in this order."""
    parse, stopped, accidents = bench(Parse), bench(Stopped), bench(Accidents)
    statistics, toll = bench(Statistics), bench(Toll)
    told = set()
    for number, line in enumerate(lines):
        for position in parse.give(line):
            statistics.give(*position)
            for stop in stopped.give(*position):
                for accident in accidents.give(*stop):
                    told.add(tuple(accident[:2]))
                    toll.give(*accident)
        if number % 997 == 0:
            for values in statistics.tick():
                toll.give(*values)
    for values in statistics.tick():
        toll.give(*values)
    return told, toll.component.answer()


def stands(number: int) -> set[tuple[int, int]]:
    """Segment and minutes in which a car of a crash reported its place a fourth time or later."""
    rows = [seen(number, turn) for turn in range(ROUNDS)]
    (place,) = {feet for _, mph, _, feet in rows if not mph}
    times = [(segment, second // 60) for second, _, segment, feet in rows if feet == place]
    return set(times[3:])


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_order_of_reports(bench: Callable[..., Any]) -> None:
    lines = list(reports())
    told, tolls = query(bench, lines)
    # every crash is found where and when it is, and no car else stands still
    assert told == {
        ((place - behind) % SEGMENTS, minute)
        for crash in range(CRASHES)
        for place, minute in stands(2 * crash) & stands(2 * crash + 1)
        for behind in range(5)
    }
    assert tolls
    assert not {f"{segment} @{minute + 1}" for segment, minute in told} & set(tolls)
    random.Random(5).shuffle(lines)
    assert query(bench, lines) == (told, tolls)
