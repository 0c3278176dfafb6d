"""What cells of the papers' figures yielded, a line each, so that a run goes on where it ended."""

from __future__ import annotations

import json
from pathlib import Path

from stormcut.lab.papers.cells import Outcome, PaperCell
from stormcut.model.errors import InvalidInput

FILE = "cells.jsonl"


class PaperResults:
    """A folder's results; lines of other code than this are passed over."""

    def __init__(self, folder: Path, code: str) -> None:
        self._path = folder / FILE
        self._code = code

    def read(self) -> dict[str, Outcome]:
        """Return outcomes by the keys of their cells; a line that was cut off is left out."""
        if not self._path.exists():
            return {}
        outcomes: dict[str, Outcome] = {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                code, key, outcome = json.loads(line)
            except ValueError:
                continue
            if code == self._code:
                outcomes[str(key)] = outcome
        return outcomes

    def append(self, cell: PaperCell, outcome: Outcome) -> None:
        """Keep an outcome.

        Raises
        ------
        InvalidInput
            The folder cannot be written.
        """
        line = json.dumps([self._code, cell.key, outcome])
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                # A line that was cut off must not spoil the next.
                file.seek(max(0, file.tell() - 1))
                end = "" if file.read() in (b"", b"\n") else "\n"
                file.write(f"{end}{line}\n".encode())
        except OSError as error:
            raise InvalidInput(f"cannot be written: {error.strerror}", str(self._path)) from None
