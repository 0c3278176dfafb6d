"""Spark's answers to small inputs, by hand."""

import json

import pytest

from stormcut.lab.adapters.spark.answers import ANSWERS
from stormcut.lab.adapters.storm.topology_project import data_lines

pytestmark = pytest.mark.spark


def tweets(*texts: str) -> list[str]:
    return [*(json.dumps({"text": text}) for text in texts), "malformed"]


def trip(*coordinates: str) -> str:
    return ",".join([*"012345", *coordinates, *"01234567"])


CASES = {
    "word_count": (["The whale’s", "the 1 spout"], {}, {"the": 2, "whale’s": 1, "spout": 1}),
    "communication": (["ab", ""], {"bolts": 2}, 4 * 2 + 3 + 3),
    "throughput_test": (["abc", "def"], {"text.bytes": 3}, [2, 6]),
    "trending_topics": (tweets("#B #a", "#b", "#c"), {"k": 2}, [["b", 2], ["a", 1]]),
    "sentiment": (
        tweets("Great, great fight!", "the end", "sad"),
        {},
        {"positive": 1, "neutral": 1, "negative": 1},
    ),
    "log_processing": (
        ["Mar  7 13:06:56 host sshd[1]: Invalid user", "Mar 27 13:06:56 host cron: on", "no"],
        {},
        {"warning sshd": 1, "info cron": 1},
    ),
    "load_prediction": (
        [
            "1,100,1.5,1,7,0,2",
            "2,101,2.5,1,7,0,2",
            "3,101,99,0,7,0,2",
            "4,102,4,1,8,0,2",
            "5,106,8,1,7,0,2",
        ],
        {"slice.seconds": 2, "slices.per.day": 3},
        # slices 0, 1, 3 are known; slice 5 - 3 = 2 is not, so no past day counts for it
        {
            "plug 2/0/7 @2": 2.0,
            "plug 2/0/8 @3": 4.0,
            "plug 2/0/7 @5": 8.0,
            "house 2 @2": 2.0,
            "house 2 @3": 4.0,
            "house 2 @5": 8.0,
        },
    ),
    "yahoo": (
        [
            json.dumps({"ad_id": "ad-19", "event_type": kind, "event_time": at})
            for kind, at in (("view", 9_999), ("view", 10_000), ("click", 1), ("view", 2))
        ],
        {"window.seconds": 10},
        {"campaign-1 0": 2, "campaign-1 1": 1},
    ),
    "taxi": (
        [trip("41.88", "-87.62", "42.05", "-87.97"), trip("41.88", "", "42.05", "-87.97"), "no"],
        {},
        [["59.39-1.1", 1]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_spark_finds_the_answer(spark: object, name: str) -> None:
    data, options, expected = CASES[name]
    answer = ANSWERS[name]
    assert answer.expected(spark, answer.sent(data, range(len(data))), options) == expected


def test_no_stop_word_carries_a_mood() -> None:
    moods = {*data_lines("lexicon/positive.txt"), *data_lines("lexicon/negative.txt")}
    assert not moods & {*data_lines("lexicon/stop.txt")}


@pytest.mark.parametrize(("bolts", "sent"), [(2, 3), (4, 30)])
def test_the_last_bolt_of_a_chain_holds_the_answer(bolts: int, sent: int) -> None:
    parts = [None] * (bolts - 1) + [sent]
    reports = [{"component": f"double_{n}", "answer": part} for n, part in enumerate(parts, 1)]
    reports.append({"component": f"double_{bolts}", "answer": 1})
    assert ANSWERS["communication"].given(reports, {"bolts": bolts}) == sent + 1


def test_readings_of_each_replay_follow_those_of_the_one_before() -> None:
    data = ["no", "1,100,1.5,1,7,0,2", "2,99,5,0,7,0,2", "3,104,x,1,7,0,2", "4,102,4,1,8,0,2"]
    sent = ANSWERS["load_prediction"].sent(data, [4, 5, 6, 14])
    # A replay lasts from second 100 to 102; a source may begin anywhere in it.
    assert sent == ["4,2,4,1,8,0,2", "no", "1,3,1.5,1,7,0,2", "4,8,4,1,8,0,2"]
