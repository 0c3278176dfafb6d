"""Tables on terminals of any width: no digit is lost, names keep both ends, nothing is too wide."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from stormcut.report.terminal import ELLIPSIS, WIDE, WIDTH, Grid, shortened, terminal

WORDS = st.lists(
    st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=12
).map(" ".join)  # fmt: skip
NAMES = st.text("abcdefghij-_./[]0123456789", min_size=1, max_size=70)
FIGURES = st.floats(0, 1e9).map(lambda value: f"{value:,.1f}")
ROWS = st.lists(st.tuples(NAMES, FIGURES, FIGURES, FIGURES, WORDS), min_size=1, max_size=6)


def shown(grid: Grid, width: int, is_wide: bool = False) -> list[str]:
    file = io.StringIO()
    grid.print(Console(file=file, width=width, highlight=False), is_wide)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def grid_of(rows: list[tuple[str, ...]]) -> Grid:
    grid = Grid("a title").name("name").figures("first").figures("second", rank=1)
    grid.figures("third", rank=WIDE).words("why")
    for row in rows:
        grid.row(*row)
    return grid


@given(ROWS, st.integers(60, 200))
def test_every_figure_is_whole_and_every_line_fits(
    rows: list[tuple[str, ...]], width: int
) -> None:  # fmt: skip
    lines = shown(grid_of(rows), width)
    assert max(map(cell_len, lines)) <= width
    text = "\n".join(lines)
    for name, first, _, _, words in rows:
        assert first in text.split()
        assert name in text or f"{ELLIPSIS}{name[-3:]}" in text
        assert set(words.split()) <= set(text.split())
    assert "--wide also shows:" in text
    assert "third" in lines[-1] or "third" in lines[-2]


@given(ROWS, st.integers(60, 200))
def test_wide_tables_show_all(rows: list[tuple[str, ...]], width: int) -> None:
    lines = shown(grid_of(rows), width, is_wide=True)
    text = "\n".join(lines)
    assert ELLIPSIS not in text
    assert "--wide" not in text
    for name, *figures, _ in rows:
        assert name in text
        assert set(figures) <= set(text.split())


@given(NAMES, st.integers(3, 80))
def test_a_shortened_name_keeps_both_ends(name: str, width: int) -> None:
    short = shortened(name, width)
    assert cell_len(short) <= width
    if len(name) <= width:
        assert short == name
    else:
        first, last = short.split(ELLIPSIS)
        assert name.startswith(first)
        assert name.endswith(last)
        assert abs(len(first) - len(last)) <= 1


def test_names_of_wide_characters_are_cut_by_cells() -> None:
    assert cell_len(shortened("拓扑" * 20, 11)) <= 11


def test_markup_in_names_is_text() -> None:
    grid = Grid("[red]title[/]").name("name").figures("n")
    grid.row("[bold]name[/]", "1")
    assert any("[bold]name[/]" in line for line in shown(grid, 80))


@pytest.mark.parametrize(("columns", "width"), [("70", 70), ("", WIDTH), ("wide", WIDTH)])
def test_what_is_no_terminal_is_as_wide_as_columns_says(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal().width == width
