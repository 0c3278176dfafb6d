"""What the controller's log tells: changes, moves, what became of them; nothing else."""

from datetime import datetime

from stormcut.adapters.processes.controller import events
from stormcut.application.experiment.timeline import Kind

LOG = """\
2026-11-23 16:33:03,484 INFO    first intervals of t-1-1: 20 tasks
2026-11-23 16:33:18,380 INFO    profile of t-1-1 published: first whole measurement
2026-11-23 16:33:18,565 INFO    profile of t-1-1 read (046cb9cf)
2026-11-23 16:33:20,620 INFO    plan ebf3af585c1a in 1.59 s: t-1-1 kept: paused; it would move
2026-11-23 16:33:21,000 INFO    plan 1f5ea09f597f in 0.08 s: t-1-1 declined: nothing measured
2026-11-23 16:33:22,444 INFO    profile of t-1-1 published: source: tuples/s 8 (± 1), was 4 (± 1)
2026-11-23 16:34:19,551 INFO    plan 0301d45054b0 in 0.72 s: t-1-1 moved for head-room, 1.1 -> 7
a line of something else
2026-11-23 16:35:40,000 INFO    t-1-1 has moved, and turned out better: 12 tuples acked a second
2026-11-23 16:36:10,000 INFO    plan 99aa45054b04 in 0.70 s: t-1-1 placed by measured traffic
"""


def test_only_changes_moves_and_verdicts_are_events() -> None:
    found = events(LOG)
    assert [(kind, text) for _, kind, text in found] == [
        (Kind.DRIFT, "t-1-1 source: tuples/s 8 (± 1), was 4 (± 1)"),
        (Kind.MOVE, "plan 0301d450: t-1-1 moved for head-room, 1.1 -> 7"),
        (Kind.VERDICT, "t-1-1 has moved, and turned out better: 12 tuples acked a second"),
        (Kind.MOVE, "plan 99aa4505: t-1-1 placed by measured traffic"),
    ]
    assert found[0][0] == datetime(2026, 11, 23, 16, 33, 22, 444000).timestamp()
