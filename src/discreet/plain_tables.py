"""A table as plain columns of texts, read from and written to CSV, Parquet and Arrow files.

For what is not counted by an engine: published tables that an adversary holds, the answers of clients in
the local model, and the custodian's own look at the rows. A null is an empty text.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import BadInput, BadSource

Columns = dict[str, list[str]]
ARROW = (".arrow", ".feather", ".ipc")
PARQUET = ".parquet"
CSV = ".csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvForm:
    """How a CSV file is written."""

    names: Sequence[str] | None = None
    """The columns in order, where the first line does not say."""
    skip_first: bool = False
    """Whether there is a first line of other names to be passed over."""
    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8-sig"
    nulls: Sequence[str] = ("",)


PLAIN = CsvForm()


def read_columns(
    source: object,
    *,
    header: Sequence[str] | None = None,
    wanted: Iterable[str] | None = None,
    form: CsvForm = PLAIN,
) -> Columns:
    """The columns of a file, a data frame, an Arrow table or a mapping of columns.

    `header` names the columns of a CSV file without a first line of names.
    """
    columns = _all_columns(source, form if header is None else replace(form, names=tuple(header)))
    if wanted is None:
        return columns
    chosen = list(wanted)
    for name in chosen:
        if name not in columns:
            raise BadInput(f"There is no column {name!r}; there are {', '.join(columns)}.")
    return {name: columns[name] for name in chosen}


def _all_columns(source: object, form: CsvForm) -> Columns:
    if isinstance(source, Mapping):
        columns = {str(name): [_text(value) for value in values] for name, values in source.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise BadInput("The columns of a table must have the same number of values.")
        return columns
    if isinstance(source, (str, Path)):
        return _read_file(Path(source), form)
    frame: Any = source
    if hasattr(frame, "to_pydict"):  # Arrow
        return _all_columns(_python_values(frame), form)
    if type(frame).__module__.startswith("polars"):
        return _all_columns(frame.to_dict(as_series=False), form)
    if hasattr(frame, "to_dict"):  # pandas
        return _all_columns(frame.to_dict("list"), form)
    raise BadSource(f"A table is a file, a data frame or a mapping, not a {type(source).__name__}.")


def _python_values(table: Any) -> dict[str, list[Any]]:
    """The values of an Arrow table; null where Python has none, such as a day after the year 9999."""

    def value(scalar: Any) -> Any:
        try:
            return scalar.as_py()
        except Exception:  # one answer must not stop the reading of all
            return None

    columns = zip(table.column_names, table.columns, strict=True)
    return {name: [value(one) for one in column] for name, column in columns}


def _read_file(path: Path, form: CsvForm) -> Columns:
    if not path.is_file():
        raise BadSource(f"There is no file {path}.")
    if path.suffix == PARQUET or path.suffix in ARROW:
        arrow = _pyarrow()
        if path.suffix == PARQUET:
            import pyarrow.parquet as parquet

            table = parquet.read_table(path)
        else:
            with arrow.OSFile(str(path)) as file:
                table = arrow.ipc.open_file(file).read_all()
        return _all_columns(table, form)
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    decoded = text.decode(form.encoding, "replace")
    reader = csv.reader(
        io.StringIO(decoded, newline=""),
        delimiter=_delimiter(decoded) if form is PLAIN else form.delimiter,
        quotechar=form.quote or None,
        quoting=csv.QUOTE_MINIMAL if form.quote else csv.QUOTE_NONE,
        skipinitialspace=True,
    )
    rows = [row for row in reader if row]
    if form.skip_first and rows:
        rows.pop(0)
    names = list(form.names) if form.names is not None else rows.pop(0) if rows else []
    names = [name.strip() for name in names]
    if not names or len(set(names)) < len(names):
        raise BadSource(f"{path} has no usable line of column names; name them with `header`.")
    kept = [row for row in rows if len(row) == len(names)]
    return {
        name: ["" if (field := row[place].strip()) in form.nulls else field for row in kept]
        for place, name in enumerate(names)
    }


def _delimiter(text: str) -> str:
    """What stands between the names of the first line, where nobody said: a comma, unless there is none."""
    first = text.partition("\n")[0]
    others = [each for each in ";\t|" if each in first]
    return others[0] if others and PLAIN.delimiter not in first else PLAIN.delimiter


def check_ending(path: Path) -> None:
    """Refuse a name whose ending says no format that is written."""
    if path.suffix not in (CSV, PARQUET, *ARROW):
        endings = ", ".join((CSV, PARQUET, *ARROW))
        raise BadInput(f"{path.name}: write to a file ending in {endings}. Nothing was done.")


def write_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """A CSV, Parquet or Arrow file, by its ending; whole or not at all.

    A file that is replaced keeps its permissions, for the rows may be real ones; a link stays a link.
    """
    check_ending(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.resolve()
    partial = place.with_name(f".{place.name}.{os.getpid()}.part{place.suffix}")
    try:
        if place.exists():
            partial.touch(mode=0o600)
            partial.chmod(place.stat().st_mode & 0o777)
        _write(partial, columns)
        partial.replace(place)
    except OSError as error:  # of the file beside it, whose name nobody typed
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def _write(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    if path.suffix == PARQUET or path.suffix in ARROW:
        arrow = _pyarrow()
        table = arrow.table({name: list(values) for name, values in columns.items()})
        if path.suffix == PARQUET:
            import pyarrow.parquet as parquet

            parquet.write_table(table, path)
        else:
            with (
                arrow.OSFile(str(path), "wb") as file,
                arrow.ipc.new_file(file, table.schema) as writer,
            ):
                writer.write_table(table)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _text(value: object) -> str:
    if value is None or value != value:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise BadSource(
            "Parquet and Arrow files need pyarrow: pip install 'discreet[arrow]'."
        ) from None
    return pyarrow
