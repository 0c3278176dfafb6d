"""What is counted of a crawl whose workers come and go."""

import json
from dataclasses import asdict

import pytest
from benchmarks import CHECKOUT
from benchmarks.cluster.crawler_unattended import (
    ARCHIVE,
    BACK_S,
    BEFORE_S,
    END_S,
    KINDS,
    Counts,
    Sample,
    acked_at,
    list_runs,
    of_minute,
    quiet_s,
    rate,
    row,
)
from benchmarks.raw_data import open_data

from stormcut.model.summaries import ExecutorSummary, TopologyInfo


def topology(*executors):
    """A topology of sources: first task, host, uptime and what was acked since then."""
    return TopologyInfo(
        "crawl-1-1",
        "crawl",
        "ACTIVE",
        tuple(
            ExecutorSummary(
                *("spout", task, task, host, 6700, uptime, True),
                *(acked, acked, acked, acked // 10, None),
            )
            for task, host, uptime, acked in executors
        ),
    )


def samples(rate_at):
    """Samples every 5 s of sources that ack at a rate of each moment."""
    total, taken = 0.0, []
    for at in range(-int(BEFORE_S), int(END_S), 5):
        taken.append(Sample(at, round(total), 0, {"a": 1}, 0))
        total += 5 * rate_at(at)
    return taken


def test_what_a_worker_that_begins_again_acks_is_added_to_what_was_acked():
    counts = Counts()
    counts.begin(topology((1, "a", 10, 100), (2, "b", 10, 50)))
    for state in (
        topology((1, "a", 15, 160), (2, "b", 15, 80)),
        topology((1, "a", 20, 200), (2, "c", 3, 10)),
        topology((1, "a", 25, 240), (2, "c", 8, 40)),
    ):
        counts.add(state)
    assert counts.acked == 240 + 80 + 40 - (100 + 50)
    assert counts.started == 1


def test_a_worker_that_begins_again_in_its_slot_is_a_start():
    counts = Counts()
    for uptime in (10, 15, 2, 7):
        counts.add(topology((1, "a", uptime, 10 * uptime)))
    assert counts.started == 2


def test_between_samples_counts_grow_evenly():
    taken = samples(lambda at: 100.0)
    assert acked_at(taken, 12.5) - acked_at(taken, -BEFORE_S) == pytest.approx(
        1250 + 100 * BEFORE_S
    )
    assert rate(taken, 30, 60) == pytest.approx(100)
    assert of_minute(taken, -1) == of_minute(taken, 0) == "100"
    assert of_minute(taken, int(END_S // 60)) == of_minute(taken, -int(BEFORE_S // 60) - 1) == "-"


def test_it_is_quiet_until_a_fifth_of_the_rate_is_back():
    def rates(at):
        return 0.0 if 0 <= at < 60 else 80.0

    taken = samples(rates)
    # Windows of 30 s have a fifth of the rate from 36 s after the loss on.
    assert quiet_s(taken, 80.0) == pytest.approx(38, abs=3)
    cells = [cell.strip() for cell in row("alone", taken).strip("|").split("|")]
    assert cells[1] == "80"
    assert cells[3] == cells[4] == "80"
    assert BACK_S > 60


def test_a_sample_is_kept_as_json():
    counts = Counts()
    counts.begin(topology((1, "a", 10, 100), (2, "b", 10, 50)))
    counts.add(topology((1, "a", 15, 160), (2, "b", 15, 80)))
    taken = counts.sample(5.0, topology((1, "a", 15, 160), (2, "b", 15, 80)))
    assert Sample(**json.loads(json.dumps(asdict(taken)))) == taken
    assert taken.workers == {"a": 1, "b": 1}


def test_what_was_kept_says_what_the_page_says():
    text = (CHECKOUT / "docs" / "results" / "crawler.md").read_text()
    with open_data(ARCHIVE) as data:
        for kind, name in KINDS.items():
            files = list_runs(data, kind)
            assert files
            for number, file in enumerate(files, start=1):
                kept = [Sample(**each) for each in json.loads(file.read_text())["samples"]]
                assert row(f"{name}, run {number}", kept) in text
