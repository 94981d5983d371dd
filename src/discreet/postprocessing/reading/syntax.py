"""Small things about syntax trees that the readers of statements share."""

from __future__ import annotations

from typing import Any

from discreet.errors import BadInput
from discreet.questions.dialects.statement import bare, construct
from discreet.schema import Schema
from discreet.schema.columns.column import folded

QUANTILES = ("quantile_cont", "quantile_disc")
"""Spellings of a quantile that the parser has no name for."""


def canonical(node: Any) -> str:
    """The same text for expressions that differ in case, quotes or parentheses around the whole."""
    from sqlglot import exp

    def plain(each: Any) -> Any:
        if type(each) is exp.Identifier:
            return exp.to_identifier(folded(each.name), quoted=True)
        return each

    return str(bare(node).transform(plain).sql(normalize_functions="lower", comments=False))


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
    return f"{names[0].lower()}()" if names else construct(node)


def is_known_column(node: Any, schema: Schema) -> bool:
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        return False
    try:
        schema.column(node.name)
    except BadInput:
        return False
    return True
