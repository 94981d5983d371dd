"""Averaging: noise that is drawn afresh for every repetition of a question goes away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def averaged(answer: Callable[[], float], times: int) -> float:
    """The mean of so many answers to one question. Its error falls with the root of their number."""
    return float(np.mean([answer() for _ in range(times)]))
