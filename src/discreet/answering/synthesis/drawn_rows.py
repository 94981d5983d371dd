"""Sources of synthetic rows: published numbers about some columns, each with a way to draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

Codes = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
Nulls = Literal["as counted", "none", "all rows less the values"]


class DrawsRows(Protocol):
    """Published numbers from which synthetic values of some columns can be drawn."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> float:
        """How many rows the numbers stand for."""
        ...

    def draw(self, many: int, public: Generator) -> Codes:
        """Cells of so many rows, one column a column."""
        ...


class DrawsFirst(DrawsRows, Protocol):
    """What a family draws from the numbers of all parts together. It comes before what a single part draws from."""

    @property
    def counts_every_row(self) -> bool:
        """Whether the rows that the numbers stand for are all rows, and not only those with a value."""
        ...

    @property
    def nulls(self) -> Nulls:
        """How many of the rows drawn have no value."""
        ...
