"""Decoding Thrift's binary protocol from foreign bytes: bounded in memory, time and depth.

Written here because thriftpy2's own decoder loops for as long as a count announces, also over
elements that take no bytes; takes fields of a wrong type for absent ones; and does not know which
fields are required.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

from thriftpy2.thrift import TType

#: Structs and containers within one another.
MAX_DEPTH = 16
#: Longest that one message may take.
DECODE_SECONDS = 10.0

_I16 = struct.Struct("!h")
_I32 = struct.Struct("!i")
_NUMBERS: dict[int, struct.Struct] = {
    TType.BOOL: struct.Struct("!?"),
    TType.I32: _I32,
    TType.I64: struct.Struct("!q"),
    TType.DOUBLE: struct.Struct("!d"),
}
#: Of types that messages of newer versions may have in fields that are skipped.
_SKIPPED: dict[int, int] = {
    TType.BOOL: 1,
    TType.BYTE: 1,
    TType.I16: 2,
    TType.I32: 4,
    TType.I64: 8,
    TType.DOUBLE: 8,
}


class Malformed(Exception):
    """The bytes are no such message.

    Parameters
    ----------
    problem : str
        What is wrong.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str] = []

    def __str__(self) -> str:
        place = "".join(reversed(self.path)).removeprefix(".")
        return f"{place}: {self.problem}" if place else self.problem

    def within(self, part: str) -> Malformed:
        """Return this error, seen from one level further out."""
        self.path.append(part)
        return self


@dataclass(frozen=True)
class _StructLayout:
    """A struct's fields by number, and the fewest bytes that one takes."""

    fields: dict[int, tuple[int, str, Any]]
    required: tuple[str, ...]
    least: int


@cache
def _layout(kind: Any) -> _StructLayout:
    fields, required, least = {}, [], 1
    for number, spec in kind.thrift_spec.items():
        wire, name, inner = (_wire(spec[0]), spec[1], spec[2] if len(spec) == 4 else None)
        fields[number] = (wire, name, inner)
        if spec[-1]:
            required.append(name)
            least += 3 + _least(wire, inner)
    return _StructLayout(fields, tuple(required), least)


def _least(wire: int, inner: Any) -> int:
    """Return the fewest bytes that a value takes."""
    if wire in _NUMBERS:
        return _NUMBERS[wire].size
    if wire == TType.STRUCT:
        return _layout(inner).least
    return {TType.STRING: 4, TType.LIST: 5, TType.MAP: 6}[wire]


def _pair(spec: Any) -> tuple[int, Any]:
    wire, inner = spec if isinstance(spec, tuple) else (spec, None)
    return _wire(wire), inner


def _wire(kind: int) -> int:
    """Return the type that bytes announce: those of thriftpy2's binary fields are strings'."""
    return TType.STRING if kind == TType.BINARY else kind


class Decoder:
    """Reads structs from bytes.

    Memory is at most a constant times the bytes: a count is believed only if so many elements fit
    into what remains.

    Parameters
    ----------
    data : bytes
        The whole message.
    at : int
        Where the next value begins.

    Raises
    ------
    Malformed
        From every method.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at
        self._deadline = time.monotonic() + DECODE_SECONDS

    def into(self, value: Any) -> None:
        """Read a struct's fields into an instance of it."""
        self._fill(value, MAX_DEPTH)

    def skip(self, wire: int) -> None:
        """Pass over a value that nobody wants."""
        self._skip(wire, MAX_DEPTH)

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        end = self.at + size
        if not self.at <= end <= len(self.data):
            raise Malformed("the message ends in the middle")
        part = self.data[self.at : end]
        self.at = end
        return part

    def _fill(self, value: Any, depth: int) -> None:
        kind: Any = type(value)
        layout = _layout(kind)
        while wire := self.take(1)[0]:
            (number,) = _I16.unpack(self.take(2))
            known = layout.fields.get(number)
            if known is None:
                self._skip(wire, depth - 1)
                continue
            expected, name, inner = known
            if wire != expected:
                raise Malformed("is garbled").within(f".{name}")
            try:
                setattr(value, name, self._value(wire, inner, depth - 1))
            except Malformed as error:
                raise error.within(f".{name}") from None
        for name in layout.required:
            if getattr(value, name) is None:
                raise Malformed(f"field {name} is missing")

    def _value(self, wire: int, inner: Any, depth: int) -> Any:
        number = _NUMBERS.get(wire)
        if number is not None:
            return number.unpack(self.take(number.size))[0]
        if wire == TType.STRING:
            return self._text()
        self._check(depth)
        if wire == TType.STRUCT:
            value = inner()
            self._fill(value, depth)
            return value
        return self._list(inner, depth) if wire == TType.LIST else self._map(inner, depth)

    def _text(self) -> str:
        try:
            return self.take(self._count(1)).decode()
        except UnicodeDecodeError:
            raise Malformed("is not UTF-8 text") from None

    def _list(self, spec: Any, depth: int) -> list[Any]:
        wire, inner = _pair(spec)
        if self.take(1)[0] != wire:
            raise Malformed("is garbled")
        count = self._count(_least(wire, inner))
        if wire == TType.I32:
            return list(struct.unpack(f"!{count}i", self.take(4 * count)))
        values = []
        for index in range(count):
            try:
                values.append(self._value(wire, inner, depth - 1))
            except Malformed as error:
                raise error.within(f"[{index}]") from None
        return values

    def _map(self, spec: Any, depth: int) -> dict[Any, Any]:
        (key, key_inner), (value, value_inner) = map(_pair, spec)
        if tuple(self.take(2)) != (key, value):
            raise Malformed("is garbled")
        count = self._count(_least(key, key_inner) + _least(value, value_inner))
        return {
            self._value(key, key_inner, depth - 1): self._value(value, value_inner, depth - 1)
            for _ in range(count)
        }

    def _count(self, least: int) -> int:
        """Return a count of elements that take at least so many bytes each."""
        count: int = _I32.unpack(self.take(4))[0]
        if not 0 <= count * least <= len(self.data) - self.at:
            raise Malformed(f"announces {count} elements, more than the message has room for")
        return count

    def _check(self, depth: int) -> None:
        if depth < 0:
            raise Malformed(f"nests deeper than {MAX_DEPTH}")
        if time.monotonic() > self._deadline:
            raise Malformed(f"cannot be read within {DECODE_SECONDS:g} s")

    def _skip(self, wire: int, depth: int) -> None:
        if wire in _SKIPPED:
            self.take(_SKIPPED[wire])
        elif wire == TType.STRING:
            self.take(self._count(1))
        elif wire == TType.STRUCT:
            self._check(depth)
            while inner := self.take(1)[0]:
                self.take(2)
                self._skip(inner, depth - 1)
        elif wire in (TType.LIST, TType.SET):
            self._skip_all((self.take(1)[0],), depth)
        elif wire == TType.MAP:
            self._skip_all(tuple(self.take(2)), depth)
        else:
            raise Malformed(f"has a value of the unknown type {wire}")

    def _skip_all(self, wires: tuple[int, ...], depth: int) -> None:
        self._check(depth)
        sizes = [_SKIPPED.get(wire) for wire in wires]
        count = self._count(sum(size or 1 for size in sizes))
        if None not in sizes:
            self.take(count * sum(size or 0 for size in sizes))
            return
        for _ in range(count):
            for wire in wires:
                self._skip(wire, depth - 1)
