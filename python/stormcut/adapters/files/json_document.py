"""Reads JSON strictly: every complaint names the place in the document.

`JsonValue` is a cursor: it knows where it is, and turns into what it should be or raises.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from stormcut.model.errors import InvalidInput

T = TypeVar("T")

#: Longest value that is repeated in a message.
SHOWN = 40


@dataclass(frozen=True)
class JsonValue:
    """A value of a JSON document and the path that leads to it, such as ``nodes[0].ports``."""

    raw: Any
    path: str

    def fail(self, what: str) -> NoReturn:
        """Raise `InvalidInput` for this place."""
        raise InvalidInput(what, self.path)

    def mismatch(self, wanted: str) -> NoReturn:
        """Raise `InvalidInput`: something else was wanted here."""
        text = json.dumps(self.raw) if not isinstance(self.raw, dict | list) else _kind(self.raw)
        self.fail(f"must be {wanted}, not {text if len(text) <= SHOWN else text[:SHOWN] + '...'}")

    def keys(
        self, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> dict[str, JsonValue]:
        """Return the members of an object that has no others and lacks no required one."""
        members = self.members()
        for key in members:
            if key not in required and key not in optional:
                allowed = ", ".join((*required, *optional))
                members[key].fail(f"unknown key; allowed are {allowed}")
        for key in required:
            if key not in members:
                self.fail(f"missing key {json.dumps(key)}")
        return members

    def members(self) -> dict[str, JsonValue]:
        """Return all members of an object."""
        if not isinstance(self.raw, dict):
            self.mismatch("an object")
        return {
            key: JsonValue(raw, f"{self.path}.{_shown(key)}" if self.path else _shown(key))
            for key, raw in self.raw.items()
        }

    def items(self) -> Iterator[JsonValue]:
        """Yield the elements of a list."""
        for index, raw in enumerate(self.array()):
            yield JsonValue(raw, f"{self.path}[{index}]")

    def array(self) -> list[Any]:
        """Return a list, its elements unchecked."""
        if not isinstance(self.raw, list):
            self.mismatch("a list")
        return self.raw

    def name(self) -> str:
        """Return a non-empty text without control characters."""
        if not isinstance(self.raw, str) or not self.raw or not self.raw.isprintable():
            self.mismatch("a non-empty printable text")
        return self.raw

    def boolean(self) -> bool:
        """Return it as true or false."""
        if not isinstance(self.raw, bool):
            self.mismatch("true or false")
        return bool(self.raw)

    def choice(self, allowed: tuple[str, ...]) -> str:
        """Return one of the texts allowed."""
        if not isinstance(self.raw, str) or self.raw not in allowed:
            self.mismatch("one of " + ", ".join(allowed))
        return self.raw

    def integer(self, least: int, most: int) -> int:
        """Return a whole number within bounds, both included."""
        if type(self.raw) is not int or not least <= self.raw <= most:
            self.mismatch(f"a whole number from {least} to {most}")
        return self.raw

    def amount(self) -> float:
        """Return a finite number that is not negative."""
        if not is_amount(self.raw):
            self.mismatch("a number of at least 0")
        return float(self.raw)

    def distinct(self, values: list[Any], what: str) -> None:
        """Check that no value occurs twice."""
        seen = set()
        for value in values:
            if value in seen:
                self.fail(f"{what} {json.dumps(value)} occurs twice")
            seen.add(value)


def is_amount(raw: Any) -> bool:
    """Return whether a JSON value is a finite number that is not negative."""
    if type(raw) is int:
        return 0 <= raw <= 10**300
    return type(raw) is float and math.isfinite(raw) and raw >= 0


def optional(value: JsonValue | None, read: Callable[[JsonValue], T]) -> T | None:
    """Return what ``read`` makes of a value, None if it is absent or null."""
    return None if value is None or value.raw is None else read(value)


def read_json(path: Path) -> JsonValue:
    """Return the root of a JSON file.

    Raises
    ------
    InvalidInput
        It cannot be read, is no UTF-8 or no JSON, or an object has a key twice.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(path)) from None
    return parse_json(content, str(path))


def parse_json(content: bytes, where: str) -> JsonValue:
    """Return the root of a JSON text.

    Raises
    ------
    InvalidInput
        It is no UTF-8 or no JSON, or an object has a key twice; ``where`` says whose text it is.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 at byte {error.start}", where) from None
    try:
        return JsonValue(
            json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant), ""
        )
    except json.JSONDecodeError as error:
        what = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise InvalidInput(what, where) from None
    except RecursionError:
        raise InvalidInput("is nested too deeply", where) from None
    except ValueError as error:
        raise InvalidInput(f"is not usable: {error}", where) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {json.dumps(twice)} occurs twice in an object")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _kind(raw: Any) -> str:
    return "an object" if isinstance(raw, dict) else "a list"


def _shown(key: str) -> str:
    return key if key.isprintable() else json.dumps(key)


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8 as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all: beside its place first, then renamed into it.

    Raises
    ------
    InvalidInput
        It cannot be written there.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(content)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error.strerror}", str(path)) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
