from stormcut.lab.experiment.loss import (
    Hop,
    Passage,
    SourceTotals,
    is_whole,
    passages,
    restarted,
    sent_ordinals,
    source_totals,
)

HOPS = (Hop("source", "default", "split"), Hop("split", "words", "count", copies=2))


def source(task: int, sent: int, acked: int, **more: object) -> dict[str, object]:
    counts = {"sent": sent, "acked": acked, "replayed": 0, "skipped": 0, "finished": True}
    return {"component": "source", "task": task, **counts, **more}


def bolts(received: int, counted: int) -> list[dict[str, object]]:
    return [
        {"component": "split", "received": {"source": received}, "emitted": {"words": 7}},
        {"component": "count", "received": {"split": counted}, "emitted": {}},
    ]


def test_all_that_was_sent_arrived() -> None:
    reports = [source(1, 2, 2), source(2, 3, 3), *bolts(5, 14)]
    totals = source_totals(reports, {"source": 2})
    assert totals == SourceTotals(sent=5, acked=5, replayed=0, skipped=0, finished=True)
    crossed = passages(reports, HOPS)
    assert crossed == [Passage("source", "split", 5, 5), Passage("split", "count", 14, 14)]
    assert is_whole(totals, crossed)


def test_a_tuple_that_is_missing_is_a_loss_unless_its_record_was_replayed() -> None:
    reports = [source(1, 5, 5), *bolts(5, 13)]
    assert not is_whole(source_totals(reports, {"source": 1}), passages(reports, HOPS))
    reports = [source(1, 5, 5, replayed=1), *bolts(5, 14)]
    assert is_whole(source_totals(reports, {"source": 1}), passages(reports, HOPS))


def test_a_topology_is_not_drained_before_all_its_sources_are() -> None:
    assert not source_totals([source(1, 5, 5)], {"source": 2}).drained
    assert not source_totals([source(1, 5, 4)], {"source": 1}).drained
    assert not source_totals([source(1, 5, 5, finished=False)], {"source": 1}).drained


def test_a_task_that_reports_twice_was_restarted() -> None:
    assert restarted([source(1, 5, 5), source(2, 5, 5)]) == []
    assert restarted([source(1, 5, 5), source(1, 2, 2)]) == ["source"]


def test_shares_make_up_what_was_sent() -> None:
    reports = [source(1, 3, 3, share=[0, 6, 2]), source(2, 2, 2, share=[1, 5, 2]), *bolts(5, 5)]
    reports.append({"component": "other", "share": [0, 9, 1]})
    assert sent_ordinals(reports, "source") == [0, 1, 2, 3, 4]
