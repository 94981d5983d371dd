"""Synthetic values of columns that were released as ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.answering.synthesis.drawn_rows import Nulls
from discreet.arrays import Codes
from discreet.artifacts.answer import Answer
from discreet.families.ranges.answer.buckets import BucketSource
from discreet.families.ranges.answer.joining import ranges_of
from discreet.families.ranges.answer.pictures import drawn_codes, rows_with_values, share_of_nulls
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.shared.answer.library import Library

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


@dataclass(frozen=True, slots=True, eq=False)
class RangeRows:
    """Rows drawn from one release of ranges."""

    source: RangeSource | BucketSource
    counted: Answer | None
    counts_every_row: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.source.columns

    @property
    def rows(self) -> float:
        return rows_with_values(self.source)

    @property
    def nulls(self) -> Nulls:
        return "all rows less the values" if share_of_nulls(self.source, self.counted) else "none"

    def draw(self, many: int, public: Generator) -> Codes:
        nulls = round(many * share_of_nulls(self.source, self.counted))
        return drawn_codes(self.source, many, public, nulls=nulls)


def rows_of_ranges(library: Library, counted: Answer | None) -> list[RangeRows]:
    """Each release of ranges, that over the most columns first."""
    sources = sorted(ranges_of(library), key=lambda source: -len(source.columns))
    return [RangeRows(source, counted) for source in sources]
