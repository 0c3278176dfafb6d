"""The engine's inner loops, in C++: one shared library, called with numpy arrays.

The sources lie next to the modules that call them, or in a folder ``native`` there, and are
compiled when the package is built. An array is passed as a view of its memory: what C++ writes is
seen here, and nothing is copied or owned there.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stormcut.model.errors import StormcutError

#: Types of scalar arguments and results.
INT, FLOAT, BOOL = ctypes.c_int64, ctypes.c_double, ctypes.c_bool

#: Where an array's memory begins; only of one that is contiguous and may be written to.
_START = ctypes.c_char * 0

#: What a library in a checkout was compiled from; a wheel has none.
STAMP = Path(__file__).parent / "_library.sha256"


class Array:
    """An argument: a C-contiguous array of one type and number of axes.

    Parameters
    ----------
    dtype : numpy type
    axes : int
    """

    def __init__(self, dtype: npt.DTypeLike, axes: int) -> None:
        self.dtype, self.axes = np.dtype(dtype), axes
        fields = [("data", ctypes.c_void_p), *((f"size{i}", ctypes.c_int64) for i in range(axes))]
        self.view = type("View", (ctypes.Structure,), {"_fields_": fields})

    def from_param(self, array: npt.NDArray[Any]) -> ctypes.Structure:
        """Return the view that C++ takes (`ctypes` calls this for each argument).

        Raises
        ------
        TypeError
            The array is of another type or shape, or not contiguous: its memory would be misread.
        """
        if array.dtype != self.dtype or array.ndim != self.axes:
            raise self._misfit(array)
        memory: Any = array
        try:
            address = ctypes.addressof(_START.from_buffer(memory))
        except TypeError:
            if not array.flags.c_contiguous:
                raise self._misfit(array) from None
            # One that is only read. This takes four times as long, and `array.ctypes` longer.
            address = array.__array_interface__["data"][0]
        view: ctypes.Structure = self.view(address, *array.shape)
        return view

    def _misfit(self, array: npt.NDArray[Any]) -> TypeError:
        return TypeError(
            f"expected a contiguous array of {self.dtype} with {self.axes} axes, "
            f"got {array.dtype} {array.shape}, strides {array.strides}"
        )


INTS, INT_ROWS = Array(np.int64, 1), Array(np.int64, 2)
FLOATS, FLOAT_ROWS, FLOAT_CUBE = (Array(np.float64, axes) for axes in (1, 2, 3))
BYTES = Array(np.uint8, 1)
BOOLS, BOOL_ROWS = Array(np.bool_, 1), Array(np.bool_, 2)
SEED = Array(np.uint64, 1)


class NativeRecord:
    """An argument: a named tuple of arrays, a struct of views in C++.

    Parameters
    ----------
    arrays : Array
        Of its fields, in their order.
    """

    def __init__(self, *arrays: Array) -> None:
        self.arrays = arrays
        fields = [(f"field{i}", array.view) for i, array in enumerate(arrays)]
        self.struct = type("Struct", (ctypes.Structure,), {"_fields_": fields})
        # Most calls are about the same record as the one before, and views of it take their time.
        self._last: tuple[Any, Any] = (None, None)

    def from_param(self, record: tuple[npt.NDArray[Any], ...]) -> Any:
        """Return a reference to the struct that C++ takes."""
        last, struct = self._last
        if record is not last:
            views = (a.from_param(field) for a, field in zip(self.arrays, record, strict=True))
            struct = self.struct(*views)
            self._last = record, struct
        return ctypes.byref(struct)


def function(name: str, *arguments: Any, result: Any = None) -> Callable[..., Any]:
    """Return a function of the library.

    Parameters
    ----------
    name : str
    arguments : Array, Record or ctypes type
    result : ctypes type, optional
    """

    def call(*values: Any) -> Any:
        return prepared()(*values)

    @cache
    def prepared() -> Any:
        symbol = load()[name]
        symbol.argtypes, symbol.restype = arguments, result
        return symbol

    return call


@cache
def load() -> ctypes.CDLL:
    """Return the library, loaded once; `STORMCUT_LIBRARY` names another build of it, for tests.

    Raises
    ------
    StormcutError
        It was never compiled, or from other sources than these.
    """
    if checked := os.environ.get("STORMCUT_LIBRARY"):
        return ctypes.CDLL(checked)
    folder = Path(__file__).parent
    if STAMP.is_file() and STAMP.read_text() != _sources_sha256():
        raise StormcutError("the compiled library is not of today's sources: run scripts/setup")
    for suffix in EXTENSION_SUFFIXES:
        path = folder / f"_library{suffix}"
        if path.exists():
            return ctypes.CDLL(str(path))
    raise StormcutError(f"no compiled library in {folder}: run scripts/setup, or install the wheel")


def stamp() -> None:
    """Note the sources that were just compiled in a checkout; `load` refuses them once changed."""
    STAMP.write_text(_sources_sha256())


def _sources_sha256() -> str:
    folder, digest = Path(__file__).parents[1], hashlib.sha256()
    for source in sorted([*folder.rglob("*.cpp"), *folder.rglob("*.h")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()
