import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ads.components import (
    ADS_TABLE,
    FIELDS,
    VIEWS_TABLE,
    Count,
    Deserialize,
    Filter,
    Join,
    Project,
    Source,
)
from ads.events import AD_KINDS, EVENT_KINDS, campaigns, events
from rig.store import Store, StoreDown
from rig.table import Table


def test_events_have_the_stated_distributions() -> None:
    sample = [json.loads(text) for text in events(100)[:6000]]
    assert events(100)[5] == json.dumps(sample[5])
    for field, kinds in (("event_type", EVENT_KINDS), ("ad_type", AD_KINDS)):
        counts = Counter(event[field] for event in sample)
        assert set(counts) == set(kinds)
        assert all(abs(n * len(kinds) / len(sample) - 1) < 0.1 for n in counts.values())
    ads = Counter(event["ad_id"] for event in sample)
    assert len(ads) > 950
    assert max(ads.values()) < 25
    assert [event["event_time"] for event in sample[:3]] == [0, 10, 20]


def test_campaigns_have_ten_advertisements() -> None:
    assert len(campaigns()) == 1000
    assert set(Counter(campaigns().values()).values()) == {10}


def test_views_pass_and_keep_two_fields(bench: Callable[..., Any]) -> None:
    deserialize, filter_, project = bench(Deserialize), bench(Filter), bench(Project)
    event = {name: name for name in FIELDS} | {"event_time": 5}
    [values] = deserialize.give(json.dumps(event | {"event_type": "view"}))
    assert filter_.give(*values) == [values]
    assert project.give(*values) == [["ad_id", 5]]
    [values] = deserialize.give(json.dumps(event | {"event_type": "click"}))
    assert filter_.give(*values) == []
    for text in ("", "[]", "{}"):
        assert deserialize.give(text) == []
    assert deserialize.dropped == {"malformed": 3}


def test_campaigns_come_from_redis(bench: Callable[..., Any], redis: str) -> None:
    join = bench(Join, redis=redis)
    # not filled yet: the tuple has to come again
    assert join.give("ad-19", 5) == []
    assert join.failed == ["1"]
    source = bench(Source, redis=redis, events_per_second=100, replays=1)
    assert len(source.next()) == 10
    assert join.give("ad-19", 5) == [["campaign-1", 5]]
    assert join.give("ad-99999", 5) == []
    assert join.dropped == {"unknown ad": 1}
    with Store(redis).client() as client:
        assert client.hlen(ADS_TABLE) == 1000


@pytest.mark.slow
def test_a_table_that_is_being_filled_lacks_nothing(redis: str) -> None:
    rows = campaigns()
    reader = Table(redis, ADS_TABLE, len(rows))
    answers: Counter[str | None] = Counter()
    with Store(redis).client() as client:
        filling = threading.Thread(
            target=lambda: [
                (client.delete(ADS_TABLE), client.hset(ADS_TABLE, mapping=rows)) for _ in range(200)
            ]
        )
        filling.start()
        while filling.is_alive():
            try:
                answers.update(reader.values(["ad-19"]))
            except StoreDown:
                answers["down"] += 1
        filling.join()
    assert answers["down"]
    assert set(answers) == {"down", "campaign-1"}


def test_counts_go_to_redis(bench: Callable[..., Any], redis: str) -> None:
    count = bench(Count, redis=redis, window_seconds=10)
    for campaign, at in (("a", 1), ("a", 9_999), ("a", 10_000), ("b", 0)):
        count.give(campaign, at)
    assert count.component.answer() == {}
    count.tick()
    count.tick()
    expected = {"a 0": 2, "a 1": 1, "b 0": 1}
    assert count.component.answer() == expected
    with Store(redis).client() as client:
        assert client.hgetall(VIEWS_TABLE) == {key: str(n) for key, n in expected.items()}


def test_counts_wait_while_redis_is_down(bench: Callable[..., Any]) -> None:
    count = bench(Count, redis="127.0.0.1:1", window_seconds=10)
    count.give("a", 1)
    count.tick()
    assert count.component.answer() == {}
    assert (count.acked, count.failed) == (["1", "tick"], [])
