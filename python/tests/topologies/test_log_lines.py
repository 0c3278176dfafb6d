from collections.abc import Callable
from typing import Any

import pytest

from log_lines.entries import Counts, Index
from log_lines.rules import LINE, Rules, level
from rig.records import lines


def test_rules_read_lines_and_drop_others(bench: Callable[..., Any]) -> None:
    rules = bench(Rules)
    line = "Mar 27 13:06:56 ip-10-77-20-248 sshd[1291]: Invalid user x from 1.2.3.4"
    assert rules.give(line) == [["warning", "sshd", "Invalid user x from 1.2.3.4"]]
    assert rules.give("Mar 27 sshd") == []
    assert rules.dropped == {"malformed": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Failed password for root", "warning"),
        ("error: Received disconnect", "error"),
        ("Accepted publickey for ubuntu", "notice"),
        ("Server listening on 0.0.0.0 port 22.", "info"),
    ],
)
def test_levels(text: str, expected: str) -> None:
    assert level(text) == expected


def test_every_line_of_the_file_can_be_read() -> None:
    assert sum(LINE.fullmatch(line) is not None for line in lines("auth-log/auth.log.gz")) == 5_696


def test_entries_are_indexed_and_counted(bench: Callable[..., Any]) -> None:
    index, counts = bench(Index), bench(Counts)
    for bolt in (index, counts):
        bolt.give("info", "sshd", "to be or not to be")
        bolt.give("info", "cron", "to do")
    assert index.component.answer() == {"to": 2, "be": 1, "or": 1, "not": 1, "do": 1}
    assert counts.component.answer() == {"info sshd": 1, "info cron": 1}
