"""Tables for terminals: one style, as wide as the terminal, and never a digit less.

Where a table is wider than the terminal, names are shortened in the middle, words are wrapped, and
the least important figures are left out, which a line below says. What is no terminal is 100
columns wide, unless COLUMNS says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

#: Of what is no terminal.
WIDTH = 100
#: To which names and words are narrowed before figures are left out, and at last.
NARROW_NAME, NARROW_WORDS = 18, 24
MIN_NAME, MIN_WORDS = 10, 10
#: Of figures that only ``--wide`` shows.
WIDE = 9
#: Between two columns.
GAP = 2
ELLIPSIS = "…"

Cell = str | Text


def terminal(is_error: bool = False) -> Console:
    """Return standard output (or standard error) as people see it."""
    console = Console(stderr=is_error, highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        console.width = WIDTH
    return console


def shortened(name: str, width: int) -> str:
    """Return a name with its middle left out if it is wider: both ends tell names apart.

    Parameters
    ----------
    width : int
        In cells of a terminal, from 3.
    """
    if cell_len(name) <= width:
        return name
    head = (width - 1) // 2
    first = chop_cells(name, head)[0] if head else ""
    last = chop_cells(name[::-1], width - 1 - cell_len(first))[0][::-1]
    return f"{first}{ELLIPSIS}{last}"


@dataclass(frozen=True)
class _Column:
    """What stands in a column: a figure or a label, which stay whole, a name, or words.

    ``rank``: those of the highest are left out first, those of 0 never.
    """

    heading: str
    is_whole: bool = False
    is_name: bool = False
    is_left: bool = True
    rank: int = 0


class Grid:
    """A table; columns are added first, then rows. Cells that are strings are no markup."""

    def __init__(self, title: str = "", shows_header: bool = True) -> None:
        self._title, self._shows_header = title, shows_header
        self._columns: list[_Column] = []
        self._rows: list[tuple[tuple[Text, ...], str]] = []
        self._ends: set[int] = set()

    def name(self, heading: str = "") -> Grid:
        """Add a column of names: on one line, shortened in the middle."""
        self._columns.append(_Column(heading, is_name=True))
        return self

    def words(self, heading: str = "") -> Grid:
        """Add a column of words, which wrap."""
        self._columns.append(_Column(heading))
        return self

    def figures(self, *headings: str, rank: int = 0) -> Grid:
        """Add columns of figures; those of the highest rank are left out first, of 0 never."""
        self._columns += [
            _Column(each, is_whole=True, is_left=False, rank=rank) for each in headings
        ]
        return self

    def labels(self, *headings: str, rank: int = 0) -> Grid:
        """Add columns of text that stays whole, on one line, as figures do."""
        self._columns += [_Column(each, is_whole=True, rank=rank) for each in headings]
        return self

    def row(self, *cells: Cell, style: str = "") -> None:
        """Add a row; cells that are missing at its end are empty."""
        texts = [each if isinstance(each, Text) else Text(each) for each in cells]
        texts += [Text()] * (len(self._columns) - len(texts))
        self._rows.append((tuple(texts), style))

    def end_section(self) -> None:
        """Draw a line below the last row."""
        self._ends.add(len(self._rows) - 1)

    def print(self, console: Console, is_wide: bool = False) -> None:
        """Print the table, and which figures were left out."""
        shown = self._shown(console.width, is_wide)
        widths = self._widths(shown, console.width, is_wide)
        total = sum(widths) + GAP * (len(shown) - 1)
        if self._title:
            console.print(Text(self._title), soft_wrap=True)
        width = console.width
        # A terminal that is still narrower wraps lines, and loses nothing.
        console.width = max(total, width)
        console.print(self._table(shown, widths))
        console.width = width
        left_out = [_one_line(c.heading) for c in self._columns if c not in shown]
        if left_out:
            console.print(f"--wide also shows: {escape(', '.join(left_out))}", style="dim")

    def _shown(self, width: int, is_wide: bool) -> list[_Column]:
        """Return the columns for which there is room."""
        shown = [each for each in self._columns if is_wide or each.rank < WIDE]
        while not is_wide and self._least(shown) > width:
            rank = max(each.rank for each in shown)
            if rank == 0:
                break
            last = max(index for index, each in enumerate(shown) if each.rank == rank)
            del shown[last]
        return shown

    def _least(self, shown: Sequence[_Column]) -> int:
        return sum(map(self._narrowest, shown)) + GAP * (len(shown) - 1)

    def _narrowest(self, column: _Column) -> int:
        natural = self._natural(column)
        if column.is_whole:
            return natural
        return min(natural, NARROW_NAME if column.is_name else NARROW_WORDS)

    def _natural(self, column: _Column) -> int:
        position = self._columns.index(column)
        cells = [line for cells, _ in self._rows for line in cells[position].plain.splitlines()]
        heading = column.heading.splitlines() if self._shows_header else []
        return max((cell_len(each) for each in (*cells, *heading)), default=1)

    def _widths(self, shown: Sequence[_Column], width: int, is_wide: bool) -> list[int]:
        """Share what is left of the width: first among names, then among words."""
        widths = list(map(self._narrowest, shown))
        left = width - sum(widths) - GAP * (len(shown) - 1)
        for index, column in enumerate(shown):
            if left < 0 and not column.is_whole:
                less = max(
                    0, min(-left, widths[index] - (MIN_NAME if column.is_name else MIN_WORDS))
                )
                widths[index] -= less
                left += less
        for is_name in (True, False):
            chosen = [
                index for index, c in enumerate(shown) if not c.is_whole and c.is_name == is_name
            ]
            lacks = {index: self._natural(shown[index]) - widths[index] for index in chosen}
            # Those that lack little get it, the others the same each.
            for count, index in enumerate(sorted(chosen, key=lambda index: lacks[index])):
                fair = max(0, left) // (len(chosen) - count)
                more = lacks[index] if is_wide and is_name else max(0, min(lacks[index], fair))
                widths[index] += more
                left -= more
        return widths

    def _table(self, shown: Sequence[_Column], widths: Sequence[int]) -> Table:
        table = Table(
            box=SIMPLE_HEAD,
            show_edge=False,
            show_header=self._shows_header,
            header_style="bold",
            pad_edge=False,
            padding=(0, 0, 0, GAP - 1),
        )
        for column, width in zip(shown, widths, strict=True):
            table.add_column(
                Text(column.heading),
                justify="left" if column.is_left else "right",
                no_wrap=not self._wraps(column),
                overflow="fold",
                width=width,
            )
        places = [self._columns.index(each) for each in shown]
        for index, (cells, style) in enumerate(self._rows):
            fitted = (
                self._fitted(cells[place], column, width)
                for place, column, width in zip(places, shown, widths, strict=True)
            )
            table.add_row(*fitted, style=style or None, end_section=index in self._ends)
        return table

    @staticmethod
    def _wraps(column: _Column) -> bool:
        return not (column.is_whole or column.is_name)

    @staticmethod
    def _fitted(cell: Text, column: _Column, width: int) -> Text:
        if not column.is_name or cell_len(cell.plain) <= width:
            return cell
        return Text(shortened(cell.plain, width), style=cell.style)


def print_all(console: Console, grids: Iterable[Grid], is_wide: bool = False) -> None:
    """Print tables with an empty line between them."""
    for index, grid in enumerate(grids):
        if index:
            console.print()
        grid.print(console, is_wide)


def _one_line(heading: str) -> str:
    """Return a heading of several lines as one, with words that were parted joined."""
    return heading.replace("-\n", "").replace("\n", " ")
