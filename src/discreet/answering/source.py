"""`Source`: a part of a release that answers regions, or says why it cannot.

A source answers for itself. That several of them are combined, that one is chosen, and which reason is told
where none can answer, is decided in `combining`, for all of them alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from discreet.answering.estimates import Estimates, joined
from discreet.answering.regions.region import BoxRegions, CellRegions, RangeRegions, Region
from discreet.errors import BadQuestion, DiscreetError, NotAnswerable
from discreet.questions.limits.work import OF_A_REGION, TooMuchWork, spend

MOST_ONE_BY_ONE = 100_000
"""Ranges that a source without a faster way reads one after the other."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a source cannot read a region."""

    reason: DiscreetError | None = None
    """`None` where the region is none of its concern."""
    rank: int = 0
    """The reason of the highest rank is told."""


Asked = TypeVar("Asked")
Found = Estimates | Refusal
NOT_MINE = Refusal()


class Source(ABC):
    """Something that a release holds, and that can count rows."""

    rank: int = 2
    """How much the reasons of this source tell. A source that lacks a table knows less of the question
    than one that has what was asked for, but cannot tell some rows apart."""
    reads_names: bool = False
    """Whether it can group by values that the release publishes by name; others know declared cells only."""
    is_first: bool = False
    """Whether it is asked before other sources, since it puts their numbers together with its own."""

    @abstractmethod
    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        """The numbers of a region; `None` or a refusal where it cannot."""

    def read(self, regions: Sequence[Region], confidence: float) -> list[Found]:
        """The estimates for each region."""
        return [self._tried(self.read_one, region, confidence) for region in regions]

    def _tried(
        self, read: Callable[[Asked, float], Estimates | None], asked: Asked, confidence: float
    ) -> Found:
        spend(OF_A_REGION)
        try:
            found = read(asked, confidence)
        except TooMuchWork:
            raise
        except (NotAnswerable, BadQuestion) as error:
            return Refusal(error, self.rank)
        return NOT_MINE if found is None else found

    def read_ranges(self, asked: RangeRegions, confidence: float) -> Found:
        """Many ranges of one column."""
        if len(asked) > MOST_ONE_BY_ONE or not asked.column.is_ordered:
            return NOT_MINE
        found: list[Estimates] = []
        for one in self.read(asked.regions(), confidence):
            if isinstance(one, Refusal):
                return one
            found.append(one)
        return joined(found) if found else NOT_MINE

    def read_cells(self, asked: CellRegions, confidence: float) -> Found:
        """Many single cells."""
        return NOT_MINE

    def read_boxes(self, asked: BoxRegions, confidence: float) -> Found:
        """Many boxes of cells."""
        return NOT_MINE
