"""What people read before a plan is applied."""

import pytest
from rich.console import Console

from stormcut.report.preview import print_preview, progress_words


def metrics(tuples, size, nodes, workers, restarted=0):
    return {
        "inter_node_tuples_per_second": tuples,
        "inter_node_bytes_per_second": size,
        "inter_worker_tuples_per_second": tuples,
        "nodes_used": nodes,
        "workers_used": workers,
        "workers_restarted": restarted,
    }


def line(name, before, after, asked=4, measured=True, policy="any"):
    return {
        "topology": name,
        "reason": "moved by measured traffic [x]",
        "evidence": "measured",
        "measured": measured,
        "before": before,
        "after": after,
        "workers_restarted": after["workers_restarted"],
        "workers_asked": asked,
        "workers_policy": policy,
    }


def shown(*lines, declined=(), topology="t-1"):
    console = Console(width=100, record=True, file=None, quiet=False, highlight=False)
    with console.capture() as captured:
        print_preview(console, {"topologies": lines, "declined": declined}, topology)
    text = captured.get()
    assert max(map(len, text.splitlines())) <= 100
    return " ".join(text.split())


def test_before_and_after_and_the_number_of_workers_are_plain():
    text = shown(line("t-1", metrics(4112, 30_000, 4, 4), metrics(1028, 0, 2, 2, 5)))
    assert "t-1: moves; workers end or start again in 5 slots" in text
    assert "tuples/s between nodes 4,112.0 1,028.0 -75%" in text
    assert "bytes/s between nodes 30,000 0 -100%" in text
    assert "asked for 4 workers (topology.workers), 4 run now; the plan has 2" in text
    assert "stormcut.workers: keep" in text and "a rule with workers: keep" in text
    assert "why: moved by measured traffic [x]" in text


@pytest.mark.parametrize("policy", ["keep", None])
def test_nobody_is_told_to_keep_workers_who_does_or_cannot(policy):
    fewer = metrics(1028, None, 2, 2, 5)
    text = shown(line("t-1", metrics(4112, None, 4, 4), fewer, policy=policy))
    assert "asked for 4 workers (topology.workers), 4 run now; the plan has 2" in text
    assert "keep" not in text


def test_what_stays_restarts_nothing_and_needs_no_note():
    same = metrics(10, None, 2, 4)
    text = shown(line("t-1", same, same))
    assert "t-1: stays as it is, nothing restarts" in text
    assert "bytes" not in text and "note" not in text


def test_a_new_topology_has_no_before_and_declared_traffic_is_named():
    text = shown(line("t-1", None, metrics(3, None, 2, 6), measured=False))
    assert "tuples/s between nodes ? 3.0 " in text
    assert "as declared, 1 tuple/s from each executor" in text
    assert "asked for 4 workers (topology.workers); the plan has 6" in text
    assert "keep" not in text


def test_others_are_shown_if_they_move_with_it():
    moves = line("u-1", metrics(5, None, 2, 4), metrics(0, None, 1, 4, 3))
    stays = line("v-1", metrics(5, None, 2, 4), metrics(5, None, 2, 4))
    text = shown(stays, moves, declined=[{"topology": "t-1", "reason": "runs already"}])
    assert "t-1: stays with Storm's own scheduler why: runs already" in text
    assert "u-1: moves; workers end or start again in 3 slots" in text and "v-1" not in text
    assert "t-1 does not run now: nothing follows before it does" in shown(stays)


def test_a_move_in_stages_says_how_far_it_is():
    move = {"topology": "t", "workers": 8, "workers_left": 5, "left_s": 75.0}
    assert progress_words(move).startswith(
        "t moves in stages: 3 of 8 workers done, the last stage begins in 75 s at the earliest; "
    )
