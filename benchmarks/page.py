"""Write a page of results, or a section where one page has several benchmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from stormcut.adapters.files.json_document import write_text


def write_page(path: Path, page: str) -> None:
    """Write a page; where the file has a section of the page's title, write that section alone."""
    title = page.partition("\n")[0].removeprefix("# ")
    if path.exists():
        sections = list(_split(path.read_text(encoding="utf-8")))
        headings = [each.partition("\n")[0] for each in sections]
        if f"## {title}" in headings:
            sections[headings.index(f"## {title}")] = _demote(page)
            page = "\n\n".join(each.strip() for each in sections) + "\n"
    write_text(path, page)


def _split(page: str) -> Iterator[str]:
    """Yield what is above the first section, and each section."""
    part: list[str] = []
    for line, is_heading in _lines(page):
        if is_heading and line.startswith("## "):
            yield "\n".join(part)
            part = []
        part.append(line)
    yield "\n".join(part)


def _demote(page: str) -> str:
    return "\n".join(f"#{line}" if is_heading else line for line, is_heading in _lines(page))


def _lines(page: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is a heading: no line of a block of code is one."""
    in_code = False
    for line in page.splitlines():
        in_code ^= line.startswith("```")
        yield line, not in_code and re.match(r"#+ ", line) is not None
