"""Sources: what a table comes from, recognised by its name or type alone, before any row is read.

    data.parquet, data/*.parquet, a directory     Parquet
    data.csv, .tsv, .txt, .data, .dat, also .gz   text with delimiters, as the schema's [csv] says
    data.duckdb::table, data.duckdb               a table of a DuckDB file, or its only one
    a directory, where the schema has a view      the Parquet files that the view names
    a pandas, Polars or Arrow object              in memory or lazy; see `frames`, which reads it

Column names are public; the first line of a CSV file is public only if it is a header, so its
fields appear in no message unless some of them are declared names.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from discreet.engines.csv.text import header_names, refuse_unmarked
from discreet.errors import BadSource
from discreet.schema.columns.column import folded
from discreet.schema.csv_options import CsvOptions
from discreet.schema.schema import Schema
from discreet.schema.views import View

_SUFFIXES = {
    "parquet": (".parquet", ".parq", ".pq"),
    "csv": (".csv", ".tsv", ".txt", ".data", ".dat"),
    "duckdb": (".duckdb", ".ddb", ".db"),
}
_LOGS = ("_delta_log", ".hoodie", "metadata/*.metadata.json")


@dataclass(frozen=True, slots=True)
class Source:
    """A recognised source: files of one format, or an object."""

    format: str
    files: tuple[str, ...] = ()
    table: str | None = None
    value: Any = None
    """The object, for the formats in memory."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of the source: its place, its name as written there, and its type (`""`: text)."""

    place: int
    name: str
    type_name: str = ""


def recognise(source: object) -> Source:
    """The source behind a path, a glob, `file.duckdb::table`, or a data frame."""
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, Path)):
        return _files(str(source))
    package = type(source).__module__.partition(".")[0]
    kind = type(source).__name__
    value: Any = source
    if package == "pandas" and kind == "DataFrame":
        return Source("pandas", value=value)
    if package == "polars" and kind in ("DataFrame", "LazyFrame"):
        return Source("polars", value=value)
    if package == "pyarrow" and (
        kind in ("Table", "RecordBatch", "RecordBatchReader") or kind.endswith("Dataset")
    ):
        return Source("arrow", value=value)
    raise BadSource(
        f"A {kind if package == 'builtins' else f'{package}.{kind}'} is not a table that can be read. Give a path to a Parquet, CSV or "
        "DuckDB file, or a pandas, Polars, Arrow or PySpark table."
    )


def _files(text: str) -> Source:
    path, separator, table = text.partition("::")
    if not path or "\x00" in path:
        raise BadSource("The path of the source is empty or holds a NUL character.")
    format_ = "duckdb" if separator else None
    place = Path(path)
    if place.is_dir():
        return Source("parquet", _once(refuse_replaced(_parquet_below(place))))
    if place.exists():
        found = [path]
    else:
        matched = glob.glob(path, recursive=True)  # noqa: PTH207 (Path.glob refuses absolute patterns)
        shown = [one for one in matched if not _is_left_behind({*Path(one).parts} - {*place.parts})]
        found = refuse_replaced(sorted(one for one in shown if not Path(one).is_dir()))
        if not found:
            what = "matches" if glob.has_magic(path) else "is at"
            raise BadSource(f"No file {what} {path!r}. Nothing was read. Check the path.")
    for one in found:
        if not Path(one).is_file():  # looking at its first line would use rows up before the charge
            raise BadSource(
                f"{one!r} is a pipe, a device or a broken link. Nothing was read. A pipe can be read only once: "
                "write its rows to a file first, and give the path."
            )
    formats = {format_ or _format_of(one) for one in found}
    if len(formats) > 1:
        raise BadSource(f"{path!r} mixes files of the formats {', '.join(sorted(formats))}.")
    format_ = formats.pop()
    if format_ == "duckdb" and len(found) > 1:
        raise BadSource(f"{path!r} matches {len(found)} DuckDB files; name one of them.")
    absolute = tuple(str(Path(one).resolve()) for one in _once(found))
    return Source(format_, absolute, table or None)


def _parquet_below(folder: Path) -> list[str]:
    """The Parquet files in a directory."""
    shown = [one for one in folder.rglob("*") if not _is_left_behind(one.relative_to(folder).parts)]
    named = [one for one in shown if one.name.lower().endswith(_SUFFIXES["parquet"])]
    found = sorted(str(one.absolute()) for one in named if one.is_file())  # else `~` is a home
    if not found:
        raise BadSource(f"There is no Parquet file in the directory {str(folder)!r}.")
    return found


def _is_left_behind(parts: Iterable[str]) -> bool:
    """As for Spark, what begins with `_` or `.` is no file of a table: a run that broke off leaves such."""
    return any(part[0] in "_." and "=" not in part for part in parts)


def refuse_replaced(files: list[str]) -> list[str]:
    """The files, unless they are those of a table that keeps rows which were replaced."""
    for folder in {above for one in files for above in Path(one).absolute().parents}:
        if len(files) > 1 and any(any(folder.glob(log)) for log in _LOGS):
            raise BadSource(
                f"The directory {str(folder)!r} is a Delta, Hudi or Iceberg table: some of its files hold rows that were replaced, "
                "which would count again. No row was read. Read it as such a table with Spark, or write its rows to other files."
            )
    return files


def _once(names: Sequence[str]) -> tuple[str, ...]:
    """Each file by the first of its names: a row that is read by two of them would count twice."""
    return tuple({Path(one).stat()[1:3]: one for one in reversed(names)}.values())[::-1]


def _format_of(path: str) -> str:
    """By the suffix; the first bytes only tell a Parquet or DuckDB file with a strange name."""
    plain = path.lower().removesuffix(".gz")
    for format_, suffixes in _SUFFIXES.items():
        if plain.endswith(suffixes):
            return format_
    try:
        with Path(path).open("rb") as file:
            start = file.read(12)
    except OSError as error:
        raise BadSource(f"{path!r} cannot be read: {error.strerror}.") from None
    if start[:4] == b"PAR1":
        return "parquet"
    if start[8:12] == b"DUCK":
        return "duckdb"
    listed = ", ".join(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)
    raise BadSource(f"The format of {path!r} is not known. Its name should end in one of {listed}.")


def view_source(source: object, view: View) -> Source:
    """The files of a view in a folder."""
    folder = Path(str(source)) if isinstance(source, (str, Path)) else None
    if folder is None or not folder.is_dir():
        raise BadSource(
            "The schema declares a view, so the source must be the folder that holds its tables. "
            "Nothing was read. Give the folder's path."
        )
    files = []
    for name, file in view.tables:
        path = folder / file
        if not path.is_file():
            raise BadSource(
                f"Table {name!r} of the view has no file {file!r} in {str(folder)!r}. Nothing was read."
            )
        files.append(str(path.resolve()))
    return Source("view", tuple(files))


def csv_names(files: Sequence[str], csv: CsvOptions) -> tuple[str, ...]:
    """The columns of CSV files: as declared, or from the first line, the same in every file."""
    for path in files:
        refuse_unmarked(path, csv)
    if csv.names is not None:
        return csv.names
    headers = [header_names(path, csv) for path in files]
    for path, header in zip(files[1:], headers[1:], strict=True):
        if header != headers[0]:
            raise BadSource(
                f"The first lines of {files[0]!r} and {path!r} differ; files that are read together "
                "need the same columns in the same order."
            )
    return headers[0]


UNDECODED = {"\ufffd", "\0"}
"""What the bytes of another encoding leave behind."""


def locate(
    schema: Schema, columns: Sequence[SourceColumn], *, names_are_public: bool
) -> list[SourceColumn]:
    """The source's column for each declared one, then for the identifier if the unit has one.

    Names match exactly or as SQL folds them. `BadSource` names every missing or ambiguous one.
    """
    wanted = [*schema.names, *([schema.unit.identifier] if schema.unit.identifier else [])]
    by_name: dict[str, list[SourceColumn]] = {}
    for column in columns:
        by_name.setdefault(folded(column.name), []).append(column)
    found = [by_name.get(folded(name), []) for name in wanted]
    twice = [name for name, places in zip(wanted, found, strict=True) if len(places) > 1]
    if twice:
        raise BadSource(
            f"The source has more than one column named {_listed(twice)} (SQL folds upper and lower "
            "case), so it is not clear which is meant. No row was read. Rename one in the source."
        )
    missing = [name for name, places in zip(wanted, found, strict=True) if not places]
    if missing:
        # A first line that holds few declared names may be a row: it must not be shown.
        shown = names_are_public or 2 * len(missing) <= len(wanted)
        raise BadSource(_missing_text(missing, [c.name for c in columns], shown))
    return [places[0] for places in found]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:30])
    return shown + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def _missing_text(missing: Sequence[str], available: Sequence[str], shown: bool) -> str:
    columns = "a column" if len(missing) == 1 else "columns"
    start = f"The source lacks {columns} that the schema declares: {_listed(missing)}. No row was read. "
    if not shown:
        return start + (
            "Its first line holds hardly any declared name, so it may be a row and is not shown. If "
            "the file has no header, list its columns under [csv] as `names`; also check `delimiter`, `trim` and `encoding`."
        )
    if any(UNDECODED & set(name) for name in available):
        return (
            start + "Its first line has another encoding than was declared; say which under [csv]."
        )
    lower = {name.lower(): name for name in available}
    for name in missing:
        near = get_close_matches(name.lower(), lower, n=1)
        if near:
            start += f"For {name!r}, did you mean {lower[near[0]]!r}? "
    return start + f"It has {_listed(available)}."
