"""What a command will write in the end, refused before its work if it cannot be written."""

from __future__ import annotations

import csv as csv_module
import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from stormcut.model.errors import InvalidInput

PICTURE_FORMS = ("svg", "png", "pdf")

csv = click.option(
    "--csv", "as_csv", is_flag=True, help="Print CSV: the values of --json, a row each."
)
wide = click.option(
    "--wide", "is_wide", is_flag=True, help="Show every column, however wide the table becomes."
)


def csv_text(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return JSON records as CSV: a column for each value, named by its path, such as a.b.c.

    A list is one cell: its values, parted by semicolons.
    """
    rows = [dict(_flat(each)) for each in documents]
    file = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv_module.DictWriter(file, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().rstrip("\n")


def _flat(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        elif isinstance(value, list):
            yield f"{path}{key}", ";".join(map(str, value))
        else:
            yield f"{path}{key}", value


class OutputFile(click.Path):
    """A file that is written in the end, or a place where it can be made."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        path = cast(Path, super().convert(value, param, ctx))
        try:
            if not path.parent.exists():
                raise InvalidInput("there is no such folder: make it first", str(path.parent))
            if path.exists() and not path.is_file():
                # It would be replaced, such as /dev/null by a file.
                raise InvalidInput("is no regular file", str(path))
            check_writable(path.parent)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)
        except OSError as error:
            self.fail(f"{path}: {error.strerror}", param, ctx)
        return path


class OutputFolder(click.Path):
    """A folder that is written to in the end, or a place where it can be made."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)
        self.name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        path = cast(Path, super().convert(value, param, ctx))
        try:
            check_folder(path)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)
        return path


def check_folder(folder: Path) -> None:
    """Refuse a folder that can neither be written to nor made; nothing is made yet.

    Raises
    ------
    InvalidInput
        Names the folder that is in the way.
    """
    try:
        there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    except OSError as error:
        raise InvalidInput(f"cannot be reached: {error.strerror}", str(folder)) from error
    check_writable(there)


def check_writable(folder: Path) -> None:
    """Refuse a folder in which no file can be made; nothing stays there.

    Raises
    ------
    InvalidInput
        It is no folder, or the system says why not.
    """
    try:
        # Not what its mode says: a file system may be full, or mounted for reading alone.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InvalidInput(f"cannot be written to: {error.strerror}", str(folder)) from error


def picture_form(picture: Path | None, option: str) -> str:
    """Return the form of a picture by its ending, of none the first.

    Raises
    ------
    InvalidInput
        It is none of `PICTURE_FORMS`; names the option.
    """
    form = picture.suffix[1:].lower() if picture is not None else PICTURE_FORMS[0]
    if form not in PICTURE_FORMS:
        raise InvalidInput(f"must end in .svg, .png or .pdf, not {picture}", option)
    return form
