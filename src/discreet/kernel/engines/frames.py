"""Tables in memory: pandas, Polars and Arrow objects, made safe for an engine to scan.

Only the declared columns are handed on, renamed by their place, so that no name can clash. A pandas
column of Python objects becomes text by the schema's own reading of each value: an engine would
guess a type from some of them and fail on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from discreet.errors import BadSource
from discreet.kernel.engines.sources import Source, SourceColumn
from discreet.schema.column import Column
from discreet.schema.named import BooleanColumn, CategoryColumn
from discreet.schema.ordered import OrderedColumn
from discreet.schema.schema import Schema
from discreet.schema.temporal import TemporalColumn
from discreet.schema.values import (
    Instant,
    boolean_of,
    category_text_of,
    double_of,
    microseconds_of,
    plain,
)


def frame_columns(source: Source) -> list[SourceColumn]:
    """Names and types, from the object's own description."""
    frame = source.value
    if source.format in ("pandas", "polars"):
        names, types = list(frame.columns), list(frame.dtypes)
    else:
        names, types = list(frame.schema.names), list(frame.schema.types)
    return [
        SourceColumn(place, str(name), str(type_))
        for place, (name, type_) in enumerate(zip(names, types, strict=True))
    ]


def frame_for_engine(source: Source, schema: Schema, found: Sequence[SourceColumn]) -> Any:
    """The declared columns, then the identifier's, named f0, f1, ..."""
    names = [f"f{place}" for place in range(len(found))]
    declared: list[Column | None] = [*schema.columns]
    if schema.unit.identifier is not None:
        declared.append(None)
    frame = source.value
    try:
        if source.format == "pandas":
            return _pandas(frame, names, found, declared)
        if source.format == "polars":
            series = [
                frame.to_series(column.place).alias(name)
                for name, column in zip(names, found, strict=True)
            ]
            return type(frame)(series).to_arrow()
        if hasattr(frame, "to_table"):  # a dataset, whose files may be too large to hold
            return _dataset_scanner(frame, names, found)
        return frame.select([column.place for column in found]).rename_columns(names)
    except BadSource:
        raise
    except ModuleNotFoundError:
        raise BadSource(
            f"A {source.format} table is read through pyarrow, which is not installed: install "
            "discreet[arrow], or write the table to a Parquet file. Nothing was read or charged."
        ) from None
    except Exception as error:  # a message of these packages may quote a value
        raise BadSource(
            f"The {source.format} table cannot be read ({type(error).__name__}). Write its columns "
            "with plain types: numbers, texts, booleans, dates."
        ) from None


def _dataset_scanner(dataset: Any, names: Sequence[str], found: Sequence[SourceColumn]) -> Any:
    if len({column.name for column in found}) < len(found):
        raise BadSource("The Arrow dataset has columns of equal names.")
    table = dataset.to_table(columns=[column.name for column in found])
    return table.rename_columns(list(names))


def _pandas(
    frame: Any,
    names: Sequence[str],
    found: Sequence[SourceColumn],
    declared: Sequence[Column | None],
) -> Any:
    columns = {}
    for name, place, column in zip(names, found, declared, strict=True):
        series = frame.iloc[:, place.place].reset_index(drop=True)
        if series.dtype.kind == "O" and _holds_objects(series):
            texts = [object_text(value, column) for value in series.array]
            series = type(series)(texts, dtype=object)
        columns[name] = series
    return type(frame)(columns, columns=list(names))


def _holds_objects(series: Any) -> bool:
    """Whether each value is a Python object of any type; not so for texts and known categories."""
    kind = str(series.dtype)
    if kind == "category":
        return not str(series.cat.categories.dtype).startswith(("str", "string"))
    return kind == "object"


def object_text(value: object, column: Column | None) -> str | None:
    """A text that the column (`None`: an identifier) reads as it reads the value; `None` for null."""
    if isinstance(column, BooleanColumn):
        truth = boolean_of(value)
        return None if truth is None else "true" if truth else "false"
    if isinstance(column, TemporalColumn):
        moment = microseconds_of(value)
        return None if moment is None else _moment_text(moment)
    if isinstance(column, OrderedColumn):
        unit = column.unit_of(value)
        return None if unit is None else repr(unit)
    known = plain(value)
    if isinstance(known, str):
        return known.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    if isinstance(known, bool):
        return "true" if known else "false"
    if isinstance(known, int):
        text = category_text_of(known)
        return text if isinstance(text, str) else None
    if isinstance(known, date):
        return known.isoformat()
    if isinstance(known, Instant):
        return None if column is not None else _moment_text(known.microseconds)
    number = double_of(known)
    if number is None:
        return None
    code = None if column is None else column.code_of(number)
    if isinstance(column, CategoryColumn) and code is not None and code < column.value_cells:
        return column.values[code]
    return repr(number)


def _moment_text(microseconds: int) -> str:
    moment = Instant(microseconds).as_datetime()
    if moment is None:  # beyond Python's calendar, and beyond every declared range
        return "9999-12-31" if microseconds > 0 else "0001-01-01"
    return moment.isoformat()
