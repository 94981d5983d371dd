"""ORDER BY, and window functions: work across the rows of a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.errors import BadQuestion
from discreet.postprocessing.plan import (
    RANGE,
    ROWS,
    WHOLE,
    Expression,
    Field,
    Key,
    Literal,
    Measure,
    Order,
    Over,
)
from discreet.postprocessing.reading.calls import CallReader
from discreet.postprocessing.reading.scope import Dialect, Pending, Scope
from discreet.postprocessing.reading.syntax import nodes_in, spoken
from discreet.questions.dialects.statement import bare, number
from discreet.schema import Schema
from discreet.schema.columns.column import folded

_OVER = {
    "Count": "count", "Sum": "sum", "Avg": "avg", "Min": "min", "Max": "max", "Rank": "rank",
    "DenseRank": "dense_rank", "RowNumber": "row_number", "Lag": "lag", "Lead": "lead", "Ntile": "ntile",
    "FirstValue": "first_value", "LastValue": "last_value",
}  # fmt: skip

_WITHOUT_VALUES = ("rank", "dense_rank", "row_number")
_FRAMED = ("sum", "avg", "count", "min", "max")


class WindowReader(CallReader):
    """Reads how rows are ordered, and what is computed across them."""

    def __init__(self, schema: Schema, dialect: Dialect, text: str) -> None:
        super().__init__(schema, dialect, text)
        self.pending: list[Pending] = []

    def _measure(
        self, aggregate: Any, condition: Any, scope: Scope, axes: tuple[int, ...]
    ) -> Measure:
        """The place of an aggregate among the questions; it is put to one of them if it is new."""
        raise NotImplementedError

    def _orders(self, select: Any) -> list[Order]:
        clause = select.args.get("order")
        if clause is None:
            return []
        return [
            Order(
                Literal(0),
                bool(each.args.get("desc")),
                bool(each.args.get("nulls_first")),
            )
            for each in clause.expressions
        ]

    def _order(
        self,
        select: Any,
        scope: Scope,
        width: int,
        *,
        items: list[tuple[str | None, Any]] | None = None,
    ) -> tuple[Order, ...]:
        exp, clause = self.exp, select.args.get("order")
        if clause is None:
            return ()
        found = []
        for how, each in zip(self._orders(select), clause.expressions, strict=True):
            node = bare(each.this)
            if type(node) is exp.Literal and not node.is_string:
                place = number(str(node.this))
                if not isinstance(place, int) or not 1 <= place <= width:
                    raise BadQuestion(f"ORDER BY {node.this}: SELECT lists {width} columns.")
                key = Field(place - 1) if items is None else self._value(items[place - 1][1], scope)
            elif (
                type(node) is exp.Column
                and folded(node.name) in scope.items
                and not node.args.get("table")
            ):
                key = self._value(scope.items[folded(node.name)], scope)
            else:
                key = self._value(node, scope)
            found.append(replace(how, key=key))
        return tuple(found)

    def _window(self, node: Any, scope: Scope) -> Expression:
        exp, inside = self.exp, node.this
        name = _OVER.get(type(inside).__name__)
        if name is None or (not scope.is_grouped and scope.rows is not None):
            raise BadQuestion(f"{spoken(inside)} OVER (...) is not answered.")
        if node.args.get("alias") or node.args.get("first") is not None:
            raise BadQuestion("Write what stands in WINDOW into the brackets of OVER (...).")
        frame, around = self._frame(node.args.get("spec"))
        partition = tuple(self._value(each, scope) for each in node.args.get("partition_by") or ())
        order = self._order(node, scope, 0, items=[]) if node.args.get("order") else ()
        arguments: list[Expression] = []
        for each in nodes_in([inside.args.get(k) for k in ("this", "offset", "default")]):
            if name == "count" and type(each) in (exp.Star, exp.Literal):
                continue
            arguments.append(self._value(each, scope))
        if name != "count" and name not in _WITHOUT_VALUES and not arguments:
            raise BadQuestion(f"{spoken(inside)} OVER (...) takes a value in its brackets.")
        framed = order or frame == ROWS
        coarser = None if framed else self._coarser(name, arguments, partition, scope)
        if coarser is not None:
            return coarser
        if around is not None and (name not in _FRAMED or not order):
            raise BadQuestion(
                "A moving frame takes sum, avg, count, min or max, and an ORDER BY in its window."
            )
        return Over(name, tuple(arguments), partition, order, frame, around)

    def _frame(self, spec: Any) -> tuple[str, tuple[int | None, int | None] | None]:
        """Up to which row a row sees, and the rows around the current one, if the frame moves."""
        if spec is None:
            return RANGE, None
        if spec.args.get("exclude"):
            raise BadQuestion("A window's frame is read without EXCLUDE.")
        before = self._frame_end(spec, "start", "PRECEDING")
        after = self._frame_end(spec, "end", "FOLLOWING")
        counts_rows = str(spec.args.get("kind") or "").upper() == "ROWS"
        if before is None and after is None:
            return WHOLE, None
        if before is None and after == 0:
            return (ROWS if counts_rows else RANGE), None
        if not counts_rows:
            raise BadQuestion(
                "A moving frame counts rows: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."
            )
        return ROWS, (before, after)

    def _frame_end(self, spec: Any, end: str, usual: str) -> int | None:
        """So many rows from the current one; `None`: all of them."""
        text = str(spec.args.get(end) or "CURRENT ROW").upper()
        if text == "CURRENT ROW":
            return 0
        side = str(spec.args.get(f"{end}_side") or usual).upper()
        rows = None if text == "UNBOUNDED" else number(text)
        if side != usual or not (text == "UNBOUNDED" or (isinstance(rows, int) and rows >= 0)):
            raise BadQuestion(
                "A window's frame begins at or before the current row and ends at or after it, so many rows away: "
                "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."
            )
        return rows if isinstance(rows, int) else None

    def _coarser(
        self,
        name: str,
        arguments: list[Expression],
        partition: tuple[Expression, ...],
        scope: Scope,
    ) -> Expression | None:
        """The sum of a count over groups is the count of wider groups, which a release answers better."""
        if not self.dialect.is_free or name != "sum" or scope.rows is None or scope.has_having:
            return None
        (argument,) = arguments or (None,)
        if not isinstance(argument, Measure) or not all(
            isinstance(each, Key) for each in partition
        ):
            return None
        found = next(
            ((text, axes) for (text, axes), q in scope.questions.items() if q == argument.question),
            None,
        )
        aggregate = self.pending[argument.question].aggregates[argument.place]
        if found is None or type(aggregate) not in (self.exp.Count, self.exp.Sum):
            return None
        axes = tuple(
            sorted({scope.present[each.place] for each in partition if isinstance(each, Key)})
        )
        if axes == scope.present:
            return argument
        conditions = self.pending[argument.question].conditions
        extra = conditions[len(scope.rows.conditions) :]
        return self._measure(aggregate, extra[0] if extra else None, scope, axes)
