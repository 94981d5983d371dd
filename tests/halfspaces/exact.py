"""Which boxes lie in a halfspace, without any rounding: what sweeps in floats are held against."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]


def exact_masks(
    boxes: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]],
    coefficients: Sequence[Fraction],
    bound: Fraction,
    *,
    strict: bool,
) -> tuple[Bools, Bools]:
    """Boxes surely and possibly inside `coefficients . x >= bound` (or `>`), without any rounding.

    Each column's terms are brought to a common denominator; the sums are of integers, in Python's
    own where 64 bits would not hold them.
    """
    terms: list[tuple[list[Fraction], list[Fraction]]] = []
    for (low, high), coefficient in zip(boxes, coefficients, strict=True):
        ends = [(coefficient * a, coefficient * b) for a, b in zip(low, high, strict=True)]
        terms.append(([min(pair) for pair in ends], [max(pair) for pair in ends]))
    scale = bound.denominator
    for least, most in terms:
        for each in (*least, *most):
            scale = lcm(scale, each.denominator)
    goal = int(bound * scale)
    found = []
    for side in (0, 1):
        total = np.zeros((1,) * len(terms), dtype=object)
        for axis, pair in enumerate(terms):
            along = np.array([int(each * scale) for each in pair[side]], dtype=object)
            total = total + along.reshape([-1 if a == axis else 1 for a in range(len(terms))])
        found.append(np.asarray(total > goal if strict else total >= goal, dtype=np.bool_))
    return found[0], found[1]
