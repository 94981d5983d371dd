"""Where DuckDB finds the rows of each kind of source, and what it calls their columns.

Nothing is sniffed. CSV files are never opened by DuckDB: it reads parts of them, as text, in each of
which a line is exactly one record (see `csv_parts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp, parse_one

from discreet.engines.csv.parts import CsvParts
from discreet.engines.duckdb.dialect import DIALECT, one_of, render
from discreet.engines.duckdb.session import Session
from discreet.engines.frames import frame_columns, open_frame
from discreet.engines.sources import Source, SourceColumn, csv_names, locate
from discreet.engines.sql import syntax as s
from discreet.engines.sql.syntax import Sql
from discreet.errors import BadSource, EngineFailed
from discreet.schema.columns.column import folded
from discreet.schema.schema import Schema

_ATTACHED = "source"
_REGISTERED = "source_rows"
_STORED = re.compile(
    r"BOOLEAN BOOLEAN|(U?(TINY|SMALL)INT|U?INTEGER|DATE) INT32|U?BIGINT INT64|TIMESTAMP.* INT(64|96)|DECIMAL.*"
    r"|FLOAT (FLOAT|.*ARRAY 2)|DOUBLE (DOUBLE|.*ARRAY.*)|VARCHAR .*ARRAY.*|UUID .*ARRAY 16"
)
"""DuckDB's types, and what Parquet stores them as, with its bytes: such that no value stops the reader."""
_BYTES = {"INT32": 4, "INT64": 8, "TINYINT": 1, "UTINYINT": 1, "SMALLINT": 2, "USMALLINT": 2}
_BYTES_BY_DIGITS = ((4, 2), (9, 4), (18, 8), (38, 16))


@dataclass(frozen=True, slots=True)
class Scan:
    """A table expression, and for each column that was asked for, its name there and its type."""

    table: Sql
    fields: tuple[tuple[str, str], ...]
    csv: CsvParts | None = None
    """Where the rows come from batch by batch, each instead of `table`, which then holds none."""
    read: Callable[[], None] | None = None
    """What a verb calls before it scans, where there is a table in memory to be read first."""


def open_scan(session: Session, source: Source, schema: Schema) -> Scan:
    """The scan of the declared columns, then the identifier's; afterwards the session is locked."""
    if source.format == "csv":
        return _open_csv(session, source, schema)
    if source.format == "parquet":
        header = _parquet_header(session, source.files)
        found = locate(schema, header.columns, names_are_public=True)
        _refuse_differing_types(source.files, header, found)
        if (read_by_arrow := _as_dataset(source.files, header, found)) is not None:
            return _open_frame(session, read_by_arrow, schema)
        session.lock(source.files)
        return Scan(header.table, header.fields(found))
    if source.format == "duckdb":
        table, columns = _attached(session, source)
        found = locate(schema, columns, names_are_public=True)
        session.lock(())
        return Scan(table, tuple((column.name, column.type_name) for column in found))
    return _open_frame(session, source, schema)


def _open_frame(session: Session, source: Source, schema: Schema) -> Scan:
    found = locate(schema, frame_columns(source), names_are_public=True)
    rows = open_frame(source, schema, found)
    session.register(_REGISTERED, rows)  # of which it learns the columns alone
    session.lock(())
    return Scan(exp.table_(_REGISTERED, quoted=True), rows.fields, read=rows.read)


def open_parquet(
    session: Session, files: Sequence[str], names: Sequence[str]
) -> list[tuple[str, str]]:
    """The fields of some columns, by their names, once nothing in them can stop a reader."""
    header = _parquet_header(session, files)
    found = []
    for name in names:
        alike = [column for column in header.columns if folded(column.name) == folded(name)]
        if len(alike) != 1:
            what = "no column" if not alike else "more than one column"
            raise BadSource(f"{files[0]!r} has {what} {name!r}. No row was read.")
        found += alike
    return list(header.fields(found))


def describe(session: Session, source: Source) -> list[SourceColumn]:
    """The columns of a source that is no CSV file, with their logical types."""
    if source.format == "parquet":
        return _parquet_header(session, source.files).columns
    if source.format == "duckdb":
        return _attached(session, source)[1]
    return frame_columns(source)


def _refuse_patterns(files: Sequence[str]) -> None:
    """DuckDB takes such a name for a pattern, and would read another file in its place, or one file twice."""
    for one in files:
        if re.search(r"[*?[]", one):
            raise BadSource(
                f"The path {one!r} holds *, ? or [, by which DuckDB would find other files. No row was read. Rename the "
                "file or the folder (of temporary files: set TMPDIR to another one)."
            )


def _function(name: str, files: Sequence[str], **options: Sql) -> Sql:
    _refuse_patterns(files)
    named = [exp.EQ(this=exp.to_identifier(key), expression=one) for key, one in options.items()]
    paths = one_of(map(s.text, files))
    return exp.Table(this=exp.Anonymous(this=name, expressions=[paths, *named]))


def _described(session: Session, table: Sql) -> list[tuple[str, str]]:
    query = render(exp.select("*").from_(table))
    return [(row[0], row[1]) for row in session.rows(f"DESCRIBE {query}")]


def _open_csv(session: Session, source: Source, schema: Schema) -> Scan:
    names = csv_names(source.files, schema.csv)
    columns = [SourceColumn(place, name) for place, name in enumerate(names)]
    found = locate(schema, columns, names_are_public=schema.csv.names is not None)
    folder = session.lock_to_private_files()
    _refuse_patterns([str(folder)])  # before the charge
    parts = CsvParts(source.files, schema.csv, len(names), folder)
    fields = tuple((f"f{column.place}", "VARCHAR") for column in found)
    return Scan(exp.table_("no_rows"), fields, parts)


def csv_table(parts: CsvParts, files: Sequence[str]) -> Sql:
    """The rows of part files. Each is read by one thread, from its start."""
    yes, no = exp.true(), exp.false()
    names = [s.text(f"f{place}") for place in range(parts.width)]
    types = [exp.PropertyEQ(this=name, expression=s.text("VARCHAR")) for name in names]
    return _function(
        "read_csv",
        files,
        auto_detect=no,
        columns=exp.Struct(expressions=types),
        header=yes,
        delim=s.text(parts.rules.out_delimiter),
        quote=s.text(parts.rules.out_quote),
        escape=s.text(parts.rules.out_quote),
        new_line=s.text("\\n"),
        force_not_null=one_of(name.copy() for name in names),  # null texts are the schema's matter
        strict_mode=no.copy(),
        parallel=no.copy(),
        max_line_size=s.whole(parts.longest_line),
        buffer_size=s.whole(2 * parts.longest_line),
    )


def parquet_table(session: Session, files: Sequence[str]) -> Sql:
    # Text that is not Unicode would be quoted in an error; its wrong bytes become "?" instead.
    options = {"hive_types_autocast": exp.false(), "utf8_validation": s.text("replace")}
    parts = {p for one in files for p in re.split(r"[/\\]", one)[:-1]}
    folders = {folded(part.split("=")[0]) for part in parts if "=" in part}
    if folders and folders & {folded(name) for _, name, _ in _top_level(session, files[:1])}:
        options["hive_partitioning"] = exp.false()  # else a folder `who=3` makes all people one
    return _function("read_parquet", files, **options)


def _unreadable(files: Sequence[str]) -> BadSource:
    return BadSource(
        f"{files[0]!r}{f' or one of {len(files) - 1} more files' if len(files) > 1 else ''} cannot be "
        "opened as Parquet: it is damaged, cut short, encrypted or of another format."
    )


@dataclass(frozen=True, slots=True)
class _ParquetHeader:
    """The column types in the headers of Parquet files, without any row."""

    table: Sql
    columns: list[SourceColumn]
    """By their names in the first file."""
    described: list[tuple[str, str]]
    """In the same order, DuckDB's names, changed where two fold alike, and types."""
    top_level: list[tuple[str, str, tuple[str, ...]]]
    """File, name and types of each column of each file."""
    unsafe: list[tuple[str, bool]]
    """By place: what a column holds that may stop DuckDB, by its type, or ""; and whether Arrow can read it."""

    def fields(self, found: Sequence[SourceColumn]) -> tuple[tuple[str, str], ...]:
        """DuckDB's names and types of some columns, once nothing in them can stop a reader."""
        for column in found:
            what, by_arrow = self.unsafe[column.place]
            hint = ", or, if the table is no view and has no partitions, install discreet[arrow]"
            if what:
                raise BadSource(
                    f"Column {column.name!r} holds {what}, which DuckDB cannot read from Parquet safely: one value could stop the "
                    "run. No row was read. Write moments in microseconds, numbers in as few bytes as they need, and JSON as "
                    f"plain text{hint if by_arrow else ''}."
                )
        return tuple(self.described[column.place] for column in found)


def _parquet_header(session: Session, files: Sequence[str]) -> _ParquetHeader:
    try:
        table = parquet_table(session, files)
        described = _described(session, table)
        top_level = _top_level(session, files)
        # Of several files DuckDB promises no order, and the table has the columns of the first.
        first = top_level if len(files) == 1 else _top_level(session, files[:1])
    except EngineFailed:
        raise _unreadable(files) from None
    names = [name for _, name, _ in first] + [name for name, _ in described[len(first) :]]
    pairs = enumerate(zip(names, described, strict=True))
    columns = [SourceColumn(place, name, type_) for place, (name, (_, type_)) in pairs]
    unsafe = [("", True)] * len(described)  # names of folders are texts
    for place, (_, _, types) in enumerate(first):
        name, type_ = described[place]
        unsafe[place] = _unsafe(type_, types)
        if _is_rounded(type_, types[0]):
            described[place] = (name, f"ROUNDED {type_}")
    return _ParquetHeader(table, columns, described, top_level, unsafe)


def _held(type_: str) -> int:
    """In how many bytes DuckDB holds a number, where Parquet may store it in more."""
    if found := re.fullmatch(r"DECIMAL\((\d+),\d+\)", type_):
        return next(size for digits, size in _BYTES_BY_DIGITS if int(found[1]) <= digits)
    return _BYTES.get(type_, 16)


def _is_rounded(type_: str, kind: str) -> bool:
    """Whether values that differ may be read alike: decimals of more than 38 digits, nanoseconds, upper bits."""
    wide = "BYTE_ARRAY" in kind and type_ == "DOUBLE"
    return wide or kind == "INT96" or _BYTES.get(kind, 0) > _held(type_)


def _unsafe(type_: str, types: tuple[str, ...]) -> tuple[str, bool]:
    """See `_ParquetHeader.unsafe`. DuckDB checks JSON, and how long decimals are, while it reads."""
    kind, length, *others = types
    if type_.startswith("DECIMAL") and "BYTE_ARRAY" in kind:
        size = int(length) if length.isdecimal() else 1 << 31
        return "decimals in more bytes than they need" if size > _held(type_) else "", size <= 16
    is_read = DIALECT.field_type(type_).family != "unreadable"  # a time of day is not
    if is_read and re.search("TIMESTAMP_MILLIS|MilliSeconds", repr(others)):
        return "timestamps in milliseconds", kind == "INT64"
    stored = f"{type_} {kind} {length}" if "FIXED" in kind else f"{type_} {kind}"
    return f"{type_} in {kind}" if is_read and not _STORED.fullmatch(stored) else "", False


def _top_level(session: Session, files: Sequence[str]) -> list[tuple[str, str, tuple[str, ...]]]:
    """File, name and types of each column of each file; the children of nested ones are passed over."""
    types = "type type_length duckdb_type converted_type logical_type"
    query = exp.select(*f"file_name name num_children {types}".split())
    found: list[tuple[str, str, tuple[str, ...]]] = []
    open_children: list[int] = []
    for file, name, children, *own in session.rows(query.from_(_function("parquet_schema", files))):
        while open_children and open_children[-1] == 0:
            open_children.pop()
        if len(open_children) == 1:
            found.append((file, name, tuple(map(str, own))))
        if open_children:
            open_children[-1] -= 1
        if children:
            open_children.append(children)
    return found


def _refuse_differing_types(
    files: Sequence[str], header: _ParquetHeader, found: Sequence[SourceColumn]
) -> None:
    """A column of another type in another file would be cast to the first one's, and casts fail."""
    types: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for _, name, type_ in header.top_level:
        types.setdefault(folded(name), []).append((name, type_))
    for column in found:
        of_files = types.get(folded(column.name))
        if of_files is None:
            continue  # a partition, named in the path
        if len(of_files) != len(files) or len(set(of_files)) > 1:  # `ID` beside `id` is read for it
            raise BadSource(
                f"Column {column.name!r} is missing from some of the {len(files)} files, has different "
                "types in them, or a column there differs from it in case alone. No row was read. Write them again with one type."
            )


def _as_dataset(
    files: Sequence[str], header: _ParquetHeader, found: Sequence[SourceColumn]
) -> Source | None:
    """The files as an Arrow dataset, which reads such columns as they are; `None` where none are asked for."""
    own = {name for _, name, _ in header.top_level}
    unsafe = [header.unsafe[column.place] for column in found if header.unsafe[column.place][0]]
    if not unsafe or not all(by for _, by in unsafe) or any(c.name not in own for c in found):
        return None
    try:
        from pyarrow import dataset
    except ImportError:
        return None
    return Source("arrow", value=dataset.dataset(list(files), format="parquet", partitioning=None))


def _attached(session: Session, source: Source) -> tuple[Sql, list[SourceColumn]]:
    path = source.files[0]
    try:
        session.run(f"ATTACH {render(s.text(path))} AS {_ATTACHED} (READ_ONLY)")
    except EngineFailed:
        raise BadSource(
            f"{path!r} cannot be opened as a DuckDB file: it is damaged, of another format or "
            "version, or another process is writing it."
        ) from None
    found = session.rows(_listed("duckdb_tables()", "schema_name", "table_name", "sql"))
    place = _chosen_table(session, source, [(one[0], one[1]) for one in found])
    if any(sql and "GENERATED ALWAYS AS" in sql for *name, sql in found if tuple(name) == place):
        raise BadSource(
            f"The table {place[1]!r} computes a column when it is read, which may fail on some row. "
            "Copy it into a plain table first."
        )
    pairs = zip(("schema_name", "table_name"), place, strict=True)
    own = [s.equal(s.name(key), s.text(value)) for key, value in pairs]
    query = _listed("duckdb_columns()", "column_name", "data_type").where(*own)
    collated = _collated("".join(sql or "" for *name, sql in found if tuple(name) == place))
    columns = [
        SourceColumn(index, name, f"{type_} COLLATE" if name in collated else type_)
        for index, (name, type_) in enumerate(session.rows(query.order_by("column_index")))
    ]
    return exp.table_(place[1], db=place[0], catalog=_ATTACHED, quoted=True), columns


def _collated(sql: str) -> set[str]:
    """The columns of a CREATE TABLE that have a collation."""
    defined = parse_one(sql, dialect="duckdb").find_all(exp.ColumnDef) if "COLLATE" in sql else ()
    return {each.name for each in defined if each.find(exp.CollateColumnConstraint)}


def _listed(catalog: str, *names: str) -> exp.Select:
    own = s.equal(s.name("database_name"), s.text(_ATTACHED))
    return exp.select(*names).from_(catalog).where(own)


def _chosen_table(
    session: Session, source: Source, found: list[tuple[str, str]]
) -> tuple[str, str]:
    path, table = source.files[0], source.table
    names = {(schema if schema != "main" else "", name): (schema, name) for schema, name in found}
    by_name = {".".join(filter(None, key)): place for key, place in names.items()}
    listed = ", ".join(map(repr, sorted(by_name))) or "none"
    if table is None:
        if len(by_name) == 1:
            return next(iter(by_name.values()))
        raise BadSource(
            f"{path!r} holds {len(by_name)} tables ({listed}); name one, as in 'file.duckdb::table'."
        )
    for name, place in by_name.items():
        if name.lower() == table.lower():
            return place
    views = session.rows(_listed("duckdb_views()", "view_name"))
    if any(name.lower() == table.lower() for (name,) in views):
        raise BadSource(
            f"{table!r} is a view, whose expressions may fail on some row. Copy it into a table first."
        )
    near = get_close_matches(table, by_name, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise BadSource(f"There is no table {table!r} in {path!r}.{hint} It has: {listed}.")
