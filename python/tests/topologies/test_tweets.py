import json
from collections.abc import Callable
from typing import Any

import pytest

from rig.source import Malformed
from tweets.sentiment import Clean, Join, Negative, Positive, Score, Sensitize
from tweets.source import Tweets, text
from tweets.trending import Merge, Prepare, Rank


@pytest.mark.parametrize("record", ["", "[1]", '{"ts": 1}', '{"text": 3}', "{"])
def test_a_record_that_is_no_tweet(record: str) -> None:
    with pytest.raises(Malformed, match="malformed"):
        text(record)


def test_malformed_tweets_are_counted(bench: Callable[..., Any], tmp_path: Any) -> None:
    file = tmp_path / "tweets.jsonl"
    file.write_text("\n".join([json.dumps({"text": "a"}), "", "oops", "", json.dumps({})]))
    source = bench(Tweets, data=str(file), replays=1)
    assert source.next() == [[0, "a"]]
    counts = source.component.tally(0.0)
    assert (counts["sent"], counts["dropped"]) == (1, {"malformed": 2})


def test_topics_are_counted_per_task_and_added(bench: Callable[..., Any]) -> None:
    prepare, rank, merge = bench(Prepare), bench(Rank, k=2), bench(Merge, k=2)
    assert prepare.give(0, "#MayMac! #maymac #McGregor") == [
        ["m", "maymac", 1],
        ["m", "maymac", 2],
        ["m", "mcgregor", 1],
    ]
    for sender, topic, count in ((1, "a", 2), (3, "a", 1), (1, "b", 2), (3, "c", 1), (1, "a", 1)):
        assert rank.give(topic[0], topic, count, task=sender) == []
    assert rank.tick() == [['[["a", 3], ["b", 2]]']]
    assert rank.tick() == []
    merge.give('[["a", 3], ["b", 2]]', task=1)
    merge.give('[["z", 9]]', task=2)
    merge.give('[["z", 2]]', task=2)
    assert merge.component.answer() == [("a", 3), ("b", 2)]


def test_a_tweet_gets_its_mood(bench: Callable[..., Any]) -> None:
    [[_, letters]] = bench(Sensitize).give(7, "What a GREAT fight, @u00001! #win 😀")
    assert letters == "what a great fight u win "
    [[_, words]] = bench(Clean).give(7, letters)
    assert words == "great fight win"
    assert bench(Positive).give(7, words) == [[7, "positive", 2]]
    assert bench(Negative).give(7, words) == [[7, "negative", 1]]
    join = bench(Join)
    assert join.give(7, "negative", 1) == []
    assert join.give(8, "positive", 0) == []
    assert join.give(7, "positive", 2) == [[7, 2, 1]]
    score = bench(Score)
    for scores in ((2, 1), (0, 0), (0, 3), (5, 1)):
        score.give(7, *scores)
    assert score.component.answer() == {"positive": 2, "neutral": 1, "negative": 1}
