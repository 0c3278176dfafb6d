import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scipy.stats import chisquare

from retail import linear
from retail.diamond import TOP, Growth, Store, Top, Web
from retail.events import (
    CHANNELS,
    CLICKS,
    CUSTOMERS,
    GAP_S,
    ITEMS,
    RECORDS,
    YEARS,
    clicks,
    reviews,
    sales,
)
from retail.linear import Pairs, Sessions, Views
from retail.sources import Clicks, Reviews, Sales
from retail.star import Catalogue, Interest, Rating, Revenue
from rig import source

EVENTS = {"sales": sales, "clicks": clicks, "reviews": reviews}
SOURCES = [(Sales, sales), (Clicks, clicks), (Reviews, reviews)]

#: Events are the same in every run: a wrong weight falls far below this, luck plays no part.
UNLIKELY = 1e-3


def column(events: Sequence[str], position: int) -> list[str]:
    return [event.split(",")[position] for event in events]


def fits(found: Sequence[Any], weights: dict[Any, float]) -> bool:
    """Whether values are drawn with these weights: all of them, and no others."""
    counts = Counter(found)
    total = len(found) / sum(weights.values())
    expected = [weight * total for weight in weights.values()]
    observed = [counts[value] for value in weights]
    return set(counts) == set(weights) and chisquare(observed, expected).pvalue > UNLIKELY


def alike(values: Sequence[Any]) -> dict[Any, float]:
    return {str(value): 1.0 for value in values}


@pytest.mark.parametrize(("events", "position"), [(sales, 1), (clicks, 1), (reviews, 0)])
def test_items_follow_zipf_s_law(events: Callable[[], Sequence[str]], position: int) -> None:
    items = column(events(), position)
    assert fits(items, {str(item): 1 / (item + 1) for item in range(ITEMS)})
    # the check tells Zipf's law from one a little flatter
    assert not fits(items, {str(item): (item + 1) ** -0.9 for item in range(ITEMS)})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "position", "values"),
    [
        ("sales", 0, range(CUSTOMERS)),
        ("sales", 2, CHANNELS),
        ("sales", 3, YEARS),
        ("sales", 4, range(1, 6)),
        ("sales", 5, range(1, 101)),
        ("clicks", 0, range(CUSTOMERS)),
        ("clicks", 2, CLICKS),
        ("reviews", 1, range(1, 6)),
    ],
)
def test_all_else_is_drawn_alike(events: str, position: int, values: Sequence[Any]) -> None:
    assert fits(column(EVENTS[events](), position), alike(values))


def test_what_is_drawn_has_nothing_to_do_with_the_rest() -> None:
    # growth from one year to the next would be the same in both channels otherwise
    found = [tuple(sale.split(",")[2:4]) for sale in sales()]
    assert fits(found, {(channel, str(year)): 1.0 for channel in CHANNELS for year in YEARS})
    halves = [(int(sale.split(",")[0]) % 2, int(sale.split(",")[1]) == 0) for sale in sales()]
    first = sum(best for _, best in halves) / len(halves)
    weights = {(odd, best): first if best else 1 - first for odd in (0, 1) for best in (0, 1)}
    assert fits(halves, weights)


def test_clicks_come_at_equal_distances() -> None:
    seconds = [int(second) for second in column(clicks()[:100], 3)]
    assert seconds == list(range(0, 100 * GAP_S, GAP_S))


@pytest.mark.parametrize("events", EVENTS.values(), ids=EVENTS)
def test_an_event_is_a_function_of_its_number_alone(events: Callable[[], Sequence[str]]) -> None:
    assert len(events()) == RECORDS
    numbers = list(range(0, RECORDS, 97))
    straight = {number: events()[number] for number in numbers}
    random.Random(1).shuffle(numbers)
    random.seed(2)
    assert {number: events()[number] for number in numbers} == straight


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "events"), SOURCES)
def test_sources_replay_their_share(
    bench: Callable[..., Any], kind: type, events: Callable[[], Sequence[str]]
) -> None:
    spout = bench(kind, replays=2)
    emitted = []
    while batch := spout.next():
        emitted += [values[0] for values in batch]
    # task 2 of the tasks 2 and 3
    replay = events()[::2]
    assert emitted[: len(replay)] == replay
    assert [each.split(",")[:2] for each in emitted] == 2 * [each.split(",")[:2] for each in replay]
    counts = spout.component.tally(0.0)
    assert (counts["sent"], counts["finished"], counts["dropped"]) == (RECORDS, True, {})


@pytest.mark.parametrize(("kind", "events"), SOURCES)
def test_an_event_that_failed_comes_again_as_it_was(
    bench: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    kind: type,
    events: Callable[[], Sequence[str]],
) -> None:
    monkeypatch.setattr(source, "RETRY_S", 0.0)
    spout = bench(kind, replays=1)
    spout.next()
    spout.component.fail("4")
    assert spout.next()[0] == [events()[4]]
    spout.component.ack("4")
    # ten at a time, of every second event
    assert spout.next()[0] == [events()[40]]
    assert spout.component.tally(0.0)["replayed"] == 1


# the linear query


def test_views_pass_with_their_session(bench: Callable[..., Any]) -> None:
    views = bench(Views, session_seconds=60)
    assert views.give("7,3,view,59") == [[7, 0, 3]]
    assert views.give("7,3,view,60") == [[7, 1, 3]]
    assert views.give("7,3,buy,60") == views.give("7,3,cart,60") == []
    assert views.dropped == {}
    for line in ("", "7,3,view", "7,3,view,x", "seven,3,view,60", "7,3,view,60,1"):
        assert views.give(line) == []
    assert views.dropped == {"malformed": 5}
    assert len(views.acked) == 9


def test_items_of_a_session_are_paired_once(bench: Callable[..., Any]) -> None:
    sessions = bench(Sessions)
    assert sessions.give(7, 0, 3) == []
    assert sessions.give(7, 0, 1) == [["1-3"]]
    assert sessions.give(7, 0, 10) == [["1-10"], ["3-10"]]
    # looked at again, or replayed
    assert sessions.give(7, 0, 1) == []
    # another session, another customer
    assert sessions.give(7, 1, 2) == sessions.give(8, 0, 2) == []


def test_only_the_last_sessions_are_kept(
    bench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "KEPT_SESSIONS", 2)
    sessions = bench(Sessions)
    for session in (5, 6, 7):
        sessions.give(7, session, 3)
    assert sessions.give(7, 6, 1) == sessions.give(7, 7, 1) == [["1-3"]]
    # forgotten; and a session older than all that are kept is one that begins
    assert sessions.give(7, 5, 1) == []
    assert sessions.give(7, 7, 2) == [["1-2"], ["2-3"]]


def test_pairs_do_not_depend_on_the_order_of_views(bench: Callable[..., Any]) -> None:
    draw = random.Random(3)
    seen = [(draw.randrange(4), draw.randrange(3), draw.randrange(9)) for _ in range(300)]
    expected = Counter(
        f"{item}-{other}"
        for customer, session, item in set(seen)
        for other in range(item + 1, 9)
        if (customer, session, other) in seen
    )
    for _ in range(5):
        sessions, pairs = bench(Sessions), bench(Pairs)
        for view in seen:
            for (pair,) in sessions.give(*view):
                pairs.give(pair)
        assert pairs.component.answer() == expected
        draw.shuffle(seen)


# the diamond query


def test_channels_add_up_their_own_sales(bench: Callable[..., Any]) -> None:
    store, web = bench(Store), bench(Web)
    for channel in (store, web):
        for sale in ("9,1,store,2001,2,10", "9,5,store,2001,1,7", "9,1,web,2002,3,100"):
            assert channel.give(sale) == []
        channel.give("10,1,store,2002,1,1")
    before, after = YEARS
    assert (before, after) == (2001, 2002)
    assert store.tick() == [["10", "store", 0, 1], ["9", "store", 27, 0]]
    assert web.tick() == [["9", "web", 0, 300]]
    # only what changed, and the whole sum of it
    assert store.tick() == web.tick() == []
    store.give("10,1,store,2001,4,5")
    assert store.tick() == [["10", "store", 20, 1]]


def test_sales_that_cannot_be_read_are_dropped(bench: Callable[..., Any]) -> None:
    store = bench(Store)
    for line in ("", "9,1,store,2001,2", "9,1,store,2001,two,10", "9,1,store,x,2,10"):
        store.give(line)
    assert store.tick() == []
    assert store.dropped == {"malformed": 4}
    assert len(store.acked) == 5


def test_growth_joins_the_newest_part_of_each_task(bench: Callable[..., Any]) -> None:
    growth = bench(Growth)
    assert growth.give("9", "web", 10, 30, task=5) == [["9", 20]]
    assert growth.give("9", "web", 0, 1, task=6) == [["9", 21]]
    assert growth.give("9", "store", 10, 50, task=7) == [["9", -19]]
    # a newer sum of a task replaces its older one
    assert growth.give("9", "web", 10, 40, task=5) == [["9", -9]]
    assert growth.give("8", "store", 50, 10, task=7) == [["8", 40]]


def test_the_ranking_has_the_customers_that_moved_most(bench: Callable[..., Any]) -> None:
    top = bench(Top)
    newest = {f"{customer}": (customer * 37) % 40 - 20 for customer in range(2 * TOP)}
    for customer in newest:
        top.give(customer, 1000)
    for customer, growth in newest.items():
        top.give(customer, growth)
    answer = top.component.answer()
    assert answer == [
        [customer, growth]
        for growth in range(19, 19 - TOP, -1)
        for customer in newest
        if newest[customer] == growth
    ]
    # alike ones by name, so that all runs agree
    top.give("x", 19)
    top.give("a", 19)
    ahead = [customer for customer, _ in top.component.answer()[:3]]
    assert ahead == [answer[0][0], "a", "x"]
    assert len(top.component.answer()) == TOP


# the star query


def test_events_find_their_category_and_value(bench: Callable[..., Any]) -> None:
    catalogue = bench(Catalogue)
    assert catalogue.give("9,23,store,2001,4,25") == [["category-3", "sale", 100]]
    assert catalogue.give("9,40,buy,60") == [["category-0", "click", 1]]
    assert catalogue.give("99,5") == [["category-9", "review", 5]]
    for line in ("", "1,2,3", "9,x,buy,60", "99,five", "9,23,store,2001,4,x"):
        assert catalogue.give(line) == []
    assert catalogue.dropped == {"malformed": 5}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Revenue, {"category-1": 107, "category-2": 1}),
        (Interest, {"category-1": 2}),
        (Rating, {"category-1": 4, "category-2": 6}),
    ],
)
def test_totals_add_up_their_own_kind(
    bench: Callable[..., Any], kind: type, expected: dict[str, int]
) -> None:
    total = bench(kind)
    for number, name, value in (
        (1, "sale", 100),
        (1, "sale", 7),
        (2, "sale", 1),
        (1, "click", 1),
        (1, "click", 1),
        (1, "review", 4),
        (2, "review", 5),
        (2, "review", 1),
    ):
        assert total.give(f"category-{number}", name, value) == []
    assert total.component.answer() == expected
    assert len(total.acked) == 8
