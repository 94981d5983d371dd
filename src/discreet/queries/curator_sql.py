"""SQL to a curator's question: one SELECT of aggregates, against an allow-list.

Only what is named here passes; everything else is refused by its name, before anything is read or
charged. No text of the question ever reaches a database: it becomes plain data, and the engine
renders SQL of its own from that.

May import errors, privacy, schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.errors import BadInput, BadQuestion
from discreet.queries.curator_conditions import ConditionReader
from discreet.queries.expressions import TRUE, Expression, canonical
from discreet.queries.sql import (
    LONGEST_TEXT,
    SUMMED_KINDS,
    _named,
    _number,
    _parsed,
    _sql_name,
)
from discreet.queries.tallies import MOST_GROUP_COLUMNS, MOST_GROUPS
from discreet.schema import Schema
from discreet.schema.column import folded

SHAPE = (
    "Ask SELECT count(*), count(col), count(DISTINCT unit), sum, avg, variance, stddev, median, "
    "quantile(col, q), histogram(col), mode(col) or top(col, k) FROM the dataset, with WHERE and GROUP BY."
)
NOTHING = "Nothing was read or charged."
MOST_AGGREGATES = 50
MOST_CHOSEN = 100
STANDALONE = ("histogram", "top")
"""Aggregates that stand alone in their SELECT, for their answers are rows of their own."""
SUMMED = ("sum", "avg", "variance", "stddev")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One thing that is asked of every group."""

    kind: str
    """count, present, persons, sum, avg, variance, stddev, quantile, histogram or top."""
    column: str | None
    name: str
    level: Fraction | None = None
    """Of a quantile."""
    chosen: int = 1
    """How many cells `top` names."""

    def canonical(self) -> list[Any]:
        return [
            self.kind,
            self.column,
            None if self.level is None else str(self.level),
            self.chosen,
        ]


@dataclass(frozen=True, slots=True)
class CuratorQuestion:
    """What is asked, as plain data; column names are the schema's own."""

    aggregates: tuple[Aggregate, ...]
    groups: tuple[str, ...] = ()
    """Of declared cells."""
    condition: Expression = TRUE
    text: str = ""
    unlisted: tuple[str, ...] = ()
    """Further columns of GROUP BY, whose values have to be found first."""

    def canonical(self) -> str:
        """Equal for questions that differ in spelling, names of answers and order of conditions."""
        return json.dumps(
            {
                "aggregates": [one.canonical() for one in self.aggregates],
                "groups": list(self.groups),
                "condition": canonical(self.condition),
                **({"unlisted": list(self.unlisted)} if self.unlisted else {}),
            },
            separators=(",", ":"),
        )


def parse_curator_question(
    text: str, schema: Schema, *, unlisted: Sequence[str] = ()
) -> CuratorQuestion:
    """The question that `text` asks, or a `BadQuestion` with one clear sentence.

    Groups by a column that declares no values, or that `unlisted` names, are those found on the way.
    """
    if not isinstance(text, str) or not text.strip():
        raise BadQuestion(f"The question is empty. {NOTHING} {SHAPE}")
    if len(text) > LONGEST_TEXT:
        raise BadQuestion(
            f"The question has {len(text):,} characters; at most {LONGEST_TEXT:,} are read. {NOTHING}"
        )
    try:
        return _Reader(schema, text, unlisted).question(_parsed(text))
    except RecursionError:
        raise BadQuestion(f"The question is nested too deeply. {NOTHING} Flatten it.") from None
    except BadQuestion as error:
        if NOTHING in str(error):
            raise
        raise BadQuestion(f"{error} {NOTHING}") from None


_CLAUSES = {
    "with_": "WITH", "joins": "JOIN", "laterals": "LATERAL", "having": "HAVING", "order": "ORDER BY",
    "limit": "LIMIT", "offset": "OFFSET", "distinct": "DISTINCT", "windows": "WINDOW",
    "qualify": "QUALIFY", "sample": "TABLESAMPLE", "into": "INTO", "hint": "a hint",
    "match": "MATCH_RECOGNIZE", "pivots": "PIVOT", "locks": "FOR UPDATE", "kind": "SELECT AS",
}  # fmt: skip


class _Reader:
    """Walks one parsed statement. Everything unexpected is refused by name."""

    def __init__(self, schema: Schema, text: str, unlisted: Sequence[str]) -> None:
        from sqlglot import exp

        self.schema, self.text, self.exp = schema, text, exp
        self.unlisted = self._unlisted(unlisted)
        self.tables: tuple[str, ...] = ()
        self.kinds: dict[type[Any], str] = {
            exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "variance",
            exp.VariancePop: "variance", exp.Stddev: "stddev", exp.StddevPop: "stddev",
            exp.Median: "quantile", exp.Quantile: "quantile", exp.Mode: "top",
        }  # fmt: skip

    def question(self, select: Any) -> CuratorQuestion:
        exp = self.exp
        if type(select) is not exp.Select:
            raise BadQuestion(f"Only a plain SELECT is answered, without {_named(select)}. {SHAPE}")
        for clause, value in select.args.items():
            if value and clause not in {"expressions", "from_", "where", "group"}:
                named = _CLAUSES.get(clause, clause.strip("_").upper())
                raise BadQuestion(f"{named} is not supported. {SHAPE}")
        self._table(select.args.get("from_"))
        named = self._groups(select.args.get("group"))
        groups = tuple(name for name in named if name not in self.unlisted)
        unlisted = tuple(name for name in named if name in self.unlisted)
        where = select.args.get("where")
        condition: Expression = TRUE
        if where is not None:
            condition = ConditionReader(self.schema, self.tables).condition(where.this)
        found: list[Aggregate] = []
        for one in select.expressions:
            aggregate = self._aggregate(one, named)
            if aggregate is not None:
                found.append(aggregate)
        if not found:
            raise BadQuestion(f"The question has no aggregate. {SHAPE}")
        if len(found) > MOST_AGGREGATES:
            raise BadQuestion(f"The question has more than {MOST_AGGREGATES} aggregates.")
        alone = [one for one in found if one.kind in STANDALONE]
        if alone and len(found) > 1:
            raise BadQuestion(f"{alone[0].name} stands alone in its SELECT; ask the rest apart.")
        if alone and alone[0].kind == "top" and named:
            raise BadQuestion("mode and top take no GROUP BY; ask with a WHERE for each group.")
        return CuratorQuestion(
            _distinctly_named(found, named), groups, condition, self.text, unlisted
        )

    def _unlisted(self, asked: Sequence[str]) -> frozenset[str]:
        """The columns whose groups are found on the way."""
        found = {one.name for one in self.schema.columns if getattr(one, "undeclared", False)}
        for name in asked:
            try:
                column = self.schema.column(name)
            except BadInput as error:
                raise BadQuestion(str(error)) from None
            if column.kind != "category":
                raise BadQuestion(
                    f"Column {column.name!r} is of kind {column.kind}; only categories have values to find."
                )
            found.add(column.name)
        return frozenset(found)

    def _table(self, source: Any) -> None:
        exp, dataset = self.exp, self.schema.dataset
        if source is None:
            raise BadQuestion(f"The question has no FROM; write FROM {_sql_name(dataset)}.")
        table = source.this
        if type(table) is not exp.Table or type(table.this) is not exp.Identifier:
            raise BadQuestion(
                f"FROM takes the dataset's name, {_sql_name(dataset)}, and no {_named(table)}."
            )
        if any(value for key, value in table.args.items() if key not in ("this", "alias")):
            raise BadQuestion(
                f"FROM takes the plain name {_sql_name(dataset)} and nothing more: no joins, no files."
            )
        alias = table.args.get("alias")
        if folded(table.name) != folded(dataset):
            raise BadQuestion(
                f"There is no table {table.name!r} here; write FROM {_sql_name(dataset)}."
            )
        if alias is not None and alias.args.get("columns"):
            raise BadQuestion("Columns cannot be renamed in FROM.")
        self.tables = (folded(table.name), *([folded(alias.name)] if alias is not None else []))

    def _groups(self, group: Any) -> tuple[str, ...]:
        if group is None:
            return ()
        if any(value for key, value in group.args.items() if key != "expressions"):
            raise BadQuestion("GROUP BY takes plain columns: no ROLLUP, CUBE or GROUPING SETS.")
        found: list[str] = []
        for one in group.expressions:
            if type(one) is not self.exp.Column:
                raise BadQuestion(f"GROUP BY takes plain columns, and no {_named(one)}.")
            name = self._column(one)
            if name not in found:
                found.append(name)
        if len(found) > MOST_GROUP_COLUMNS:
            raise BadQuestion(
                f"GROUP BY has {len(found)} columns; at most {MOST_GROUP_COLUMNS} are taken."
            )
        cells = 1
        for name in found:
            cells *= 1 if name in self.unlisted else self.schema.column(name).cells
        if cells > MOST_GROUPS:
            raise BadQuestion(
                f"GROUP BY makes {cells:,} groups, each with noise of its own; at most {MOST_GROUPS:,} "
                "are answered. Group by fewer columns, or declare wider cells."
            )
        return tuple(found)

    def _aggregate(self, node: Any, groups: tuple[str, ...]) -> Aggregate | None:
        exp = self.exp
        alias = None
        if type(node) is exp.Alias:
            alias, node = node.alias, node.this
        if type(node) is exp.Column and type(node.this) is not exp.Star:
            name = self._column(node)
            if name not in groups:
                raise BadQuestion(
                    f"Column {name!r} is selected outside of an aggregate; add it to GROUP BY."
                )
            return None
        kind, arguments = self._call(node)
        if kind == "count":
            return self._count(arguments, alias)
        level, chosen = None, 1
        wanted = 2 if type(node) is exp.Quantile or (kind == "top" and len(arguments) == 2) else 1
        if len(arguments) != wanted:
            raise BadQuestion(
                f"{kind}() takes {wanted} argument{'s' if wanted > 1 else ''}. {SHAPE}"
            )
        if type(arguments[0]) is not exp.Column:
            raise BadQuestion(f"{kind}() takes a plain column, and no {_named(arguments[0])}.")
        column = self._column(arguments[0])
        shown = f"{kind}({column})"
        if kind == "quantile":
            level = Fraction(1, 2) if wanted == 1 else self._level(arguments[1])
            shown = f"median({column})" if wanted == 1 else f"quantile({column}, {float(level):g})"
        elif kind == "top":
            chosen = 1 if wanted == 1 else self._whole(arguments[1])
            shown = f"mode({column})" if wanted == 1 else f"top({column}, {chosen})"
        self._check(kind, column, chosen)
        return Aggregate(kind, column, alias or shown, level, chosen)

    def _call(self, node: Any) -> tuple[str, list[Any]]:
        """The kind of an aggregate and its arguments."""
        exp = self.exp
        kind = self.kinds.get(type(node))
        if kind is not None:
            known = {"this", "big_int", "quantile"}
            if any(value for key, value in node.args.items() if key not in known):
                raise BadQuestion(f"{kind}() takes its plain form only. {SHAPE}")
            more = node.args.get("quantile")
            return kind, [node.this] + ([more] if more is not None else [])
        if type(node) is exp.Anonymous and isinstance(node.this, str):
            name = node.this.lower()
            if name in ("histogram", "top"):
                return name, list(node.expressions)
        if type(node) in (exp.StddevSamp,):
            raise BadQuestion(
                "stddev and variance are those of the rows themselves; write stddev()."
            )
        raise BadQuestion(f"SELECT takes no {_named(node)} here. {SHAPE}")

    def _count(self, arguments: Sequence[Any], alias: str | None) -> Aggregate:
        exp = self.exp
        (inside,) = arguments
        if type(inside) is exp.Star and not any(inside.args.values()):
            return Aggregate("count", None, alias or "count")
        if type(inside) is exp.Distinct:
            identifier = self.schema.unit.identifier
            names = [one.name for one in inside.expressions if type(one) is exp.Column]
            if len(names) != 1 or len(inside.expressions) != 1 or inside.args.get("on"):
                raise BadQuestion("count(DISTINCT ...) takes the unit, and nothing else.")
            if identifier is None or folded(names[0]) not in (folded(identifier), "unit"):
                unit = "which is one row: ask count(*)" if identifier is None else repr(identifier)
                raise BadQuestion(f"count(DISTINCT ...) counts privacy units only, {unit}.")
            return Aggregate("persons", None, alias or f"count(distinct {identifier})")
        if type(inside) is not exp.Column:
            raise BadQuestion(f"count() takes a plain column, and no {_named(inside)}.")
        column = self._column(inside)
        return Aggregate("present", column, alias or f"count({column})")

    def _check(self, kind: str, name: str, chosen: int) -> None:
        column = self.schema.column(name)
        if kind in STANDALONE and getattr(column, "undeclared", False):
            raise BadQuestion(
                f"Column {name!r} declares no values to choose from; GROUP BY it, with a delta in the budget."
            )
        if kind in SUMMED and column.kind not in SUMMED_KINDS:
            raise BadQuestion(
                f"Column {name!r} is of kind {column.kind}; {kind}() takes columns of kind "
                f"{', '.join(SUMMED_KINDS)}."
            )
        if kind == "quantile" and column.kind not in ("integer", "number"):
            raise BadQuestion(
                f"Column {name!r} is of kind {column.kind}; quantiles take integer and number columns."
            )
        if kind == "top" and not 1 <= chosen <= min(MOST_CHOSEN, column.cells):
            raise BadQuestion(
                f"top() names 1 to {min(MOST_CHOSEN, column.cells)} cells of {name!r}, not {chosen}."
            )

    def _level(self, node: Any) -> Fraction:
        exp = self.exp
        value = None
        if type(node) is exp.Literal and not node.is_string:
            value = Fraction(_number(str(node.this)))
        if value is None or not 0 < value < 1:
            raise BadQuestion("A quantile's level is a number between 0 and 1, such as 0.9.")
        return value

    def _whole(self, node: Any) -> int:
        value: int | Decimal = -1
        if type(node) is self.exp.Literal and not node.is_string:
            value = _number(str(node.this))
        if not isinstance(value, int):
            raise BadQuestion("top(column, k) takes a whole number k.")
        return value

    def _column(self, node: Any) -> str:
        return column_name(node, self.schema, self.tables)


def column_name(node: Any, schema: Schema, tables: tuple[str, ...]) -> str:
    """The schema's name of a column, plain or behind the table's name."""
    if type(node.this).__name__ != "Identifier" or node.args.get("db"):
        raise BadQuestion("A column is written as its plain name, quoted if it is an odd one.")
    table = node.args.get("table")
    if table is not None and folded(table.name) not in tables:
        raise BadQuestion(f"There is no table {table.name!r} in FROM.")
    try:
        return schema.column(node.name).name
    except BadInput as error:
        raise BadQuestion(str(error)) from None


def _distinctly_named(
    aggregates: Sequence[Aggregate], groups: tuple[str, ...]
) -> tuple[Aggregate, ...]:
    taken = set(groups)
    named: list[Aggregate] = []
    for one in aggregates:
        name, again = one.name, 2
        while name in taken:
            name, again = f"{one.name} {again}", again + 1
        taken.add(name)
        named.append(Aggregate(one.kind, one.column, name, one.level, one.chosen))
    return tuple(named)
