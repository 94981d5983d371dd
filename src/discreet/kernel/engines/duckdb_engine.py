"""The DuckDB engine: one scan per verb, or one scan in all where rows must be bounded or parsed.

A table whose unit is an identifier is bounded once, and a CSV file is parsed once, into a temporary
table of codes and summed values (a few bytes per row and column), which spills beyond the memory
limit. Bounding sorts the rows by identifier, which spills too: 20 million rows of five columns took
40 seconds of processor time, and a process of 866 MB, with a limit of 768 MB; once per engine. Any
other source is scanned anew by each verb.

Marginals of a pass are counted in one scan, by GROUPING SETS over one integer key per grouping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import BadSource
from discreet.kernel.engines import duckdb_cells as cells
from discreet.kernel.engines import duckdb_sql as s
from discreet.kernel.engines import duckdb_units as units
from discreet.kernel.engines.duckdb_expressions import Compiler
from discreet.kernel.engines.duckdb_keys import held_keys
from discreet.kernel.engines.duckdb_scan import Scan, describe, open_scan
from discreet.kernel.engines.duckdb_session import Session
from discreet.kernel.engines.duckdb_sql import Sql
from discreet.kernel.engines.duckdb_tallies import tallied
from discreet.kernel.engines.duckdb_views import open_view
from discreet.kernel.engines.passes import Grouping, groupings, passes
from discreet.kernel.engines.prefixes import Prefixes, prefix_shifts
from discreet.kernel.engines.protocol import (
    Counts,
    Progress,
    SumRequest,
    checked_encoding,
    checked_marginal,
    checked_nodes,
    checked_sum,
)
from discreet.kernel.engines.sources import Source, csv_names, refuse_row_as_header
from discreet.queries.expressions import Expression
from discreet.queries.tallies import Key, Tally
from discreet.schema.column import Column
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema

_ENCODED = "encoded_rows"
_BATCHED = "batched_rows"
_NODES = "asked_nodes"
_TALLIED = "tallied_rows"


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
    """Counts with DuckDB. See `protocol.Engine` for what the verbs promise."""

    def __init__(self, session: Session, schema: Schema, scan: Scan) -> None:
        self._session = session
        self._schema = schema
        self._scan = scan
        self._place = {column.name: place for place, column in enumerate(schema.columns)}
        self._kept_once = scan.is_csv or schema.unit.identifier is not None
        self._is_kept = False
        self._kept_prefixes: dict[tuple[str, ...], Prefixes] = {}
        self._has_tally_rows = False
        self._batches = 0
        families = [units.FieldType.of(type_name).family for _, type_name in scan.fields]
        if "unknown" in families:
            name = [*schema.names, schema.unit.identifier][families.index("unknown")]
            raise BadSource(
                f"Column {name!r} has a type that is not known. No row was read. Convert it first."
            )
        if schema.unit.identifier is not None and families[-1] == "unreadable":
            raise BadSource(
                f"The identifier {schema.unit.identifier!r} has a type that cannot tell people apart. "
                "No row was read. Make it a number or a text."
            )
        for place, column in enumerate(schema.columns):
            declaration = cells.declaration(column, _declared(place))
            if declaration is not None:
                session.run(declaration)

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[Counts]:
        sets = [tuple(self._schema.column(name).name for name in names) for names in column_sets]
        shapes = [checked_marginal(self._schema, names) for names in sets]
        found, place = groupings(self._schema, sets)
        counts: dict[int, Counts] = {}
        for together in passes(found):
            counted = self._count([found[number] for number in together])
            counts.update(zip(together, counted, strict=True))
        return [
            found[number].marginal(counts[number], shape, names)
            for number, shape, names in zip(place, shapes, sets, strict=True)
        ]

    def node_counts(
        self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        chosen = checked_nodes(self._schema, columns, shifts, nodes)
        if len(nodes) == 0:
            return np.zeros(0, dtype=np.int64)
        near = prefix_shifts(chosen)
        if all(far >= shift for far, shift in zip(shifts, near, strict=True)):
            return self._prefixes(chosen, near).node_counts(shifts, nodes)
        distinct, inverse = np.unique(nodes, axis=0, return_inverse=True)
        places = np.arange(len(distinct), dtype=np.int64)
        arrays = {f"k{axis}": distinct[:, axis].copy() for axis in range(len(chosen))}
        inside, keys, same = [], [], []
        for axis, (column, shift) in enumerate(zip(chosen, shifts, strict=True)):
            code = self._code(column)
            inside.append(s.less(code, s.whole(column.value_cells)))
            wide = s.try_cast(code, "UBIGINT")
            key = s.binary(exp.BitwiseRightShift, wide, s.whole(shift)) if shift else wide
            keys.append(exp.alias_(key, f"k{axis}"))
            same.append(s.equal(s.name("rows", f"k{axis}"), s.name("nodes", f"k{axis}")))
        rows = exp.select(*keys).from_(self._encoded(chosen)).where(*inside).subquery("rows")
        joined = exp.select("nodes.place", "count(*)").from_(rows)
        joined = joined.join(exp.table_(_NODES, alias="nodes"), on=exp.and_(*same))
        self._session.register(_NODES, {"place": places, **arrays})
        try:
            found, counted = self._session.arrays(joined.group_by("nodes.place"))
        finally:
            self._session.forget(_NODES)
        counts = np.zeros(len(distinct), dtype=np.int64)
        counts[found.astype(np.int64)] = counted
        return counts[inverse.reshape(-1)]

    def _prefixes(self, chosen: Sequence[Column], shifts: tuple[int, ...]) -> Prefixes:
        """One scan for all levels of a tree near its root; kept, for the levels come one by one."""
        names = tuple(column.name for column in chosen)
        kept = self._kept_prefixes.get(names)
        if kept is None:
            inside, keys = [], []
            for axis, (column, shift) in enumerate(zip(chosen, shifts, strict=True)):
                code = self._code(column)
                inside.append(s.less(code, s.whole(column.value_cells)))
                wide = s.try_cast(code, "UBIGINT")
                key = s.binary(exp.BitwiseRightShift, wide, s.whole(shift)) if shift else wide
                keys.append(exp.alias_(key, f"k{axis}"))
            rows = exp.select(*keys).from_(self._encoded(chosen)).where(*inside).subquery("rows")
            listed = [s.name(f"k{axis}") for axis in range(len(keys))]
            grouped = exp.select(*listed, "count(*)").from_(rows).group_by(*listed)
            *found, counted = self._session.arrays(grouped)
            kept = Prefixes(
                shifts,
                tuple(key.astype(np.uint64) for key in found),
                counted.astype(np.int64),
            )
            self._kept_prefixes[names] = kept
        return kept

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        if not requests:
            return []
        columns = [checked_sum(self._schema, request) for request in requests]
        terms = [
            exp.Sum(
                this=cells.fixed_point(
                    s.name(f"v{self._place[column.name]}"),
                    column,
                    request.scale,
                    request.lowest,
                    request.highest,
                )
            )
            for column, request in zip(columns, requests, strict=True)
        ]
        unique = list({column.name: column for column in columns}.values())
        (totals,) = self._session.rows(exp.select(*terms).from_(self._encoded(unique, True)))
        return [0 if total is None else int(total) for total in totals]

    def tally(self, tallies: Sequence[Tally]) -> list[Counts]:
        return tallied(
            tallies, self._schema, self._session, self._tally_rows, self._number_categories()
        )

    def held_keys(self, columns: Sequence[str], condition: Expression) -> tuple[list[Key], Counts]:
        compiler = Compiler(self._schema, self._number_categories())
        return held_keys(
            columns, condition, self._schema, self._session, self._tally_rows, compiler
        )

    def _number_categories(self) -> frozenset[str]:
        """Categories whose field is a number."""
        return frozenset(
            column.name
            for column, (_, type_name) in zip(self._schema.columns, self._scan.fields, strict=False)
            if column.kind == "category"
            and units.unit_type(column, units.FieldType.of(type_name)) == "DOUBLE"
        )

    def encoded_rows(self, columns: Sequence[str], batch_rows: int) -> Iterator[Counts]:
        chosen = checked_encoding(self._schema, columns, batch_rows)
        codes = [
            exp.alias_(
                s.call("coalesce", s.cast(self._code(column), "BIGINT"), s.whole(-1)), f"b{axis}"
            )
            for axis, column in enumerate(chosen)
        ]
        return self._batched(exp.select(*codes).from_(self._encoded(chosen)), batch_rows)

    def row_count(self) -> int:
        table = self._kept_table() if self._kept_once else self._scan.table.copy()
        ((rows,),) = self._session.rows(exp.select("count(*)").from_(table))
        return int(rows)

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _batched(self, query: exp.Select, batch_rows: int) -> Iterator[Counts]:
        """By ranges of row numbers of a temporary table: arrays without a result held in memory."""
        self._batches += 1
        table = f"{_BATCHED}_{self._batches}"
        self._session.run(f"CREATE TEMP TABLE {table} AS {s.render(query)}")
        try:
            ((rows,),) = self._session.rows(f"SELECT count(*) FROM {table}")
            for start in range(0, rows, batch_rows):
                arrays = self._session.arrays(
                    f"SELECT * FROM {table} WHERE rowid >= {start} AND rowid < {start + batch_rows}"
                )
                yield np.stack(arrays, axis=1).astype(np.int64, copy=False)
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
        keyed = exp.select(*keys).from_(self._encoded(columns)).subquery("keyed")
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
        for name, slots in zip(grouping.columns, grouping.slots, strict=True):
            step //= slots
            column = self._schema.column(name)
            code = s.cast(self._code(column), wide)
            if slots > column.cells:
                code = s.call("coalesce", code, s.cast(s.whole(column.cells), wide))
            part = code if step == 1 else s.multiply(code, s.cast(s.whole(step), wide))
            key = part if key is None else s.add(key, part)
        assert key is not None
        return key

    def _code(self, column: Column) -> Sql:
        return s.name(f"c{self._place[column.name]}")

    def _encoded(self, columns: Iterable[Column], with_values: bool = False) -> Sql:
        """A table expression with the codes c0, c1, ... (and values v0, ...) of some columns."""
        if self._kept_once:
            return self._kept_table()
        return self._layers(list(columns), with_values).subquery("encoded", copy=False)

    def _kept_table(self) -> Sql:
        if not self._is_kept:
            self._session.run(f"CREATE TEMP TABLE {_ENCODED} AS {s.render(self._kept_rows())}")
            self._is_kept = True
        return exp.table_(_ENCODED)

    def _tally_rows(self, columns: Sequence[Column]) -> Sql:
        """A table expression with the units u0, u1, ... and codes c0, c1, ... of some columns.

        Kept apart from the table of codes, which is smaller and serves every other verb.
        """
        if not self._kept_once:
            layers = self._layers(list(columns), with_units=True)
            return layers.subquery("tallied", copy=False)
        if not self._has_tally_rows:
            kept = self._kept_rows(with_units=True)
            self._session.run(f"CREATE TEMP TABLE {_TALLIED} AS {s.render(kept)}")
            self._has_tally_rows = True
        return exp.table_(_TALLIED)

    def _kept_rows(self, with_units: bool = False) -> exp.Select:
        """Every code and value (or unit); with an identifier, of the rows that are kept.

        Rows are numbered by all that is kept of them: those that share a number's place are then
        alike, so which of them is kept depends on nobody else's rows.
        """
        columns = self._schema.columns
        if self._schema.unit.identifier is None:
            return self._layers(list(columns), with_values=not with_units, with_units=with_units)
        rows = self._layers(
            list(columns), with_values=True, with_identifier=True, with_units=with_units
        ).subquery("rows")
        codes = [self._code(column) for column in columns]
        values = [s.name(f"v{n}") for n, one in enumerate(columns) if one.value_bounds is not None]
        blank = s.text("")
        texts = [s.call("coalesce", s.cast(code, "VARCHAR"), blank) for code in codes]
        key = s.call("md5", s.call("concat_ws", s.text(":"), s.name("identifier"), *texts))
        keyed = exp.select(exp.Star(), exp.alias_(key, "key")).from_(rows).subquery("keyed")
        units_kept = [s.name(f"u{n}") for n in range(len(columns))] if with_units else []
        order = exp.Order(expressions=[s.name("key"), *values, *units_kept])
        number = exp.Window(this=exp.RowNumber(), partition_by=[s.name("identifier")], order=order)
        kept = exp.LTE(this=number, expression=s.whole(self._schema.unit.max_rows))
        chosen = [*units_kept, s.name("identifier")] if with_units else values
        query = exp.select(*codes, *chosen).from_(keyed)
        query.set("qualify", exp.Qualify(this=kept))
        return query

    def _layers(
        self,
        columns: Sequence[Column],
        with_values: bool = False,
        with_identifier: bool = False,
        with_units: bool = False,
    ) -> exp.Select:
        """Field, unit, guess, code, value: each a query over the one before, so none is computed twice."""
        places = [self._place[column.name] for column in columns]
        types = {n: units.FieldType.of(self._scan.fields[n][1]) for n in places}
        kept = [s.name("identifier")] if with_identifier else []

        def field(n: int) -> Sql:
            raw = s.name(self._scan.fields[n][0])
            return units.csv_field(raw, self._schema.csv) if self._scan.is_csv else raw

        def identifier() -> Sql:
            n = len(self._schema.columns)
            return units.identifier(field(n), units.FieldType.of(self._scan.fields[n][1]))

        query = exp.select(
            *(
                exp.alias_(units.field(field(n), types[n], self._schema.columns[n].kind), f"f{n}")
                for n in places
            ),
            *([exp.alias_(identifier(), "identifier")] if with_identifier else []),
        ).from_(self._scan.table.copy())
        if with_identifier:
            query = (
                exp.select(exp.Star())
                .from_(query.subquery("named"))
                .where(exp.Not(this=s.is_null(s.name("identifier"))))
            )

        def over(below: exp.Select, found: dict[str, Sql], *passed: str) -> exp.Select:
            chosen = [exp.alias_(one, alias) for alias, one in found.items()]
            names = [s.name(one) for one in passed]
            return exp.select(*chosen, *names, *kept).from_(
                below.subquery("below", copy=False), copy=False
            )

        unit_of = {
            f"u{n}": units.unit(column, s.name(f"f{n}"), types[n])
            for n, column in zip(places, columns, strict=True)
        }
        query = over(query, unit_of)
        guesses = {
            f"g{n}": guess
            for n, column in zip(places, columns, strict=True)
            if (guess := cells.guess(column, s.name(f"u{n}"))) is not None
        }
        if guesses:
            query = over(query, guesses, *unit_of)
        codes = {
            f"c{n}": cells.code(
                column,
                s.name(f"u{n}"),
                units.unit_type(column, types[n]),
                declared=_declared(n),
                guessed=s.name(f"g{n}"),
            )
            for n, column in zip(places, columns, strict=True)
        }
        passed = tuple(unit_of) if with_units else ()
        if not with_values:
            return over(query, codes, *passed)
        query = over(query, codes, *unit_of)
        values = {
            f"v{n}": cells.value(column, s.name(f"u{n}"), s.name(f"c{n}"))
            for n, column in zip(places, columns, strict=True)
            if column.value_bounds is not None
        }
        return over(query, values, *codes, *passed)


def _declared(place: int) -> str:
    return f"declared_{place}"
