"""Where the lines of a metrics log begin and end, and which are of the same task and metric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stormcut.arrays import Ints
from stormcut.native.library import BYTES, INT, INTS, function

_scan = function("scan_lines", BYTES, *(INTS,) * 7, result=INT)


class Scanned(NamedTuple):
    """Places in a text, a row for each of its n lines and each of its m series.

    Parameters
    ----------
    begins, values, ends : int array of shape (n,)
        Where lines begin, where what follows their fourth tab does, and where they end.
    epochs : int array of shape (n,)
        Seconds since the epoch, -1 for a line with fewer tabs or without plain digits there.
    series : int array of shape (n,)
        Number of the text between its first and its fourth tab, -1 for these lines.
    series_begins, series_ends : int array of shape (m,)
        Where such a text is for the first time.
    """

    begins: Ints
    values: Ints
    ends: Ints
    epochs: Ints
    series: Ints
    series_begins: Ints
    series_ends: Ints


def scan_lines(text: bytes) -> Scanned:
    """Return the lines of a text, as `bytes.splitlines` finds them; linear in its length."""
    most = text.count(b"\n") + text.count(b"\r") + 1
    arrays = [np.empty(most, dtype=np.int64) for _ in range(len(Scanned._fields))]
    lines = _scan(np.frombuffer(text, dtype=np.uint8), *arrays)
    count = int(arrays[4][:lines].max(initial=-1)) + 1
    lengths = (lines,) * 5 + (count,) * 2
    return Scanned._make(each[:n] for each, n in zip(arrays, lengths, strict=True))
