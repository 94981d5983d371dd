"""What noise leaves of a table whose counts nobody has seen: the error to expect, from public facts alone."""

from __future__ import annotations

import math

EULER = 0.5772


def predicted_variation(cells: int, error: float, people: int) -> float:
    """The total variation of a table whose cells are off by `error` rows, once negative counts are gone.

    A cell is off by no more than it holds. How many rows cells hold is not public, so their counts are taken
    to follow Zipf's law, the k-th largest being people / (H k), with H = 1 + 1/2 + ... + 1/cells.
    """
    harmonic = math.log(cells) + EULER + 1 / (2 * cells) if cells > 1 else 1.0
    loud = min(float(cells), people / (harmonic * error)) if error > 0 else float(cells)
    if loud < 1:
        return 0.5
    quiet = people / harmonic * math.log(cells / loud)
    return min(0.5, (error * loud + quiet) / people / 2)
