"""Lines and their parts, as Python's own functions find them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.profile.scan import scan_lines

PARTS = (
    b"a",
    b" ",
    b"1700000000",
    b"\t",
    b"\t",
    b"\t",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\xff",
    b"9",
)
SERIES = slice(1, 4)


def by_definition(line):
    """Epoch, series and value of a line."""
    parts = line.split(b"\t", 4)
    number = parts[0].rpartition(b" ")[2]
    if len(parts) < 5 or not number.isdigit() or len(number) > 11:
        return -1, None, None
    return int(number), b"\t".join(parts[SERIES]), parts[4]


def as_scanned(text):
    found = scan_lines(text)
    names = [text[b:e] for b, e in zip(found.series_begins, found.series_ends, strict=True)]
    assert len(set(names)) == len(names)
    lines, parts_of_lines = [], []
    for begin, value, end, epoch_s, series in zip(*found[:5], strict=True):
        lines.append(text[begin:end])
        whole = epoch_s >= 0
        assert whole == (series >= 0)
        parts = (names[series], text[value:end]) if whole else (None, None)
        parts_of_lines.append((epoch_s, *parts))
    return lines, parts_of_lines


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\r",
        b"a",
        b"a\r",
        b"a\r\r\n\nb",
        b"\t\t\t\t",
        b"1\tw\tt\tm\t",
        b"x 1\tw\tt\tm\tv\tw",
        b"12345678901\t\t\t\t\n123456789012\t\t\t\t\n",
    ],
)
def test_texts_of_every_form(text):
    lines, parts_of_lines = as_scanned(text)
    assert lines == text.splitlines()
    assert parts_of_lines == [by_definition(line) for line in lines]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map(b"".join))
def test_any_text(text):
    lines, parts_of_lines = as_scanned(text)
    assert lines == text.splitlines()
    assert parts_of_lines == [by_definition(line) for line in lines]


def test_many_lines_of_many_series():
    chance = random.Random(1)
    lines = [
        b"at %d\tw:%d\t%d:t\tm\t{a=1}" % (n, chance.randint(1, 99), chance.randint(1, 99))
        for n in range(10_000)
    ]
    found, parts_of_lines = as_scanned(b"\n".join(lines))
    assert found == lines
    assert parts_of_lines == [by_definition(line) for line in lines]
