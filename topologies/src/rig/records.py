"""What sources replay: the lines of a file, or records made up by a function of their number."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

#: Inside src/, so that it travels in the topology's jar to every worker.
DATA = Path(__file__).parents[1] / "data"


def data_file(name: Any) -> str:
    """Return the name of an input file that can be read.

    Raises
    ------
    ValueError
        There is no such file, it cannot be read, or nothing is in it.
    """
    # To the end: a packed file may be cut off anywhere, and its sources would die of it.
    lines(str(name))
    return str(name)


def lines(name: str) -> list[str]:
    """Return the lines of a file: below `src/data` or absolute, packed if it ends in `.gz`.

    Bytes that are not UTF-8 become replacement characters: such a line is malformed for
    the component that reads it, and counted there.

    Raises
    ------
    ValueError
        There is no such file, it cannot be read, or nothing is in it.
    """
    path = DATA / name
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        # No pipe nor device either: they may never end.
        if not path.is_file():
            raise ValueError(f"there is no data file {path}")
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            found = file.read().splitlines()
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"the data file {path} cannot be read: {why}") from error
    if not found:
        raise ValueError(f"the data file {path} is empty")
    return found


class Generated(Sequence[str]):
    """Records that are a function of their number alone.

    A source that replays its share, and a recount of the whole, get the same records.
    """

    def __init__(self, record: Callable[[int], str], length: int) -> None:
        self._record = record
        self._length = length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._record(number) for number in range(self._length)[index]]
        return self._record(range(self._length)[index])

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return map(self._record, range(self._length))
