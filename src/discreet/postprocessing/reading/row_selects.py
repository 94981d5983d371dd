"""SELECT over the rows of the table: GROUP BY with its grouping sets, and what is asked of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

from discreet.errors import BadInput, BadQuestion
from discreet.postprocessing.plan import (
    Declared,
    Field,
    Measure,
    Measured,
    Output,
    Select,
    Table,
    Union,
)
from discreet.postprocessing.reading.result_selects import ResultSelectReader, names_of
from discreet.postprocessing.reading.scope import ROWS_ARE_NOT_SHOWN, Rows, Scope
from discreet.postprocessing.reading.syntax import canonical, is_known_column, is_star
from discreet.questions.conditions import both
from discreet.questions.dialects.statement import bare, number
from discreet.questions.expressions import Expression as RowExpression
from discreet.questions.reading.expressions import ExpressionReader as RowExpressionReader
from discreet.questions.spelling import no_such_table
from discreet.schema.columns.column import folded

Items = list[tuple[str | None, Any]]
"""What SELECT lists: the name that was given, and the expression."""
MOST_SETS = 1000
"""Grouping sets that are made, some of them twice; each is a question of its own."""


def _is_changed(node: Any) -> bool:
    """Whether EXCLUDE, REPLACE or RENAME stands behind a star."""
    star = node if type(node).__name__ == "Star" else node.this
    return any(star.args.values())


class RowSelectReader(ResultSelectReader):
    """Reads a SELECT whose FROM is the dataset."""

    def _filtered_rows(self, select: Any, rows: Rows) -> Rows:
        """A subquery that only filters and renames."""
        exp = self.exp
        for clause, name in (("limit", "LIMIT"), ("offset", "OFFSET"), ("qualify", "QUALIFY")):
            if select.args.get(clause):
                raise BadQuestion(f"{name} would pick single rows. {ROWS_ARE_NOT_SHOWN}")
        conditions = rows.conditions
        where = select.args.get("where")
        if where is not None:
            conditions = (*conditions, rows.resolved(where.this))
        columns: list[tuple[str, Any]] = []
        for each in select.expressions:
            node = each.this if type(each) is exp.Alias else each
            if is_star(node):
                columns += self._starred_rows(node, rows)
                continue
            if list(node.find_all(exp.Window)):
                raise BadQuestion(
                    f"A window function would number single rows. {ROWS_ARE_NOT_SHOWN}"
                )
            columns.append((each.alias_or_name or node.sql(), rows.resolved(node)))
        (first, *more) = select.expressions
        if not more and rows.columns is None and is_star(first) and not _is_changed(first):
            return Rows(rows.tables, conditions, None)
        return Rows(rows.tables, conditions, tuple(columns))

    def _columns_of(self, rows: Rows) -> tuple[tuple[str, Any], ...]:
        """The names and expressions of rows' columns."""
        exp = self.exp
        if rows.columns is not None:
            return rows.columns
        return tuple(
            (name, exp.Column(this=exp.to_identifier(name, quoted=True)))
            for name in self.schema.names
        )

    def _starred_rows(self, node: Any, rows: Rows) -> list[tuple[str, Any]]:
        """The columns that a star over rows stands for."""
        exp, star = self.exp, node
        if type(node) is exp.Column:
            star = node.this
            if folded(node.table) not in rows.tables:
                raise BadQuestion(no_such_table(node.table))
        own = [(name, exp.column(name, quoted=True)) for name, _ in self._columns_of(rows)]
        return [(name, rows.resolved(inside)) for name, inside in self._changed(star, own)]

    def _over_rows(self, select: Any, rows: Rows, *, is_top: bool) -> Table:
        exp = self.exp
        items = self._items(select)
        conditions = rows.conditions
        where = select.args.get("where")
        if where is not None:
            if self._has_aggregate(where.this):
                raise BadQuestion("WHERE takes no aggregate; use HAVING.")
            if list(where.find_all(exp.Select)):
                raise BadQuestion(
                    "WHERE over rows takes no subquery, also with EXISTS or IN: ask for its result first, and write "
                    "that into the condition. WHERE over a result may have one."
                )
            conditions = (*conditions, rows.resolved(where.this))
        rows = replace(rows, conditions=conditions)
        sets, nodes = self._grouping(select, items, rows)
        aggregates = any(self._has_aggregate(node) for _, node in items)
        if select.args.get("group") is None and select.args.get("distinct") and not aggregates:
            nodes = [bare(rows.resolved(node)) for _, node in items]
            sets = [tuple(range(len(nodes)))]
        key_names = tuple(self._key_name(node, items, rows) for node in nodes)
        if len(sets) > 1:
            self._check_no_window(select, items)
        # A grouping that is listed twice is shown twice, and measured once.
        by_set = {
            present: self._one_grouping(
                select, items, rows, tuple(nodes), key_names, present, is_top, len(sets) > 1
            )
            for present in dict.fromkeys(sets)
        }
        made = [by_set[present] for present in sets]
        if len(made) == 1:
            return made[0]
        united = Union(tables=tuple(made))
        names = names_of(united)
        hidden = len(made[0].outputs) - len(names)
        order = tuple(
            replace(each, key=Field(len(names) + place))
            for place, each in enumerate(self._orders(select))
        )
        assert hidden == len(order)
        return Select(
            source=united,
            outputs=tuple(Output(name, Field(place)) for place, name in enumerate(names)),
            is_distinct=bool(select.args.get("distinct")),
            order=order,
            **self._limits(select),
        )

    def _check_no_window(self, select: Any, items: Items) -> None:
        """Windows go across all groupings together, and each grouping is worked out by itself."""
        exp = self.exp
        places = [node for _, node in items]
        places += [each for each in map(select.args.get, ("qualify", "order", "having")) if each]
        if select.args.get("qualify") or any(
            each.find_ancestor(exp.Select) is select
            for node in places
            for each in node.find_all(exp.Window)
        ):
            raise BadQuestion(
                "OVER and QUALIFY beside ROLLUP, CUBE or GROUPING SETS are not answered. Put GROUP BY into a subquery, and "
                "the window around it: SELECT *, rank() OVER (ORDER BY n) FROM (SELECT ..., count(*) AS n ... GROUP BY ROLLUP (...)) AS g."
            )

    def _items(self, select: Any) -> Items:
        """What SELECT lists: the name that was given, and the expression."""
        exp, found = self.exp, []
        for each in select.expressions:
            if type(each) is exp.Alias:
                found.append((each.alias, each.this))
            elif is_star(each):
                raise BadQuestion(f"SELECT * lists rows. {ROWS_ARE_NOT_SHOWN}")
            else:
                found.append((None, each))
        return found

    def _grouping(
        self, select: Any, items: Items, rows: Rows
    ) -> tuple[list[tuple[int, ...]], list[Any]]:
        """The grouping sets, and the keys that they are made of."""
        group = select.args.get("group")
        if group is None:
            return [()], []
        exp = self.exp
        nodes: list[Any] = []
        texts: dict[str, int] = {}
        written = {folded(each.name) for each in group.find_all(exp.Column)}

        def place(node: Any) -> int:
            resolved = self._key(node, items, rows, written)
            text = canonical(resolved)
            if text not in texts:
                texts[text] = len(nodes)
                nodes.append(resolved)
            return texts[text]

        if group.args.get("all"):
            for _, node in items:
                if not self._has_aggregate(node) and list(node.find_all(exp.Column)):
                    place(node)
            return [tuple(range(len(nodes)))], nodes
        self._spell_out_sets(group)
        parts: list[list[tuple[int, ...]]] = []
        several = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
        for each in group.expressions:
            if isinstance(each, several) or self._key(each, items, rows, written).find(exp.Column):
                parts.append(self._sets_of(each, place))  # else it is the same for all rows
        sets: list[tuple[int, ...]] = [()]
        for part in parts:
            self._check_sets(
                len(sets) * len(part)
            )  # before they are made: the product of a few is millions
            sets = [tuple(dict.fromkeys((*left, *right))) for left in sets for right in part]
        return sets, nodes

    def _spell_out_sets(self, group: Any) -> None:
        """GROUP BY a, b WITH ROLLUP is GROUP BY ROLLUP (a, b)."""
        exp = self.exp
        if group.args.get("grouping_sets"):
            raise BadQuestion(
                "GROUPING SETS stands behind GROUP BY without columns before it: GROUP BY GROUPING SETS ((a), (a, b))."
            )
        behind = [each for name in ("rollup", "cube") for each in group.args.get(name) or ()]
        if not behind:
            return
        sets = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
        if len(behind) > 1 or any(isinstance(each, sets) for each in group.expressions):
            raise BadQuestion(
                "WITH ROLLUP and WITH CUBE stand behind plain keys: GROUP BY a, b WITH ROLLUP. Else write ROLLUP (a, b)."
            )
        (kind,) = map(type, behind)
        group.set("expressions", [kind(expressions=group.expressions)])
        for name in ("rollup", "cube"):
            group.set(name, None)

    def _check_sets(self, many: int) -> None:
        if many > MOST_SETS:
            raise BadQuestion(
                f"GROUP BY makes {'more than a million' if many > 10**6 else f'{many:,}'} grouping sets; at most {MOST_SETS:,} are read. Use fewer of CUBE "
                "and ROLLUP, or fewer columns in them."
            )

    def _sets_of(self, node: Any, place: Callable[[Any], int]) -> list[tuple[int, ...]]:
        exp = self.exp
        if type(node) is exp.Rollup:
            units = [self._unit(each, place) for each in node.expressions]
            return [
                tuple(p for unit in units[:stop] for p in unit)
                for stop in range(len(units), -1, -1)
            ]
        if type(node) is exp.Cube:
            units = [self._unit(each, place) for each in node.expressions]
            self._check_sets(1 << len(units))
            return [
                tuple(p for unit in chosen for p in unit)
                for size in range(len(units), -1, -1)
                for chosen in combinations(units, size)
            ]
        if type(node) is exp.GroupingSets:
            found: list[tuple[int, ...]] = []
            for each in node.expressions:
                if type(each) in (exp.Rollup, exp.Cube, exp.GroupingSets):
                    found += self._sets_of(each, place)
                else:
                    found.append(self._unit(each, place))
            return found
        return [self._unit(node, place)]

    def _unit(self, node: Any, place: Callable[[Any], int]) -> tuple[int, ...]:
        """A key, or several in parentheses."""
        exp = self.exp
        if type(node) is exp.Tuple:
            return tuple(place(each) for each in node.expressions)
        return (place(node),)

    def _key(self, node: Any, items: Items, rows: Rows, written: set[str]) -> Any:
        """What a key of GROUP BY means: a column, an expression, or an item of SELECT.

        `written` are the names that GROUP BY holds.
        """
        exp, node = self.exp, bare(node)
        if type(node) is exp.Literal and not node.is_string:
            place = number(str(node.this))
            if not isinstance(place, int) or not 1 <= place <= len(items):
                raise BadQuestion(f"GROUP BY {node.this}: SELECT lists {len(items)} columns.")
            node = items[place - 1][1]
        elif type(node) is exp.Column and not node.args.get("table"):
            named = [item for name, item in items if name and folded(name) == folded(node.name)]
            is_column = rows.columns is None and is_known_column(node, self.schema)
            if named and not (is_column and not self._hides(named[0], node, written)):
                node = named[0]
        if self._has_aggregate(node):
            raise BadQuestion("GROUP BY takes no aggregate.")
        return bare(rows.resolved(node))

    def _hides(self, item: Any, column: Any, written: set[str]) -> bool:
        """Whether an item named like a column is what GROUP BY means: it is made of columns that are not grouped by.

        By the letter GROUP BY means the column, and the item could not be shown.
        """
        own = {folded(each.name) for each in item.find_all(self.exp.Column)}
        is_other = bool(own) and folded(column.name) not in own and not own <= written
        return is_other and not self._has_aggregate(item)

    def _key_name(self, node: Any, items: Items, rows: Rows) -> str:
        if type(node) is self.exp.Column:
            try:
                return self.schema.column(node.name).name
            except BadInput as error:
                raise BadQuestion(str(error)) from None
        text = canonical(node)
        for name, item in items:
            if name is not None and not self._has_aggregate(item):
                try:
                    if canonical(bare(rows.resolved(item))) == text:
                        return name
                except BadQuestion:
                    continue
        return str(node.sql())

    def _one_grouping(
        self,
        select: Any,
        items: Items,
        rows: Rows,
        nodes: tuple[Any, ...],
        key_names: tuple[str, ...],
        present: tuple[int, ...],
        is_top: bool,
        is_part: bool,
    ) -> Select:
        """The SELECT over one grouping set."""
        scope = Scope(
            items={folded(name): node for name, node in items if name is not None},
            keys={canonical(node): place for place, node in enumerate(nodes)},
            rows=rows,
            present=present,
            key_nodes=nodes,
            key_names=key_names,
            has_having=select.args.get("having") is not None,
        )
        outputs = [self._output(name, node, scope) for name, node in items]
        shown = [node for _, node in items if self._tells_groups_apart(node)]
        hidden_keys = range(0 if shown else len(nodes))
        if is_top and hidden_keys and not select.args.get("distinct"):
            # Rows that cannot be told apart help nobody: their keys are shown although SELECT has none.
            outputs = [
                *(Output(key_names[place], self._own_key(place, scope)) for place in hidden_keys),
                *outputs,
            ]
        having, qualify = select.args.get("having"), select.args.get("qualify")
        having = None if having is None else self._value(having.this, scope)
        qualify = None if qualify is None else self._value(qualify.this, scope)
        order = self._order(select, scope, len(items), items=items)
        limits = self._limits(select)
        if is_part:
            outputs += [
                Output(f"order {place}", each.key, True) for place, each in enumerate(order)
            ]
            order, limits = (), {}
        return Select(
            source=self._measured_source(scope),
            outputs=tuple(outputs),
            having=having,
            qualify=qualify,
            is_distinct=bool(select.args.get("distinct")) and bool(scope.questions) and not is_part,
            order=order,
            **limits,
        )

    def _tells_groups_apart(self, node: Any) -> bool:
        """Whether an item of SELECT is made of keys."""
        return not self._has_aggregate(node) and bool(list(node.find_all(self.exp.Column)))

    def _measured_source(self, scope: Scope) -> Measured | Declared:
        if not any(axes == scope.present for _, axes in scope.questions):
            plain = all(type(scope.key_nodes[each]) is self.exp.Column for each in scope.present)
            if not scope.questions and scope.present and plain:
                return self._declared_source(scope)
            count = self.exp.Count(this=self.exp.Star(), big_int=True)
            self._measure(count, None, scope, scope.present)
        first = next(q for (_, axes), q in scope.questions.items() if axes == scope.present)
        others = [(q, axes) for (_, axes), q in scope.questions.items() if q != first]
        places = {key: at for at, key in enumerate(scope.present)}
        all_axes = [tuple(places[key] for key in axes) for _, axes in others]
        is_narrowed = all(text for text, axes in scope.questions if axes == scope.present)
        return Measured(
            tuple(scope.key_names[key] for key in scope.present),
            (first, *(q for q, _ in others)),
            (tuple(range(len(scope.present))), *all_axes),
            self._where(scope) if is_narrowed and scope.present else None,
        )

    def _declared_source(self, scope: Scope) -> Declared:
        names = tuple(scope.key_names[key] for key in scope.present)
        for name in names:
            if self.schema.column(name).undeclared:
                raise BadQuestion(
                    f"The values of column {name!r} are not declared, so they are not public. Ask for count(*) with it, or discover them."
                )
        return Declared(names, self._where(scope))

    def _where(self, scope: Scope) -> RowExpression:
        assert scope.rows is not None
        reader = RowExpressionReader(self.schema, (), clause="WHERE")
        return both(*(reader.condition(each) for each in scope.rows.conditions))

    def _output(self, name: str | None, node: Any, scope: Scope) -> Output:
        value = self._value(node, scope)
        if name is None:
            name = "" if isinstance(value, Measure) else self._shown(node)
        return Output(name, value)
