"""Predicates: a list of SQL conditions, declared in advance, and the classes that they make of cells.

A predicate must follow the schema's cells: each cell satisfies it with all its rows or with none, so
that what is counted is exactly what was declared. Cells that satisfy the same predicates are one
part: all that the predicates can tell about a row is the part it lies in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm, prod
from typing import ClassVar

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.artifacts.release import Part
from discreet.errors import BadInput, BadQuestion, BadRelease
from discreet.families.shared.queries.matrices import MOST_EXACT
from discreet.queries.measurable import Counts
from discreet.questions.cells.cutting import pieces_of
from discreet.questions.cells.ordered_pieces import extents
from discreet.questions.cells.pieces import Pieces
from discreet.questions.cells.truths import FALSE, SINGLE, TRUE, cell_bits
from discreet.questions.conditions import (
    Leaf,
    Normal,
    asks_for_a_value,
    atoms,
    columns_named,
    normal_form,
)
from discreet.questions.expressions import Expression
from discreet.questions.expressions import columns_of as columns_in
from discreet.questions.inequality import Inequality, inequality_of
from discreet.questions.spelling import checked_weight, sql_name
from discreet.schema import OrderedColumn, Schema, keeps_every_row

MOST_PREDICATES = 10_000
MOST_CELLS = 1 << 22
"""Combinations of cells over which predicates are evaluated one by one."""


@dataclass(frozen=True, slots=True, init=False)
class Predicates:
    """Counts of the rows that satisfy each of `conditions`, texts as in WHERE.

    Thread safe: it never changes.
    """

    conditions: tuple[str, ...]
    weight: Fraction
    name: ClassVar[str] = "predicates"

    def __init__(self, conditions: Sequence[str] | str, *, weight: Fraction | int = 1) -> None:
        listed = (conditions,) if isinstance(conditions, str) else tuple(conditions)
        if not listed:
            raise BadInput(
                'predicates(...) takes at least one condition, as in predicates("age >= 65").'
            )
        if len(listed) > MOST_PREDICATES:
            raise BadInput(f"predicates(...) takes at most {MOST_PREDICATES:,} conditions.")
        if any(not isinstance(each, str) or not each.strip() for each in listed):
            raise BadInput("A predicate is a text such as age >= 65, and this one is empty.")
        if len(set(listed)) != len(listed):
            raise BadInput("predicates(...) lists a condition twice.")
        object.__setattr__(self, "conditions", listed)
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        """The class as it is written on the command line and in release files."""
        return f"predicates({', '.join(map(sql_name, self.conditions))})"

    def check(self, schema: Schema) -> None:
        """Raise `BadInput` if the class does not fit the schema."""
        check_rows_are_kept(schema, read_conditions(schema, self.conditions))


@lru_cache(maxsize=16)
def read_conditions(schema: Schema, conditions: tuple[str, ...]) -> tuple[Expression, ...]:
    """The conditions as plain data; refuses what the schema cannot decide."""
    from discreet.questions.dialects.sql import parse_question

    name = sql_name(schema.dataset)
    found = []
    for each in conditions:
        try:
            question = parse_question(f"SELECT count(*) FROM {name} WHERE {each}", schema)
            if question.group_by:
                raise BadQuestion("Only a WHERE is read.")
        except BadQuestion as error:
            # what is said of a whole SELECT would mislead: only its WHERE was written
            why = str(error)
            if why.startswith(("The SQL", "Only", "The question")):
                why = "it is not understood; write what may stand in a WHERE."
            raise BadQuestion(
                f"The condition {each!r}: {why} Nothing was read or charged."
            ) from None
        found.append(question.condition)
    return tuple(found)


def check_rows_are_kept(schema: Schema, conditions: Sequence[Expression]) -> None:
    """Predicates are counted over the cells of all their columns together.

    A row without a cell in one of them is then in none of the counts, so every condition must be one
    that such a row cannot satisfy.
    """
    for name in columns_of(schema, conditions):
        if keeps_every_row(schema.column(name)):
            continue
        if not all(asks_for_a_value(condition, name) for condition in conditions):
            raise BadInput(
                f"Column {name!r} leaves rows out (nulls or other values have no cell), and they would be "
                "missing from conditions that they may satisfy. Give them a cell in the schema, or "
                "declare the conditions on that column as a class of their own. Nothing was read or charged."
            )


def columns_of(schema: Schema, conditions: Sequence[Expression]) -> tuple[str, ...]:
    """The columns that some condition looks at, in the schema's order."""
    named = frozenset[str]().union(*(columns_named(condition) for condition in conditions))
    return tuple(column.name for column in schema.columns if column.name in named)


def cell_mask(schema: Schema, condition: Expression, columns: tuple[str, ...]) -> Bools:
    """Where the condition holds, over the cells of `columns`; an axis it ignores has length 1."""
    normal = normal_form(condition)
    singles: dict[str, list[Expression]] = {}
    for atom in atoms(normal):
        if inequality_of(atom, schema) is None and len(names := set(columns_in(atom))) == 1:
            singles.setdefault(names.pop(), []).append(atom)
    pieces = {
        name: pieces_of(schema.column(name), list(dict.fromkeys(each)))
        for name, each in singles.items()
    }
    mask = _evaluated(normal, columns, lambda leaf: _leaf_mask(leaf, schema, columns, pieces))
    for axis, name in enumerate(columns):
        if name not in pieces or not pieces[name].is_cut or mask.shape[axis] == 1:
            continue
        starts = pieces[name].starts
        inner = np.logical_and.reduceat(mask, starts, axis=axis)
        if not np.array_equal(inner, np.logical_or.reduceat(mask, starts, axis=axis)):
            raise BadInput(_cut(f"of column {name!r}"))
        mask = inner
    return mask


def _cut(which: str) -> str:
    return (
        f"A predicate cuts through a cell {which}, and the rows inside a cell cannot be separated. Declare "
        "narrower cells, or compare with an edge of one. Nothing was read or charged."
    )


def _leaf_mask(
    leaf: Leaf, schema: Schema, columns: tuple[str, ...], pieces: dict[str, Pieces]
) -> Bools:
    """Where an atom holds, over the pieces of its columns."""
    asked = inequality_of(leaf.atom, schema)
    names = [name for name in columns if name in set(columns_in(leaf.atom))]
    if asked is None and len(names) == 1:
        true = pieces[names[0]].truth(leaf.atom, positive=leaf.positive)
        return _spread(true, names, columns)
    if asked is not None:
        mask = _inequality_mask(schema, asked if leaf.positive else asked.negated(), columns)
        mask = mask.reshape(
            [size for size, name in zip(mask.shape, columns, strict=True) if name in names]
        )
    else:
        bits = cell_bits(leaf.atom, [schema.column(name) for name in names])
        if not np.isin(bits, SINGLE).all():
            raise BadInput(_cut(f"of the columns {', '.join(names)}"))
        mask = bits == (TRUE if leaf.positive else FALSE)
    for axis, name in enumerate(names):
        if name in pieces:
            mask = mask.take(pieces[name].cell, axis=axis)
    return _spread(mask, names, columns)


def _spread(mask: Bools, names: Sequence[str], columns: tuple[str, ...]) -> Bools:
    sizes = iter(mask.shape)
    return mask.reshape([next(sizes) if name in names else 1 for name in columns])


def _evaluated(
    normal: Normal, columns: tuple[str, ...], leaf_mask: Callable[[Leaf], Bools]
) -> Bools:
    if isinstance(normal, bool):
        return np.full((1,) * len(columns), normal)
    if isinstance(normal, Leaf):
        return leaf_mask(normal)
    join = np.logical_and if normal.every else np.logical_or
    mask = np.full((1,) * len(columns), normal.every)
    for part in normal.parts:
        mask = np.asarray(join(mask, _evaluated(part, columns, leaf_mask)))
    return mask


def _inequality_mask(schema: Schema, asked: Inequality, columns: tuple[str, ...]) -> Bools:
    """In exact integers; nulls and other values never satisfy it."""
    check_single_values(schema, asked)
    scaled, bound, strict = integer_inequality(schema, asked, columns)
    total = np.zeros((1,) * len(columns))
    valued = np.ones((1,) * len(columns), dtype=np.bool_)
    for axis, name in enumerate(columns):
        if name not in asked.columns:
            continue
        shape = [-1 if place == axis else 1 for place in range(len(columns))]
        middles, known = doubled_middles(schema, name)
        total = total + (scaled[axis] * middles).reshape(shape)
        valued = valued & known.reshape(shape)
    return np.asarray((total > bound if strict else total >= bound) & valued)


def check_single_values(schema: Schema, asked: Inequality) -> None:
    """A declared inequality is about rows, so no cell may hold rows on both of its sides."""
    for name in asked.columns:
        column = schema.column(name)
        if isinstance(column, OrderedColumn) and column.kind == "integer":
            low, high = extents(column)
            if not np.array_equal(low, high):
                raise BadInput(
                    f"{asked.text} cuts through cells of column {name!r}, and the rows inside a cell cannot be separated. Declare a width of 1, or release halfspaces(...). Nothing was read or charged."
                )


def integer_inequality(
    schema: Schema, asked: Inequality, columns: tuple[str, ...]
) -> tuple[list[int], int, bool]:
    """Coefficients for doubled middles, one for each of `columns`, and a bound, all whole numbers."""
    coefficients, bound, strict = asked.as_at_least()
    scale = 2 * bound.denominator
    for each in coefficients:
        scale = lcm(scale, each.denominator)
    by_name = dict(zip(asked.columns, coefficients, strict=True))
    scaled = [int(by_name.get(name, Fraction(0)) * scale) for name in columns]
    reach = abs(int(2 * bound * scale))
    for name, factor in zip(columns, scaled, strict=True):
        if factor:
            reach += abs(factor) * int(np.abs(doubled_middles(schema, name)[0]).max())
    if scale > MOST_EXACT or reach > MOST_EXACT:
        raise BadInput(
            f"The coefficients of {asked.text} have too many digits to be compared exactly; "
            "round them. Nothing was read or charged."
        )
    return scaled, int(2 * bound * scale), strict


def doubled_middles(schema: Schema, name: str) -> tuple[Floats, Bools]:
    """Twice the middle of each cell, a whole number, and which cells have one."""
    column = schema.column(name)
    if not isinstance(column, OrderedColumn) or column.kind != "integer":
        raise BadInput(
            f"A declared inequality takes integer columns, and {name!r} is of kind {column.kind}. "
            "Nothing was read or charged."
        )
    low, high = extents(column)
    known = np.arange(column.cells) < column.value_cells
    middles = np.zeros(column.cells)
    middles[: column.value_cells] = low + high
    return middles, known


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The parts into which predicates divide the cells of `columns`."""

    columns: tuple[str, ...]
    part: Integers
    """The part of each cell, flat."""
    workload: Bools
    """One row a predicate, one column a part: which parts satisfy it."""

    @property
    def parts(self) -> int:
        return int(self.workload.shape[1])


@lru_cache(maxsize=16)
def partition(schema: Schema, conditions: tuple[str, ...]) -> Partition:
    """The parts, in a fixed order: by the predicates that they satisfy, the first one foremost."""
    read = read_conditions(schema, conditions)
    columns = columns_of(schema, read)
    shape = tuple(schema.column(name).cells for name in columns)
    check_cells(schema, columns)
    part = np.zeros(prod(shape), dtype=np.int64)
    rows: list[Bools] = []
    for condition in read:
        mask = np.broadcast_to(cell_mask(schema, condition, columns), shape).reshape(-1)
        rows.append(mask)
        part = np.unique(2 * part + mask, return_inverse=True)[1]
        part = part.reshape(-1).astype(np.int64)
    first = np.zeros(int(part.max(initial=0)) + 1, dtype=np.int64)
    first[part[::-1]] = np.arange(len(part))[::-1]
    workload = np.array([mask[first] for mask in rows], dtype=np.bool_).reshape(-1, len(first))
    return Partition(columns, part, workload)


def check_cells(schema: Schema, columns: tuple[str, ...], most: int = MOST_CELLS) -> None:
    cells = prod(schema.column(name).cells for name in columns)
    if cells > most:
        raise BadInput(
            f"The predicates look at {', '.join(columns)}, which have {cells:,} combinations of cells; at most {most:,} are allowed. Declare wider cells, or use fewer columns at once. "
            "Nothing was read or charged."
        )


def parse_predicates(arguments: Sequence[str]) -> Predicates:
    return Predicates(list(arguments))


def extreme_rows(asked: Predicates, schema: Schema) -> tuple[dict[str, int], dict[str, int]]:
    """A row that satisfies the most predicates, and one on which as many as possible differ from it: their cells, by column."""
    found = partition(schema, asked.conditions)
    shape = schema.sizes(found.columns)
    cells = np.stack(np.unravel_index(np.arange(len(found.part)), shape), axis=1)
    # Cells for other values have no value to write, so only values and nulls are looked for.
    written = np.ones(len(cells), dtype=np.bool_)
    for axis, name in enumerate(found.columns):
        column = schema.column(name)
        if column.other_cell is not None:
            written &= cells[:, axis] != column.other_cell
    truths = found.workload[:, found.part]
    most = int(np.argmax(np.where(written, truths.sum(axis=0), -1)))
    moved = (truths != truths[:, most : most + 1]).sum(axis=0)
    furthest = int(np.argmax(np.where(written, moved, -1)))
    one, other = (
        dict(zip(found.columns, cells[place].tolist(), strict=True)) for place in (most, furthest)
    )
    return one, other


@dataclass(frozen=True, slots=True, eq=False)
class ModelError:
    """|rows that satisfy a predicate - what a model says|, for each predicate.

    One unit moves any one count by at most its rows, under either adjacency, and the distance to a
    fixed number by no more.
    """

    partition: Partition
    model: Counts
    """What the model says: whole numbers, computed from noisy numbers only."""

    sampler: ClassVar[None] = None

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        return (self.partition.columns,)

    def candidates(self, schema: Schema) -> int:
        return len(self.model)

    def sensitivity(self, schema: Schema) -> int:
        return _moved(schema)

    def evaluate(self, counts: tuple[Counts, ...]) -> Counts:
        in_part = np.zeros(self.partition.parts, dtype=np.int64)
        np.add.at(in_part, self.partition.part, counts[0].reshape(-1))
        answers = np.array([in_part[row].sum() for row in self.partition.workload], dtype=np.int64)
        return np.asarray(np.abs(answers - self.model))


def selected_among(part: Part, schema: Schema) -> tuple[int, int]:
    """Candidates and sensitivity of a selection among predicates, whatever the model says of them."""
    if not isinstance(part.query_class, Predicates):
        raise BadRelease("A part of predicates does not say which they are.")
    return len(part.query_class.conditions), _moved(schema)


def _moved(schema: Schema) -> int:
    return schema.unit.max_rows
