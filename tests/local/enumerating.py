"""The exact law of a client's report: every outcome of every draw is tried, and weighed.

The clients' code draws uniform integers below bounds and nothing else. Here those draws are replaced by a
tape; where the tape ends, the run is repeated once for each integer that could have come next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import samplers


class TapeEnded(Exception):
    def __init__(self, bound: int) -> None:
        self.bound = bound


def exact_law(report: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> dict[Any, Fraction]:
    """The probability of each report of one client, as a fraction."""
    law: dict[Any, Fraction] = defaultdict(Fraction)
    waiting: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while waiting:
        tape, weight = waiting.pop()
        place = 0

        def drawn(
            bound: int, count: int, *, entropy: object = None, tape: tuple[int, ...] = tape
        ) -> Any:
            nonlocal place
            found = []
            for _ in range(count):
                if place == len(tape):
                    raise TapeEnded(bound)
                found.append(tape[place])
                place += 1
            return np.array(found, dtype=np.int64)

        monkeypatch.setattr(samplers, "uniform_below", drawn)
        try:
            told = report()
        except TapeEnded as ended:
            waiting += [((*tape, next_), weight / ended.bound) for next_ in range(ended.bound)]
        else:
            law[told] += weight
    return dict(law)
