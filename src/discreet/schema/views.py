"""`View`: a table that the custodian joins from several, such that every row is still one person's.

    [view]
    sql = "SELECT v.person, v.cost, p.sex FROM visits v JOIN patients p ON v.person = p.person"
    tables = { visits = "visits.parquet", patients = "patients.parquet" }
    public = []

A row may only hold what its own person's rows say, or what is public. So every table that is not
declared `public` has the unit's identifier, and is joined by it; the identifier comes through under
its own name. Then a person who comes or goes changes no row of anybody else, whatever the tables
hold, and the rows of each are bounded after the join, as those of any table.

The SQL is read against an allow-list and kept as plain data; an engine renders its own from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from discreet.errors import BadSchema
from discreet.schema.columns.column import folded, text_mistakes
from discreet.schema.csv_options import clashes

SHAPE = (
    "write SELECT columns FROM table a JOIN table b ON a.person = b.person, with JOIN or LEFT JOIN, "
    "every column behind its table's name, and equalities joined by AND."
)
MOST_TABLES = 20
LONGEST = 100_000
ViewColumn = tuple[str, str]
"""The place of a table in the view (its name there), and a column of it."""


@dataclass(frozen=True, slots=True)
class Join:
    """One more table: its name in the view, the file's, and the columns that must be equal.

    Thread safe: it never changes.
    """

    alias: str
    table: str
    keeps_unmatched: bool
    """LEFT JOIN."""
    equal: tuple[tuple[ViewColumn, ViewColumn], ...]
    """A column of an earlier table, and one of this."""


@dataclass(frozen=True, slots=True)
class View:
    """A join that keeps the identifier. Construct it with what the schema says; mistakes raise `BadSchema`.

    Thread safe: it never changes.
    """

    sql: str
    tables: tuple[tuple[str, str], ...]
    """Each table's name in the SQL, and its Parquet file in the source's folder."""
    public: tuple[str, ...] = ()
    """Tables that hold nothing about anyone: they may be joined by any column."""
    identifier: str = ""
    joins: tuple[Join, ...] = field(init=False)
    """The first has nothing to be equal to: it is the table of FROM."""
    columns: tuple[tuple[str, ViewColumn], ...] = field(init=False)
    """What the view is made of: a name, and where it comes from."""

    def __post_init__(self) -> None:
        if found := self._mistakes():
            raise BadSchema([f"[view]: {mistake}" for mistake in found])
        try:
            joins, columns = _Reader(self).read()
        except _NotAllowed as error:
            raise BadSchema([f"[view]: {error}"]) from None
        except RecursionError:
            raise BadSchema([f"[view]: `sql` is nested too deeply; {SHAPE}"]) from None
        object.__setattr__(self, "joins", joins)
        object.__setattr__(self, "columns", columns)

    def _mistakes(self) -> list[str]:
        if not self.identifier:
            return [
                "a view needs an `identifier` under [unit], by which its tables are joined: other joins "
                "would mix people's rows, and are not answered."
            ]
        if not self.tables or len(self.tables) > MOST_TABLES:
            return [f"`tables` names {len(self.tables)} files; name 1 to {MOST_TABLES}."]
        found = [
            f"tables {left!r} and {right!r} are one name to a SQL engine; rename one."
            for left, right in clashes([name for name, _ in self.tables])
        ]
        for name, file in self.tables:
            found += text_mistakes(name, "a table's name") + text_mistakes(file, "a table's file")
            if PurePath(file).name != file or not file.lower().endswith(".parquet"):
                found.append(
                    f"table {name!r} is {file!r}; name a Parquet file of the source's folder, "
                    'as in "visits.parquet".'
                )
        files = [file.casefold() for _, file in self.tables]
        found += [
            f"the file {file!r} is used for two tables; name it once, and give it two aliases in `sql`."
            for file in dict.fromkeys(file for _, file in self.tables)
            if files.count(file.casefold()) > 1
        ]
        known = {folded(name) for name, _ in self.tables}
        found += [
            f"`public` names {name!r}, which is none of the tables."
            for name in self.public
            if folded(name) not in known
        ]
        if len(self.sql) > LONGEST:
            found.append(f"`sql` is longer than {LONGEST:,} characters.")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)


class _NotAllowed(Exception):
    """Something that a view may not say."""


class _Reader:
    """Walks the parsed SELECT; whatever is not expected is refused by name."""

    def __init__(self, view: View) -> None:
        from sqlglot import exp

        self.view, self.exp = view, exp
        self.files = {folded(name): name for name, _ in view.tables}
        public = set(map(folded, view.public))
        self.public = {name for fold, name in self.files.items() if fold in public}
        self.places: dict[str, str] = {}
        """Each table's folded name in the view, and the table's own."""

    def read(self) -> tuple[tuple[Join, ...], tuple[tuple[str, ViewColumn], ...]]:
        select = self._parsed()
        allowed = {"expressions", "from_", "joins"}
        for clause, value in select.args.items():
            if value and clause not in allowed:
                raise _NotAllowed(
                    f"`sql` has {clause.strip('_').upper()}, which no view takes; {SHAPE}"
                )
        source = select.args.get("from_")
        if source is None:
            raise _NotAllowed(f"`sql` has no FROM; {SHAPE}")
        alias, table = self._table(source.this)
        if table in self.public:
            raise _NotAllowed(f"FROM takes a table of people, and {table!r} is declared public.")
        joins = [Join(alias, table, False, ())]
        joins += [self._join(one) for one in select.args.get("joins") or ()]
        if len(joins) > MOST_TABLES:
            raise _NotAllowed(f"`sql` joins more than {MOST_TABLES} tables.")
        return tuple(joins), self._columns(select.expressions, alias)

    def _parsed(self) -> Any:
        from sqlglot import errors, parse

        try:
            statements = parse(self.view.sql, error_message_context=0)
        except errors.SqlglotError:
            raise _NotAllowed(f"`sql` is not understood; {SHAPE}") from None
        if len(statements) != 1 or type(statements[0]) is not self.exp.Select:
            raise _NotAllowed(f"`sql` must be one plain SELECT; {SHAPE}")
        return statements[0]

    def _table(self, node: Any) -> tuple[str, str]:
        exp = self.exp
        if type(node) is not exp.Table or type(node.this) is not exp.Identifier:
            raise _NotAllowed(
                f"`sql` takes a {type(node).__name__} for a table; name one of {self._listed()}."
            )
        if any(value for key, value in node.args.items() if key not in ("this", "alias")):
            raise _NotAllowed(f"a table is written as its plain name; {SHAPE}")
        table = self.files.get(folded(node.name))
        if table is None:
            raise _NotAllowed(f"there is no table {node.name!r}; `tables` has {self._listed()}.")
        named = node.args.get("alias")
        if named is not None and named.args.get("columns"):
            raise _NotAllowed("columns cannot be renamed in FROM.")
        alias = node.name if named is None else named.name
        if folded(alias) in self.places:
            raise _NotAllowed(f"two tables are called {alias!r}; give one another name.")
        self.places[folded(alias)] = table
        return alias, table

    def _join(self, node: Any) -> Join:
        known = {"this", "on", "side", "kind"}
        if any(value for key, value in node.args.items() if key not in known):
            raise _NotAllowed(f"a join has something besides ON; {SHAPE}")
        side, kind = str(node.args.get("side") or ""), str(node.args.get("kind") or "")
        if side.upper() not in ("", "LEFT") or kind.upper() not in ("", "INNER", "OUTER"):
            raise _NotAllowed(f"{side} {kind} JOIN".strip() + f" is not taken; {SHAPE}")
        alias, table = self._table(node.this)
        on = node.args.get("on")
        if on is None:
            raise _NotAllowed(f"{table!r} is joined without ON; {SHAPE}")
        equal = tuple(self._equality(one, alias) for one in self._conjuncts(on))
        if table not in self.public and not any(self._is_persons(*pair) for pair in equal):
            raise _NotAllowed(
                f"{table!r} must be joined by {self.view.identifier!r} of both sides: joined otherwise, a "
                "person's row would hold what another's says. Declare it under `public` if it is about nobody."
            )
        return Join(alias, table, side.upper() == "LEFT", equal)

    def _conjuncts(self, node: Any) -> list[Any]:
        parts: list[Any] = []
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if type(one) is self.exp.Paren:
                waiting.append(one.this)
            elif type(one) is self.exp.And:
                waiting += [one.expression, one.this]
            else:
                parts.append(one)
        return parts

    def _equality(self, node: Any, alias: str) -> tuple[ViewColumn, ViewColumn]:
        if type(node) is not self.exp.EQ:
            raise _NotAllowed(f"ON takes equalities of columns, joined by AND; {SHAPE}")
        left, right = self._column(node.this), self._column(node.expression)
        if folded(left[0]) == folded(alias):
            left, right = right, left
        if folded(right[0]) != folded(alias) or folded(left[0]) == folded(alias):
            raise _NotAllowed(f"ON compares a column of {alias!r} with one of an earlier table.")
        return left, right

    def _is_persons(self, left: ViewColumn, right: ViewColumn) -> bool:
        wanted = folded(self.view.identifier)
        return all(
            folded(column) == wanted and self.places[folded(alias)] not in self.public
            for alias, column in (left, right)
        )

    def _column(self, node: Any) -> ViewColumn:
        exp = self.exp
        if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
            raise _NotAllowed(f"a view takes plain columns, and no {type(node).__name__}; {SHAPE}")
        if node.args.get("db") or not node.table:
            raise _NotAllowed(f"column {node.name!r} needs its table's name before it; {SHAPE}")
        if folded(node.table) not in self.places:
            raise _NotAllowed(f"there is no table {node.table!r} before column {node.name!r}.")
        return node.table, node.name

    def _columns(self, nodes: Sequence[Any], first: str) -> tuple[tuple[str, ViewColumn], ...]:
        found: list[tuple[str, ViewColumn]] = []
        for node in nodes:
            alias = None
            if type(node) is self.exp.Alias:
                alias, node = node.alias, node.this
            column = self._column(node)
            found.append((alias or column[1], column))
        twice = clashes([name for name, _ in found])
        if twice:
            raise _NotAllowed(f"two columns of the view are called {twice[0][0]!r}; rename one.")
        identifier = folded(self.view.identifier)
        whose = {folded(name): column for name, column in found}.get(identifier)
        if whose is None or (folded(whose[0]), folded(whose[1])) != (folded(first), identifier):
            raise _NotAllowed(
                f"the view must keep the identifier: select {first}.{self.view.identifier}, under its own name."
            )
        return tuple(found)

    def _listed(self) -> str:
        return ", ".join(map(repr, self.files.values()))
