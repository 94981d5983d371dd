"""What all protocols for values share: the probability that a report supports a value."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

import numpy.typing as npt

from discreet.arrays import Integers


class ValueProtocol(Protocol):
    """A protocol for one of `values` values. A report speaks for some of them.

    It speaks for the true value with probability `speaks_true`, and for any other one with
    probability `speaks_other`, the same for all. That is all that estimates and intervals need.
    """

    @property
    def kind(self) -> str: ...

    @property
    def values(self) -> int: ...

    @property
    def speaks_true(self) -> Fraction: ...

    @property
    def speaks_other(self) -> Fraction: ...

    @property
    def epsilon(self) -> Fraction:
        """What a report costs, rounded up."""
        ...

    def support(self, reports: npt.NDArray[Any]) -> Integers:
        """For each value, how many reports support it."""
        ...


def variance_of_share(protocol: ValueProtocol, people: int, share: float = 0.0) -> float:
    """The variance of an estimated share among `people` fixed people."""
    true, other = float(protocol.speaks_true), float(protocol.speaks_other)
    spread = share * true * (1 - true) + (1 - share) * other * (1 - other)
    return spread / (people * (true - other) ** 2)
