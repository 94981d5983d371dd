"""Random conditions and expressions over a table's columns, with literals near its values.

Columns stand in marks that `truth` reads: «c» in conditions and keys, ‹c› under an aggregate.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from discreet.schema import Column, OrderedColumn
from tests.harness.release_questions.tables import NAMED, STRANGE, Table

_SIGNS = ("=", "<>", "<", "<=", ">", ">=")
_PARTS = ("year", "quarter", "month", "week", "day", "dow", "isodow", "doy")


class Conditions:
    """Draws conditions over some of a table's columns."""

    def __init__(self, random: Random, table: Table, names: list[str]) -> None:
        self._random, self._table, self.names = random, table, names
        self.columns = {name: table.schema.column(name) for name in names}

    def of_kind(self, *kinds: str) -> list[str]:
        return [name for name, column in self.columns.items() if column.kind in kinds]

    def condition(self, depth: int = 2) -> str:
        kind = self._random.random()
        if depth <= 0 or kind < 0.35:
            return self.atom(self._random.choice(self.names))
        one = self.condition(depth - 1)
        if kind < 0.5:
            return f"NOT ({one})"
        if kind < 0.9:
            return f"({one} {self._random.choice(['AND', 'OR'])} {self.condition(depth - 1)})"
        if kind < 0.95:
            return f"({one}) IS {self._random.choice(['TRUE', 'NOT TRUE', 'FALSE', 'NULL', 'NOT NULL'])}"
        return f"CASE WHEN {one} THEN {self.condition(depth - 1)} ELSE {self.condition(0)} END"

    def atom(self, name: str) -> str:
        pick, column = self._random.choice, self.columns[name]
        shape = self._random.random()
        if shape < 0.1:
            return f"«{name}» IS {pick(['', 'NOT '])}NULL"
        if column.kind == "boolean":
            return pick([f"«{name}»", f"NOT «{name}»", f"«{name}» = TRUE", f"«{name}» IS NOT FALSE", f"«{name}» <> FALSE"])  # fmt: skip
        if column.kind == "category":
            return self._of_text(name)
        literal = self._literal
        if shape < 0.3:
            ends = [literal(column), literal(column)]
            word = pick(["BETWEEN", "BETWEEN", "NOT BETWEEN"])
            return f"«{name}» {word} {ends[0]} AND {ends[1]}"
        if shape < 0.4:
            listed = [literal(column) for _ in range(pick([1, 2, 4]))]
            listed += ["NULL"] if self._random.random() < 0.1 else []
            return f"«{name}» {pick(['IN', 'IN', 'NOT IN'])} ({', '.join(listed)})"
        if shape < 0.45:
            return f"«{name}» IS {pick(['', 'NOT '])}DISTINCT FROM {literal(column)}"
        if shape < 0.5:
            return f"{literal(column)} {pick(_SIGNS)} «{name}»"
        if shape < 0.7:
            return f"«{name}» {pick(_SIGNS)} {literal(column)}"
        if column.kind in ("date", "datetime"):
            return self._of_moment(name)
        return f"{self.number(name)} {pick(_SIGNS)} {self._near(column)}"

    def number(self, name: str, mark: str = "«»", depth: int = 1) -> str:
        """A number made of a column of numbers."""
        pick, own = self._random.choice, f"{mark[0]}{name}{mark[1]}"
        if self.columns[name].kind == "boolean":
            return f"CAST({own} AS INTEGER)"
        other = pick(self.of_kind("integer", "number"))
        beside = f"{mark[0]}{other}{mark[1]}"
        return pick(
            [
                own,
                f"({own} {pick('+-*')} {pick(['1', '3', '2.5'])})",
                f"({own} + {beside})",
                f"({own} - {beside})",
                f"({own} % {pick('237')})",
                f"({own} / {pick(['2', '10', '4.0'])})",
                f"abs({own} - {self._near(self.columns[name])})",
                f"floor({own} / {pick(['2', '5', '10'])})",
                f"round({own}, {pick(['0', '-1', '1'])})",
                f"greatest({own}, {pick(['1', '5', beside])})",
                f"least({own}, {pick(['2', '50', beside])})",
                f"coalesce({own}, {pick(['0', '7'])})",
                f"power({own}, 2)",
                f"sqrt(abs({own}))",
                f"ln(abs({own}) + 1)",
                f"CASE WHEN {self.condition(0)} THEN {own} ELSE {pick(['0', '1', own + ' + 1'])} END",
            ]
        )

    def key(self, name: str) -> str:
        """A computed key of GROUP BY."""
        pick, column = self._random.choice, self.columns[name]
        if column.kind == "boolean":
            return pick([f"NOT «{name}»", f"coalesce(«{name}», FALSE)"])
        if column.kind == "category":
            return pick([f"upper(«{name}»)", f"left(«{name}», 1)", f"length(«{name}»)", self.atom(name), f"coalesce(«{name}», 'nobody')"])  # fmt: skip
        if column.kind in ("date", "datetime"):
            return pick(
                [
                    f"date_trunc('{pick(['month', 'week', 'day', 'year'])}', «{name}»)",
                    f"extract({pick(_PARTS)} FROM «{name}»)",
                    f"strftime(«{name}», '%Y-%m')",
                    f"dayname(«{name}»)",
                    self.atom(name),
                ]
            )
        cells = column.value_cells * getattr(column, "width", 1)
        step = pick(["2", "5", "10"]) if cells <= 200 else str(max(2, cells // 7))
        return pick(
            [
                f"floor(«{name}» / {step})",
                f"«{name}» % {pick('23')}",
                f"CASE WHEN «{name}» < {self._near(column)} THEN 'low' ELSE 'high' END",
                self.atom(name),
            ]
        )

    def _of_text(self, name: str) -> str:
        pick = self._random.choice
        texts = [*NAMED.get(name, ["none", "some"]), *STRANGE]

        def literal() -> str:
            return "'" + pick(texts).replace("'", "''") + "'"

        patterns = ["'%r%'", "'_'", "'S%'", "'東_'", "'%''%'", "'a!%b%'", "'%'", "''"]
        return pick(
            [
                f"«{name}» {pick(['=', '<>'])} {literal()}",
                f"«{name}» {pick(['IN', 'NOT IN'])} ({literal()}, {literal()})",
                f"«{name}» IS {pick(['', 'NOT '])}DISTINCT FROM {literal()}",
                f"«{name}» {pick(['LIKE', 'NOT LIKE', 'ILIKE'])} {pick(patterns)}",
                f"upper(«{name}») = {literal()}",
                f"lower(«{name}») = 'red'",
                f"trim(«{name}») = 'red'",
                f"length(«{name}») {pick(_SIGNS)} {pick('0136')}",
                f"substr(«{name}», 1, 1) = {pick(['S', 'r', 'f', '東'])!r}",
                f"starts_with(‹{name}›, 'S')",  # null for undeclared values, as documented
                f"contains(‹{name}›, 'r')",
                f"coalesce(«{name}», 'f') = 'f'",
                f"«{name}» || '!' = 'f!'",
                f"«{name}» {pick(['<', '>='])} {literal()}",
            ]
        )

    def _of_moment(self, name: str) -> str:
        pick, column = self._random.choice, self.columns[name]
        literal = self._literal(column)
        is_date = column.kind == "date"
        return pick(
            [
                f"extract({pick(_PARTS if is_date else (*_PARTS, 'hour', 'minute'))} FROM «{name}») {pick(_SIGNS)} {pick(['1', '2', '6', '20', '2020'])}",
                f"date_trunc('{pick(['month', 'week', 'day', 'year', 'quarter'])}', «{name}») {pick(_SIGNS)} {literal}",
                f"dayname(«{name}») IN ('Monday', 'Sunday')",
                f"strftime(«{name}», '%Y-%m') = '2020-01'",
                f"«{name}» + INTERVAL '{pick(['1 day', '1 month', '2 hours'])}' {pick(_SIGNS)} {literal}",
                f"CAST(«{name}» AS DATE) = {self._literal(column)}",
                f"year(«{name}») = {pick(['2019', '2020'])}",
                f"CAST(«{name}» AS {pick(['VARCHAR', 'DATE'])}) >= '2020-01-01'",
            ]
        )

    def _units(self, column: Column) -> Any:
        assert isinstance(column, OrderedColumn)
        low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
        place = self._random.random()
        if place < 0.4:  # on an edge of cells
            return column.extent(self._random.randrange(column.value_cells))[0]
        if place < 0.5:
            return self._random.choice([low, high])
        drawn = low + (high - low) * (self._random.random() * 1.3 - 0.15)
        return drawn if column.kind == "number" else int(drawn)

    def _near(self, column: Column) -> str:
        unit = self._units(column)
        return f"{unit:.2f}" if column.kind == "number" else str(unit)

    def _literal(self, column: Column) -> str:
        unit, pick = self._units(column), self._random.choice
        if column.kind == "date":
            day = date(1970, 1, 1) + timedelta(days=unit)
            return pick([f"DATE '{day}'", f"'{day}'"])
        if column.kind == "datetime":
            moment = datetime(1970, 1, 1) + timedelta(microseconds=unit // 10**6 * 10**6)
            return pick([f"TIMESTAMP '{moment}'", f"'{moment}'", f"DATE '{moment.date()}'"])
        if column.kind == "number":
            return pick([repr(float(unit)), f"{unit:.1f}"])
        return pick([str(unit), str(unit), f"{unit}.5"])
