"""The DuckDB engine: one scan per verb, or a kept table where rows must be bounded or parsed.

A table whose unit is an identifier is bounded once, and a CSV file is parsed once or twice, into a table of codes
and summed values that spills beyond the memory limit. Any other source is scanned anew by each verb. A few
marginals are counted in one scan, by GROUPING SETS; many from the rows' codes (`passes.Counting`).

Tree nodes are counted in one of three exact ways, which the schema, the shape of the tree and the number of rows choose:
  - few cells: one grouping of the rows by cell, kept, which every level sums up;
  - up to 52 million rows: their keys, read once and held in memory (`held_keys`);
  - more rows, or levels that halve their columns in another order: queries alone (`sql.nodes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.duckdb.dialect import DIALECT, render
from discreet.engines.duckdb.rows import EncodedRows
from discreet.engines.duckdb.scan import Scan, describe, open_parquet, open_scan, parquet_table
from discreet.engines.duckdb.session import Session
from discreet.engines.held_keys import MOST_HELD_BYTES, HeldKeys, Interleaving
from discreet.engines.passes import Counting, Grouping, alone, slots
from discreet.engines.protocol import Counts, Progress
from discreet.engines.sources import Source, csv_names
from discreet.engines.sql import cells
from discreet.engines.sql import syntax as s
from discreet.engines.sql.engine import SqlEngine
from discreet.engines.sql.nodes import NodeCounter
from discreet.engines.sql.views import joined
from discreet.engines.unit_lines import unit_line
from discreet.errors import BadSource
from discreet.queries.tree import bits_of
from discreet.schema.columns.column import Column
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema

GROUPED_BITS = 16
"""Up to so many bits in all, a grouping is faster than keys, and smaller."""


class HoldingCounter(NodeCounter):
    """Counts the nodes of one tree after another; holds the keys of the latest one."""

    _rows: EncodedRows
    _session: Session

    def __init__(self, session: Session, rows: EncodedRows) -> None:
        super().__init__(session, rows)
        self._row_count: int | None = None
        self._held: dict[tuple[str, ...], HeldKeys] = {}

    def _counted(
        self, columns: Sequence[Column], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        if sum(bits_of(column.value_cells) for column in columns) > GROUPED_BITS:
            interleaving = Interleaving.of(columns)
            depth = interleaving.depth(shifts)
            rows = self._rows_held(columns)
            if depth is not None and rows is not None:
                names = tuple(column.name for column in columns)
                held = self._held.pop(names, None)
                self._held.clear()  # before the next is read: two would not fit the memory
                if held is None:
                    held = self._read(columns, interleaving, rows)
                counts = held.node_counts(depth, shifts, nodes)
                self._held[names] = held  # only now: a scan that broke off leaves nothing behind
                return counts
        return super()._counted(columns, shifts, nodes)

    def _rows_held(self, columns: Sequence[Column]) -> int | None:
        """How many rows there are, if their keys fit the memory."""
        if self._row_count is None:
            self._row_count = self._rows.count(columns)
        return self._row_count if 8 * self._row_count <= MOST_HELD_BYTES else None

    def _read(self, columns: Sequence[Column], interleaving: Interleaving, rows: int) -> HeldKeys:
        """The keys of all rows that lie in value cells."""
        line, query = unit_line(columns[0]), self._rows.integer_units(columns[0])
        if len(columns) > 1 or line is None or query is None:
            query = self._rows.keyed(columns, interleaving.shifts, interleaving.kept_bits)
            return HeldKeys(interleaving, partial(self._session.stream, render(query)), rows)
        scan = partial(self._session.stream, render(query))
        return HeldKeys(interleaving, scan, rows, line.codes)


def open_view(session: Session, source: Source, schema: Schema) -> Scan:
    """The scan of a view's columns; afterwards the session is locked."""
    view = schema.view
    assert view is not None
    files = {name: file for (name, _), file in zip(view.tables, source.files, strict=True)}
    for one, other in combinations(files, 2):
        if Path(files[one]).samefile(files[other]):  # as public it could be joined by anything
            raise BadSource(
                f"Tables {one!r} and {other!r} of the view are one file. No row was read. Name it once, "
                "and give it two aliases in the view's SQL."
            )
    table, fields = joined(
        schema,
        lambda name, columns: open_parquet(session, (files[name],), columns),
        lambda name: parquet_table(session, (files[name],)),
        DIALECT,
    )
    session.lock(source.files)
    return Scan(table, fields)


MOST_GROUPED_SETS = 16
"""More marginals than these are counted from the rows' codes as they stream past."""


def open_source(
    source: Source,
    schema: Schema,
    *,
    memory_limit: str,
    threads: int | None,
    progress: Progress | None,
) -> DuckDBEngine:
    """The engine of a source, once every declared column is found in it."""
    session = Session(memory_limit=memory_limit, threads=threads, progress=progress)
    try:
        opener = open_scan if source.format != "view" else open_view
        return DuckDBEngine(session, schema, opener(session, source, schema))
    except BaseException:
        session.close()
        raise


def describe_source(source: Source, csv: CsvOptions | None) -> list[tuple[str, str]]:
    """Names and logical types, from metadata alone; no types for CSV."""
    if source.format == "csv":
        return [(name, "") for name in csv_names(source.files, csv or CsvOptions())]
    session = Session(memory_limit="256MB", threads=1, progress=None)
    try:
        return [(column.name, column.type_name) for column in describe(session, source)]
    finally:
        session.close()


class DuckDBEngine(SqlEngine):
    """Counts with DuckDB. See `protocol.Engine` for what the verbs promise.

    Thread safe: verbs called at the same time run side by side, and each sees its own results.
    """

    _session: Session
    _rows: EncodedRows

    def __init__(self, session: Session, schema: Schema, scan: Scan) -> None:
        super().__init__(session, schema, EncodedRows(session, schema, scan))
        self._nodes = HoldingCounter(session, self._rows)

    def _counted(
        self, sets: Sequence[tuple[str, ...]]
    ) -> tuple[list[Grouping], list[int], list[Counts]]:
        if len(sets) <= MOST_GROUPED_SETS:
            return super()._counted(sets)
        found, place = alone(self._schema, sets)
        counting = Counting(found)
        names, query = self._slots_query(found)
        add = counting.add
        self._session.stream(query, lambda batch: add(dict(zip(names, batch, strict=True))))
        return found, place, counting.totals

    def _slots_query(self, found: Sequence[Grouping]) -> tuple[list[str], exp.Select]:
        """The columns that are grouped by, and a query for each row's slots in them."""
        names = list(dict.fromkeys(name for grouping in found for name in grouping.columns))
        columns = [self._schema.column(name) for name in names]
        taken = []
        for axis, column in enumerate(columns):
            type_, _ = cells.unsigned(slots(column))
            code = s.cast(self._layers.code(column), type_)
            if slots(column) > column.cells:
                code = s.call("coalesce", code, s.cast(s.whole(column.cells), type_))
            taken.append(exp.alias_(code, f"b{axis}"))
        return names, exp.select(*taken).from_(self._rows.encoded(columns))

    def close(self) -> None:
        self._session.close()
        self._nodes = NodeCounter(self._session, self._rows)  # lets go of the keys
