"""(epsilon, delta, gamma)-usefulness of halfspace answers, measured strictly, on rows of one's own.

An answer v to a halfspace H is as wrong as the least |v - H'(D)| over the halfspaces H' that are
gamma-close to H: some one halfspace nearby must have that count. Counting every row within the margin
as it suits the answer is weaker by far, and no measure of quality. The least is taken over a dense
sample of nearby halfspaces, H itself among them, so what is returned is an upper bound of it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

Floats = npt.NDArray[np.float64]


def strict_errors(
    points: Floats, normals: Floats, answers: Floats, *, gamma: float, tries: int = 200
) -> Floats:
    """For each unit normal, the least |answer - share of points inside| over halfspaces nearby.

    `points` and `normals` live in the space where halfspaces go through the origin; `answers` are
    shares of the points. Close is the sine of an angle below a right one: a halfspace and its
    opposite are not close.
    """
    if not 0 < gamma < 1:
        raise BadInput(f"gamma is {gamma}; it must lie between 0 and 1.")
    draw = generator(0)
    reach = math.tan(math.asin(gamma))
    best = np.full(len(normals), np.inf)
    for place, normal in enumerate(normals):
        away = draw.standard_normal((tries, len(normal)))
        away -= (away @ normal)[:, None] * normal
        away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300)
        distance = reach * draw.random(tries) ** (1 / max(1, len(normal) - 1))
        nearby = np.concatenate([normal[None, :], normal + away * distance[:, None]])
        shares = (points @ nearby.T >= 0).mean(axis=0)
        best[place] = np.abs(answers[place] - shares).min()
    return best
