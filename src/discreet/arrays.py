"""Names for the arrays that numbers travel in, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint64]
"""Numbers of cells, of which a column may have 2^64."""
