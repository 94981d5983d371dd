"""Expressions of a SELECT: keys, aggregates, and calls of them.

Under an aggregate stand rows; what stands there goes into a question. All else is work on answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.errors import BadInput, BadQuestion, did_you_mean
from discreet.postprocessing.plan import (
    Across,
    Call,
    Declared,
    Expression,
    Field,
    Join,
    Key,
    Literal,
    Lookup,
    Measure,
    Measured,
    OneRow,
    Output,
    Scalar,
    Select,
    Table,
    Union,
)
from discreet.postprocessing.reading.aggregates import AggregateRewriter
from discreet.postprocessing.reading.distinct_values import (
    OTHERS_ARE_ONE,
    cells_are_values,
    counts_others_as_one,
    of_distinct_values,
)
from discreet.postprocessing.reading.scope import ROWS_ARE_NOT_SHOWN, Dialect, Pending, Rows, Scope
from discreet.postprocessing.reading.syntax import (
    QUANTILES,
    canonical,
    is_identifier,
    nodes_in,
    spoken,
    without_alias,
)
from discreet.postprocessing.reading.windows import WindowReader
from discreet.questions.dialects.statement import bare, level_refusal, number
from discreet.questions.spelling import no_such_table, readable_name
from discreet.schema import Schema
from discreet.schema.columns.column import OTHER_LABEL, folded

MOST_NAMES_USED = 10_000
"""Names of SELECT that stand for their expressions: each of thirty that uses the one before twice would be read a billion times."""


class ExpressionReader(WindowReader):
    """Reads expressions over rows that are grouped, or over another result."""

    def __init__(self, schema: Schema, dialect: Dialect, text: str) -> None:
        super().__init__(schema, dialect, text)
        self.notes: dict[str, None] = {}
        """What a reader of the result should know."""
        self._known: dict[str, Any] = {}
        exp = self.exp
        self._readers = {
            exp.Window: self._window,
            exp.Column: self._column,
            exp.Subquery: self._scalar,
            exp.Select: self._scalar,
            exp.Exists: self._exists,
            exp.Grouping: self._grouping_bits,
        }
        self._names_used = 0

    def _table(self, node: Any, known: dict[str, Any], *, is_top: bool = False) -> Table | Rows:
        """Any table."""
        raise NotImplementedError

    def _has_aggregate(self, node: Any) -> bool:
        """Whether an aggregate over rows is in an expression; window functions are none themselves."""
        exp = self.exp
        if type(node) in (exp.Subquery, exp.Select):
            return False
        if type(node) is exp.Window:
            inside = node.this
            parts = [*inside.args.values(), node.args.get("partition_by"), node.args.get("order")]
            return any(self._has_aggregate(each) for each in nodes_in(parts))
        if self._is_aggregate(node):
            return True
        return any(self._has_aggregate(each) for each in nodes_in(node.args.values()))

    def _is_aggregate(self, node: Any) -> bool:
        exp = self.exp
        if type(node) in (exp.Filter, exp.WithinGroup):
            return True
        if type(node) is exp.Anonymous and isinstance(node.this, str):
            return node.this.lower() in (*self.dialect.functions, *QUANTILES)
        return isinstance(node, exp.AggFunc) and type(node) is not exp.Grouping

    def _value(self, node: Any, scope: Scope) -> Expression:
        node = bare(node)
        key = self._matching_key(node, scope)
        if key is not None:
            return key
        if self._is_aggregate(node):
            return self._aggregate(node, scope)
        return self._readers.get(type(node), self._call)(node, scope)

    def _matching_key(self, node: Any, scope: Scope) -> Expression | None:
        if not scope.keys or type(node) in (self.exp.Literal, self.exp.Null, self.exp.Boolean):
            return None
        try:
            resolved = node if scope.rows is None else bare(scope.rows.resolved(node))
        except BadQuestion:
            return None
        place = scope.keys.get(canonical(resolved))
        if place is None:
            return None
        return Key(place) if scope.rows is None else self._own_key(place, scope)

    def _own_key(self, place: int, scope: Scope) -> Expression:
        return Key(scope.present.index(place)) if place in scope.present else Literal(None)

    def _column(self, node: Any, scope: Scope) -> Expression:
        exp = self.exp
        if type(node.this) is exp.Star:
            raise BadQuestion(ROWS_ARE_NOT_SHOWN)
        name, table = folded(node.name), node.args.get("table")
        behind = None if table is None else folded(table.name)
        if scope.rows is None and behind is not None and not scope.fields.has_table(behind):
            raise BadQuestion(no_such_table(table.name))
        places = scope.fields.places(name, behind)
        if len({scope.fields.tables[place] for place in places}) > 1:
            raise BadQuestion(
                f"Several tables in FROM have a column {node.name!r}: write the table's name before it, as in "
                f"a.{readable_name(node.name)}."
            )
        if places and scope.rows is None and not scope.is_grouped:
            return Field(places[0])
        item = scope.items.get(name)
        if item is not None and name not in scope.resolving and item is not node:
            self._names_used += 1
            if self._names_used > MOST_NAMES_USED:
                raise BadQuestion(
                    f"The names that SELECT gives are used more than {MOST_NAMES_USED:,} times, once all of them are written "
                    "out. Use each of them less often."
                )
            scope.resolving.add(name)
            try:
                return self._value(item, scope)
            finally:
                scope.resolving.discard(name)
        if scope.rows is not None:
            shown = self._checked_column(node, scope.rows)
            raise BadQuestion(
                f"Column {shown!r} is selected outside of an aggregate; add it to GROUP BY."
            )
        if places:
            raise BadQuestion(
                f"Column {node.name!r} is selected outside of an aggregate; add it to GROUP BY."
            )
        near = did_you_mean(node.name, [*scope.fields.names, *scope.items])
        raise BadQuestion(f"There is no column {node.name!r} in the subquery.{near}")

    def _checked_column(self, node: Any, rows: Rows) -> str:
        resolved = rows.resolved(node)
        if type(resolved) is self.exp.Column:
            try:
                return self.schema.column(resolved.name).name
            except BadInput as error:
                raise BadQuestion(str(error)) from None
        return str(node.name)

    def _scalar(self, node: Any, scope: Scope) -> Expression:
        known = self._known
        table = self._table(without_alias(node) if type(node) is self.exp.Subquery else node, known)
        self._known = known
        if isinstance(table, Rows):
            raise BadQuestion(ROWS_ARE_NOT_SHOWN)
        if not _is_one_row(table):
            raise BadQuestion(
                "A subquery inside an expression gives one number: take out its GROUP BY, or add LIMIT 1."
            )
        return Scalar(table)

    def _exists(self, node: Any, scope: Scope) -> Expression:
        """EXISTS (SELECT ...): whether the number of its rows is more than 0."""
        exp, select = self.exp, node.this
        if not isinstance(select, exp.Query):
            raise BadQuestion("EXISTS takes a subquery.")
        select, number = select.copy(), exp.Count(this=exp.Star())
        limit = select.args.get("limit")
        if type(limit) is exp.Limit and str(limit.expression) == "1":
            select.set("limit", None)  # one row is as good as all of them
        shapes = ("group", "having", "qualify", "distinct", "limit", "offset")
        plain = type(select) is exp.Select and not any(select.args.get(each) for each in shapes)
        if plain and not any(map(self._has_aggregate, select.expressions)):
            select.set("expressions", [number])
            select.set("order", None)
        else:
            counted = exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("t")))
            select = exp.Select(expressions=[number]).from_(counted)
        return Call(">", (self._scalar(select, scope), Literal(0)))

    def _grouping_bits(self, node: Any, scope: Scope) -> Expression:
        bits = 0
        if not scope.is_grouped or scope.rows is None:
            raise BadQuestion(
                "grouping() is answered only beside the GROUP BY of the dataset itself."
            )
        for each in [*([node.this] if node.args.get("this") else []), *node.expressions]:
            found = self._matching_key(bare(each), scope)
            if found is None:
                raise BadQuestion("grouping() takes keys of GROUP BY.")
            bits = 2 * bits + (not isinstance(found, Key))
        return Literal(bits)

    def _aggregate(self, node: Any, scope: Scope) -> Expression:
        if scope.rows is None:
            return self._aggregate_of_results(node, scope)
        inside = node
        while type(inside) in (self.exp.Filter, self.exp.WithinGroup):
            inside = inside.this
        if any(self._has_aggregate(each) for each in nodes_in(inside.args.values())):
            raise BadQuestion(
                "An aggregate of an aggregate needs a subquery: SELECT avg(n) FROM (SELECT count(*) AS n FROM ... "
                "GROUP BY ...)."
            )
        rows = scope.rows
        counted = self._of_values(node, rows, scope)
        if counted is not None:
            return counted

        def measured(aggregate: Any, condition: Any) -> Expression:
            return self._measure(aggregate, condition, scope, scope.present)

        rewriter = AggregateRewriter(measured, self.schema, splits_sums=self.dialect.splits_sums)
        return rewriter.rewritten(rows.resolved(node))

    def _of_values(self, node: Any, rows: Rows, scope: Scope) -> Expression | None:
        """MODE(column) and aggregates of DISTINCT values: from the counts of the column's values.

        A curator counts distinct values in a way of its own, which this leaves to it.
        """
        exp, condition = self.exp, None
        if type(node) is exp.Filter:
            condition, node = rows.resolved(node.expression.this), node.this
        if type(node) is exp.WithinGroup and type(node.this) is exp.Mode:
            node = exp.Mode(this=node.expression.expressions[0].this)
        inside = node.this
        if type(inside) is exp.Distinct and len(inside.expressions) == 1:
            (inside,) = inside.expressions
        elif type(node) is not exp.Mode:
            return None
        if type(node) is exp.Count and not self.dialect.is_free:
            return None
        column = bare(rows.resolved(inside))
        if type(node) is exp.Count and is_identifier(column, self.schema):
            return self._persons(condition, scope)
        if type(column) is not exp.Column:
            raise BadQuestion("Aggregates of DISTINCT values, and MODE(...), take a plain column.")
        keys = [scope.key_nodes[place] for place in scope.present]
        names = [scope.key_names[place] for place in scope.present]
        own = self._checked_column(inside, rows)
        refusal = None if type(node) is exp.Mode else cells_are_values(self.schema.column(own))
        if refusal is not None:
            raise BadQuestion(refusal)
        every = tuple(range(len(keys) + 1))
        inner = Scope(
            {}, {}, rows=rows, present=every, key_nodes=(*keys, column), key_names=(*names, own)
        )
        return self._of_counts(node, condition, inner)

    def _of_counts(self, node: Any, condition: Any, inner: Scope) -> Expression:
        """What `node` asks of the values of the last key of `inner`, from the number of rows that hold each."""
        exp, every, own = self.exp, inner.present, inner.key_names[-1]
        count = self._measure(exp.Count(this=exp.Star(), big_int=True), condition, inner, every)
        width = len(every) - 1
        values = Select(
            source=self._measured_source(inner),
            outputs=(
                *(Output(f"key {place}", Key(place)) for place in every),
                Output("rows", count),
            ),
        )
        name, counted = Field(width), Field(width + 1)
        declared = Call("not", (Call("is null", (name,)),))
        is_known = Call("!=", (Call("text", (name,)), Literal(OTHER_LABEL)))
        asked = of_distinct_values(node, name, counted, self.schema.column(own))
        known = Call("and", (declared, is_known))
        if type(node) is exp.Count and counts_others_as_one(self.schema.column(own)):
            known = declared
            self.notes[OTHERS_ARE_ONE] = None
        by_group = Select(
            source=values,
            where=known,
            keys=tuple(Field(place) for place in range(width)),
            outputs=(
                *(Output(f"key {place}", Key(place)) for place in range(width)),
                Output("value", asked),
            ),
        )
        found = Lookup(by_group, tuple(Key(place) for place in range(width)))
        if type(node) is exp.Count:  # a group without values has none, which is a number of them
            return Call("or zero", (found,))
        return found

    def _persons(self, condition: Any, scope: Scope) -> Expression:
        """COUNT(DISTINCT identifier) of a release, which counts rows: the same where a person has one."""
        most = self.schema.unit.max_rows
        if most > 1:
            raise BadQuestion(
                f"A release counts rows, up to {most} of each person, so it cannot tell how many persons they "
                "are of. Ask for count(*), or ask a curator."
            )
        count = self.exp.Count(this=self.exp.Star(), big_int=True)
        return self._measure(count, condition, scope, scope.present)

    def _measured_source(self, scope: Scope) -> Measured | Declared:
        """Where the groups of a scope come from."""
        raise NotImplementedError

    def _measure(
        self, aggregate: Any, condition: Any, scope: Scope, axes: tuple[int, ...]
    ) -> Measure:
        """The place of an aggregate among the questions; it is put to one of them if it is new."""
        assert scope.rows is not None
        text = "" if condition is None else canonical(condition)
        place = scope.questions.get((text, axes))
        if place is None:
            own = () if condition is None else (condition,)
            self.pending.append(
                Pending(
                    tuple(scope.key_nodes[each] for each in axes),
                    tuple(scope.key_names[each] for each in axes),
                    (*scope.rows.conditions, *own),
                )
            )
            place = scope.questions[text, axes] = len(self.pending) - 1
        question = self.pending[place]
        asked = canonical(aggregate)
        if asked not in question.texts:
            question.texts.append(asked)
            question.aggregates.append(aggregate)
        return Measure(place, question.texts.index(asked))

    def _aggregate_of_results(self, node: Any, scope: Scope) -> Expression:
        """An aggregate over the rows of another result."""
        exp = self.exp
        inner = replace(scope, keys={}, is_grouped=False, items={})
        condition = None
        if type(node) is exp.Filter:
            condition, node = self._value(node.expression.this, inner), node.this
        level, name, argument = 0.5, _ACROSS.get(type(node).__name__), node.this
        if type(node) is exp.WithinGroup and type(node.this) in (
            exp.PercentileCont,
            exp.PercentileDisc,
        ):
            ordered = node.expression.expressions[0]
            name, argument = _QUANTILES[type(node.this) is exp.PercentileDisc], ordered.this
            level = self._level(node.this.this)
            level = 1 - level if ordered.args.get("desc") else level
        elif type(node) is exp.Quantile:
            level = self._level(node.args["quantile"])
        elif type(node) is exp.Anonymous and len(node.expressions) == 2:
            name = _QUANTILES[str(node.this).lower() == "quantile_disc"]
            argument, level = node.expressions[0], self._level(node.expressions[1])
        if name is None:
            raise BadQuestion(f"{spoken(node)} cannot be taken over the rows of a subquery.")
        distinct = type(argument) is exp.Distinct
        if distinct:
            if len(argument.expressions) != 1:
                raise BadQuestion("DISTINCT takes one expression.")
            argument = argument.expressions[0]
        if name == "count" and type(argument) in (exp.Star, exp.Literal):
            return Across("count", None, condition)
        value = self._value(argument, inner)
        if name in ("variance", "stddev"):
            found: Expression = Across("stddev", value, condition)
            return found if name == "stddev" else Call("power", (found, Literal(2)))
        return Across(name, value, condition, level, distinct)

    def _level(self, node: Any) -> float:
        node = bare(node)
        value = float(number(str(node.this))) if type(node) is self.exp.Literal else -1.0
        if not 0 <= value <= 1:
            raise BadQuestion(level_refusal(node))
        return value


def _is_one_row(table: Table) -> bool:
    """Whether a result has one row at most, whatever its numbers are."""
    if isinstance(table, Join):
        return _is_one_row(table.left) and _is_one_row(table.right)
    if isinstance(table, Union):
        return False
    if table.limit is not None and table.limit <= 1:
        return True
    if isinstance(table.source, Measured | Declared):
        return not table.source.keys
    if isinstance(table.source, OneRow):
        return True
    return table.keys == () or (table.keys is None and _is_one_row(table.source))


_QUANTILES = ("quantile", "quantile of rows")
"""Between two rows, as `percentile_cont` is, and the value of a row, as `percentile_disc` is."""
_ACROSS = {
    "Count": "count", "Sum": "sum", "Avg": "avg", "Min": "min", "Max": "max", "Median": "quantile",
    "Quantile": "quantile of rows", "Stddev": "stddev", "StddevSamp": "stddev", "Variance": "variance",
}  # fmt: skip
