"""Synthetic values of a column whose values are published by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.answering.named_values import NamedValues
from discreet.arrays import Integers

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


class KeyRows:
    """Rows with a value, and nulls, as often as both were counted; which value, is drawn for all parts alike."""

    def __init__(self, named: NamedValues) -> None:
        many = len(named.texts)
        self._column, counts = named.column, named.counts
        valued = max(int(counts[: many + 1].sum()), 0)
        self._weights = np.array([valued, *np.maximum(counts[many + 1 :], 0)], dtype=np.float64)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self._column,)

    @property
    def rows(self) -> float:
        return float(self._weights.sum())

    def draw(self, many: int, public: Generator) -> Integers:
        weights = self._weights + 1e-9
        drawn: Integers = public.choice(len(weights), size=many, p=weights / weights.sum())
        return drawn.reshape(-1, 1)
