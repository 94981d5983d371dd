"""Tables in memory, and lazy ones: pandas, Polars and Arrow objects, made safe for an engine to scan.

Before the charge only names and types are looked at. Values are read by `FrameRows.read`, which the
first verb calls: that is when a lazy table is computed, and Python objects become texts. Only the
declared columns are handed on, renamed by their place, so that no name can clash.

These packages quote values in their messages, so none of them is passed on, not even as the cause of
an error: `_foreign` catches whatever they raise and says one of a few fixed sentences. What Polars
raises when it panics is no `Exception`, so that is caught too.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.engines.sources import Source, SourceColumn, refuse_replaced
from discreet.errors import BadSource, DiscreetError, EngineFailed
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema

if TYPE_CHECKING:
    from discreet.engines.arrow_columns import Reading

T = TypeVar("T")
_BATCH_ROWS = 122_880
"""Rows handed to the engine at a time, so that its threads share one long column."""


def frame_columns(source: Source) -> list[SourceColumn]:
    """Names and types, from the object's own description."""
    described = _foreign(
        lambda: _described(source),
        lambda: BadSource(
            f"The {source.format} table does not say which columns it has: its own steps fail. No row "
            "was read. Its message is not shown, because it may quote a row. Fix them, or write the table to Parquet."
        ),
    )
    return [SourceColumn(place, str(name), str(type_)) for place, (name, type_) in described]


def _described(source: Source) -> list[tuple[int, tuple[Any, Any]]]:
    frame = source.value
    if source.format == "pandas":
        pairs = zip(frame.columns, frame.dtypes, strict=True)
    elif source.format == "polars":
        pairs = iter(frame.collect_schema().items())
    else:
        pairs = zip(frame.schema.names, frame.schema.types, strict=True)
    return list(enumerate(pairs))


def open_frame(source: Source, schema: Schema, found: Sequence[SourceColumn]) -> FrameRows:
    """The declared columns, then the identifier's, named f0, f1, ...: by their types, with no value read."""
    try:
        import_module("pyarrow")
    except ImportError:
        raise BadSource(
            "Tables in memory are read through pyarrow, which is not installed. No row was read. "
            "Install discreet[arrow], or write the table to a Parquet or CSV file."
        ) from None
    declared: list[Column | None] = [*schema.columns]
    if schema.unit.identifier is not None:
        declared.append(None)
    columns = _foreign(
        lambda: _opened(source, found, declared),
        lambda: BadSource(
            f"The columns of the {source.format} table cannot be read. No row was read. Write its "
            "columns with plain types: numbers, texts, booleans, dates, timestamps."
        ),
    )
    return FrameRows(source, columns)


@dataclass(frozen=True, slots=True)
class _FrameColumn:
    """A column of the source, what it becomes, and, where the source has no Arrow type, how."""

    column: SourceColumn
    reading: Reading
    made: Callable[[], Any] | None = None


def _opened(
    source: Source, found: Sequence[SourceColumn], declared: Sequence[Column | None]
) -> list[_FrameColumn]:
    # Only now: both import pyarrow, which may be missing.
    from discreet.engines.arrow_columns import reading_of
    from discreet.engines.pandas_columns import pandas_column

    frame = source.value
    opened: list[_FrameColumn] = []
    for place, column in zip(found, declared, strict=True):
        if source.format == "pandas":
            made = pandas_column(frame.iloc[:, place.place], column)
            known = None if made is None else _FrameColumn(place, *made)
        else:
            type_ = _arrow_type(source, place)
            reading = None if type_ is None else reading_of(type_, exact=column is None)
            known = None if reading is None else _FrameColumn(place, reading)
        if known is None:
            raise BadSource(
                f"Column {place.name!r} has the type {place.type_name[:80]}, which cannot be read. No row "
                "was read. Convert it to a number, a text, a boolean, a date or a timestamp."
            )
        opened.append(known)
    if _is_dataset(frame):
        _check_dataset(frame, found, None in declared)
    if source.format == "polars" and hasattr(frame, "collect"):
        _foreign(
            lambda: _check_lazy(frame._ldf.visit()),
            lambda: BadSource(
                "The LazyFrame reads files, and there a row may stop or change others. No row was read. Collect it, or give their path."
            ),
        )
    return opened


def _check_lazy(plan: Any) -> None:
    """Raises something where a lazy table of Polars reads anything but tables in memory."""
    waiting = [plan.get_node()]
    while waiting:
        plan.set_node(waiting.pop())
        waiting += (below := plan.get_inputs())
        if not below and type(plan.view_current_node()).__name__ != "DataFrameScan":
            raise TypeError


def _arrow_type(source: Source, column: SourceColumn) -> Any:
    """The Arrow type of a column; `None` where Polars has no such type to give."""
    if source.format == "arrow":
        return source.value.schema.types[column.place]
    polars = import_module("polars")
    dtype = list(source.value.collect_schema().values())[column.place]
    try:
        return polars.DataFrame(schema={"empty": dtype}).to_arrow().schema.types[0]
    except Exception:  # by the type alone: there is no row in it
        return None


def _is_dataset(frame: Any) -> bool:
    return hasattr(frame, "get_fragments")


def _check_dataset(dataset: Any, found: Sequence[SourceColumn], has_identifier: bool) -> None:
    """Refuses what would be converted while it is read, for a value can stop a conversion."""
    from pyarrow.dataset import get_partition_keys

    from discreet.engines.arrow_columns import is_text

    if len({column.name for column in found}) < len(found):
        raise BadSource("The Arrow dataset has columns of equal names. No row was read.")
    files: list[str] = []
    for fragment in dataset.get_fragments():
        if getattr(getattr(fragment, "filesystem", None), "type_name", "") == "local":
            files.append(fragment.path)
        format_ = getattr(fragment, "format", None)
        if getattr(format_, "default_extname", "parquet") not in ("parquet", "arrow", "feather"):
            raise BadSource(
                "The Arrow dataset is made of text or ORC files, which are converted while they are read, and a row "
                "could stop that. No row was read. Give the path of the files instead, or write them to Parquet."
            )
        own = fragment.physical_schema
        folders = get_partition_keys(fragment.partition_expression)
        who = found[-1].name if has_identifier else None
        refused = {*folders, *_cut_off(fragment, {one.name: one.type_name for one in found}, who)}
        for column in found:
            place, type_ = own.get_field_index(column.name), dataset.schema.types[column.place]
            is_guessed = column.name in folders and not is_text(getattr(type_, "value_type", type_))
            differs = place >= 0 and (own.field(place).type != type_ or column.name in refused)
            if is_guessed or differs:
                raise BadSource(
                    f"Column {column.name!r} has different types in the files of the Arrow dataset, a folder's name takes its place or is read "
                    "as a number, or a file may store it in more bytes than its type holds. No row was read. Write them again with one type, a decimal in "
                    "up to 16 bytes, an identifier as int32, int64 or text, and without such a folder; what folders are named is a string."
                )
    if len({Path(one).stat()[1:3] for one in refuse_replaced(files)}) < len(files):
        raise BadSource("The Arrow dataset has a file twice. No row was read. Name it once.")


def _cut_off(fragment: Any, types: dict[str, str], who: str | None) -> Iterator[str]:
    """Columns that Parquet may store in more bytes than Arrow holds: it stops there, or drops bits of identifiers."""
    for stored in fragment.metadata.schema if hasattr(fragment, "row_groups") else ():
        name, kind = stored.path, stored.physical_type
        type_ = types.get(name, "")
        drops = kind == "INT96" or type_ in ("int8", "int16", "uint8", "uint16")
        fits = "decimal" in type_ and 0 < stored.length <= 16
        stops = "BYTE_ARRAY" in kind and re.match("decimal|timestamp", type_) and not fits
        if stops or (drops and name == who):
            yield name


class FrameRows:
    """The safe columns of a table in memory: an Arrow stream that can be asked for again and again.

    Until `read` was called it holds no row, so an engine can learn its columns before the charge.
    """

    def __init__(self, source: Source, columns: Sequence[_FrameColumn]) -> None:
        self._source = source
        self._columns = columns
        self._lock = threading.Lock()
        self._table: Any = None
        self._failed = False

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """For each column its name in the stream, and its type as the engine reads it."""
        return tuple((f"f{n}", one.reading.label) for n, one in enumerate(self._columns))

    def read(self) -> None:
        """Reads the table, the first time that it is called; a dataset is read by each scan instead."""
        with self._lock:
            if self._table is not None or _is_dataset(self._source.value):
                return
            if self._failed:  # part of it may be used up
                raise _unread()
            self._failed = True
            self._table = _foreign(self._made, _unread)
            self._failed = False

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow

        types = [(f"f{n}", one.reading.type) for n, one in enumerate(self._columns)]
        schema = pyarrow.schema(types)
        batches = iter(())
        if _is_dataset(self._source.value):
            batches = self._streamed(schema)
        elif self._table is not None:
            batches = iter(self._table.to_batches(max_chunksize=_BATCH_ROWS))
        return pyarrow.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__(
            requested_schema
        )

    def _made(self) -> Any:
        import pyarrow

        columns = [one.made() for one in self._columns if one.made is not None]
        if self._source.format != "pandas":
            pairs = zip(self._columns, self._values(), strict=True)
            columns = [one.reading.column(column) for one, column in pairs]
        return pyarrow.table(columns, names=[name for name, _ in self.fields])

    def _values(self) -> list[Any]:
        """The columns as the source has them: here a lazy table is computed."""
        import pyarrow

        frame = self._source.value
        places = [one.column.place for one in self._columns]
        if self._source.format == "polars":
            polars = import_module("polars")
            chosen = frame.lazy().select([polars.nth(place) for place in places]).collect()
            return [
                pyarrow.nulls(len(series)) if one.reading.label == '"NULL"' else series.to_arrow()
                for one, series in zip(self._columns, chosen.get_columns(), strict=True)
            ]
        if hasattr(frame, "read_next_batch"):
            # It can be read only once, and engines read several times.
            schema = pyarrow.schema([frame.schema.field(place) for place in places])
            frame = pyarrow.Table.from_batches([one.select(places) for one in frame], schema)
            return list(frame.columns)
        return [frame.column(place) for place in places]

    def _streamed(self, schema: Any) -> Iterator[Any]:
        """The batches of a dataset, whose files may be too large to hold."""
        import pyarrow

        names = [one.column.name for one in self._columns]
        batches = iter(_foreign(lambda: self._source.value.to_batches(columns=names), _unread))
        while True:
            batch = _foreign(lambda: next(batches, None), _unread)
            if batch is None:
                return

            def safe(batch: Any = batch) -> Any:
                pairs = zip(self._columns, batch.columns, strict=True)
                arrays = [one.reading.safe(column) for one, column in pairs]
                return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

            yield _foreign(safe, _unread)


def _unread() -> EngineFailed:
    return EngineFailed(
        "The table could not be read: a step of its own, or its memory or files, failed. Its message is "
        "not shown, because it may quote a row. What was charged stays charged. Compute the table and write "
        "it to Parquet first, with conversions that give null where they fail."
    )


def _foreign(job: Callable[[], T], error: Callable[[], DiscreetError]) -> T:
    """What `job` gives; where another package raises anything, the error that is made here instead.

    It is raised outside of the handler, so that it has no context that a traceback could show.
    """
    try:
        return job()
    except (DiscreetError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError:
        made: DiscreetError = EngineFailed(
            "The table does not fit into memory. What was charged stays charged. Write it to Parquet, "
            "and give the path."
        )
    except BaseException:
        made = error()
    raise made
