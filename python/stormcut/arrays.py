"""The arrays that numbers are kept in, and how exact their sums are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Sums of the same numbers in another order differ by less than this share, or this much.
ROUNDING = 1e-9
