"""Keys that no schema lists: which there are, who holds them, and how a row finds its own.

A key is the texts of some category columns. For lookups its texts become one, each behind its
length, so that no two keys spell alike. A null, or a text with a NUL, which no statement can hold,
makes a row keyless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sqlglot import exp

from discreet.engines.protocol import Counts
from discreet.engines.sql import syntax as s
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql.expressions import Compiler
from discreet.engines.sql.session import Session
from discreet.engines.sql.syntax import Sql
from discreet.queries.tallies import FoundKeys, Key
from discreet.questions.expressions import TRUE, ColumnValue, Expression, columns_of
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema

Source = Callable[[Sequence[Column]], Sql]


def text_of(name: str, compiler: Compiler) -> Sql:
    """A category as text; null where it has none that a statement can hold."""
    text = s.cast(compiler.sql(ColumnValue(name, "text")), "VARCHAR")
    return compiler.dialect.key_text(text)


def held_keys(
    columns: Sequence[str],
    condition: Expression,
    schema: Schema,
    session: Session,
    source: Source,
    compiler: Compiler,
) -> tuple[list[Key], Counts]:
    """See `Engine.held_keys`."""
    wanted = {*columns, *columns_of(condition)}
    rows = source([column for column in schema.columns if column.name in wanted])
    names = [f"k{n}" for n in range(len(columns))]
    keys = [
        exp.alias_(text_of(name, compiler), alias)
        for name, alias in zip(columns, names, strict=True)
    ]
    met = [] if condition == TRUE else [compiler.sql(condition)]
    grouped = [s.name(name) for name in names]
    has_units = schema.unit.identifier is not None
    whose = [s.name("identifier")] if has_units else []
    held = exp.select(*keys, *whose).from_(rows, copy=False).where(*met, copy=False)
    known = [exp.Not(this=s.is_null(name)) for name in grouped]
    rows = exp.select(exp.Star()).from_(held.subquery("rows")).where(*known).subquery("known")
    if has_units:
        once = exp.select(*whose, *grouped).from_(rows).distinct()
        once = within_groups(once, grouped, schema.unit.groups, compiler.dialect)
        rows = once.subquery("bounded")
    query = exp.select(*grouped, exp.Count(this=exp.Star())).from_(rows).group_by(*grouped)
    found = sorted(session.rows(query))
    counts = np.array([row[-1] for row in found], dtype=np.int64)
    return [tuple(row[:-1]) for row in found], counts


def within_groups(
    rows: exp.Select, grouped: Sequence[Sql], most: int, dialect: Dialect
) -> exp.Select:
    """The rows of each identifier that lie in the first `most` of its groups, in an order of MD5s.

    The order depends on the identifier and the group alone: not on where a row stands, nor on
    anybody else.
    """
    parts = [s.call("coalesce", s.cast(one, "VARCHAR"), s.text("")) for one in grouped]
    key = s.call("md5", s.call("concat_ws", s.text(":"), s.name("identifier"), *parts))
    order = exp.Order(expressions=[key, *(one.copy() for one in grouped)])
    place = exp.Window(
        this=exp.Anonymous(this="dense_rank"), partition_by=[s.name("identifier")], order=order
    )
    return dialect.first_of(rows, place, most)


def joined_text(found: FoundKeys, compiler: Compiler) -> Sql:
    """A row's key as one text; null where it has none."""
    parts: list[Sql] = []
    for name in found.columns:
        text = text_of(name, compiler)
        parts += [s.cast(s.call("length", text), "VARCHAR"), s.text(":"), text]
    joined: Sql = parts[0]
    for part in parts[1:]:
        joined = s.binary(exp.DPipe, joined, part)  # null where any part is
    return joined


def spelled(key: Key) -> str:
    """The text that `joined_text` makes of a key."""
    return "".join(f"{len(text)}:{text}" for text in key)
