from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_decision_is_listed_by_its_title_with_a_status():
    listed = re.findall(
        r"^\| (\d+) \| \[(.*)\]\(decisions/(.*)\) \| (.+) \|$",
        (DOCS / "decisions.md").read_text(),
        re.MULTILINE,
    )
    pages = sorted((DOCS / "decisions").glob("*.md"))
    assert [name for _, _, name, _ in listed] == [page.name for page in pages]
    for number, title, name, _ in listed:
        first = (DOCS / "decisions" / name).read_text().splitlines()[0]
        assert first == f"# {number}. {title}"
        assert name.startswith(f"{int(number):04d}-")
