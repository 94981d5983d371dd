"""Small things about syntax trees that the readers of statements share."""

from __future__ import annotations

from typing import Any

from discreet.errors import BadInput
from discreet.questions.dialects.statement import WRITTEN, bare, construct
from discreet.schema import Schema
from discreet.schema.columns.column import folded

QUANTILES = ("quantile_cont", "quantile_disc")
"""Spellings of a quantile that the parser has no name for."""


_OTHER_NAMES = {
    "mean": "Avg", "average": "Avg", "std": "Stddev", "stddevp": "StddevPop", "stdevp": "StddevPop",
    "var": "Variance", "varp": "VariancePop",
}  # fmt: skip
"""Aggregates by the names that other databases give them."""


def usual_names(tree: Any) -> Any:
    """The statement with each aggregate under its usual name; the tree itself is changed."""
    from sqlglot import exp

    def renamed(node: Any) -> Any:
        if (
            type(node) is exp.Anonymous
            and isinstance(node.this, str)
            and len(node.expressions) == 1
        ):
            usual = _OTHER_NAMES.get(node.this.lower())
            return node if usual is None else getattr(exp, usual)(this=node.expressions[0])
        if type(node) is exp.RegrR2:
            return exp.Pow(
                this=exp.Corr(this=node.this, expression=node.expression),
                expression=exp.Literal.number(2),
            )
        if type(node) is exp.ApproxDistinct:
            return exp.Count(this=exp.Distinct(expressions=[node.this]))
        return node

    return tree.transform(renamed, copy=False)


def asks_between_rows(tree: Any) -> bool:
    """Whether a quantile of rows is asked for that may lie between the values of two of them."""
    from sqlglot import exp

    return tree.find(exp.PercentileCont) is not None or any(
        str(each.this).lower() == "quantile_cont" for each in tree.find_all(exp.Anonymous)
    )


def asks_subtotals(tree: Any) -> bool:
    """Whether rows of several groupings are shown, and nothing beside them says which is which."""
    from sqlglot import exp

    several = tree.find(exp.Rollup, exp.Cube, exp.GroupingSets) is not None
    return several and tree.find(exp.Grouping) is None


def asks_neighbours(tree: Any) -> bool:
    """Whether rows before or after another one are asked for: by lag, lead, or a frame that moves."""
    from sqlglot import exp

    frames = tree.find_all(exp.WindowSpec)
    moves = any(
        type(each.args.get(end)) is exp.Literal for each in frames for end in ("start", "end")
    )
    return moves or tree.find(exp.Lag, exp.Lead) is not None


def canonical(node: Any) -> str:
    """The same text for expressions that differ in case, quotes or parentheses around the whole."""
    from sqlglot import exp

    def plain(each: Any) -> Any:
        if type(each) is exp.Identifier:
            return exp.to_identifier(folded(each.name), quoted=True)
        return each

    return written(bare(node).transform(plain))


def written(node: Any) -> str:
    """The expression as SQL. The parser's own warnings, about dialects that nobody asked for, are not printed."""
    from sqlglot import ErrorLevel

    quiet = ErrorLevel.IGNORE
    return str(node.sql(normalize_functions="lower", comments=False, unsupported_level=quiet))


def without_alias(node: Any) -> Any:
    """A subquery without its name."""
    copied = node.copy()
    copied.set("alias", None)
    return copied


def nodes_in(parts: Any) -> list[Any]:
    """The syntax nodes among some arguments."""
    found: list[Any] = []
    for each in parts:
        if isinstance(each, list):
            found += nodes_in(each)
        elif hasattr(each, "args"):
            found.append(each)
    return found


def spoken(node: Any) -> str:
    """A function as SQL writes it."""
    names = getattr(type(node), "_sql_names", None)
    if type(node).__name__ == "Anonymous":
        return f"{node.this}()"
    return f"{node.meta.get(WRITTEN, names[0].lower())}()" if names else construct(node)


def is_star(node: Any) -> bool:
    """Whether it is * or x.*."""
    named = type(node).__name__ == "Column" and type(node.this).__name__ == "Star"
    return named or type(node).__name__ == "Star"


def is_identifier(node: Any, schema: Schema) -> bool:
    """Whether a column is the one that says whose row it is, which the schema does not list."""
    name = schema.unit.identifier
    return (
        name is not None
        and type(node).__name__ == "Column"
        and folded(node.name) == folded(name)
        and not is_known_column(node, schema)
    )


def is_known_column(node: Any, schema: Schema) -> bool:
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        return False
    try:
        schema.column(node.name)
    except BadInput:
        return False
    return True
