"""What all question dialects share: one plain SELECT, read against an allow-list.

The text is parsed and never executed. Clauses, FROM, GROUP BY, column names and numbers are read
here; what SELECT and WHERE may hold is each dialect's own. Everything unexpected is refused by name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from discreet.errors import BadInput, BadQuestion, did_you_mean
from discreet.questions.computing_keys import computed_key
from discreet.questions.dialects.clauses import check_understood, keeps_arguments
from discreet.questions.expressions import TRUNCATED, Constant, Expression
from discreet.questions.keys import ComputedKey, Key, key_name
from discreet.questions.spelling import no_such_table, quoted, readable_name
from discreet.schema import CategoryColumn, Column, Schema
from discreet.schema.columns.column import folded
from discreet.schema.columns.values import NUMBER_PATTERN

if TYPE_CHECKING:
    from discreet.questions.reading.expressions import ExpressionReader

LONGEST_TEXT = 1_000_000
"""Characters of SQL that are read."""
WRITTEN = "written"
"""Where a function's node holds the name by which it was called."""
LONGEST_NUMBER = 60
SUMMED_KINDS = ("integer", "number", "boolean")


def not_summed(column: Column, function: str) -> str | None:
    """Why an aggregate takes no sums of a column."""
    if column.kind in SUMMED_KINDS:
        return None
    why = f"Column {column.name!r} is of kind {column.kind}; {function}() takes columns of kind {', '.join(SUMMED_KINDS)}."
    values = column.values if isinstance(column, CategoryColumn) else ()
    if values and all(re.fullmatch(NUMBER_PATTERN, value) for value in values):
        why += f" Its values are numbers: write {function}(CAST({quoted(column.name)} AS DOUBLE))."
    return why


_CLAUSES = {
    "with_": "WITH", "joins": "JOIN", "laterals": "LATERAL", "having": "HAVING", "order": "ORDER BY",
    "limit": "LIMIT", "offset": "OFFSET", "distinct": "DISTINCT", "windows": "WINDOW",
    "qualify": "QUALIFY", "sample": "TABLESAMPLE", "into": "INTO", "hint": "a hint",
    "match": "MATCH_RECOGNIZE", "pivots": "PIVOT", "locks": "FOR UPDATE", "kind": "SELECT AS",
}  # fmt: skip
_READ = frozenset({"expressions", "from_", "where", "group"})


class HasName(Protocol):
    """A dataclass with a name: the aggregate of some dialect."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=HasName)


UNITS_OF_TIME = frozenset(
    (*TRUNCATED, *(f"{each}s" for each in TRUNCATED), "millisecond", "microsecond")
)


def parsed(text: str, *, shape: str) -> Any:
    """The syntax tree of the one statement in a text; `shape` says what a question looks like."""
    from sqlglot import TokenType, errors

    if not isinstance(text, str) or not text.strip():
        raise BadQuestion(f"The question is empty. {shape}")
    if len(text) > LONGEST_TEXT:
        raise BadQuestion(
            f"The question has {len(text):,} characters; at most {LONGEST_TEXT:,} are read."
        )
    dialect = _dialect()
    try:
        tokens = dialect.tokenize(text)
        while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
            tokens.pop()
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise BadQuestion(
                "Only one statement is answered at a time. Ask each as a question of its own, without the semicolon."
            )
        first = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
        if not tokens or tokens[0].token_type not in first:
            begins = tokens[0].text if tokens else ""
            raise BadQuestion(
                f"Only SELECT is answered.{did_you_mean(begins, ['SELECT', 'WITH'])} {shape}"
            )
        top = _without_top(tokens)
        statement: Any
        (statement,) = dialect.parser(error_message_context=0).parse(tokens, text)
    except errors.ParseError as error:
        place = (error.errors or [{}])[0]
        where = f"line {place['line']}, column {place['col']}" if place.get("line") else "its end"
        quotes = ", and not in square brackets" if "[" in text else ""
        raise BadQuestion(
            f"The SQL is not understood near {where}. "
            f"Put a name with blanks or signs, or one that is a word of SQL, in double quotes{quotes}. {shape}"
        ) from None
    except errors.SqlglotError:
        raise BadQuestion(f"The SQL is not understood. {shape}") from None
    _name_units(statement)
    check_understood(statement, shape)
    return statement if top is None else statement.limit(top, copy=False)


def _difference(arguments: Sequence[Any]) -> Any:
    """datediff(...) as it is written: the parser alone would take b in datediff('day', a, b) for a unit, and spell it as one."""
    from sqlglot import exp

    unit = [exp.null() for _ in arguments[2:3]]
    node = exp.DateDiff.from_arg_list([*arguments[:2], *unit, *arguments[3:]])
    for each in arguments[2:3]:
        node.set("unit", each)
    return node


def _name_units(statement: Any) -> None:
    """Which of its parts is the unit: in datediff(day, a, b) the parser takes day for a column, in date_diff(b, a, day) too."""
    from sqlglot import exp

    def is_unit(node: Any) -> bool:
        if type(node) not in (exp.Column, exp.Literal) or node.name.lower() not in UNITS_OF_TIME:
            return False
        return type(node) is exp.Literal or not (
            node.table or node.this.quoted
        )  # t.day is a column

    for node in statement.find_all(exp.DateDiff):
        first, last = node.this, node.args.get("unit")
        is_last, is_word = is_unit(last), type(first) is exp.Column and is_unit(first)
        if is_word and last is not None and not is_last:
            node.set("this", exp.Literal.string(first.name))
        is_first = type(node.this) is exp.Literal and node.this.name.lower() in UNITS_OF_TIME
        if last is not None and is_last and not is_first:  # else a column has the name of a unit
            node.set("unit", exp.var(last.name.upper()))


@cache
def _dialect() -> Any:
    """Plain SQL, with names in backticks too, as in MySQL, BigQuery and Spark, and DuckDB's and Python's `//`."""
    from sqlglot import Dialect, TokenType, exp, parser, tokens

    # What sqlglot says of spellings that it cannot write is no sentence of ours: keep it off the screen.
    logging.getLogger("sqlglot").addHandler(logging.NullHandler())

    class AnyQuotes(Dialect):
        NULL_ORDERING = "nulls_are_last"  # unless NULLS FIRST is written

        class Tokenizer(tokens.Tokenizer):
            IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
            KEYWORDS: ClassVar[dict[str, TokenType]] = {
                **tokens.Tokenizer.KEYWORDS,
                "//": TokenType.DIV,
            }

        class Parser(parser.Parser):
            # PostgreSQL and DuckDB take these words as names of columns too; Alter is German for age.
            ID_VAR_TOKENS: ClassVar[set[TokenType]] = {
                *parser.Parser.ID_VAR_TOKENS,
                *(TokenType.ALTER, TokenType.DROP, TokenType.INSERT),
                *(TokenType.GRANT, TokenType.REVOKE, TokenType.ROLLBACK),
            }
            FUNCTIONS: ClassVar[dict[str, Any]] = {
                name: keeps_arguments(name, builder)
                for name, builder in {
                    **parser.Parser.FUNCTIONS,
                    **dict.fromkeys(("DATEDIFF", "DATE_DIFF"), _difference),
                }.items()
            }

            def _parse_function_call(self, *given: Any, **named: Any) -> Any:
                """With the name as it was written: a refusal says string_agg, not group_concat."""
                word = self._curr.text if self._curr else ""
                node = super()._parse_function_call(*given, **named)
                if isinstance(node, exp.Func) and word.isidentifier() and len(word) < 64:
                    node.meta.setdefault(WRITTEN, word.lower())
                return node

    return AnyQuotes()


def _without_top(tokens: list[Any]) -> int | None:
    """Takes `TOP n` out of SELECT TOP n, which says the same as LIMIT n."""
    texts = [token.text for token in tokens[1:5]]
    if not texts or texts[0].upper() != "TOP":
        return None
    if len(texts) > 1 and texts[1].isdigit():
        del tokens[1:3]
        return int(texts[1])
    if len(texts) > 3 and texts[1] == "(" and texts[2].isdigit() and texts[3] == ")":
        del tokens[1:5]
        return int(texts[2])
    return None


class StatementReader:
    """Walks one parsed statement."""

    shape: ClassVar[str]
    """The form of a question, for messages about questions of another form."""
    functions: tuple[str, ...]
    """What SELECT takes."""
    other_names: ClassVar[tuple[str, ...]] = ()
    """What the dataset may be called besides its own name."""

    def __init__(self, schema: Schema, text: str) -> None:
        from sqlglot import exp

        self.schema, self.text, self.exp = schema, text, exp
        self.tables: tuple[str, ...] = ()

    def read_frame(self, select: Any) -> tuple[Key, ...]:
        """Check the clauses and FROM; the keys of GROUP BY."""
        if type(select) is not self.exp.Select:
            raise BadQuestion(
                f"Only a plain SELECT is answered, without {construct(select)}. {self.shape}"
            )
        for clause, value in select.args.items():
            if value and clause not in _READ:
                named = _CLAUSES.get(clause, clause.strip("_").upper())
                raise BadQuestion(f"{named} is not supported. {self.shape}")
        self._read_table(select.args.get("from_"))
        return self._groups(select.args.get("group"), select.expressions)

    def _read_table(self, source: Any) -> None:
        exp, dataset = self.exp, readable_name(self.schema.dataset)
        if source is None:
            raise BadQuestion(f"The question has no FROM; write FROM {dataset}.")
        table = source.this
        if type(table) is not exp.Table or type(table.this) is not exp.Identifier:
            raise BadQuestion(
                f"FROM takes the dataset's name, {dataset}, and no {construct(table)}."
            )
        check_plain_table(table, dataset, ("this", "alias"))
        names = (self.schema.dataset, *self.other_names)
        if folded(table.name) not in map(folded, names):
            written = ", or ".join(f"FROM {readable_name(name)}" for name in names)
            raise BadQuestion(
                f"There is no table {table.name!r} here.{did_you_mean(table.name, names)} Write {written}."
            )
        alias = table.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise BadQuestion("Columns cannot be renamed in FROM.")
        self.tables = (folded(table.name if alias is None else alias.name),)

    def expressions(self, clause: str) -> ExpressionReader:
        """The reader of a clause's expressions."""
        from discreet.questions.reading.expressions import ExpressionReader

        return ExpressionReader(self.schema, self.tables, clause=clause)

    def _groups(self, group: Any, selected: Sequence[Any]) -> tuple[Key, ...]:
        if group is None:
            return ()
        sets = (self.exp.Rollup, self.exp.Cube, self.exp.GroupingSets)
        if any(value for key, value in group.args.items() if key != "expressions") or any(
            isinstance(one, sets) for one in group.expressions
        ):
            raise BadQuestion(
                "GROUP BY takes plain columns or expressions of them: no ROLLUP, CUBE, GROUPING SETS or ALL."
            )
        aliases = {folded(one.alias): one.this for one in selected if type(one) is self.exp.Alias}
        return tuple(dict.fromkeys(self._key(bare(one), aliases) for one in group.expressions))

    def _key(self, node: Any, aliases: dict[str, Any]) -> Key:
        """A plain column by its name; anything else as a map of declared cells."""
        if type(node) is self.exp.Column and not node.args.get("table"):
            known = folded(node.name) in {folded(name) for name in self.schema.names}
            if not known and folded(node.name) in aliases:
                node = bare(aliases[folded(node.name)])
        if type(node) is self.exp.Column:
            return self.column(node)
        if type(node) is self.exp.Literal:
            raise BadQuestion(
                "GROUP BY takes plain columns or expressions of them, and no literal."
            )
        expression = self.expressions("GROUP BY").key(node)
        if isinstance(expression, Constant):
            raise BadQuestion("GROUP BY takes an expression with a column in it.")
        named = [alias for alias, inside in aliases.items() if self._reads_as(inside) == expression]
        text = self._own_alias(named, aliases) or " ".join(
            node.sql(normalize_functions="lower").split()
        )
        return computed_key(expression, text, self.schema)

    def _own_alias(self, named: list[str], aliases: dict[str, Any]) -> str | None:
        return str(aliases[named[0]].parent.alias) if named else None

    def _reads_as(self, node: Any) -> Expression | None:
        """What an item of SELECT is, if it is an expression of columns alone."""
        try:
            return self.expressions("SELECT").key(node)
        except BadQuestion:
            return None

    def unaliased(self, node: Any, groups: Sequence[Key]) -> tuple[Any, str | None]:
        """What SELECT takes at one place, and the name it is given; `None` for a group's key."""
        exp = self.exp
        alias = None
        if type(node) is exp.Alias:
            alias, node = node.alias, node.this
        if type(node) is exp.Column and type(node.this) is not exp.Star:
            name = self.column(node)
            if name not in groups:
                raise BadQuestion(
                    f"Column {name!r} is selected outside of an aggregate; add it to GROUP BY."
                )
            return None, None
        computed = {key.expression for key in groups if isinstance(key, ComputedKey)}
        if computed and self._reads_as(node) in computed:
            return None, None
        return node, alias

    def unknown(self, node: Any) -> BadQuestion:
        """The refusal of what SELECT does not take, with the nearest function that it does."""
        near = ""
        if type(node) in (self.exp.Max, self.exp.Min):
            column = node.this.name if type(node.this) is self.exp.Column else "col"
            level = "0.99" if type(node) is self.exp.Max else "0.01"
            return BadQuestion(
                "max() and min() depend on a single row, so they have no private answer. Ask for "
                f"a quantile near the end, as in quantile({readable_name(column)}, {level})."
            )
        if type(node) is self.exp.Anonymous and isinstance(node.this, str):
            near = did_you_mean(node.this, self.functions)
        return BadQuestion(f"SELECT takes no {construct(node)} here.{near} {self.shape}")

    def column(self, node: Any) -> str:
        return column_name(node, self.schema, self.tables)


def check_plain_table(table: Any, dataset: str, known: Sequence[str]) -> None:
    """That FROM says nothing of a table beside its `known` parts."""
    for part, value in table.args.items():
        if value and part in _CLAUSES:
            raise BadQuestion(
                f"{_CLAUSES[part]} is not answered: a question is about all rows of {dataset}."
            )
        if value and part not in known:
            raise BadQuestion(
                f"FROM takes the plain name {dataset} and nothing more: no joins, no files."
            )


def column_name(node: Any, schema: Schema, tables: tuple[str, ...]) -> str:
    """The schema's name of a column, plain or behind the table's name."""
    if type(node.this).__name__ != "Identifier" or node.args.get("db"):
        raise BadQuestion("A column is written as its plain name, quoted if it is an odd one.")
    table = node.args.get("table")
    if table is not None and folded(table.name) not in tables:
        raise BadQuestion(no_such_table(table.name))
    try:
        return schema.column(node.name).name
    except BadInput as error:
        if not node.this.args.get("quoted") or names_the_unit(node, schema):
            raise BadQuestion(str(error)) from None
        text = node.name.replace("'", "''")
        hint = f"Double quotes are for names; put a text in single quotes: '{text}'."
        values = {value for column in schema.columns for value in getattr(column, "values", ())}
        raise BadQuestion(hint if node.name in values else f"{error} {hint}") from None


def names_the_unit(node: Any, schema: Schema) -> bool:
    """Whether a column's name is that of the identifier, which says whose a row is and is not declared."""
    identifier = schema.unit.identifier
    return identifier is not None and folded(node.name) == folded(identifier)


def distinctly_named(aggregates: Iterable[Named], groups: Sequence[Key]) -> tuple[Named, ...]:
    """Each with a name of its own, beside those of the groups."""
    taken = set(map(key_name, groups))
    named: list[Named] = []
    for one in aggregates:
        name, again = one.name, 2
        while name in taken:
            name, again = f"{one.name} {again}", again + 1
        taken.add(name)
        named.append(replace(one, name=name))
    return tuple(named)


def unrolled(node: Any) -> list[Any]:
    """`a AND b AND c` parses to the left, thousands deep: its parts, without recursion."""
    kind, parts = type(node), []
    while type(node) is kind:
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def bare(node: Any) -> Any:
    """Without parentheses around a column or a literal."""
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def number(text: str) -> int | Decimal:
    try:
        if len(text) > LONGEST_NUMBER:
            raise InvalidOperation
        value = Decimal(text)
        if not value.is_finite() or abs(value.adjusted()) > 400:
            raise InvalidOperation
    except InvalidOperation:
        raise BadQuestion("A number in the question is not readable, or too long.") from None
    return int(value) if value == value.to_integral_value() and abs(value) < 10**30 else value


def level_refusal(node: Any) -> str:
    """Why something is no level of a quantile."""
    from sqlglot import exp

    if type(node) in (exp.Array, exp.Tuple):
        return (
            "A quantile has one level at a time: write quantile(age, 0.25), quantile(age, 0.5) and so on, each as a "
            "column of its own."
        )
    return "The level of a quantile is a number between 0 and 1, such as 0.9."


def construct(node: Any) -> str:
    """A construct as a person would call it, in words of SQL, never its content."""
    from sqlglot import exp

    names = {
        "Subquery": "subquery", "Select": "subquery", "Exists": "EXISTS", "Star": "*",
        "Literal": "literal", "Column": "column", "Placeholder": "parameter", "Window": "OVER",
        "Parameter": "parameter", "Union": "UNION", "Values": "VALUES", "Tuple": "list",
        "Any": "ANY", "All": "ALL", "Cast": "CAST", "Interval": "INTERVAL", "Between": "BETWEEN",
        "Distinct": "DISTINCT", "Alias": "AS", "Escape": "ESCAPE", "Filter": "FILTER", "Case": "CASE",
        "BitwiseAnd": "operator &", "BitwiseOr": "operator |", "BitwiseXor": "operator ^",
        "BitwiseNot": "operator ~", "Bracket": "brackets", "Array": "ARRAY", "Lambda": "lambda",
        "Intersect": "INTERSECT", "Except": "EXCEPT", "Null": "NULL", "Boolean": "TRUE or FALSE",
        "Add": "operator +", "Sub": "operator -", "Mul": "operator *", "Div": "operator /",
        "Mod": "operator %", "Neg": "minus sign", "Paren": "parentheses", "IntDiv": "operator DIV",
        "RegexpLike": "regular expression", "SimilarTo": "SIMILAR TO", "Glob": "GLOB",
        "WithinGroup": "WITHIN GROUP", "Ordered": "ORDER BY", "AtTimeZone": "AT TIME ZONE",
        "And": "AND", "Or": "OR", "Not": "NOT", "Is": "IS", "In": "IN", "Like": "LIKE", "ILike": "ILIKE",
        "JSONExtract": "JSON path", "JSONExtractScalar": "JSON path", "Xor": "XOR", "Pow": "function power()",
    }  # fmt: skip
    kind = type(node).__name__
    if kind in names:
        return names[kind]
    if kind == "Anonymous":
        name = str(node.this).lower()
        return f"function {name}()" if name.isidentifier() and len(name) < 64 else "such function"
    if isinstance(node, exp.Func):
        return f"function {node.meta.get(WRITTEN, node.sql_name().lower())}()"
    return (
        "comparison of this kind" if isinstance(node, exp.Condition) else "construct of this kind"
    )
