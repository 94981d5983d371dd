"""The DuckDB engine: one scan per verb, or a kept table where rows must be bounded or parsed.

A table whose unit is an identifier is bounded once, and a CSV file is parsed once or twice, into a table
in memory of codes and summed values (a few bytes per row and column), which spills beyond the memory
limit. Bounding sorts the rows by identifier, which spills too: 20 million rows of five columns took
40 seconds of processor time, and a process of 866 MB, with a limit of 768 MB; once per engine. Any
other source is scanned anew by each verb.

A few marginals are counted in one scan, by GROUPING SETS over one integer key per grouping; many are
counted in memory, from the rows' codes (`coded_marginals`). Trees: see `duckdb_nodes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.coded_marginals import counted
from discreet.engines.duckdb import cells as cells
from discreet.engines.duckdb import sql as s
from discreet.engines.duckdb.expressions import Compiler
from discreet.engines.duckdb.keys import held_keys
from discreet.engines.duckdb.nodes import NodeCounter
from discreet.engines.duckdb.rows import EncodedRows
from discreet.engines.duckdb.scan import Scan, describe, open_scan
from discreet.engines.duckdb.session import Session
from discreet.engines.duckdb.sql import Sql
from discreet.engines.duckdb.tallies import tallied
from discreet.engines.duckdb.views import open_view
from discreet.engines.passes import Grouping, alone, groupings, passes, slots
from discreet.engines.protocol import (
    Counts,
    Progress,
    SumRequest,
    checked_marginal,
    checked_nodes,
    checked_sum,
)
from discreet.engines.sources import Source, csv_names, refuse_row_as_header
from discreet.queries.tallies import Key, Tally
from discreet.questions.expressions import Expression
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema

MOST_GROUPED_SETS = 16
"""More marginals than these are counted from the rows' codes, if one fetch brings them into memory."""
MOST_SETS_OF_MANY_ROWS = 64
"""More than these are so counted in any case: their hash tables would not fit the memory."""
MOST_FETCHED_BYTES = 1 << 28
"""Codes that are fetched at once; they take as much again while they are."""


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
        names = csv_names(source.files, csv or CsvOptions())
        if csv is None:
            refuse_row_as_header(names)
        return [(name, "") for name in names]
    session = Session(memory_limit="256MB", threads=1, progress=None)
    try:
        return [(column.name, column.type_name) for column in describe(session, source)]
    finally:
        session.close()


class DuckDBEngine:
    """Counts with DuckDB. See `protocol.Engine` for what the verbs promise.

    Thread safe: verbs called at the same time run side by side, and each sees its own results.
    """

    def __init__(self, session: Session, schema: Schema, scan: Scan) -> None:
        self._session = session
        self._schema = schema
        self._rows = EncodedRows(session, schema, scan)
        self._nodes = NodeCounter(session, self._rows)

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[Counts]:
        sets = [tuple(self._schema.column(name).name for name in names) for names in column_sets]
        shapes = [checked_marginal(self._schema, names) for names in sets]
        if self._counts_codes(sets):
            found, place = alone(self._schema, sets)
            together = counted(found, self._slots(found))
        else:
            found, place = groupings(self._schema, sets)
            together = [
                counts
                for numbers in passes(found)
                for counts in self._count([found[number] for number in numbers])
            ]
        return [
            found[number].marginal(together[number], shape, names)
            for number, shape, names in zip(place, shapes, sets, strict=True)
        ]

    def node_counts(
        self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        chosen = checked_nodes(self._schema, columns, shifts, nodes)
        return self._nodes.count(chosen, shifts, nodes)

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        if not requests:
            return []
        columns = [checked_sum(self._schema, request) for request in requests]
        terms = [
            exp.Sum(
                this=cells.fixed_point(
                    self._rows.value(column),
                    column,
                    request.scale,
                    request.lowest,
                    request.highest,
                )
            )
            for column, request in zip(columns, requests, strict=True)
        ]
        unique = list({column.name: column for column in columns}.values())
        (totals,) = self._session.rows(exp.select(*terms).from_(self._rows.encoded(unique, True)))
        return [0 if total is None else int(total) for total in totals]

    def tally(self, tallies: Sequence[Tally]) -> list[Counts]:
        return tallied(
            tallies,
            self._schema,
            self._session,
            self._rows.tally_rows,
            self._rows.number_categories(),
        )

    def held_keys(self, columns: Sequence[str], condition: Expression) -> tuple[list[Key], Counts]:
        compiler = Compiler(self._schema, self._rows.number_categories())
        return held_keys(
            columns, condition, self._schema, self._session, self._rows.tally_rows, compiler
        )

    def _counts_codes(self, sets: Sequence[tuple[str, ...]]) -> bool:
        if not MOST_GROUPED_SETS < len(sets) <= MOST_SETS_OF_MANY_ROWS:
            return len(sets) > MOST_GROUPED_SETS
        names = {name for columns in sets for name in columns}
        rows = self._rows.count(self._schema.column(name) for name in names)
        return self._slot_bytes(names) * rows <= MOST_FETCHED_BYTES

    def _slot_bytes(self, names: Iterable[str]) -> int:
        """Bytes of a row's slots in some columns."""
        return sum(cells.unsigned(slots(self._schema.column(name)))[1] for name in names)

    def _slots(self, found: Sequence[Grouping]) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The slots of all columns that are grouped by, in batches of rows."""
        names = list(dict.fromkeys(name for grouping in found for name in grouping.columns))
        columns = [self._schema.column(name) for name in names]
        taken = []
        for axis, column in enumerate(columns):
            type_, _ = cells.unsigned(slots(column))
            code = s.cast(self._rows.code(column), type_)
            if slots(column) > column.cells:
                code = s.call("coalesce", code, s.cast(s.whole(column.cells), type_))
            taken.append(exp.alias_(code, f"b{axis}"))
        query = exp.select(*taken).from_(self._rows.encoded(columns))
        width = self._slot_bytes(names)
        if width * self._rows.count(columns) <= MOST_FETCHED_BYTES:
            yield dict(zip(names, self._session.arrays(query), strict=True))
            return
        # Small batches, for the table that they come from fills the engine's memory.
        for arrays in self._batched(query, max(1, MOST_FETCHED_BYTES // (8 * width))):
            yield dict(zip(names, arrays, strict=True))

    def row_count(self) -> int:
        return self._rows.count()

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _batched(self, query: exp.Select, batch_rows: int) -> Iterator[list[NDArray[np.generic]]]:
        """By ranges of row numbers of a table of its own: arrays without a result held in memory."""
        table = self._session.new_name("batched_rows")
        self._session.run(f"CREATE TABLE {table} AS {s.render(query)}")
        try:
            ((rows,),) = self._session.rows(f"SELECT count(*) FROM {table}")
            for start in range(0, rows, batch_rows):
                yield self._session.arrays(
                    f"SELECT * FROM {table} WHERE rowid >= {start} AND rowid < {start + batch_rows}"
                )
        finally:
            self._session.drop(table)

    def _count(self, together: Sequence[Grouping]) -> list[Counts]:
        """The counts of several groupings, from one scan; numbered one after the other."""
        names = list(dict.fromkeys(name for grouping in together for name in grouping.columns))
        starts = np.cumsum([0, *(grouping.cells for grouping in together)])
        wide = "INTEGER" if starts[-1] < 2**31 else "BIGINT"
        keys = []
        for number, grouping in enumerate(together):
            keys.append(exp.alias_(self._key(grouping, int(starts[number]), wide), f"k{number}"))
        columns = [self._schema.column(name) for name in names]
        keyed = exp.select(*keys).from_(self._rows.encoded(columns)).subquery("keyed")
        listed = [s.name(f"k{number}") for number in range(len(together))]
        cell = s.call("coalesce", *listed)  # of a grouping set, only its own key is not null
        query = exp.select(exp.alias_(cell, "cell"), exp.alias_(exp.Count(this=exp.Star()), "n"))
        sets = [exp.Tuple(expressions=[one]) for one in listed]
        group = exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)])
        grouped = query.from_(keyed)
        grouped.set("group", group)
        found, counted = self._session.arrays(grouped)
        counts = np.zeros(int(starts[-1]), dtype=np.int64)
        counts[found.astype(np.int64)] = counted
        return [counts[starts[number] : starts[number + 1]] for number in range(len(together))]

    def _key(self, grouping: Grouping, start: int, wide: str) -> Sql:
        """The number of a row's joint cell, from `start` on. Few operations: it is most of the work."""
        key: Sql | None = s.cast(s.whole(start), wide) if start else None
        step = grouping.cells
        for name, many in zip(grouping.columns, grouping.slots, strict=True):
            step //= many
            column = self._schema.column(name)
            code = s.cast(self._rows.code(column), wide)
            if many > column.cells:
                code = s.call("coalesce", code, s.cast(s.whole(column.cells), wide))
            part = code if step == 1 else s.multiply(code, s.cast(s.whole(step), wide))
            key = part if key is None else s.add(key, part)
        assert key is not None
        return key
