"""How an aggregate over rows is put as plain ones, which a release or a curator measures.

`SUM(CASE WHEN c THEN 1 ELSE 0 END)` is a count of the rows with c, `AVG(100 * x + 3)` is 100 times the mean
of x plus 3. Nothing is estimated here: each rewriting is an identity of SQL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from discreet.errors import BadInput, BadQuestion
from discreet.postprocessing.plan import Call, Expression, Literal
from discreet.postprocessing.reading.spreads import Moments, bounds_of_wide
from discreet.postprocessing.reading.syntax import QUANTILES, is_identifier
from discreet.questions.dialects.sql import MOMENT, TOTAL, VALUED
from discreet.questions.dialects.statement import SUMMED_KINDS, bare, number
from discreet.questions.expression_bounds import expression_bounds, over_clamped_columns
from discreet.questions.question import middle_of
from discreet.questions.reading.expressions import ExpressionReader
from discreet.questions.text_functions import with_declared_numbers
from discreet.schema import Schema
from discreet.schema.columns.column import keeps_every_row

Measured = Callable[[Any, Any], Expression]
"""A plain aggregate over the rows that meet a condition (`None`: all of them)."""


class AggregateRewriter:
    """Rewrites the aggregates of one SELECT."""

    def __init__(self, measured: Measured, schema: Schema, *, splits_sums: bool) -> None:
        """`splits_sums`: whether sums are of plain columns only, and have to be split into such."""
        from sqlglot import exp

        self._measured, self._schema, self._splits, self.exp = measured, schema, splits_sums, exp
        self._spreads: dict[type[Any], Callable[[Any, Any], Expression]] = {
            exp.VariancePop: lambda node, met: self._variance(node, met, sample=False),
            exp.Variance: lambda node, met: self._variance(node, met, sample=True),
            exp.StddevPop: lambda node, met: _root(self._variance(node, met, sample=False)),
            exp.StddevSamp: lambda node, met: _root(self._variance(node, met, sample=True)),
            exp.Stddev: lambda node, met: _root(self._variance(node, met, sample=True)),
            exp.CovarPop: lambda node, met: self._covariance(node, met, sample=False),
            exp.CovarSamp: lambda node, met: self._covariance(node, met, sample=True),
            exp.Corr: self._correlation,
            exp.RegrSlope: self._slope,
            exp.RegrIntercept: self._intercept,
        }

    def rewritten(self, node: Any, condition: Any = None) -> Expression:
        """An expression over measured aggregates that equals `node` over the rows with `condition`."""
        exp = self.exp
        if type(node) is exp.Filter:
            return self.rewritten(node.this, self.both(condition, node.expression.this))
        node = self._usual(node)
        if type(node) is exp.CountIf:
            return self.rows(self.both(condition, node.this))
        if type(node) is exp.Count:
            return self._count(node, condition)
        if self._splits and type(node) in self._spreads:
            return self._spreads[type(node)](node, condition)
        if type(node) in (exp.Sum, exp.Avg) and type(bare(node.this)) is not exp.Distinct:
            return self._sum(node, bare(node.this), condition)
        return self._measured(node, condition)

    def _usual(self, node: Any) -> Any:
        """The other spellings of a quantile and of a mode, in the usual one."""
        exp = self.exp
        if type(node) is exp.WithinGroup and node.expression.expressions:
            (ordered, *more), inside = node.expression.expressions, node.this
            if type(inside) in (exp.PercentileCont, exp.PercentileDisc) and not more:
                level = inside.this
                if ordered.args.get("desc"):
                    level = exp.Literal.number(str(1 - number(str(inside.this.this))))
                return exp.Quantile(this=ordered.this.copy(), quantile=level.copy())
            if type(inside) is exp.Mode and not more:
                return exp.Mode(this=ordered.this.copy())
        if type(node) is exp.ApproxQuantile:
            return exp.Quantile(this=node.this, quantile=node.args["quantile"])
        if type(node) in (exp.PercentileCont, exp.PercentileDisc) and node.args.get("expression"):
            return exp.Quantile(this=node.this, quantile=node.expression)
        named = type(node) is exp.Anonymous and str(node.this).lower()
        if named in QUANTILES and len(node.expressions) == 2:
            return exp.Quantile(this=node.expressions[0], quantile=node.expressions[1])
        return node

    def rows(self, condition: Any) -> Expression:
        """How many rows meet a condition."""
        return self._measured(self.exp.Count(this=self.exp.Star(), big_int=True), condition)

    def both(self, left: Any, right: Any) -> Any:
        """The conditions together."""
        if left is None:
            return right
        exp = self.exp
        return exp.And(this=exp.Paren(this=left.copy()), expression=exp.Paren(this=right.copy()))

    def _count(self, node: Any, condition: Any) -> Expression:
        exp, inside = self.exp, bare(node.this)
        if type(inside) is exp.Star:
            return self.rows(condition)
        if type(inside) in (exp.Literal, exp.Boolean) and not node.expressions:
            return self.rows(condition)
        if is_identifier(
            inside, self._schema
        ):  # a row without one belongs to nobody, and is not counted
            return self.rows(condition)
        branches = self._branches(inside)
        if branches is not None:
            return self._values(branches, condition)
        plain = (exp.Column, exp.Distinct)
        if self._splits and type(inside) not in plain and not node.expressions:
            if type(inside) in (exp.Cast, exp.TryCast) and any(
                map(self._is_text, inside.find_all(exp.Column))
            ):  # counted as it is averaged: undeclared values have no number
                return self._measured(
                    exp.Anonymous(this=VALUED, expressions=[inside.copy()]), condition
                )
            present = exp.Not(this=exp.Is(this=exp.Paren(this=inside), expression=exp.Null()))
            return self.rows(self.both(condition, present))
        return self._measured(node, condition)

    def _values(self, branches: list[tuple[Any, Any]], condition: Any) -> Expression:
        """In how many rows a CASE has a value: in a branch that gives a column, this may be null."""
        exp = self.exp
        counted = [
            self._count(exp.Count(this=value.copy()), self.both(condition, met))
            for met, value in branches
            if type(value) is not exp.Null
        ]
        return _total(counted)

    def _sum(self, node: Any, inside: Any, condition: Any) -> Expression:
        exp, is_mean = self.exp, type(node) is self.exp.Avg
        if type(inside) is exp.Cast and self._is_condition(bare(inside.this)):
            inside = bare(inside.this)
        if self._is_condition(inside):  # a truth value counts as 1 or 0
            met = self.rows(self.both(condition, inside))
            if not is_mean:
                return met
            known = exp.Not(this=exp.Is(this=exp.Paren(this=inside.copy()), expression=exp.Null()))
            columns = list(inside.find_all(exp.Column))
            never = all(self._never_null(each) for each in columns)
            counted = self.rows(condition if never else self.both(condition, known))
            if self._leaves_rows_out(columns):
                counted = _total(
                    [
                        met,
                        self.rows(
                            self.both(condition, exp.Not(this=exp.Paren(this=inside.copy())))
                        ),
                    ]
                )
            return _mean_of(Call("/", (met, counted)), [0, 1])
        branches = self._branches(inside)
        if branches is not None and (self._splits or self._are_counts(branches)):
            return self._piecewise(branches, condition, is_mean=is_mean)
        value = self._constant(inside)
        if value is not None:
            rows = self.rows(condition)
            total = Call("*", (Literal(value), rows))
            return _mean_of(Call("/", (total, rows)), [value]) if is_mean else total
        if self._splits and type(inside) is not exp.Column:
            return self._linear(inside, condition, is_mean=is_mean)
        return self._measured(node, condition)

    def _piecewise(
        self, branches: list[tuple[Any, Any]], condition: Any, *, is_mean: bool
    ) -> Expression:
        """The branches of a CASE do not overlap, so its sum is the sum over each."""
        exp = self.exp
        valued = [(met, value) for met, value in branches if type(value) is not exp.Null]
        if is_mean and len(valued) == 1 and len(branches) == 2:
            ((met, value),) = valued
            return self.rewritten(exp.Avg(this=value.copy()), self.both(condition, met))
        total = _total(
            [
                self.rewritten(exp.Sum(this=value.copy()), self.both(condition, met))
                for met, value in valued
                if self._constant(value) != 0
            ]
        )
        if not is_mean:
            return total
        constants = [self._constant(value) for _, value in valued]
        columns = [each for met, _ in branches for each in met.find_all(exp.Column)]
        always = len(valued) == len(branches) and None not in constants
        if always and not self._leaves_rows_out(columns):
            return _mean_of(Call("/", (total, self.rows(condition))), constants)
        return _mean_of(Call("/", (total, self._values(branches, condition))), constants)

    def _are_counts(self, branches: list[tuple[Any, Any]]) -> bool:
        """Whether a CASE is of one number, and 0 or null else: a count of rows."""
        values = {
            self._constant(value) for _, value in branches if type(value) is not self.exp.Null
        }
        return None not in values and len(values - {0}) <= 1

    def _branches(self, node: Any) -> list[tuple[Any, Any]] | None:
        """The conditions of a CASE, each without those before it, and the values."""
        exp = self.exp
        if type(node) is exp.If:
            pairs, otherwise = [(node.this, node.args["true"])], node.args.get("false")
        elif type(node) is exp.Case:
            subject = node.args.get("this")
            pairs = [
                (
                    each.this
                    if subject is None
                    else exp.EQ(this=subject.copy(), expression=each.this),
                    each.args["true"],
                )
                for each in node.args["ifs"]
            ]
            otherwise = node.args.get("default")
        else:
            return None
        found, before = [], None
        for met, value in pairs:
            own = met if before is None else self.both(self._fails(before), met)
            found.append((own, bare(value)))
            before = (
                met
                if before is None
                else exp.Or(
                    this=exp.Paren(this=before.copy()), expression=exp.Paren(this=met.copy())
                )
            )
        rest = exp.Null() if otherwise is None else bare(otherwise)
        found.append((self._fails(before), rest))
        return found

    def _fails(self, condition: Any) -> Any:
        """Where a condition is not true: false, or unknown because of a null."""
        exp = self.exp
        is_true = exp.Is(this=exp.Paren(this=condition.copy()), expression=exp.Boolean(this=True))
        return exp.Not(this=is_true)

    def _leaves_rows_out(self, columns: Sequence[Any]) -> bool:
        """Whether rows may have no cell in a column, so that counts with and without it are about different rows."""
        try:
            return not all(keeps_every_row(self._schema.column(each.name)) for each in columns)
        except BadInput:
            return False

    def _never_null(self, column: Any) -> bool:
        try:
            return self._schema.column(column.name).null_cell is None
        except Exception:
            return False

    def _is_text(self, column: Any) -> bool:
        try:
            return self._schema.column(column.name).kind == "category"
        except BadInput:
            return False

    def _is_condition(self, node: Any) -> bool:
        exp = self.exp
        kinds = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not,
                 exp.Between, exp.In, exp.Is, exp.Like, exp.ILike)  # fmt: skip
        return isinstance(node, kinds)

    def _constant(self, node: Any) -> int | float | None:
        exp, node = self.exp, bare(node)
        if type(node) is exp.Neg:
            inside = self._constant(node.this)
            return None if inside is None else -inside
        if type(node) is exp.Literal and not node.is_string:
            found = number(str(node.this))
            return found if isinstance(found, int) else float(found)
        return None

    def _linear(self, node: Any, condition: Any, *, is_mean: bool) -> Expression:
        """Sums of a weighted sum of columns: the weighted sum of their sums."""
        exp = self.exp
        weights: dict[str, float] = {}
        constant = self._collect(node, 1.0, weights)
        if constant is None:
            return self._total(node, condition, is_mean=is_mean)
        columns = {name: exp.Column(this=exp.to_identifier(name, quoted=True)) for name in weights}
        if is_mean and len(columns) == 1:
            ((name, column),) = columns.items()
            found: Expression = Call(
                "*", (Literal(weights[name]), self._measured(exp.Avg(this=column), condition))
            )
            return Call("+", (found, Literal(constant))) if constant else found
        parts: list[Expression] = []
        present = condition
        for column in columns.values():
            if not self._never_null(column):
                known = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
                present = self.both(present, known)
        for name, column in columns.items():
            total = self._measured(exp.Sum(this=column.copy()), present)
            parts.append(Call("*", (Literal(weights[name]), total)))
        if constant or is_mean:
            rows = self.rows(present)
            if constant:
                parts.append(Call("*", (Literal(constant), rows)))
            if is_mean:
                return Call("/", (_total(parts), rows))
        return _total(parts)

    def _total(self, node: Any, condition: Any, *, is_mean: bool) -> Expression:
        """The sum or the mean of any other expression, which the cells of a table give ends for.

        A mean is taken from the middle of the expression's bounds, where the schema gives some.
        """
        exp = self.exp

        def measured(name: str, inside: Any) -> Expression:
            asked = exp.Anonymous(this=name, expressions=[inside.copy()])
            return self._measured(asked, condition)

        if not is_mean:
            return measured(TOTAL, node)
        rows = measured(VALUED, node)
        ends = self._bounds(node)
        if ends is None:
            return Call("/", (measured(TOTAL, node), rows))
        middle = float(sum(ends)) / 2
        moved = exp.Sub(
            this=exp.Paren(this=node.copy()), expression=exp.Literal.number(repr(middle))
        )
        mean = Call("+", (Call("/", (measured(TOTAL, moved), rows)), Literal(middle)))
        return Call("within", (mean, *(Literal(float(end)) for end in ends)))

    def _bounds(self, node: Any) -> tuple[Fraction, Fraction] | None:
        """Between which numbers an expression lies by the schema, where that gives any."""
        try:
            read = ExpressionReader(self._schema, (), clause="An aggregate").read(node, 0)
            made = with_declared_numbers(read, self._schema)
            return expression_bounds(over_clamped_columns(made), self._schema)
        except BadInput:
            return None

    # Spreads: sums of values less the middle of their bounds, so that little is subtracted from much

    def _moments(self, columns: list[Any], condition: Any) -> Moments:
        """The sums behind the spreads of one or two columns, over the rows that have a value in each."""
        exp = self.exp
        for column in columns:
            if type(column) is not exp.Column:
                raise BadQuestion("Standard deviations and correlations take plain columns.")
            kind = self._schema.column(column.name).kind
            if kind not in SUMMED_KINDS:
                raise BadQuestion(
                    f"Column {column.name!r} is of kind {kind}; standard deviations and correlations take columns of kind "
                    f"{', '.join(SUMMED_KINDS)}."
                )
            if not self._never_null(column):
                known = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
                condition = self.both(condition, known)

        def moment(*places: int, centres: Sequence[float | None] = ()) -> Expression:
            middles = [middle_of(self._schema.column(columns[place].name)) for place in places]
            given = [
                own if each is None else each for each, own in zip(centres, middles, strict=False)
            ]
            # Around the middle it is what other spreads of the column are made of, too.
            given = [] if given == middles else given
            taken = [exp.Literal(this=repr(each), is_string=False) for each in given]
            node = exp.Anonymous(
                this=MOMENT, expressions=[*(columns[place].copy() for place in places), *taken]
            )
            return self._measured(node, condition)

        own = [self._schema.column(column.name) for column in columns]
        bounds = [bounds_of_wide(column) for column in own]
        return Moments(moment, self.rows(condition), bounds, len(own) > 1 and own[0] == own[1])

    def _variance(self, node: Any, condition: Any, *, sample: bool) -> Expression:
        found = self._moments([bare(node.this)], condition)
        spread = Call("within", (found.joint(0, 0), Literal(0), Literal(math.inf)))
        return found.of_sample(spread) if sample else spread

    def _covariance(self, node: Any, condition: Any, *, sample: bool) -> Expression:
        found = self._moments([bare(node.this), bare(node.expression)], condition)
        joint = found.joint(0, 1)
        return found.of_sample(joint) if sample else joint

    def _correlation(self, node: Any, condition: Any) -> Expression:
        found = self._moments([bare(node.this), bare(node.expression)], condition)
        spreads = Call("*", (found.joint(0, 0), found.joint(1, 1)))
        ratio = Call("/", (found.joint(0, 1), _root(spreads)))
        return Call("within", (ratio, Literal(-1), Literal(1)))

    def _slope(self, node: Any, condition: Any) -> Expression:
        """regr_slope(y, x)."""
        found = self._moments([bare(node.this), bare(node.expression)], condition)
        return Call("/", (found.joint(0, 1), found.joint(1, 1)))

    def _intercept(self, node: Any, condition: Any) -> Expression:
        found = self._moments([bare(node.this), bare(node.expression)], condition)
        slope = Call("/", (found.joint(0, 1), found.joint(1, 1)))
        means = [
            Call("+", (found.mean(place), Literal(middle_of(self._schema.column(column.name)))))
            for place, column in enumerate((bare(node.this), bare(node.expression)))
        ]
        return Call("-", (means[0], Call("*", (slope, means[1]))))

    def _collect(self, node: Any, factor: float, weights: dict[str, float]) -> float | None:
        """Add the columns of a weighted sum to `weights`; what is constant is returned, or `None` of no such sum."""
        exp, node = self.exp, bare(node)
        value = self._constant(node)
        if value is not None:
            return factor * value
        if type(node) is exp.Cast and node.args["to"].this in exp.DataType.REAL_TYPES:
            return self._collect(node.this, factor, weights)
        if type(node) is exp.Column:
            if self._is_text(node):  # whose declared values are cast
                return None
            weights[node.name] = weights.get(node.name, 0.0) + factor
            return 0.0
        if type(node) is exp.Neg:
            return self._collect(node.this, -factor, weights)
        if type(node) in (exp.Add, exp.Sub):
            sign = factor if type(node) is exp.Add else -factor
            left = self._collect(node.this, factor, weights)
            right = self._collect(node.expression, sign, weights)
            return None if left is None or right is None else left + right
        if type(node) in (exp.Mul, exp.Div):
            divisor = self._constant(node.expression)
            if divisor is not None and (type(node) is exp.Mul or divisor != 0):
                scale = divisor if type(node) is exp.Mul else 1 / divisor
                return self._collect(node.this, factor * scale, weights)
            left_value = self._constant(node.this)
            if type(node) is exp.Mul and left_value is not None:
                return self._collect(node.expression, factor * left_value, weights)
        return None


def _root(value: Expression) -> Expression:
    return Call("sqrt", (value,))


def _mean_of(ratio: Expression, values: Sequence[Any]) -> Expression:
    """A mean lies between the least and the largest of what it is a mean of, where all of these are known."""
    if None in values:
        return ratio
    return Call("within", (ratio, Literal(min(values)), Literal(max(values))))


def _total(parts: list[Expression]) -> Expression:
    if not parts:
        return Literal(0)
    found = parts[0]
    for each in parts[1:]:
        found = Call("+", (found, each))
    return found
