"""Write a page of results, or a section where one page has several benchmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from stormcut.adapters.files.json_document import write_text


def write_page(path: Path, page: str, part: str = "") -> None:
    """Write a page, or its section where the file holds another page: all else in it stays.

    ``part`` names what alone was measured; it has a page, or a section, of its own.
    """
    heading, _, body = page.partition("\n")
    if part:
        heading = f"{heading}: {part}"
        page = f"{heading}\n{body}"
    if path.exists():
        sections = list(_split(path))
        headings = [each.partition("\n")[0] for each in sections]
        if heading != headings[0]:
            place = headings.index(f"#{heading}") if f"#{heading}" in headings else len(headings)
            sections[place : place + 1] = [_demote(page)]
            page = "\n\n".join(each.strip() for each in sections) + "\n"
    write_text(path, page)


def _split(path: Path) -> Iterator[str]:
    """Yield what is above the first section, and each section."""
    lines: list[str] = []
    for line, is_heading in _lines(path.read_text(encoding="utf-8")):
        if is_heading and line.startswith("## "):
            yield "\n".join(lines)
            lines = []
        lines.append(line)
    yield "\n".join(lines)


def _demote(page: str) -> str:
    return "\n".join(f"#{line}" if is_heading else line for line, is_heading in _lines(page))


def _lines(page: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is a heading: no line of a block of code is one."""
    in_code = False
    for line in page.splitlines():
        in_code ^= line.startswith("```")
        yield line, not in_code and re.match(r"#+ ", line) is not None
