"""SELECT over another result: filters, groups and aggregates of numbers that are published already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.errors import BadQuestion, did_you_mean
from discreet.postprocessing.plan import (
    Expression,
    Field,
    Join,
    OneRow,
    Output,
    Select,
    Table,
    Union,
)
from discreet.postprocessing.reading.expressions import ExpressionReader
from discreet.postprocessing.reading.scope import ROWS_ARE_NOT_SHOWN, Columns, Rows, Scope
from discreet.postprocessing.reading.syntax import canonical, is_star, written
from discreet.questions.dialects.statement import bare, number
from discreet.questions.spelling import no_such_table
from discreet.schema.columns.column import folded


class ResultSelectReader(ExpressionReader):
    """Reads a SELECT whose FROM is a result."""

    def _over_table(
        self,
        select: Any,
        source: Table | OneRow,
        fields: Columns,
        *,
        grouped: bool,
    ) -> Table:
        exp = self.exp
        items: list[tuple[str | None, Any]] = []
        for each in select.expressions:
            if is_star(each):
                items += self._starred(each, fields)
            else:
                items.append((each.alias, each.this) if type(each) is exp.Alias else (None, each))
        inner = Scope(
            items={folded(name): node for name, node in items if name is not None},
            keys={},
            fields=fields,
            is_grouped=False,
        )
        where = select.args.get("where")
        condition = None if where is None else self._value(where.this, replace(inner, items={}))
        keys: tuple[Expression, ...] | None = None
        scope = inner
        if grouped:
            nodes = self._table_keys(select, items, inner)
            keys = tuple(self._value(node, inner) for node in nodes)
            scope = replace(
                inner,
                keys={canonical(node): place for place, node in enumerate(nodes)},
                is_grouped=True,
            )
        having, qualify = select.args.get("having"), select.args.get("qualify")
        outputs = []
        for name, node in items:
            value = self._value(node, scope)
            outputs.append(Output(name or self._shown(node), value))
        return Select(
            source=source,
            outputs=tuple(outputs),
            where=condition,
            keys=keys,
            having=None if having is None else self._value(having.this, scope),
            qualify=None if qualify is None else self._value(qualify.this, scope),
            is_distinct=bool(select.args.get("distinct")),
            order=self._order(select, scope, len(items), items=items),
            **self._limits(select),
        )

    def _starred(self, node: Any, fields: Columns) -> list[tuple[str | None, Any]]:
        """The columns that a star stands for: all, or those of one table."""
        exp, table = self.exp, node.args.get("table")
        found: list[tuple[str | None, Any]] = []
        for place, name in enumerate(fields.names):
            own = fields.tables[place]
            if place in fields.merged if table is None else folded(table.name) not in own:
                continue
            behind = exp.to_identifier(own[-1], quoted=True) if own else None
            column = exp.Column(this=exp.to_identifier(name, quoted=True), table=behind)
            found.append((name, column))
        if table is not None and not found:
            raise BadQuestion(no_such_table(table.name))
        return self._changed(node.this if type(node) is exp.Column else node, found)

    def _changed(self, star: Any, columns: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """The columns of a star without those of EXCLUDE, and with the expressions of REPLACE and the names of RENAME."""
        replaced = [(each.alias, each.this) for each in star.args.get("replace") or ()]
        renamed = [(each.this, each.alias) for each in star.args.get("rename") or ()]
        for each in star.args.get("except_") or ():
            places = self._places_of(each, columns, "EXCLUDE")
            columns = [one for place, one in enumerate(columns) if place not in places]
        before = columns
        for name, expression in replaced:
            places = self._places_of(self.exp.column(name), before, "REPLACE")
            columns = [
                (one[0], expression) if place in places else one
                for place, one in enumerate(columns)
            ]
        for column, name in renamed:
            places = self._places_of(column, before, "RENAME")
            columns = [
                (name, one[1]) if place in places else one for place, one in enumerate(columns)
            ]
        if not columns:
            raise BadQuestion("* EXCLUDE leaves no column to show.")
        return columns

    def _places_of(self, column: Any, columns: list[tuple[Any, Any]], clause: str) -> list[int]:
        """Where a column that stands behind a star is among those of the star."""
        if column.args.get("table"):
            raise BadQuestion(f"* {clause} takes plain names of columns, without a table's name.")
        names = [name for name, _ in columns]
        places = [place for place, name in enumerate(names) if folded(name) == folded(column.name)]
        if not places:
            raise BadQuestion(
                f"* {clause} names {column.name!r}, which is no column of the star.{did_you_mean(column.name, names)}"
            )
        return places

    def _table_keys(
        self, select: Any, items: list[tuple[str | None, Any]], scope: Scope
    ) -> list[Any]:
        exp, group, found = self.exp, select.args.get("group"), []
        if group is None:
            return []
        has_sets = any(group.args.get(each) for each in ("rollup", "cube", "grouping_sets"))
        for each in group.expressions:
            node = bare(each)
            if type(node) in (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple) or has_sets:
                raise BadQuestion(
                    "ROLLUP, CUBE and GROUPING SETS are allowed only in the SELECT from the dataset itself."
                )
            if type(node) is exp.Literal and not node.is_string:
                place = number(str(node.this))
                if not isinstance(place, int) or not 1 <= place <= len(items):
                    raise BadQuestion(f"GROUP BY {node.this}: SELECT lists {len(items)} columns.")
                node = items[place - 1][1]
            elif type(node) is exp.Column and not scope.fields.places(folded(node.name)):
                node = scope.items.get(folded(node.name), node)
            found.append(bare(node))
        if group.args.get("all"):
            found = [node for _, node in items if not self._has_aggregate(node)]
        if any(map(self._has_aggregate, found)):
            raise BadQuestion("GROUP BY takes no aggregate.")
        return found

    def _limited(self, node: Any, table: Table | Rows) -> Table | Rows:
        """ORDER BY and LIMIT behind a whole table."""
        clauses = [node.args.get(each) for each in ("order", "limit", "offset")]
        if not any(clauses):
            return table
        if isinstance(table, Rows):
            raise BadQuestion(ROWS_ARE_NOT_SHOWN)
        names = names_of(table)
        scope = Scope({}, {}, fields=Columns.of(names), is_grouped=False)
        return Select(
            source=table,
            outputs=tuple(Output(name, Field(place)) for place, name in enumerate(names)),
            order=self._order(node, scope, len(names)),
            **self._limits(node),
        )

    def _limits(self, node: Any) -> dict[str, Any]:
        exp, limit, offset = self.exp, node.args.get("limit"), node.args.get("offset")
        found: dict[str, Any] = {}
        if limit is not None:
            options = limit.args.get("limit_options")
            if options is not None and (
                options.args.get("percent") or options.args.get("with_ties")
            ):
                raise BadQuestion("LIMIT takes a number of rows: no percentage, and no ties.")
            count = limit.args.get("count") if type(limit) is exp.Fetch else limit.expression
            found["limit"] = self._whole(count, "LIMIT")
        if offset is not None:
            found["offset"] = self._whole(offset.expression, "OFFSET")
        return found

    def _whole(self, node: Any, what: str) -> int:
        value: Any = None
        if type(bare(node)) is self.exp.Literal and not bare(node).is_string:
            value = number(str(bare(node).this))
        if not isinstance(value, int) or value < 0:
            raise BadQuestion(f"{what} takes a whole number.")
        return value

    def _shown(self, node: Any) -> str:
        if type(bare(node)) is self.exp.Column:
            return str(bare(node).name)
        return written(node)


def with_names(table: Table, names: Sequence[str]) -> Table:
    """A result whose columns have other names."""
    if isinstance(table, Union):
        return replace(table, tables=tuple(with_names(each, names) for each in table.tables))
    assert isinstance(table, Select)  # a JOIN stands only in FROM
    given = iter(names)
    outputs = (
        each if each.is_hidden else replace(each, name=next(given)) for each in table.outputs
    )
    return replace(table, outputs=tuple(outputs))


def names_of(table: Table) -> tuple[str, ...]:
    """The columns that a result shows."""
    while isinstance(table, Union):
        table = table.tables[0]
    if isinstance(table, Join):
        return names_of(table.left) + names_of(table.right)
    return tuple(each.name for each in table.outputs if not each.is_hidden)
