"""Tables and sections of a page, and how they become Markdown that fits 100 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stormcut.report.terminal import WIDTH


@dataclass(frozen=True)
class Table:
    """Rows of text under a header; all columns but the first `words` hold figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    words: int = 1


@dataclass(frozen=True)
class Picture:
    """An SVG picture with what it is called."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """A part of a page: paragraphs, then tables, then points (term, text), then pictures.

    ``level`` is that of its heading, 1 the page's; ``code`` is shown as it is, at the end.
    """

    title: str
    level: int
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    points: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()
    code: str = ""


def markdown(sections: Sequence[Section]) -> str:
    """Return a page without its pictures."""
    return "\n\n".join(block for section in sections for block in _blocks(section)) + "\n"


def _blocks(section: Section) -> Iterator[str]:
    yield f"{'#' * section.level} {_plain(section.title)}"
    for paragraph in section.text:
        yield _wrapped(_plain(paragraph))
    for table in section.tables:
        if table.caption:
            yield _wrapped(_plain(table.caption))
        yield from ("\n".join(_lines(part)) for part in _fold(_escaped(table)))
    if section.points:
        points = (f"- **{_plain(term)}**: {_plain(text)}" for term, text in section.points)
        yield "\n".join(_wrapped(point, "  ") for point in points)
    if section.code:
        yield f"```\n{section.code.rstrip()}\n```"


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\|*`<&])", r"\\\1", " ".join(text.split()))


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _escaped(table: Table) -> Table:
    header, *rows = (tuple(map(_plain, row)) for row in (table.header, *table.rows))
    return Table(header, tuple(rows), table.caption, table.words)


def _lines(table: Table) -> list[str]:
    rule = ["---" if index < table.words else "---:" for index in range(len(table.header))]
    return [f"| {' | '.join(row)} |" for row in (table.header, rule, *table.rows)]


def _fold(table: Table) -> Iterator[Table]:
    """Yield the table, or tables of as many columns as fit; the first column stands in each."""
    first = 1
    while first < len(table.header):
        last = len(table.header)
        while last > first + 1 and max(map(len, _lines(_columns(table, first, last)))) > WIDTH:
            last -= 1
        yield _columns(table, first, last)
        first = last


def _columns(table: Table, first: int, last: int) -> Table:
    header, *rows = ((row[0], *row[first:last]) for row in (table.header, *table.rows))
    words = 1 + max(0, min(last, table.words) - first)
    return Table(header, tuple(rows), table.caption, words)


def format_rate(rate: float) -> str:
    """Return a rate with three digits at least: ``1.93``, ``60,000``."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
