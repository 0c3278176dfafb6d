from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from frequent_routes.ranking import MergedRanking, RouteRanking, from_text, to_text, top
from frequent_routes.window import SlidingCounts

WINDOW = 5
routes = st.sampled_from([f"{east}.1-1.{south}" for east in range(1, 5) for south in range(1, 5)])
trips = st.lists(st.tuples(st.integers(0, 30), routes), max_size=200)
counts = st.dictionaries(st.text(max_size=4), st.integers(1, 9), max_size=60)


def recount(trips: list[tuple[int, str]], newest: int) -> Counter[str]:
    return Counter(name for minute, name in trips if newest - WINDOW < minute <= newest)


@given(trips)
def test_window_counts_equal_a_recount_after_every_trip(trips: list[tuple[int, str]]) -> None:
    trips = sorted(trips)
    window = SlidingCounts(WINDOW)
    for seen, (minute, name) in enumerate(trips, start=1):
        window.add(minute, name)
        assert window.counts() == recount(trips[:seen], minute)
    assert window.late == 0


@given(trips)
def test_changes_alone_rebuild_the_counts(trips: list[tuple[int, str]]) -> None:
    window = SlidingCounts(WINDOW)
    rebuilt: dict[str, int] = {}
    for minute, name in trips:
        changes = window.add(minute, name)
        assert all(
            rebuilt.get(changed, 0) != count or changed == name
            for changed, count in changes.items()
        )
        rebuilt |= changes
        assert {key: count for key, count in rebuilt.items() if count} == window.counts()


@given(trips)
def test_late_trips_are_counted_as_late_and_nothing_is_lost(trips: list[tuple[int, str]]) -> None:
    window = SlidingCounts(WINDOW)
    in_time = 0
    for minute, name in trips:
        in_time += bool(window.add(minute, name))
    assert in_time + window.late == len(trips)


@given(trips.map(lambda trips: [(minute % WINDOW, name) for minute, name in trips]), st.randoms())
def test_within_a_window_the_order_of_trips_does_not_matter(
    trips: list[tuple[int, str]], random: object
) -> None:
    shuffled = list(trips)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    windows = [SlidingCounts(WINDOW), SlidingCounts(WINDOW)]
    for window, order in zip(windows, (trips, shuffled), strict=True):
        for minute, name in order:
            window.add(minute, name)
    assert windows[0].counts() == windows[1].counts()


@given(counts, st.integers(1, 12))
def test_top_equals_sorted(counts: dict[str, int], k: int) -> None:
    assert top(counts.items(), k) == sorted(counts.items(), key=lambda c: (-c[1], c[0]))[:k]


@given(counts, st.integers(1, 4))
def test_the_top_of_the_tops_of_all_shares_is_the_top(counts: dict[str, int], tasks: int) -> None:
    shares = [RouteRanking(WINDOW) for _ in range(tasks)]
    merged = MergedRanking(WINDOW)
    for position, (name, count) in enumerate(counts.items()):
        shares[position % tasks].update(1, name, count)
    for task, share in enumerate(shares):
        merged.update(task, 1, share.top())
    assert merged.top() == top(counts.items())


@given(trips, st.integers(1, 4), st.integers(1, 3))
def test_the_whole_query_equals_a_recount(
    trips: list[tuple[int, str]], counters: int, rankers: int
) -> None:
    trips = sorted(trips)
    windows = [SlidingCounts(WINDOW) for _ in range(counters)]
    shares = [RouteRanking(WINDOW) for _ in range(rankers)]
    merged = MergedRanking(WINDOW)
    for minute, name in trips:
        window = windows[hash(name) % counters]
        for changed, count in window.add(minute, name).items():
            shares[hash(changed) % rankers].update(window.newest, changed, count)
    newest = max((minute for minute, _ in trips), default=-1)
    # In the topology every counter sees a trip of the last minute; here not every one does.
    for window in windows:
        for changed, count in window.add(newest, "end").items():
            shares[hash(changed) % rankers].update(window.newest, changed, count)
    for task, share in enumerate(shares):
        share.update(newest, "end", 0)
        merged.update(task, newest, share.top())
    assert merged.top() == top(recount(trips, newest).items())


def test_a_count_that_is_not_renewed_for_a_window_is_forgotten() -> None:
    ranking = RouteRanking(WINDOW)
    ranking.update(10, "restarted", 99)
    ranking.update(10 + WINDOW - 1, "alive", 1)
    assert ranking.top() == [("restarted", 99), ("alive", 1)]
    ranking.update(10 + WINDOW, "alive", 1)
    assert ranking.top() == [("alive", 1)]


def test_a_share_that_is_not_renewed_for_a_window_is_left_out() -> None:
    merged = MergedRanking(WINDOW)
    merged.update(1, 10, [("gone", 99)])
    merged.update(2, 10 + WINDOW, [("alive", 1)])
    assert merged.top() == [("alive", 1)]


@given(counts)
def test_a_ranking_survives_its_text(counts: dict[str, int]) -> None:
    assert from_text(to_text(top(counts.items()))) == top(counts.items())
