"""What becomes of messages on their way, and what reading them may take."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import settings

#: Damaged messages of a kind, where a property has at most so many examples.
MESSAGES = ((6, 60), (100, 300), (math.inf, 10_000))

#: What a byte, a number or a text is replaced by, or what is put between two bytes.
PARTS = (
    *(b"null", b"-1", b"1e999", b"NaN", b"true", b"[]", b"{}", b"10000000", b"9" * 5000),
    *(b'"\\ud800"', b'"\\u001b[31m\\n"', b'"' + b"x" * 5000 + b'"'),
    *(b"\xff", b"\0", b"\xed\xa0\x80", b"\n", b"\r\n", b"\t", b'"', b":", b","),
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x0f", b"\x0c\0\1" * 50),
    *(b"[" * 2000, b'{"a":' * 2000, b"&a *a ", b"!!int "),
)
_TOKEN = re.compile(rb'"[^"]*"|[-+.\w]+')

#: Most CPU time and memory that may be needed for one message, and for all of a kind.
MAX_SECONDS = 10.0
MAX_BYTES = 128 << 20


def messages() -> int:
    """Return how many damaged messages a test makes."""
    examples = settings.default.max_examples
    return next(count for most, count in MESSAGES if examples <= most)


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Return a message after one to three accidents, or noise."""
    if chance.random() < 0.05:
        return chance.randbytes(chance.randrange(200))
    for _ in range(chance.randrange(1, 4)):
        whole = chance.choice(_ACCIDENTS)(whole, chance)
    return whole


def _flipped(whole: bytes, chance: random.Random) -> bytes:
    at = _place(whole, chance)
    return (
        whole[:at]
        + bytes(byte ^ 1 << chance.randrange(8) for byte in whole[at : at + 1])
        + (whole[at + 1 :])
    )


def _cut_off(whole: bytes, chance: random.Random) -> bytes:
    return whole[: _place(whole, chance)]


def _shortened(whole: bytes, chance: random.Random) -> bytes:
    at = _place(whole, chance)
    return whole[:at] + whole[at + chance.randrange(1, 40) :]


def _repeated(whole: bytes, chance: random.Random) -> bytes:
    at = _place(whole, chance)
    part = whole[at : at + chance.randrange(1, 200)]
    return whole[:at] + part * chance.choice((2, 2, 50)) + whole[at + len(part) :]


def _inserted(whole: bytes, chance: random.Random) -> bytes:
    at = _place(whole, chance)
    return whole[:at] + chance.choice(PARTS) + whole[at:]


def _overwritten(whole: bytes, chance: random.Random) -> bytes:
    at, part = _place(whole, chance), chance.choice(PARTS)
    return whole[:at] + part + whole[at + len(part) :]


def _exchanged(whole: bytes, chance: random.Random) -> bytes:
    """Replace a number or text by another: what is well-formed gets further."""
    tokens = list(_TOKEN.finditer(whole))
    if not tokens:
        return whole
    old = chance.choice(tokens)
    new = chance.choice(PARTS) if chance.random() < 0.7 else chance.choice(tokens)[0]
    return whole[: old.start()] + new + whole[old.end() :]


_ACCIDENTS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flipped,
    _cut_off,
    _shortened,
    _repeated,
    _inserted,
    _overwritten,
    *(3 * (_exchanged,)),
)


def _place(whole: bytes, chance: random.Random) -> int:
    return chance.randrange(len(whole) + 1)


@contextmanager
def little_memory(most: int = MAX_BYTES) -> Iterator[None]:
    """Check that what runs in the block never needs so much more memory."""
    process = Path("/proc/self")
    (process / "clear_refs").write_text("5")  # The peak begins again.
    before = _memory(process, "VmRSS")
    yield
    assert _memory(process, "VmHWM") - before < most


def _memory(process: Path, kind: str) -> int:
    (kilobytes,) = re.findall(rf"{kind}:\s+(\d+) kB", (process / "status").read_text())
    return int(kilobytes) << 10


@contextmanager
def little_time() -> Iterator[None]:
    """Check that the block needs little of this thread's CPU time, however busy the machine is."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < MAX_SECONDS
