"""Values that a release publishes by name, for columns whose schema declares none.

To a question such a column is a category of the published values, with a cell for all others. Nothing else
changes: what was measured before, and how it is verified, goes by the schema that the release was made with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Integers
from discreet.schema import Schema
from discreet.schema.columns.column import NULL_LABEL, OTHER_LABEL
from discreet.schema.columns.named import CategoryColumn

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


@dataclass(frozen=True, slots=True, eq=False)
class NamedValues:
    """The published values of one column, and the noisy rows of each: then of all others, then of nulls."""

    column: str
    texts: tuple[str, ...]
    counts: Integers

    def drawn(self, codes: Integers, public: Generator) -> Integers:
        """Cells of the column as it is published, for cells of the column as it was declared.

        A row with a value gets a published one, or `(other)`, as often as each was counted.
        """
        many = len(self.texts)
        weights: Floats = np.maximum(self.counts[: many + 1], 0) + 1e-9
        found = codes + many
        valued = codes == 0
        found[valued] = public.choice(many + 1, size=int(valued.sum()), p=weights / weights.sum())
        return found


@dataclass(frozen=True, slots=True)
class PublishedColumn(CategoryColumn):
    """A category whose values a release publishes. Others exist: how many, nobody knows."""

    is_open = True
    """Whether there may be values that nobody names."""

    def mistakes(self) -> list[str]:
        """None: the values are what rows hold, so no text is refused."""
        return []

    def declares(self, value: object) -> bool:
        """A value that is not published may be in the table all the same: no slip of the pen."""
        return True

    def _value_label(self, code: int) -> str:
        text = self.values[code]
        return repr(text) if text in (OTHER_LABEL, NULL_LABEL) else text


def published_schema(schema: Schema, named: Sequence[NamedValues]) -> Schema:
    """The schema as questions see it: published values in place of undeclared ones."""
    if not named:
        return schema
    texts = {each.column: each.texts for each in named}
    columns = tuple(
        PublishedColumn(column.name, texts[column.name], nulls=column.nulls)
        if column.name in texts
        else column
        for column in schema.columns
    )
    return replace(schema, columns=columns)


Rows = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
"""Codes of cells, one row a row."""


def published_codes(
    codes: Rows, names: Sequence[str], named: Sequence[NamedValues], public: Generator
) -> Rows:
    """Synthetic rows with published values, where they were drawn with undeclared ones."""
    for each in named:
        if each.column in names:
            place = list(names).index(each.column)
            codes = codes.copy()
            codes[:, place] = each.drawn(codes[:, place].astype(np.int64), public)
    return codes
