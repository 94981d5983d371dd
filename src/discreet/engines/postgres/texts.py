"""Texts and cells in PostgreSQL: texts are compared by their bytes, whatever the collation; numbers are spelled as everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from discreet.engines.letters import changed_by_list
from discreet.engines.postgres.arithmetic import used
from discreet.engines.postgres.rendering import rendered
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.searching import searched
from discreet.engines.sql.syntax import Sql
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.columns.numeric import NumberColumn


class PostgresTexts(Dialect):
    """The texts of `Dialect`."""

    def text_of(self, value: Sql, of: str) -> Sql:
        if of != "number":
            return s.cast(value, "VARCHAR")
        return used(value, _spelled_double)

    def constant_text(self, value: str) -> Sql:
        return by_bytes(s.text(storable(value)))

    def key_text(self, value: Sql) -> Sql:
        return value

    def matches(self, value: Sql, pattern: str) -> Sql:
        return s.binary(exp.RegexpLike, value, s.text(f"^(?:{pattern})$"))

    def extracted(self, value: Sql, pattern: str, group: int) -> Sql:
        return s.call("substring", value, s.text(pattern))

    def trimmed(self, value: Sql, characters: str, function: str = "trim") -> Sql:
        return s.call("btrim" if function == "trim" else function, value, s.text(characters))

    def changed_case(self, value: Sql, function: str) -> Sql:
        """Letters outside ASCII by a list: what PostgreSQL makes of them hangs on the server's locale."""
        return used(value, lambda text: changed_by_list(text, function))

    def like(self, value: Sql, pattern: Sql, *, any_case: bool) -> Sql:
        if any_case:
            value, pattern = (self.changed_case(one, "lower") for one in (value, pattern))
        matched = exp.Like(this=s.own(value), expression=s.own(pattern))
        return exp.Paren(this=exp.Escape(this=matched, expression=s.text("")))


def by_bytes(text: Sql) -> Sql:
    """The text without the collation of its column or of the database."""
    rule = exp.to_identifier("C", quoted=True)
    return exp.Paren(this=exp.Collate(this=s.own(text), expression=rule))


def storable(text: str) -> str:
    """A text that a statement can hold; one that no row can hold becomes another that none does."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _spelled_double(number: Sql) -> Sql:
    """Digits as DuckDB writes them: 1.0, and no exponent up to 10^16."""
    plain = s.cast(number, "VARCHAR")
    size = s.call("abs", number)
    whole = s.call("trunc", number)
    digits = s.cast(s.cast(whole, "BIGINT"), "VARCHAR")
    fraction = s.call("abs", s.subtract(number, whole))
    last = s.subtract(
        s.call("length", plain), s.whole(4)
    )  # before e+15, the only digit of the fraction
    behind = s.binary(exp.DPipe, s.text("."), s.call("substr", plain, last, s.whole(1)))
    large = s.both(s.at_most(s.double(1e15), size), s.less(size, s.double(1e16)))
    no_fraction = s.equal(fraction, s.double(0.0))
    is_plain = s.binary(exp.RegexpLike, plain, s.text(r"[.e]"))
    dotted: Callable[[Sql], Sql] = lambda text: s.binary(exp.DPipe, text, s.text(".0"))  # noqa: E731
    return s.choose(
        [
            (s.both(large, no_fraction), dotted(digits)),
            (large, s.binary(exp.DPipe, digits, behind)),
            (is_plain, plain),
        ],
        dotted(plain),
    )


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
