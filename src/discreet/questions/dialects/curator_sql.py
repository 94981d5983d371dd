"""SQL to a curator's question: one SELECT of aggregates, against an allow-list.

Only what is named here passes; everything else is refused by its name, before anything is read or
charged. No text of the question ever reaches a database: it becomes plain data, and the engine
renders SQL of its own from that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from discreet.errors import BadInput, BadQuestion
from discreet.questions.dialects.aggregates import AGGREGATES
from discreet.questions.dialects.statement import (
    StatementReader,
    bare,
    construct,
    distinctly_named,
    level_refusal,
    number,
    parsed,
)
from discreet.questions.expression_bounds import expression_bounds, over_clamped_columns
from discreet.questions.expressions import TRUE, Call, Constant, Expression, canonical
from discreet.questions.keys import ComputedKey, Key, key_size
from discreet.questions.text_functions import with_declared_numbers
from discreet.schema import Schema
from discreet.schema.columns.column import folded
from discreet.schema.limits import MOST_GROUP_COLUMNS, MOST_GROUPS

SHAPE = (
    "Ask SELECT count(*), count(col), count(DISTINCT col), sum, avg, variance, stddev, median, "
    "quantile(col, q), corr(a, b), histogram(col), mode(col) or top(col, k) FROM the dataset, with WHERE "
    "and GROUP BY."
)
NOTHING = "Nothing was read or charged."
MOST_AGGREGATES = 50
MOST_CHOSEN = 100
QUANTILES = (
    "percentile", "approx_percentile", "percentile_approx", "quantile_cont", "quantile_disc",
)  # fmt: skip
"""Other names of quantile(column, level)."""
LONGEST_NAME = 60
"""Characters of an expression that its answer is named by."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One thing that is asked of every group."""

    kind: str
    """One of `AGGREGATES`."""
    column: str | None
    name: str
    level: Fraction | None = None
    """The level, for a quantile."""
    chosen: int = 1
    """How many cells `top` names."""
    expression: Expression | None = None
    """What is added up where it is no plain column: over clamped columns."""
    raw: Expression | None = None
    """The same over raw columns, as COUNT sees it."""
    other: Expression | None = None
    """The second value of a row, for an aggregate of two values such as corr(a, b)."""

    def canonical(self) -> list[Any]:
        level = None if self.level is None else str(self.level)
        given = [each for each in (self.expression, self.other) if each is not None]
        more = [canonical(each) for each in given]
        return [self.kind, self.column, level, self.chosen, *more]


@dataclass(frozen=True, slots=True)
class CuratorQuestion:
    """What is asked, as plain data; column names are the schema's own."""

    aggregates: tuple[Aggregate, ...]
    groups: tuple[Key, ...] = ()
    """Columns of declared cells, and computed keys."""
    condition: Expression = TRUE
    text: str = ""
    unlisted: tuple[str, ...] = ()
    """Further columns of GROUP BY, whose values have to be found first."""

    @property
    def group_by(self) -> tuple[Key, ...]:
        """The keys whose groups the schema declares."""
        return self.groups

    def canonical(self) -> str:
        """Equal for questions that differ in spelling, names of answers and order of conditions."""
        return json.dumps(
            {
                "aggregates": [one.canonical() for one in self.aggregates],
                "groups": [
                    canonical(one.expression) if isinstance(one, ComputedKey) else one
                    for one in self.groups
                ],
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
    try:
        return _Reader(schema, text, unlisted).question(parsed(text, shape=SHAPE))
    except RecursionError:
        raise BadQuestion(f"The question is nested too deeply. {NOTHING} Flatten it.") from None
    except BadQuestion as error:
        if NOTHING in str(error):
            raise
        raise BadQuestion(f"{error} {NOTHING}") from None


class CuratorDialect:
    """How questions are put to a curator, for whoever splits a statement into questions."""

    shape: ClassVar[str] = SHAPE
    functions: ClassVar[tuple[str, ...]] = ("histogram", "top", *QUANTILES)
    is_free: ClassVar[bool] = False
    splits_sums: ClassVar[bool] = False

    def __init__(self, schema: Schema, text: str, unlisted: Sequence[str]) -> None:
        self._schema, self._text, self._unlisted = schema, text, unlisted
        self.names: tuple[str, ...] = (schema.dataset,)

    def question(self, select: Any) -> CuratorQuestion:
        """The question that a plain SELECT asks."""
        return _Reader(self._schema, self._text, self._unlisted).question(select)

    def names_of(self, question: CuratorQuestion) -> Sequence[str]:
        """What its aggregates are called."""
        return [each.name for each in question.aggregates]


class _Reader(StatementReader):
    """A question to a curator."""

    shape: ClassVar[str] = SHAPE
    written_otherwise: ClassVar[tuple[str, ...]] = ("median", "mode")

    def __init__(self, schema: Schema, text: str, unlisted: Sequence[str]) -> None:
        super().__init__(schema, text)
        exp = self.exp
        self.functions = (*AGGREGATES, *self.written_otherwise)
        self.unlisted = self._unlisted(unlisted)
        self.kinds: dict[type[Any], str] = {
            exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Variance: "variance",
            exp.VariancePop: "var_pop", exp.Stddev: "stddev", exp.StddevPop: "stddev_pop",
            exp.StddevSamp: "stddev", exp.Median: "quantile", exp.Quantile: "quantile",
            exp.ApproxQuantile: "quantile", exp.Mode: "top", exp.Corr: "corr", exp.CovarPop: "covar_pop",
            exp.CovarSamp: "covar_samp", exp.RegrSlope: "regr_slope",
            exp.RegrIntercept: "regr_intercept",
        }  # fmt: skip

    def question(self, select: Any) -> CuratorQuestion:
        named = self._groups_of(self.read_frame(select))
        groups = tuple(key for key in named if key not in self.unlisted)
        unlisted = tuple(str(key) for key in named if key in self.unlisted)
        where = select.args.get("where")
        condition: Expression = TRUE
        if where is not None:
            condition = self.expressions("WHERE").condition(where.this)
        found: list[Aggregate] = []
        for one in select.expressions:
            aggregate = self._aggregate(one, named)
            if aggregate is not None:
                found.append(aggregate)
        if not found:
            raise BadQuestion(f"The question has no aggregate. {SHAPE}")
        if len(found) > MOST_AGGREGATES:
            raise BadQuestion(f"The question has more than {MOST_AGGREGATES} aggregates.")
        alone = [one for one in found if AGGREGATES[one.kind].stands_alone]
        if alone and len(found) > 1:
            column = alone[0].column
            raise BadQuestion(
                f"{alone[0].name} gives rows of its own, so it must be alone in its SELECT. For other numbers "
                f"beside the values of {column}, write SELECT {column}, count(*), ... GROUP BY {column}."
            )
        if alone and AGGREGATES[alone[0].kind].chooses and unlisted:
            raise BadQuestion("mode and top take groups whose values are declared, and no others.")
        if alone and AGGREGATES[alone[0].kind].is_by_cell:  # it counts what GROUP BY counts
            groups = tuple(dict.fromkeys((*groups, alone[0].column or "")))
            self._groups_of(groups)
            named = (*unlisted, *groups)
        return CuratorQuestion(
            distinctly_named(found, named), groups, condition, self.text, unlisted
        )

    def _unlisted(self, asked: Sequence[str]) -> frozenset[str]:
        """The columns whose groups are found on the way."""
        found = {one.name for one in self.schema.columns if one.undeclared}
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

    def _groups_of(self, found: tuple[Key, ...]) -> tuple[Key, ...]:
        if len(found) > MOST_GROUP_COLUMNS:
            raise BadQuestion(
                f"GROUP BY has {len(found)} columns; at most {MOST_GROUP_COLUMNS} are taken."
            )
        cells = 1
        for key in found:
            cells *= 1 if key in self.unlisted else key_size(key, self.schema)
        if cells > MOST_GROUPS:
            raise BadQuestion(
                f"GROUP BY makes {cells:,} groups, each with noise of its own; at most {MOST_GROUPS:,} "
                "are answered. Group by fewer columns, or declare wider cells."
            )
        return found

    def _aggregate(self, node: Any, groups: tuple[Key, ...]) -> Aggregate | None:
        exp = self.exp
        node, alias = self.unaliased(node, groups)
        if node is None:
            return None
        kind, arguments = self._call(node)
        if kind == "count":
            return self._count(arguments, alias)
        if AGGREGATES[kind].takes_two:
            return self._of_two(kind, arguments, alias)
        level, chosen = None, 1
        leveled = kind == "quantile" and type(node) is not exp.Median
        wanted = 2 if leveled or (kind == "top" and len(arguments) == 2) else 1
        if len(arguments) != wanted:
            raise BadQuestion(
                f"{kind}() takes {wanted} argument{'s' if wanted > 1 else ''}. {SHAPE}"
            )
        inside = bare(arguments[0])
        if type(inside) is not exp.Column:
            if not AGGREGATES[kind].takes_expressions:
                raise BadQuestion(f"{kind}() takes a plain column, not {construct(inside)}.")
            return self._of_expression(kind, inside, alias)
        column = self.column(inside)
        shown = f"{kind}({column})"
        if kind == "quantile":
            level = Fraction(1, 2) if wanted == 1 else self._level(arguments[1])
            shown = f"median({column})" if wanted == 1 else f"quantile({column}, {float(level):g})"
        elif kind == "top":
            chosen = 1 if wanted == 1 else self._whole(arguments[1])
            shown = f"mode({column})" if wanted == 1 else f"top({column}, {chosen})"
        self._check(kind, column, chosen)
        return Aggregate(kind, column, alias or shown, level, chosen)

    def _of_expression(self, kind: str, node: Any, alias: str | None) -> Aggregate:
        """An aggregate of an expression, whose bounds follow from the schema."""
        read = self.expressions("An aggregate").read(node, 0)
        raw = with_declared_numbers(read, self.schema)
        if raw.type == "boolean" and kind != "present":  # true adds 1
            one, zero = Constant(1, "integer"), Constant(0, "integer")
            no = Call("not", (raw,), "boolean")
            raw = Call("case", (raw, one, no, zero, Constant(None, "null")), "integer")
        clamped = over_clamped_columns(raw)
        if kind != "present":
            expression_bounds(clamped, self.schema)  # refuses what has none
        text = node.sql()
        shown = text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}..."
        function = "count" if kind == "present" else kind
        return Aggregate(kind, None, alias or f"{function}({shown})", expression=clamped, raw=raw)

    def _of_two(self, kind: str, arguments: Sequence[Any], alias: str | None) -> Aggregate:
        """corr(y, x) and the like."""
        if len(arguments) != 2:
            raise BadQuestion(f"{kind}() takes 2 arguments. {SHAPE}")
        y, x = (self._of_expression(kind, bare(node), None) for node in arguments)
        shown = f"{kind}({', '.join(node.sql() for node in arguments)})"[: 2 * LONGEST_NAME]
        return Aggregate(kind, None, alias or shown, expression=y.expression, other=x.expression)

    def _call(self, node: Any) -> tuple[str, list[Any]]:
        """The kind of an aggregate and its arguments."""
        exp = self.exp
        kind = self.kinds.get(type(node))
        if kind is not None:
            known = {"this", "big_int", "quantile", "expression"}
            if any(value for key, value in node.args.items() if key not in known):
                raise BadQuestion(f"{kind}() takes its plain form only. {SHAPE}")
            more = node.args.get("quantile") or node.args.get("expression")
            return kind, [node.this] + ([more] if more is not None else [])
        if type(node) is exp.Anonymous and isinstance(node.this, str):
            name = node.this.lower()
            if name in QUANTILES:
                return "quantile", list(node.expressions)
            if name in AGGREGATES and AGGREGATES[name].is_function:
                return name, list(node.expressions)
        raise self.unknown(node)

    def _count(self, arguments: Sequence[Any], alias: str | None) -> Aggregate:
        exp = self.exp
        inside = bare(arguments[0])
        if type(inside) is exp.Literal:  # COUNT(1) counts every row
            return Aggregate("count", None, alias or "count")
        if type(inside) is exp.Star and not any(inside.args.values()):
            return Aggregate("count", None, alias or "count")
        if type(inside) is exp.Distinct:
            return self._distinct(inside, alias)
        if type(inside) is not exp.Column:
            return self._of_expression("present", inside, alias)
        identifier = self.schema.unit.identifier
        if identifier is not None and folded(inside.name) == folded(identifier):
            return Aggregate("count", None, alias or f"count({identifier})")
        column = self.column(inside)
        return Aggregate("present", column, alias or f"count({column})")

    def _distinct(self, inside: Any, alias: str | None) -> Aggregate:
        """Privacy units, or the values of a column that some row holds."""
        identifier = self.schema.unit.identifier
        found = [bare(one) for one in inside.expressions]
        columns = [one for one in found if type(one) is self.exp.Column]
        if len(found) != 1 or len(columns) != 1 or inside.args.get("on"):
            raise BadQuestion("count(DISTINCT ...) takes the unit, or one column.")
        name = folded(columns[0].name)
        declared = {folded(each) for each in self.schema.names}
        if identifier is not None and name in (folded(identifier), "unit"):
            return Aggregate("persons", None, alias or f"count(distinct {identifier})")
        if identifier is None and name == "unit" and name not in declared:
            raise BadQuestion("A privacy unit is one row here: ask count(*).")
        column = self.column(columns[0])
        self._check("distinct", column, 1)
        return Aggregate("distinct", column, alias or f"count(distinct {column})")

    def _check(self, kind: str, name: str, chosen: int) -> None:
        column = self.schema.column(name)
        refusal = AGGREGATES[kind].refusal(column)
        if refusal is not None:
            raise BadQuestion(refusal)
        if kind == "top" and not 1 <= chosen <= min(MOST_CHOSEN, column.cells):
            raise BadQuestion(
                f"top() names 1 to {min(MOST_CHOSEN, column.cells)} cells of {name!r}, not {chosen}."
            )

    def _level(self, node: Any) -> Fraction:
        exp = self.exp
        value = None
        if type(node) is exp.Literal and not node.is_string:
            value = Fraction(number(str(node.this)))
        if value is None or not 0 < value < 1:
            raise BadQuestion(level_refusal(node))
        return value

    def _whole(self, node: Any) -> int:
        value: int | Decimal = -1
        if type(node) is self.exp.Literal and not node.is_string:
            value = number(str(node.this))
        if not isinstance(value, int):
            raise BadQuestion("top(column, k) takes a whole number k.")
        return value
