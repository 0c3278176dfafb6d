"""Pages of results: a benchmark that shares its page writes its own section alone."""

from __future__ import annotations

import pytest
from benchmarks.page import write_page

SHARED = """\
# What all cost

Two benchmarks.

## The first

old

### A part of it

```
## no heading
```

## The second

kept
"""


@pytest.mark.parametrize("title", ["The first", "The second"])
def test_a_section_is_replaced_and_all_else_stays(tmp_path, title):
    path = tmp_path / "page.md"
    path.write_text(SHARED)
    write_page(path, f"# {title}\n\nnew\n\n## A detail\n\n```\n# code\n```\n")
    page = path.read_text()
    section = f"## {title}\n\nnew\n\n### A detail\n\n```\n# code\n```\n"
    assert section in page
    others = {"The first": "## The second\n\nkept\n", "The second": "```\n## no heading\n```\n"}
    assert others[title] in page
    assert page.startswith("# What all cost\n\nTwo benchmarks.\n\n## The first\n")
    write_page(path, f"# {title}\n\nnew\n\n## A detail\n\n```\n# code\n```\n")
    assert path.read_text() == page


@pytest.mark.parametrize("before", [None, "# Another\n\nold\n\n## A detail\n\nold\n"])
def test_a_page_of_its_own_is_the_whole_file(tmp_path, before):
    path = tmp_path / "page.md"
    if before is not None:
        path.write_text(before)
    write_page(path, "# Another\n\nnew\n")
    assert path.read_text() == "# Another\n\nnew\n"


def test_what_was_measured_of_a_part_leaves_the_whole_alone(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# Another\n\nwhole\n")
    for text in ("old", "new"):
        write_page(path, f"# Another\n\n{text}\n", "a, b")
    assert path.read_text() == "# Another\n\nwhole\n\n## Another: a, b\n\nnew\n"


def test_what_a_page_has_no_section_of_comes_last_and_nothing_is_lost(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(SHARED)
    write_page(path, "# The third\n\nnew\n")
    assert path.read_text() == f"{SHARED}\n## The third\n\nnew\n"
