"""`Rows`: what the verbs ask of a source, as table expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from sqlglot import exp

from discreet.engines.sql import cells
from discreet.engines.sql import syntax as s
from discreet.engines.sql.layers import Layers
from discreet.engines.sql.syntax import Sql
from discreet.queries.tree import bits_of
from discreet.schema.columns.column import Column


class Rows(ABC):
    """The rows of one source as table expressions: bounded, where the unit is an identifier."""

    layers: Layers

    @abstractmethod
    def count(self, columns: Iterable[Column] | None = None) -> int:
        """How many rows the (bounded) table has; `columns` are those that will be read next, if known."""

    @abstractmethod
    def encoded(self, columns: Iterable[Column], with_values: bool = False) -> Sql:
        """A table expression with the codes c0, c1, ... (and values v0, ...) of some columns."""

    @abstractmethod
    def with_places(self, columns: Sequence[Column]) -> Sql:
        """A table expression with the numbers p0, p1, ... of value cells, null in any other cell."""

    @abstractmethod
    def tally_rows(self, columns: Sequence[Column]) -> Sql:
        """A table expression with the units u0, u1, ... and codes c0, c1, ... of some columns."""

    def unit_rows(self, columns: Sequence[Column]) -> Sql:
        """A table expression with at least the units: for what looks at no code. A shorter query is planned sooner."""
        return self.tally_rows(columns)

    def places_of_codes(self, columns: Sequence[Column], table: Sql) -> Sql:
        """As `with_places`, over a table of codes."""
        layers = self.layers
        numbers = [
            exp.alias_(
                cells.place_of_code(column, layers.code(column), layers.dialect),
                layers.place(column).name,
            )
            for column in columns
        ]
        return exp.select(*numbers).from_(table).subquery("placed", copy=False)

    def keyed(
        self, columns: Sequence[Column], shifts: Sequence[int], bits: Sequence[int]
    ) -> exp.Select:
        """k0, k1, ...: the cells' numbers, shifted, of the rows in value cells of every column.

        `bits` is what each needs at most; a smaller type is fetched and grouped faster.
        """
        keys, inside = [], []
        for axis, (column, shift, many) in enumerate(zip(columns, shifts, bits, strict=True)):
            place = self.layers.place(column)
            inside.append(exp.Not(this=s.is_null(place)))
            key: Sql = place
            if shift >= 64:
                key = s.cast(s.whole(0), "UBIGINT")
            elif shift:
                key = self.layers.dialect.shifted(place, shift)
            keys.append(exp.alias_(s.cast(key, cells.unsigned(1 << many)[0]), f"k{axis}"))
        return exp.select(*keys).from_(self.with_places(columns)).where(*inside)

    def grouped(self, columns: Sequence[Column], shifts: tuple[int, ...]) -> exp.Select:
        """The combinations of such numbers that have rows, and how many rows each has."""
        pairs = zip(columns, shifts, strict=True)
        bits = [bits_of(column.value_cells) - shift for column, shift in pairs]
        rows = self.keyed(columns, shifts, bits).subquery("rows")
        listed = [s.name(f"k{axis}") for axis in range(len(columns))]
        return exp.select(*listed, "count(*)").from_(rows).group_by(*listed)
