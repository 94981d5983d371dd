"""SQL to a `QueryPlan`: the questions that must be measured, and the work on their answers.

Each SELECT from the table is split in two. What is under an aggregate, in WHERE and in GROUP BY goes into
questions, which the release's or the curator's own reader reads. All else is work on their answers. Every
aggregate is asked for once, however often it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.errors import BadQuestion, did_you_mean
from discreet.postprocessing.plan import (
    Field,
    Join,
    Measure,
    OneRow,
    QueryPlan,
    Select,
    Table,
    Union,
)
from discreet.postprocessing.reading.joins import JoinReader, Source
from discreet.postprocessing.reading.result_selects import names_of, with_names
from discreet.postprocessing.reading.scope import (
    ROWS_ARE_NOT_SHOWN,
    Columns,
    Dialect,
    Pending,
    Rows,
)
from discreet.postprocessing.reading.syntax import (
    QUANTILES,
    asks_between_rows,
    asks_neighbours,
    asks_subtotals,
    is_known_column,
    usual_names,
    without_alias,
    written,
)
from discreet.questions.dialects.statement import check_plain_table, construct, parsed
from discreet.questions.spelling import readable_name
from discreet.schema import Schema
from discreet.schema.columns.column import folded

NOT_INTERPOLATED = "percentile_cont is answered like percentile_disc, because noise hides the point between two neighbouring rows."
SUBTOTALS = "In a subtotal, null stands for all values of a column. GROUPING(column) is 1 there, and 0 where the value is really null."
NO_NEIGHBOURS = "lag, lead and moving frames leave out the groups null and (other), which have no place in an order."
MOST_PARTS = 20
"""Aggregates of a refused statement that are tried one by one."""
MOST_QUESTIONS = 200
"""Questions that one statement may be split into."""
MOST_USES = 1000
"""Results of WITH that one statement uses, once each is written out where it is used."""
DEEPEST = 50


def read_statement(text: str, schema: Schema, dialect: Dialect) -> QueryPlan:
    """The statement that `text` makes, or a `BadQuestion` with one clear sentence."""
    from sqlglot import exp

    try:
        tree = usual_names(parsed(text, shape=dialect.shape))
        if any(not select.expressions for select in tree.find_all(exp.Select)):
            raise BadQuestion(f"SELECT is followed by nothing to show. {dialect.shape}")
        if is_plain(tree, schema, spreads=not dialect.splits_sums):
            return plain_statement(dialect.question(tree), text)
        made = _Reader(schema, dialect, text).statement(tree)
        notes = (NOT_INTERPOLATED,) * asks_between_rows(tree) + (SUBTOTALS,) * asks_subtotals(tree)
        notes += (NO_NEIGHBOURS,) * asks_neighbours(tree)
        return replace(made, notes=made.notes + notes)
    except RecursionError:
        raise BadQuestion("The question is nested too deeply to be read; flatten it.") from None


def parts_of(text: str, dialect: Dialect) -> list[tuple[str, str]]:
    """The aggregates that SELECT lists, each with a statement that asks for it by itself; none of a single one."""
    from sqlglot import exp

    select = parsed(text, shape=dialect.shape)
    if type(select) is not exp.Select:
        return []
    counted = [each for each in select.expressions if each.find(exp.AggFunc) is not None]
    keys = [each for each in select.expressions if each.find(exp.AggFunc) is None]
    if not 2 <= len(counted) <= MOST_PARTS:
        return []
    found = []
    for each in counted:
        alone = select.copy()
        alone.set("expressions", [*(key.copy() for key in keys), each.copy()])
        for clause in ("having", "qualify", "order", "limit", "offset", "distinct"):
            alone.set(clause, None)
        inside = each.this if type(each) is exp.Alias else each
        found.append((written(inside), written(alone)))
    return found


def plain_statement(question: Any, text: str = "") -> QueryPlan:
    """A question whose answer is the result as it stands."""
    return QueryPlan((question,), _NO_WORK, text, is_plain=True)


_NO_WORK = Select(source=OneRow(), outputs=())
_PLAIN_CLAUSES = frozenset({"expressions", "from_", "where", "group"})


def is_plain(select: Any, schema: Schema, *, spreads: bool = False) -> bool:
    """Whether a statement is one question as it stands: aggregates of columns, by plain columns.

    `spreads`: whether variances, correlations, modes and distinct values are measured as they stand, too.
    """
    from sqlglot import exp

    if type(select) is not exp.Select:
        return False
    if any(value for clause, value in select.args.items() if clause not in _PLAIN_CLAUSES):
        return False
    where = select.args.get("where")
    if where is not None and where.find(exp.Select) is not None:
        return False
    source = select.args.get("from_")
    if source is not None and (type(source.this) is not exp.Table or source.this.args.get("db")):
        return False
    group = select.args.get("group")
    if group is not None and any(v for k, v in group.args.items() if k != "expressions"):
        return False
    keys = [] if group is None else group.expressions
    if all(type(each) is exp.Column for each in select.expressions):
        return False  # groups alone, which the schema lists, or rows
    asked = [each.this if type(each) is exp.Alias else each for each in select.expressions]
    counted = [each for each in asked if type(each) is not exp.Column]
    if len(counted) > 1 and any(type(each) is exp.Mode for each in counted):
        return False  # a mode beside other numbers is found among the counts of the values
    return all(is_known_column(key, schema) for key in keys) and all(
        _is_plain_item(each, spreads) for each in select.expressions
    )


def _is_plain_item(node: Any, spreads: bool) -> bool:
    from sqlglot import exp

    if type(node) is exp.Column:
        return True
    if type(node) is exp.Alias:
        node = node.this
        if type(node) is exp.Column:
            return False
    if type(node) is exp.Anonymous and str(node.this).lower() in QUANTILES:
        return False
    if type(node) is exp.Count:
        distinct = spreads and type(node.this) is exp.Distinct
        return distinct or type(node.this) in (exp.Column, exp.Star)
    if type(node) in (exp.Sum, exp.Avg):
        return type(node.this) is exp.Column
    kinds: tuple[Any, ...] = (exp.Median, exp.Quantile, exp.Anonymous)
    if spreads:
        kinds += (
            exp.Mode, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp,
            exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept,
        )  # fmt: skip
    return type(node) in kinds and not any(
        isinstance(each, exp.AggFunc) for each in node.find_all(exp.AggFunc) if each is not node
    )


def _is_word_all(node: Any) -> bool:
    """Whether it is the bare word ALL, which is read as a column's name."""
    return (
        type(node).__name__ == "Column"
        and node.name.lower() == "all"
        and not node.this.args.get("quoted")
        and not node.args.get("table")
    )


class _Reader(JoinReader):
    """Reads one statement."""

    def __init__(self, schema: Schema, dialect: Dialect, text: str) -> None:
        super().__init__(schema, dialect, text)
        self.depth = 0
        self._uses = 0
        self._uses_of: dict[str, int] = {}
        """For each result of WITH, what one use of it adds to `_uses`."""

    def statement(self, tree: Any) -> QueryPlan:
        self._spell_out_order(tree)
        table = self._table(tree, {}, is_top=True)
        if isinstance(table, Rows):
            raise BadQuestion(ROWS_ARE_NOT_SHOWN)
        if len(self.pending) > MOST_QUESTIONS:
            raise BadQuestion(
                f"The statement needs {len(self.pending):,} separate questions; at most {MOST_QUESTIONS} "
                "are asked at once."
            )
        questions = tuple(self.dialect.question(self._select_of(each)) for each in self.pending)
        named = _Named(self.dialect, questions)
        return QueryPlan(questions, named.table(table), self.text, notes=tuple(self.notes))

    def _spell_out_order(self, tree: Any) -> None:
        """ORDER BY ALL is by every column of SELECT, from left to right; unless a column has that name."""
        exp = self.exp
        for select in tree.find_all(exp.Select):
            order = select.args.get("order")
            if order is None or len(order.expressions) != 1:
                continue
            (only,) = order.expressions
            named = [folded(each.alias_or_name) for each in select.expressions]
            if any(each.is_star for each in select.expressions):
                continue
            if not _is_word_all(only.this) or "all" in [*named, *map(folded, self.schema.names)]:
                continue
            places = []
            for place in range(1, len(select.expressions) + 1):
                places.append(only.copy())
                places[-1].set("this", exp.Literal.number(place))
            order.set("expressions", places)

    def _select_of(self, pending: Pending) -> Any:
        """A question as a plain SELECT."""
        exp = self.exp
        select = exp.Select()
        keys: list[Any] = []
        for node, name in zip(pending.keys, pending.names, strict=True):
            plain = type(node) is exp.Column
            alias = exp.to_identifier(name, quoted=True)
            keys.append(node.copy() if plain else exp.Alias(this=node.copy(), alias=alias))
        select.set("expressions", [*keys, *(each.copy() for each in pending.aggregates)])
        name = exp.to_identifier(self.schema.dataset, quoted=True)
        select.set("from_", exp.From(this=exp.Table(this=name)))
        where = None
        for each in pending.conditions:
            own = exp.Paren(this=each.copy())
            where = own if where is None else exp.And(this=where, expression=own)
        if where is not None:
            select.set("where", exp.Where(this=where))
        if pending.keys:
            select.set("group", exp.Group(expressions=[each.copy() for each in pending.keys]))
        return select

    def _table(self, node: Any, known: dict[str, Any], *, is_top: bool = False) -> Table | Rows:
        exp = self.exp
        self.depth += 1
        if self.depth > DEEPEST:
            raise BadQuestion("The question is nested too deeply to be read; flatten it.")
        try:
            known = self._with(node, known)
            if type(node) is exp.Select:
                return self._select(node, known, is_top=is_top)
            if type(node) in (exp.Subquery, exp.Paren):
                inside = self._table(node.this, known, is_top=is_top)
                return self._limited(node, inside)
            if type(node) is exp.Union:
                return self._limited(node, self._union(node, known, is_top=is_top))
            if type(node) in (exp.Intersect, exp.Except):
                raise BadQuestion(f"{construct(node).upper()} is not answered; use UNION ALL.")
            raise BadQuestion(f"Only SELECT is answered. {self.dialect.shape}")
        finally:
            self.depth -= 1

    def _with(self, node: Any, known: dict[str, Any]) -> dict[str, Any]:
        clause = node.args.get("with_")
        if clause is None:
            return known
        if clause.args.get("recursive"):
            raise BadQuestion("WITH RECURSIVE is not answered; write the steps out.")
        known = dict(known)
        for each in clause.expressions:
            name, before = folded(each.alias), self._uses
            known[name] = self._renamed(self._table(each.this, known), each.args["alias"])
            # Of two results of one name the one that uses more counts for both.
            self._uses_of[name] = max(self._uses_of.get(name, 0), 1 + self._uses - before)
        return known

    def _count_use(self, name: str) -> None:
        self._uses += self._uses_of[name]
        if self._uses > MOST_USES:
            raise BadQuestion(
                f"The results of WITH are used more than {MOST_USES:,} times, once those that they use are counted too. "
                "Use each of them less often."
            )

    def _union(self, node: Any, known: dict[str, Any], *, is_top: bool) -> Table:
        parts: list[Table] = []
        for each in (node.this, node.expression):
            found = self._table(each, known, is_top=is_top)
            if isinstance(found, Rows):
                raise BadQuestion(ROWS_ARE_NOT_SHOWN)
            parts.append(found)
        return Union(tables=tuple(parts), is_distinct=bool(node.args.get("distinct")))

    def _one_source(self, table: Any, known: dict[str, Any]) -> Source:
        exp = self.exp
        alias = table.args.get("alias")
        names = () if alias is None else (folded(alias.name),)
        aliases = [alias]
        while type(table) is exp.Subquery and type(table.this) is exp.Table:
            if any(value for part, value in table.args.items() if part not in ("this", "alias")):
                raise BadQuestion(
                    "A table's name in brackets stands alone: write (SELECT ...) around what belongs to it."
                )
            names = (*names, *([folded(table.this.alias)] if table.this.alias else []))
            table = table.this  # a name in parentheses
            aliases.insert(0, table.args.get("alias"))
        found, own_names = self._table_of(table, known)
        for each in aliases:
            found = self._renamed(found, each)
        return self._named_source(found, names or own_names)

    def _table_of(self, table: Any, known: dict[str, Any]) -> tuple[Table | Rows, tuple[str, ...]]:
        """What a subquery or a name in FROM stands for, and the name that it has by itself."""
        exp = self.exp
        if type(table) is exp.Subquery:
            return self._table(without_alias(table), known), ()
        if type(table) is not exp.Table or type(table.this) is not exp.Identifier:
            raise BadQuestion(
                f"FROM takes the dataset's name, {readable_name(self.schema.dataset)}, or a subquery."
            )
        own = folded(table.name)
        if own in known and not table.args.get("db"):
            self._count_use(own)
            return known[own], (own,)
        check_plain_table(
            table, readable_name(self.schema.dataset), ("this", "alias", "db", "catalog")
        )
        if own not in map(folded, self.dialect.names):
            written = ", or ".join(f"FROM {readable_name(name)}" for name in self.dialect.names)
            near = did_you_mean(table.name, [*self.dialect.names, *known])
            raise BadQuestion(f"There is no table {table.name!r} here.{near} Write {written}.")
        return Rows(()), (own,)

    def _renamed(self, table: Table | Rows, alias: Any) -> Table | Rows:
        """With the names of columns that stand behind the table's own, as in x(a, b)."""
        listed = None if alias is None else alias.args.get("columns")
        if not listed:
            return table
        names = [str(each.name) for each in listed]
        columns = self._columns_of(table) if isinstance(table, Rows) else ()
        many = len(columns) if isinstance(table, Rows) else len(names_of(table))
        if len(names) != many:
            raise BadQuestion(
                f"{alias.name}({', '.join(names)}) names {len(names)} columns, and there are {many:,}. Name all of them."
            )
        if len(set(map(folded, names))) < len(names):
            raise BadQuestion(
                f"{alias.name}({', '.join(names)}) names two columns alike. Give each a name of its own."
            )
        if isinstance(table, Rows):
            given = zip(names, columns, strict=True)
            return replace(table, columns=tuple((name, node) for name, (_, node) in given))
        return with_names(table, names)

    def _named_source(self, table: Table | Rows, names: tuple[str, ...]) -> Source:
        """A table, and the names that its columns may stand behind."""
        if isinstance(table, Rows):
            return replace(table, tables=names), Columns()
        return table, Columns.of(names_of(table), names)

    def _select(self, select: Any, known: dict[str, Any], *, is_top: bool) -> Table | Rows:
        source, columns = self._source(select, known)
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise BadQuestion("DISTINCT ON is not answered; use GROUP BY.")
        aggregates = any(self._has_aggregate(each) for each in select.expressions)
        grouped = aggregates or bool(select.args.get("group")) or bool(select.args.get("having"))
        self._known = known
        if isinstance(source, Rows):
            if grouped or distinct is not None:
                return self._over_rows(select, source, is_top=is_top)
            return self._filtered_rows(select, source)
        return self._over_table(select, source, columns, grouped=grouped)


class _Named:
    """Gives the columns of all results their names, once the questions are read."""

    def __init__(self, dialect: Dialect, questions: Sequence[Any]) -> None:
        self._names = [tuple(dialect.names_of(each)) for each in questions]

    def table(self, table: Table) -> Table:
        if isinstance(table, Union):
            return replace(table, tables=tuple(self.table(each) for each in table.tables))
        if isinstance(table, Join):
            return replace(table, left=self.table(table.left), right=self.table(table.right))
        source, inner = table.source, tuple[str, ...]()
        if isinstance(source, Select | Union | Join):
            source = self.table(source)
            inner = names_of(source)
        outputs, taken = [], set[str]()
        for each in table.outputs:
            name = each.name
            if not name and isinstance(each.value, Measure):
                name = self._names[each.value.question][each.value.place]
            elif not name and isinstance(each.value, Field):
                name = inner[each.value.place]
            base, again = name or "column", 2
            name = base
            while name in taken:
                name, again = f"{base} {again}", again + 1
            taken.add(name)
            outputs.append(replace(each, name=name))
        return replace(table, outputs=tuple(outputs), source=source)
