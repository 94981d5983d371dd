"""How the answers of a release of tables add up, where they are not read from one whole table.

*Whole counts that agree*: found from the top down (`estimate.agreeing`). Where tables leave out different rows (excluded nulls) they
cannot agree with one another, and then every table agrees with itself.

*As measured*: several tables of three columns and more, whose shared pairs are not nested, and which are too many for a whole table. Answers are
then put together from the same residuals, neither rounded nor cut off at 0.

Cells that the schema declares empty stay empty in whole counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from discreet.arrays import Floats
from discreet.families.shared.answer.evidence import Agreement
from discreet.families.tables.answer.linear_tables import Agreed
from discreet.families.tables.estimate.agreeing import AgreeingCounts, can_agree
from discreet.families.tables.estimate.consistent import ConsistentTables, DirectTable
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.questions.cells.impossible import empty_tables
from discreet.schema import Schema
from discreet.schema.completed import declared_cells

Columns = tuple[str, ...]
MOST_TIED = 1 << 20
"""Cells of columns that declarations tie together, up to which those that stay empty are listed."""


def can_be_agreed(sets: Sequence[Columns], schema: Schema) -> bool:
    """Whether whole counts that agree can be found for some tables from the top down."""
    empty = empty_tables(schema, sets, MOST_TIED)
    return empty is not None and can_agree(sets, empty)


class AgreedTables:
    """Counts that add up, over any columns of some tables. Thread safe: see `Kept`."""

    def __init__(
        self,
        agreement: Agreement,
        tables: ConsistentTables,
        schema: Schema,
        most: int | None,
        ranges: Mapping[str, Callable[[], list[Floats]]] = MappingProxyType({}),
        total: float | None = None,
    ) -> None:
        """`ranges`: for columns that a tree of ranges is over, the rows of halves of halves, from the tree and the tables.

        `total`: the number of rows, where more is known of it than what tables say.
        """
        self._agreement, self._tables, self._most = agreement, tables, most
        self._schema = schema
        self._ranges = ranges
        self._counts = None
        if not agreement.as_measured:
            empty = empty_tables(schema, agreement.sets, MOST_TIED) or {}

            def measured(columns: Columns) -> Floats:
                known = total is not None and not columns
                return np.array(total) if known else tables.table(columns)

            self._counts = AgreeingCounts(
                agreement.sets, schema.names, measured, most, empty, ranges
            )

    def over(self, columns: Columns) -> Agreed | None:
        """Over columns in the schema's order, in their declared cells; `None` where no table is over all of them."""
        if not self._agreement.holds(columns):
            return None
        inside = declared_cells(self._schema, columns)
        if self._counts is None:
            counts = np.asarray(self._tables.table(columns)[inside])
            return Agreed(counts, self._most, as_measured=True)
        ranged = len(columns) == 1 and columns[0] in self._ranges
        counts = np.asarray(self._counts.over(columns)[inside])
        return Agreed(counts, self._most, includes_ranges=ranged)


def of_counts(columns: Columns, counts: Floats, schema: Schema, most: int | None) -> Agreed:
    """Counts that agree with one table, which several measured ones were combined to."""

    def summed(own: Columns) -> Floats:
        axes = tuple(place for place, name in enumerate(columns) if name not in own)
        return np.asarray(counts.sum(axis=axes), dtype=np.float64)

    empty = empty_tables(schema, [columns], MOST_TIED) or {}
    return Agreed(AgreeingCounts([columns], columns, summed, most, empty).over(columns), most)


def of_one_table(
    table: DirectTable, schema: Schema, most: int | None, *, rows: int | None = None
) -> AgreedTables:
    """Counts that agree with one table, whatever rows it leaves out; `rows`: how many it counts, where that is public."""
    alone = ConsistentTables(ResidualTables(schema, (), rows=rows), [table])
    return AgreedTables(Agreement((table.columns,)), alone, schema, most)
