"""No row moves a query further than its declared sensitivity, and some row moves it as far.

A query is a function of tables of counts. All rows that a tiny schema allows are tried, as many of one kind as a person
may have: added to a table, or put in the place of each other. Nothing declared is believed, and no noise is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.families.ranges.queries.cell_strategy import CellStrategy
from discreet.families.tables.queries.cell_count import CellCount
from discreet.families.tables.queries.complete_tables import CompleteTable
from discreet.families.tables.queries.parities import Parity
from discreet.families.tables.queries.residuals import BinnedTable, ModelDistance, Residual
from discreet.privacy.adjacency import Adjacency
from discreet.queries.blocks import BlockCounts, CutCounts, GridCounts
from discreet.queries.measurable import CountQuery, Marginal, counted_for
from discreet.reference.intervals.range_count import RangeCount
from discreet.schema import Schema, keeps_every_row
from discreet.schema.completed import all_cells
from tests.harness.loss_neighbours import random_schema

MOST_ROWS = 300
"""Kinds of rows: beyond, not all pairs of them are compared."""
EACH = 20
"""Queries of each kind that are tried."""
KINDS = {
    one.kind
    for one in (
        Residual, BinnedTable, ModelDistance, Marginal, CompleteTable, CellCount, Parity, BlockCounts, GridCounts,
        CutCounts, CellStrategy, RangeCount,
    )
}  # fmt: skip
Row = tuple[int | None, ...]


def queries(random: Random) -> Iterator[tuple[CountQuery, Schema]]:
    """Queries of all kinds over tables of one or two columns of random schemas, without end."""
    while True:
        with suppress(
            DiscreetError
        ):  # some schemas have cells narrower than doubles can tell apart
            schema = random_schema(random)
            yield from ((query, schema) for query in over(random, schema))


def over(random: Random, schema: Schema) -> Iterator[CountQuery]:
    """Some columns, in bins and with rows that have no cell counted in one more, or their value cells in runs."""
    names = random.sample(schema.names, min(len(schema.names), random.randrange(1, 3)))
    columns = tuple(name for name in schema.names if name in names)
    if not all(2 <= schema.column(name).cells < MOST_ROWS for name in columns):
        return
    completed = tuple(
        name for name in columns if random.randrange(2) and not keeps_every_row(schema.column(name))
    )
    sizes, bins = [], []
    for name in columns:
        column = schema.column(name)
        cells = all_cells(column) if name in completed else column.cells
        many = random.randrange(2, cells + 1)
        own = [*range(many), *(random.randrange(many) for _ in range(cells - many))]
        random.shuffle(own)
        bins.append(tuple(own) if random.randrange(2) else None)
        sizes.append(many if bins[-1] is not None else cells)
    yield Residual(columns, tuple(bins), completed)
    yield BinnedTable(columns, tuple(bins), completed)
    model = np.array([random.randrange(9) for _ in range(prod(sizes))]).reshape(sizes)
    yield ModelDistance.to(columns, model, tuple(bins), completed)
    yield Marginal(columns)
    yield CompleteTable(columns, columns[:1])
    yield CellCount(columns, tuple(range(0, prod(schema.sizes(columns)), 2)))
    if all(schema.column(name).cells == 2 for name in columns):
        yield Parity(columns)
    if not all(schema.column(name).is_ordered for name in columns):
        return
    values = tuple(schema.column(name).value_cells for name in columns)
    yield BlockCounts(columns, tuple(random.randrange(3) for _ in columns), values)
    yield GridCounts(columns, tuple(random.randrange(1, 4) for _ in columns), values)
    cuts = [[cell for cell in range(1, many) if random.randrange(2)] for many in values]
    yield CutCounts(columns, tuple((0, *each) for each in cuts), values)
    if len(columns) == 1:
        matrix = [[random.randrange(-3, 9) for _ in range(values[0])] for _ in range(3)]
        yield CellStrategy(columns[0], tuple(map(tuple, matrix)))
        first, last = sorted(random.randrange(values[0]) for _ in range(2))
        yield RangeCount(columns[0], first, last)


def moved(query: CountQuery, schema: Schema) -> tuple[int, int] | None:
    """How far one person moves the answer at worst, in L1 and in squared L2; `None` where there are too many kinds of rows."""
    names = sorted({name for own in counted_for(query) for name in own})
    kinds = [[None, *range(schema.column(name).cells)] for name in names]
    if prod(map(len, kinds)) > MOST_ROWS:
        return None

    def answer(rows: list[Row]) -> Any:
        tables = []
        for own in counted_for(query):
            table = np.zeros([schema.column(name).cells for name in own], dtype=np.int64)
            for row in rows:
                cell = [row[names.index(name)] for name in own]
                if None not in cell:
                    table[tuple(cell)] += 1
            tables.append(table if own else np.array([len(rows)]))
        return np.asarray(query.evaluate(*tables)).reshape(-1)

    most = schema.unit.max_rows
    before = (
        [row for row in product(*kinds) for _ in range(2)] if query.kind == "model-distance" else []
    )
    after = np.array([answer([*before, *[row] * most]) for row in product(*kinds)]) - answer(before)
    steps = [after]
    if schema.adjacency is Adjacency.CHANGE_ONE:  # a person's rows may all be left out
        nobody = np.zeros((int(schema.unit.identifier is not None), after.shape[1]), dtype=np.int64)
        after = np.concatenate([after, nobody])
        steps = [after - one for one in after]
    return (
        max(int(np.abs(step).sum(axis=1).max()) for step in steps),
        max(int((step * step).sum(axis=1).max()) for step in steps),
    )


def test_no_row_moves_a_query_further_than_is_declared() -> None:
    tried: Counter[str] = Counter()
    tight: set[str] = set()
    for query, schema in queries(Random(7)):
        try:
            declared, size = query.sensitivity(schema), query.size(schema)
        except DiscreetError:  # such as the number of rows, where it is public
            continue
        if tried[query.kind] == EACH or size > 5_000 or (found := moved(query, schema)) is None:
            continue
        l1, l2_squared = found
        assert l1 <= declared.l1, (query, schema.adjacency, schema.unit)
        assert l2_squared <= declared.l2_squared, (query, schema.adjacency, schema.unit)
        tried[query.kind] += 1
        if found == (declared.l1, declared.l2_squared):
            tight.add(query.kind)
        if min(tried[kind] for kind in KINDS) == EACH:
            break
    assert tight >= KINDS
