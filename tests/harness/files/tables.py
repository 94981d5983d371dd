"""Parquet and DuckDB files for audits, with texts of arbitrary bytes in their records.

DuckDB writes valid texts only. So odd bytes are first written as a placeholder of the same length, and
then put in its place in the Parquet file, which is not packed. In a DuckDB file every text is valid.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.duckdb.dialect import render
from discreet.engines.duckdb.session import Session
from discreet.engines.sql import syntax as s
from discreet.schema import Schema
from tests.harness.files.records import BYTES, COLUMNS, LIKELY, NAMES, TEXTS

if TYPE_CHECKING:
    from numpy.random import Generator

Row = tuple[bytes | None, ...]
_PLACEHOLDER = "\x07"
_SCHEMA = Schema.loads('dataset = "fuzz"\n' + COLUMNS)


@dataclass(frozen=True, slots=True)
class TableFile:
    """Rows of texts, as bytes that need not be text."""

    form: str
    rows: tuple[Row, ...]
    schema: Schema = _SCHEMA
    in_directory: bool = False
    """Whether it is given as a directory, in which it has a second name and what a broken run left of it."""

    def write(self, folder: Path) -> str:
        if self.in_directory:
            inside = folder / "directory" / "_temporary"
            inside.mkdir(parents=True, exist_ok=True)
            path = inside.parent / f"file.{self.form}"
        else:
            path = folder / f"file.{self.form}"
        path.unlink(missing_ok=True)
        odd = [value for row in self.rows for value in row if value and not _is_text(value)]
        session = Session(memory_limit="256MB", threads=1, progress=None)
        try:
            columns = ", ".join(f'"{name}" VARCHAR' for name in NAMES)
            place = render(s.text(str(path)))
            table = "rows_written"
            if self.form == "duckdb":
                session.run(f"ATTACH {place} AS file")
                table = "file.people"
            session.run(f"CREATE TABLE {table} ({columns})")
            for row in self.rows:
                values = ", ".join(render(_literal(value, odd)) for value in row)
                session.run(f"INSERT INTO {table} VALUES ({values})")
            if self.form == "parquet":
                session.run(f"COPY {table} TO {place} (FORMAT parquet, COMPRESSION uncompressed)")
            else:
                session.run("DETACH file")
        finally:
            session.close()
        if self.form == "parquet" and odd:
            data = path.read_bytes()
            for number, value in enumerate(odd):
                data = data.replace(_stand_in(number, value).encode(), value)
            path.write_bytes(data)
        if self.in_directory:
            link = path.with_name(f"latest.{self.form}")
            link.unlink(missing_ok=True)
            link.symlink_to(path.name)
            (inside / path.name).write_bytes(path.read_bytes())
            return os.fspath(path.parent)
        return os.fspath(path)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _stand_in(number: int, value: bytes) -> str:
    return (_PLACEHOLDER + f"{number:03}").ljust(len(value), _PLACEHOLDER)


def _literal(value: bytes | None, odd: list[bytes]) -> s.Sql:
    if value is None:
        return s.null()
    if _is_text(value):
        return s.text(value.decode())
    return s.text(_stand_in(odd.index(value), value))


def random_table_file(generator: Generator) -> TableFile:
    form = ("parquet", "duckdb")[generator.integers(2)]
    count = int(generator.integers(0, 8))
    rows = tuple(_row(generator, form) for _ in range(count))
    return TableFile(form, rows, in_directory=form == "parquet" and count % 2 == 1)


def changed_table(file: TableFile, generator: Generator) -> tuple[str, TableFile]:
    """One row inserted, deleted or changed: how, and the file."""
    rows = list(file.rows)
    how = ("insert", "delete", "change")[generator.integers(3)]
    place = int(generator.integers(0, len(rows) + 1))
    fresh = _row(generator, file.form)
    if how == "insert" or not rows:
        rows.insert(place, fresh)
        return "insert", replace(file, rows=tuple(rows))
    place %= len(rows)
    rows[place : place + 1] = [fresh] if how == "change" else []
    return how, replace(file, rows=tuple(rows))


def _row(generator: Generator, form: str) -> Row:
    row: list[bytes | None] = []
    for likely in LIKELY:
        kind = generator.integers(6)
        if kind < 3:
            row.append(likely[generator.integers(len(likely))].encode())
        elif kind == 3:
            row.append(None)
        elif kind == 4 or form == "duckdb":
            row.append(TEXTS[generator.integers(len(TEXTS))].replace("\0", "\x01").encode())
        else:  # long enough for a placeholder
            odd = BYTES[generator.integers(len(BYTES))]
            row.append(b"\xff" + generator.bytes(4) + odd)
    return tuple(row)


def table_counts(file: TableFile) -> tuple[int, dict[tuple[int | None, ...], int]]:
    """The number of rows, and how many fall into each joint cell."""
    places = [NAMES.index(name) for name in file.schema.names]
    counts: dict[tuple[int | None, ...], int] = {}
    for row in file.rows:
        values = [row[place] for place in places]
        cell = tuple(
            column.code_of(None if value is None else value.decode(errors="replace"))
            for column, value in zip(file.schema.columns, values, strict=True)
        )
        counts[cell] = counts.get(cell, 0) + 1
    return len(file.rows), counts
