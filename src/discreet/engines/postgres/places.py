"""The cell of a value in PostgreSQL: its place in a list of texts or numbers, or among edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.engines.postgres.rendering import rendered
from discreet.engines.postgres.texts import by_bytes, storable
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.searching import searched
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn


class PostgresPlaces(Dialect):
    """The looking up of cells of `Dialect`."""

    def place_of_text(self, column: CategoryColumn, unit: Sql, declared: str, joined: Sql) -> Sql:
        return place_of_texts(column.values, unit)

    def place_of_number(self, places: Mapping[float, int], unit: Sql) -> Sql:
        ordered = sorted(places.items())
        return _searched(unit, [(s.double(number), place) for number, place in ordered])

    def place_among_edges(
        self, column: NumberColumn, unit: Sql, declared: str, guessed: Sql
    ) -> Sql:
        """How many edges lie at or below; closed right: all but those at or above."""
        edges = column.inner_edges or ()
        if column.closed == "left":
            return s.call("width_bucket", unit, _doubles(edges))
        mirrored = s.subtract(s.double(0.0), unit)
        beyond = s.call("width_bucket", mirrored, _doubles([-edge for edge in reversed(edges)]))
        return s.subtract(s.whole(len(edges)), beyond)


def place_of_texts(texts: Sequence[str], value: Sql) -> Sql:
    """The place of a text in a list; null where it is not there."""
    places = {text: place for place, text in reversed(list(enumerate(texts))) if "\0" not in text}
    ordered = sorted(places.items(), key=lambda pair: storable(pair[0]).encode())
    return _searched(value, [(by_bytes(s.text(storable(text))), place) for text, place in ordered])


def _searched(value: Sql, options: Sequence[tuple[Sql, int]]) -> Sql:
    return searched(value, options, rendered, most=2)


def _doubles(numbers: Sequence[float]) -> Sql:
    listed = "{" + ",".join(repr(number) for number in numbers) + "}"
    return exp.Cast(
        this=s.text(listed), to=exp.DataType.build("double precision[]", dialect="postgres")
    )
