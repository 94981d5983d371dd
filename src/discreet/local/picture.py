"""A picture whose pixels are people: each is flipped with probability one quarter, and it can still be seen.

The drawing is our own: a lighthouse above the sea, made from a few formulas.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.local.clients.drawing import randomised
from discreet.local.protocols import RandomisedResponse

Pixels = npt.NDArray[np.int64]
DOWN, ACROSS = 30, 64


def drawing() -> Pixels:
    """A lighthouse, its beam, the sun and the waves: 1 where there is ink."""
    y, x = np.mgrid[0:DOWN, 0:ACROSS]
    tower = (np.abs(x - 30) <= 3 + (y - 8) / 6) & (y >= 8) & (y <= 23)
    stripes = (y // 3) % 2 == 0
    lamp = (np.abs(x - 30) <= 3) & (y >= 4) & (y < 8)
    roof = (np.abs(x - 30) <= y - 1) & (y >= 1) & (y < 4)
    beam = (x > 34) & (np.abs(y - 5.5) <= (x - 34) / 7) & (y < 12)
    sun = ((x - 10) / 2.0) ** 2 + (y - 7.0) ** 2 <= 14
    waves = (y > 23) & (np.sin(x / 3.0 + y * 1.3) > -0.2)
    inked = (tower & stripes) | lamp | roof | beam | sun | waves
    return np.asarray(inked, dtype=np.int64)


def flipped(pixels: Pixels) -> Pixels:
    """Every pixel by the two coins of randomised response: epsilon = ln 3 for each."""
    told = randomised(RandomisedResponse.two_coins(), pixels.reshape(-1))
    return np.asarray(told, dtype=np.int64).reshape(pixels.shape)


def smoothed(pixels: Pixels) -> Pixels:
    """The majority of each pixel and its eight neighbours: what groups say together is clear."""
    padded = np.pad(pixels, 1, mode="edge")
    total = sum(
        padded[down : down + pixels.shape[0], across : across + pixels.shape[1]]
        for down in range(3)
        for across in range(3)
    )
    return (np.asarray(total) >= 5).astype(np.int64)


def written(pixels: Pixels) -> str:
    """As letters."""
    return "\n".join("".join("#" if pixel else "." for pixel in row) for row in pixels)
