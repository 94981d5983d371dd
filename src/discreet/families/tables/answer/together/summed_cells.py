"""What other families say of sums over the cells of tables, and of single cells (`Family.summed`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from discreet.answering.estimates import Estimates
from discreet.answering.readings import Reading
from discreet.arrays import Floats, Integers
from discreet.families.shared.answer.library import Library
from discreet.queries.places import loaded
from discreet.queries.registry import families


class SummedCells(Protocol):
    """What one family says."""

    @property
    def halves(self) -> Mapping[str, Callable[[], list[Floats]]]:
        """For each column that it and a table are over: the rows of all its cells, of halves, of halves of halves, from both."""

    def total(self) -> Reading | None:
        """The number of all rows; `None` where it has nothing to add to what tables say."""

    def with_cells(
        self, counted: Estimates, names: tuple[str, ...], codes: Integers, confidence: float
    ) -> Estimates:
        """Counts of cells from it and tables together, or from it rather than a model."""


def summed_cells(library: Library) -> list[SummedCells]:
    """What all families say."""
    return [library.made(loaded(place)) for family in families() for place in family.summed]
