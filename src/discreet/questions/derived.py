"""Columns that the schema declares to be functions of others: `age = "2029 - year(born)"`.

    [derived]
    age = "2029 - year(born)"

The text is an expression as in GROUP BY, over one other column. On each cell of that column it must have one
cell of the derived one, so the declaration is a public map of cells. Every other combination of the two is
impossible by declaration: see `cells.impossible`. Nothing that touches rows looks at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput, BadSchema, DiscreetError
from discreet.questions.cells.halving import reach_of_cells, special_cells
from discreet.questions.cells.reach import Reach, Scalar
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.computing_keys import computed_key
from discreet.questions.expressions import (
    NUMERIC,
    TYPE_OF_KIND,
    Call,
    ColumnValue,
    Expression,
    Type,
    columns_of,
)
from discreet.questions.keys import ComputedKey, Key, key_name
from discreet.questions.question import Question
from discreet.schema import Column, OrderedColumn, Schema
from discreet.schema.columns.values import day_of
from discreet.schema.completed import declared_schema

MOST_CELLS = 1 << 16
"""Cells of a column that others are derived from."""
Rows = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
"""Codes of cells, one row a row."""
ANY = -1
"""Where a cell leaves the derived column open."""


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """One declaration: for each cell of `source`, the cell of `column`, or `ANY`."""

    column: str
    source: str
    expression: Expression
    cells: npt.NDArray[np.int64]

    def wanted(self, source: Rows) -> npt.NDArray[np.int64]:
        """The cells of `column` for cells of `source`. A row without a cell there (see `schema.completed`) leaves it open."""
        return np.append(self.cells, ANY)[source.astype(np.int64)]


def derived_columns(schema: Schema) -> tuple[Derived, ...]:
    """The declarations, those that others rest on first; `BadSchema` says what is wrong with one."""
    return _derived(declared_schema(schema)) if schema.derived else ()


@lru_cache(maxsize=16)
def _kept(digest: str) -> list[tuple[Derived, ...]]:
    """Filled once for each schema."""
    return []


def _derived(schema: Schema) -> tuple[Derived, ...]:
    kept = _kept(schema.digest())
    if not kept:
        kept.append(_read(schema))
    return kept[0]


def _read(schema: Schema) -> tuple[Derived, ...]:
    found: dict[str, Derived] = {}
    mistakes: list[str] = []
    for name, text in schema.derived:
        try:
            found[name] = _one(schema, name, text)
        except DiscreetError as error:
            mistakes.append(f"[derived], column {name!r}: {error}")
    if mistakes:
        raise BadSchema(mistakes)
    return _ordered(found)


def _ordered(found: dict[str, Derived]) -> tuple[Derived, ...]:
    """The columns in an order in which each follows the one that it is derived from."""
    placed: dict[str, Derived] = {}
    while len(placed) < len(found):
        ready = [
            name
            for name, each in found.items()
            if name not in placed and (each.source not in found or each.source in placed)
        ]
        if not ready:
            circle = ", ".join(name for name in found if name not in placed)
            raise BadSchema([f"[derived]: {circle} are derived from one another."])
        placed |= {name: found[name] for name in ready}
    return tuple(placed.values())


def _one(schema: Schema, name: str, text: str) -> Derived:
    expression = _expression(schema, text)
    target, sources = schema.column(name), sorted(set(columns_of(expression)))
    if len(sources) != 1 or sources == [name]:
        raise BadInput(
            "it is not a function of one other column; name one, as in `2029 - year(born)`."
        )
    source = schema.column(sources[0])
    if not _fits(TYPE_OF_KIND[target.kind], expression.type):
        raise BadInput(
            f"it is of kind {target.kind}, and the expression is of type {expression.type}."
        )
    if source.cells > MOST_CELLS:
        raise BadInput(
            f"column {source.name!r} has {source.cells:,} cells; others can be derived from at most {MOST_CELLS:,}."
        )
    return Derived(name, source.name, expression, _map(expression, source, target))


def _expression(schema: Schema, text: str) -> Expression:
    from discreet.questions.dialects.sql import parse_question

    dataset = schema.dataset.replace('"', '""')
    question = parse_question(f'SELECT count(*) FROM "{dataset}" GROUP BY {text}\n', schema)
    if len(question.group_by) != 1 or not isinstance(question.group_by[0], ComputedKey):
        raise BadInput("write one expression of another column, such as `2029 - year(born)`.")
    return question.group_by[0].expression


def _fits(wanted: Type, given: Type) -> bool:
    return wanted == given or (wanted in NUMERIC and given in NUMERIC)


def _map(expression: Expression, source: Column, target: Column) -> npt.NDArray[np.int64]:
    found = np.full(source.cells, ANY, dtype=np.int64)
    for code in range(source.value_cells):
        reach = reach_of(expression, {source.name: reach_of_cells(source, code, code + 1)})
        cell = _cell(reach, target, expression.type)
        if cell is None:
            raise BadInput(
                f"on the cell {source.label(code)} of column {source.name!r} the expression has no single cell of "
                f"{target.name!r}; declare finer cells of {source.name!r}, or values and ranges that hold what it gives."
            )
        found[code] = cell
    for code, outside in special_cells(source):
        cell = _cell(reach_of(expression, {source.name: outside}), target, expression.type)
        found[code] = ANY if cell is None else cell
    return found


def _cell(reach: Reach, target: Column, type_: Type) -> int | None:
    """The one cell of the derived column that an expression can be in."""
    if reach.is_one:
        return _code(reach.only, target, type_)
    if reach.null or reach.options or reach.low is None or reach.high is None:
        return None
    first, last = (_code(end, target, type_) for end in (reach.low, reach.high))
    return first if first == last else None


def _code(value: Scalar, target: Column, type_: Type) -> int | None:
    """The cell of a value that the column declares; of null, its null cell."""
    if value is None:
        return target.null_cell
    if isinstance(target, OrderedColumn) and isinstance(value, int | float):
        least, most = target.extent(0)[0], target.extent(target.value_cells - 1)[1]
        if not least <= value <= most:
            return None
    typed: object = value
    if type_ == "date" and isinstance(value, int):
        typed = day_of(value)
    elif type_ == "datetime" and isinstance(value, int):
        typed = datetime(1970, 1, 1) + timedelta(microseconds=value)
    code = target.code_of(typed)
    return code if code is not None and code < target.value_cells else None


# --- questions about a derived column, asked of the one that it is derived from -----------------


def through_sources(question: Question, schema: Schema) -> Question | None:
    """The question with derived columns written out, or `None` where it groups and counts by none of them.

    A sum of a derived column is not rewritten: it is about values, and a declaration is about cells.
    """
    used = {each.column: each.expression for each in _used(question, schema)}
    summed = {name for one in question.aggregates for name in (one.column, one.second)}
    if not used or summed & set(used) or any(one.expression for one in question.aggregates):
        return None
    keys = tuple(_key_through(key, used, schema) for key in question.group_by)
    return replace(question, condition=_replaced(question.condition, used), group_by=keys)


def derived_note(question: Question, schema: Schema) -> str:
    """The note on an answer through another column."""
    listed = ", ".join(f"{each.column!r} from {each.source!r}" for each in _used(question, schema))
    return (
        f"The schema declares that one column is derived from another: {listed}. Rows are counted by what it is "
        "derived from, also rows that break the declaration."
    )


def _used(question: Question, schema: Schema) -> list[Derived]:
    """The declarations that a question rests on, also those of columns that others are derived from."""
    named = set(columns_of(question.condition))
    for key in question.group_by:
        named |= {key} if isinstance(key, str) else set(key.bins.columns)
    found: list[Derived] = []
    for each in reversed(derived_columns(schema)):
        if each.column in named:
            named.add(each.source)
            found.append(each)
    return found


def _key_through(key: Key, used: dict[str, Expression], schema: Schema) -> Key:
    name = key_name(key)
    if isinstance(key, ComputedKey):
        expression = key.expression
    else:
        expression = ColumnValue(key, TYPE_OF_KIND[schema.column(key).kind])
    if not set(columns_of(expression)) & set(used):
        return key
    return computed_key(_replaced(expression, used), name, schema)


def _replaced(expression: Expression, by: dict[str, Expression]) -> Expression:
    """With derived columns written out, also those that others are derived from."""
    if isinstance(expression, ColumnValue):
        found = by.get(expression.column)
        return expression if found is None else _replaced(found, by)
    if isinstance(expression, Call):
        parts = tuple(_replaced(each, by) for each in expression.arguments)
        return replace(expression, arguments=parts)
    return expression


def computed(
    names: Sequence[str], codes: Rows, schema: Schema
) -> tuple[tuple[str, ...], Rows, tuple[str, ...]]:
    """Rows of codes that obey the declarations, and the columns that were computed.

    A derived column is computed wherever the column that it is derived from is there, drawn or not.
    """
    columns = {name: codes[:, place] for place, name in enumerate(names)}
    done: list[str] = []
    for each in derived_columns(schema):
        if each.source not in columns:
            continue
        declared = schema.column(each.column)
        beside = declared.null_cell if declared.null_cell is not None else declared.other_cell
        drawn = columns.get(each.column)
        open_cells = np.full(len(codes), beside or 0) if drawn is None else drawn
        cells = each.wanted(columns[each.source])
        columns[each.column] = np.where(cells == ANY, open_cells.astype(np.int64), cells)
        done.append(each.column)
    if not done:
        return tuple(names), codes, ()
    ordered = tuple(column.name for column in schema.columns if column.name in columns)
    made: Any = np.stack([columns[name].astype(codes.dtype) for name in ordered], axis=1)
    return ordered, made, tuple(done)


def schema_mistakes(text: str) -> list[str]:
    """Every mistake in the TOML text of a schema, one sentence each; those of expressions once all else is right."""
    try:
        derived_columns(Schema.loads(text))
    except BadSchema as error:
        return list(error.mistakes)
    return []
