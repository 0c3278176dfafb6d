"""What a controller has noticed and done: changes, moves, placements; nothing else."""

from datetime import datetime

from stormcut.lab.adapters.processes.controller import drift_news, plan_news
from stormcut.lab.experiment.timeline import Kind

LOG = """\
2026-11-23 16:33:03,484 INFO    first intervals of t-1-1: 20 tasks
2026-11-23 16:33:18,380 INFO    profile of t-1-1 published: first whole measurement
2026-11-23 16:33:20,620 INFO    plan ebf3af585c1a in 1.59 s: t-1-1 kept: paused; it would move
2026-11-23 16:33:22,444 INFO    profile of t-1-1 published: source: tuples/s 8 (± 1), was 4 (± 1)
a line of something else
2026-11-23 16:36:10,000 INFO    plan 99aa45054b04 in 0.70 s: no topologies
"""


def entry(plan, *actions):
    lines = [
        {"topology": f"t-{n}-1", "action": action, "reason": f"because of {action}"}
        for n, action in enumerate(actions, 1)
    ]
    return {"plan": plan, "created_ms": 1500, "topologies": lines, "declined": []}


def test_plans_that_move_or_place_something_are_events() -> None:
    found = plan_news(
        [
            entry("0123456789", "keep", "move", "undo"),
            entry("abcdefghij", "place", "keep"),
            entry("none"),
            entry("kept", "keep"),
        ]
    )
    assert found == [
        (1.5, Kind.MOVE, "plan 01234567: t-2-1 because of move; t-3-1 because of undo"),
        (1.5, Kind.PLACED, "plan abcdefgh: t-1-1 because of place"),
    ]


def test_of_the_log_only_drifts_are_events() -> None:
    ((moment, kind, text),) = drift_news(LOG)
    assert (kind, text) == (Kind.DRIFT, "t-1-1 source: tuples/s 8 (± 1), was 4 (± 1)")
    assert moment == datetime(2026, 11, 23, 16, 33, 22, 444000).timestamp()
