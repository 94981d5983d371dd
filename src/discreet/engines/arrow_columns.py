"""Arrow columns made safe for an engine: what each Arrow type is handed over as, whatever a value holds.

An engine that reads Arrow converts some types while it scans, and stops on a value that does not
fit: text that is not Unicode, a timestamp in seconds a million years away, a decimal with more
digits than its type allows. So each type here says what it becomes, known before any value is read,
and `Reading.safe` gets it there by steps that no value can stop. A type that is not listed is refused.

    text                   stays text; bytes that are no UTF-8 become U+FFFD
    timestamps             the integers that they are stored as; `duckdb.dialect` scales and clamps them
    decimals               stay decimals; one with more digits than its type allows is null
    dictionaries, runs     what their values become; refused where Arrow cannot take them apart
    bytes, times of day, durations, lists, structs, ...   nulls, as the schema says; never looked at
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute

_MILLISECONDS_PER_DAY = 86_400_000
_FARTHEST_DAY = 2**31 - 2
"""The next one stands for infinity in DuckDB."""
_NUMBERS = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "float": "FLOAT", "double": "DOUBLE", "date32[day]": "DATE",
}  # fmt: skip
"""Types whose every value the engine can take as it is, by Arrow's name and by the engine's."""
_DECIMALS = ("decimal32", "decimal64", "decimal128")
_BYTES = ("binary", "large_binary", "fixed_size_binary", "binary_view")
_UNREADABLE = ("null", *_BYTES, "time", "duration", "interval", "nested")


@dataclass(frozen=True, slots=True)
class Reading:
    """How the values of one Arrow type are converted."""

    label: str
    """The engine's name of the type, as `duckdb.dialect.FieldType` knows it."""
    type: Any
    """The Arrow type that is handed over."""
    safe: Callable[[Any], Any]
    """From an array of the source's type to one of `type`; fails on damaged memory only."""

    def column(self, values: Any) -> Any:
        """An array, or one in chunks, of the source's type, as chunks of `type`."""
        chunks = values.chunks if hasattr(values, "chunks") else [values]
        return pyarrow.chunked_array([self.safe(chunk) for chunk in chunks], type=self.type)


def reading_of(type_: Any, *, exact: bool = False) -> Reading | None:
    """The reading of an Arrow type, `exact` where values that differ must stay so; `None` where it is not known or too wide."""
    name = str(type_)
    if isinstance(type_, pyarrow.BaseExtensionType):
        return _extension(type_, exact)
    if name in _NUMBERS:
        return Reading(_NUMBERS[name], type_, _whole)
    if name == "halffloat":
        return Reading("FLOAT", pyarrow.float32(), lambda array: _whole(array).cast("float"))
    if name == "date64[ms]" and not exact:
        return Reading("DATE", pyarrow.date32(), _days)
    if _is(type_, "timestamp") or name == "date64[ms]":
        integers = pyarrow.int64()
        unit = getattr(type_, "unit", "ms").upper()
        return Reading(f"INSTANT_{unit}", integers, lambda array: _whole(array).view(integers))
    if is_text(type_):
        return Reading("VARCHAR", type_, _text)
    if any(_is(type_, one) for one in _DECIMALS):
        if not 0 <= type_.scale <= type_.precision:
            return None
        wide = pyarrow.decimal128(type_.precision, type_.scale)
        return Reading(f"DECIMAL({type_.precision},{type_.scale})", wide, _decimals)
    if _is(type_, "dictionary"):
        return _tried(_dictionary(type_, exact), type_)
    if _is(type_, "run_end_encoded"):
        inner = reading_of(type_.value_type, exact=exact)
        if inner is None:
            return None
        decode = compute.run_end_decode
        runs = Reading(inner.label, inner.type, lambda array: inner.safe(decode(array)))
        return _tried(runs, type_)
    return nothing() if any(_is(type_, one) for one in _UNREADABLE) else None


def _tried(reading: Reading | None, type_: Any) -> Reading | None:
    """The reading, unless Arrow cannot take such runs or dictionaries apart: of dictionaries, views, runs."""
    try:
        if reading is not None:
            reading.safe(pyarrow.nulls(1, type_))
    except pyarrow.ArrowException:
        return None
    return reading


def nothing() -> Reading:
    """For types that no kind of column reads: nulls, so many as there are rows."""
    return Reading(
        '"NULL"', pyarrow.int8(), lambda array: pyarrow.nulls(len(array), pyarrow.int8())
    )


def _is(type_: Any, name: str) -> bool:
    from pyarrow import types

    # Some are newer than the oldest pyarrow that is read.
    known = getattr(types, f"is_{name}", None)
    return known is not None and bool(known(type_))


def is_text(type_: Any) -> bool:
    return any(_is(type_, name) for name in ("string", "large_string", "string_view"))


def _whole(array: Any) -> Any:
    """The array, once its buffers are as long as it says."""
    array.validate()
    return array


def _days(array: Any) -> Any:
    """Milliseconds as days; what 32 bits cannot hold lies at their ends, beyond every declared range."""
    stored = _whole(array).view(pyarrow.int64())
    days = stored.fill_null(0).to_numpy(zero_copy_only=False) // _MILLISECONDS_PER_DAY
    inside = np.clip(days, -_FARTHEST_DAY, _FARTHEST_DAY).astype(np.int32)
    unknown = stored.is_null().to_numpy(zero_copy_only=False)
    return pyarrow.array(inside, mask=unknown).view(pyarrow.date32())


def _text(array: Any) -> Any:
    """Text, of which an engine may look at every byte."""
    stored = array.cast(pyarrow.large_binary())  # without a look at the bytes
    stored.validate(full=True)
    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:  # no other thing can be wrong with it any more
        texts = [
            None if value is None else value.decode("utf-8", "replace")
            for value in stored.to_pylist()
        ]
        return pyarrow.array(texts, type=array.type)
    return array


def _decimals(array: Any) -> Any:
    type_ = array.type
    wide = pyarrow.decimal128(type_.precision, type_.scale)
    array.validate()
    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        array = _fitting(array)
    return array if type_ == wide else array.cast(wide)


def _fitting(array: Any) -> Any:
    """Nulls in place of decimals that have more digits than their type allows."""
    size = array.type.bit_width // 8
    stored = array.buffers()[1].to_pybytes()
    most = 10**array.type.precision
    fits = [
        -most < int.from_bytes(stored[place * size :][:size], "little", signed=True) < most
        for place in range(array.offset, array.offset + len(array))
    ]
    taken = [place if fit else None for place, fit in enumerate(fits)]
    return array.take(pyarrow.array(taken, type=pyarrow.int64()))


def _dictionary(type_: Any, exact: bool) -> Reading | None:
    inner = reading_of(type_.value_type, exact=exact)
    if inner is None:
        return None
    if not is_text(type_.value_type):

        def decoded(array: Any) -> Any:
            array.validate()  # and `take` checks each index: one beyond would read foreign memory
            return inner.safe(array.dictionary).take(array.indices)

        return Reading(inner.label, inner.type, decoded)

    def kept(array: Any) -> Any:
        indices = array.indices.cast(pyarrow.int32())
        made = pyarrow.DictionaryArray.from_arrays(indices, inner.safe(array.dictionary), safe=True)
        made.validate(full=True)
        return made

    return Reading("VARCHAR", pyarrow.dictionary(pyarrow.int32(), type_.value_type), kept)


def _extension(type_: Any, exact: bool) -> Reading | None:
    """The extension types of Arrow itself whose meaning is known; not those of other packages."""
    inner = reading_of(type_.storage_type, exact=exact)
    match type_.extension_name:
        case "arrow.uuid":
            return Reading("UUID", type_, _whole)
        case "arrow.json" if inner is not None and inner.label == "VARCHAR":
            return Reading(inner.label, inner.type, lambda array: inner.safe(array.storage))
        case "arrow.bool8":
            return Reading(
                "BOOLEAN",
                pyarrow.bool_(),
                lambda array: compute.not_equal(_whole(array).storage, 0),
            )
        case _:
            return None
