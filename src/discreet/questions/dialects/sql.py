"""SQL to a `Question`: one SELECT of counts, sums and averages, against an allow-list.

Only what is named here passes; every other construct is refused by its name. The text is never
executed by a database: it is read into plain data, and the data is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

from discreet.errors import BadQuestion
from discreet.questions.dialects.statement import (
    SUMMED_KINDS,
    StatementReader,
    bare,
    construct,
    distinctly_named,
    level_refusal,
    names_the_unit,
    not_summed,
    number,
    parsed,
)
from discreet.questions.expression_bounds import over_clamped_columns
from discreet.questions.expressions import NUMERIC, TRUE
from discreet.questions.keys import Key
from discreet.questions.question import Aggregate, Question
from discreet.questions.reading.expressions import ExpressionReader
from discreet.questions.text_functions import with_declared_numbers
from discreet.schema import Schema

MOST_LITERALS = 100_000
"""Literals that one question may compare with."""
MOMENT, TOTAL, VALUED = "discreet moment", "discreet total", "discreet valued"
"""How whoever splits a statement asks for these. No function that people write has such a name."""
DEEPEST = 200
"""How deep a condition may be nested."""

SHAPE = (
    "Ask SELECT count(*), count(col), sum(col), avg(col), median(col) or quantile(col, 0.9) "
    "FROM the dataset, with WHERE and GROUP BY."
)


def parse_question(text: str, schema: Schema) -> Question:
    """The question that `text` asks, or a `BadQuestion` with one clear sentence."""
    try:
        return _Reader(schema, text).question(parsed(text, shape=SHAPE))
    except RecursionError:
        raise BadQuestion("The question is nested too deeply to be read; flatten it.") from None


class ReleaseDialect:
    """How questions are put to a release, for whoever splits a statement into questions."""

    shape: ClassVar[str] = SHAPE
    functions: ClassVar[tuple[str, ...]] = ()
    is_free: ClassVar[bool] = True
    splits_sums: ClassVar[bool] = True

    def __init__(self, schema: Schema, text: str) -> None:
        self._schema, self._text = schema, text
        self.names = (schema.dataset, *_Reader.other_names)

    def question(self, select: Any) -> Question:
        """The question that a plain SELECT asks."""
        return _Reader(self._schema, self._text).question(select)

    def names_of(self, question: Question) -> Sequence[str]:
        """What its aggregates are called."""
        return [each.name for each in question.aggregates]


class _Reader(StatementReader):
    """A question to a release."""

    shape: ClassVar[str] = SHAPE
    functions: tuple[str, ...] = ("count", "sum", "avg", "median", "quantile")
    other_names: ClassVar[tuple[str, ...]] = ("release",)

    def question(self, select: Any) -> Question:
        groups = self.read_frame(select)
        where = select.args.get("where")
        condition = self.expressions("WHERE").condition(where.this) if where else TRUE
        aggregates = tuple(
            made for one in select.expressions if (made := self._aggregate(one, groups)) is not None
        )
        if not aggregates:
            raise BadQuestion(f"The question has no count, sum, avg or quantile. {SHAPE}")
        return Question(distinctly_named(aggregates, groups), condition, groups, self.text)

    def _aggregate(self, node: Any, groups: tuple[Key, ...]) -> Aggregate | None:
        exp = self.exp
        node, alias = self.unaliased(node, groups)
        if node is None:
            return None
        if type(node) in (exp.Median, exp.Quantile):
            return self._quantile(node, alias)
        if type(node) is exp.Anonymous and str(node.this).lower() == MOMENT:
            return self._moment(node)
        if type(node) is exp.Anonymous and str(node.this).lower() in (TOTAL, VALUED):
            return self._total(node)
        kinds: dict[type[Any], Literal["count", "sum", "avg"]] = {
            exp.Count: "count",
            exp.Sum: "sum",
            exp.Avg: "avg",
        }
        kind = kinds.get(type(node))
        if kind is None:
            raise self.unknown(node)
        if any(value for key, value in node.args.items() if key not in ("this", "big_int")):
            raise BadQuestion(f"{kind}() takes one column. {SHAPE}")
        inside = bare(node.this)
        if kind == "count" and type(inside) is exp.Star and not any(inside.args.values()):
            return Aggregate("count", None, alias or "count")
        if type(inside) is exp.Distinct:
            raise BadQuestion(f"{kind}(DISTINCT ...) is not supported. {SHAPE}")
        if type(inside) is not exp.Column:
            raise BadQuestion(f"{kind}() takes a plain column, not {construct(inside)}.")
        if kind == "count" and names_the_unit(inside, self.schema):
            # A row without an identifier belongs to nobody, and is not counted: so these are all rows.
            return Aggregate("count", None, alias or f"count({self.schema.unit.identifier})")
        column = self.column(inside)
        refusal = not_summed(self.schema.column(column), kind)
        if kind != "count" and refusal is not None:
            raise BadQuestion(refusal)
        return Aggregate(kind, column, alias or f"{kind}({column})")

    def _moment(self, node: Any) -> Aggregate:
        """The sum of a column less its middle, or of the product of two such: what spreads are made of.

        Numbers after the columns take the places of their middles.
        """
        given = [each for each in node.expressions if type(each) is not self.exp.Column]
        centres = tuple(float(number(str(each.this))) for each in given)
        names = [
            self.column(each) for each in node.expressions[: len(node.expressions) - len(given)]
        ]
        for name in names:
            if self.schema.column(name).kind not in SUMMED_KINDS:
                raise BadQuestion(
                    f"Column {name!r} is of kind {self.schema.column(name).kind}; standard deviations and correlations take columns of kind {', '.join(SUMMED_KINDS)}."
                )
        shown = f"{MOMENT}({', '.join([*names, *map(repr, centres)])})"
        second = names[1] if names[1:] else None
        return Aggregate("moment", names[0], shown, second=second, centres=centres)

    def _total(self, node: Any) -> Aggregate:
        """The sum of an expression, or the number of rows that it has a value for."""
        (inside,) = node.expressions
        read = self.expressions("An aggregate").read(inside, 0)
        made = with_declared_numbers(read, self.schema)
        if made.type not in (*NUMERIC, "null"):
            raise BadQuestion(f"An aggregate adds up numbers, and {inside.sql()} is none.")
        kind: Literal["total", "valued"] = "valued" if str(node.this) == VALUED else "total"
        shown = f"{'sum' if kind == 'total' else 'count'}({inside.sql()})"
        return Aggregate(kind, None, shown, expression=over_clamped_columns(made))

    def _quantile(self, node: Any, alias: str | None) -> Aggregate:
        exp = self.exp
        known = ("this", "quantile") if type(node) is exp.Quantile else ("this",)
        if any(value for key, value in node.args.items() if key not in known):
            raise BadQuestion("A quantile is written quantile(col, 0.9), and a median median(col).")
        if type(node.this) is not exp.Column:
            raise BadQuestion(f"A quantile takes a plain column, not {construct(node.this)}.")
        column = self.column(node.this)
        if not self.schema.column(column).is_ordered:
            raise BadQuestion(f"Column {column!r} has no order, so it has no quantiles.")
        if type(node) is exp.Median:
            return Aggregate("quantile", column, alias or f"median({column})", Fraction(1, 2))
        given = bare(node.args["quantile"])
        is_number = type(given) is exp.Literal and not given.is_string
        level = number(str(given.this)) if is_number else 0
        if not 0 < level < 1:
            raise BadQuestion(level_refusal(given))
        name = alias or f"quantile({column}, {level})"
        return Aggregate("quantile", column, name, Fraction(level))

    def expressions(self, clause: str) -> ExpressionReader:
        """A release is asked offline, so its questions may be long."""
        return ExpressionReader(
            self.schema,
            self.tables,
            clause=clause,
            most_terms=MOST_LITERALS,
            most_listed=MOST_LITERALS,
            deepest=DEEPEST,
            is_written=False,
        )
