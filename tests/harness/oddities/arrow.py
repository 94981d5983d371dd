"""Odd values in Arrow tables and Parquet files: of every type, put into buffers as raw bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.harness.oddities.values import (
    LONGEST,
    NAMES,
    PLAIN_TEXT,
    TEXTS,
    Case,
    can,
    one_of_width,
    patterns,
)


def arrow_types() -> list[Any]:
    """A type of every id that Arrow has: those without parameters by themselves, the others by hand."""
    import pyarrow as pa

    found: list[Any] = []
    for name in dir(pa):
        factory = getattr(pa, name)
        if "Create" not in (getattr(factory, "__doc__", None) or "") or isinstance(factory, type):
            continue
        try:
            made = factory()
        except Exception:  # needs parameters, or makes no type
            continue
        if isinstance(made, pa.DataType):
            found.append(made)
    found += [
        pa.timestamp(u, tz) for u in ("s", "ms", "us", "ns") for tz in (None, "UTC", "+05:30")
    ]
    found += [pa.timestamp("s", "Europe/Berlin"), pa.time32("s"), pa.time32("ms")]
    found += [pa.time64("us"), pa.time64("ns"), *map(pa.duration, ("s", "ms", "us", "ns"))]
    found += [pa.binary(16), pa.decimal128(4, 2), pa.decimal128(38, 0), pa.decimal128(38, 38)]
    found += [pa.decimal128(5, -2), pa.decimal256(76, 2)]
    found += [pa.decimal32(9, 2), pa.decimal64(18, 2)] if hasattr(pa, "decimal32") else []
    found += [pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)]
    found += (
        [pa.list_view(pa.int8()), pa.large_list_view(pa.int8())] if hasattr(pa, "list_view") else []
    )
    found += [pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())]
    found += [
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.sparse_union([pa.field("a", pa.int8())]),
    ]
    inner = [pa.string(), pa.large_string(), pa.timestamp("s"), pa.int64(), pa.binary()]
    inner += [pa.date64(), pa.time32("s"), pa.time64("ns"), pa.decimal128(4, 2)]
    inner += [pa.decimal256(76, 2)]
    found += [pa.dictionary(pa.int8(), one) for one in inner]
    found += [pa.dictionary(pa.uint32(), pa.string()), pa.dictionary(pa.int64(), pa.string())]
    found += [pa.run_end_encoded(pa.int32(), one) for one in inner]
    found += [pa.json_(), pa.uuid(), pa.bool8()] if hasattr(pa, "bool8") else []
    return list({str(type_): type_ for type_ in found}.values())


def untried_arrow_ids() -> set[str]:
    """Ids of Arrow that no type of `arrow_types` has."""
    import pyarrow as pa

    tried = {type_.id for type_ in arrow_types()}
    ids = {name: getattr(pa.lib, name) for name in dir(pa.lib) if name.startswith("Type_")}
    old = {"Type_INTERVAL_MONTHS", "Type_INTERVAL_DAY_TIME"}  # pyarrow has no way to make them
    return {name for name, number in ids.items() if number not in tried} - old - {"Type_MAX_ID"}


def arrow_cases() -> Iterator[Case]:
    """Every type, as a table in memory; then slices, and chunks without rows."""
    import pyarrow as pa

    for type_ in arrow_types():
        plain, odd = arrow_values(type_)
        yield Case(f"arrow {type_}", plain, odd, partial(arrow_table, type_))

    def sliced(values: Sequence[Any]) -> Any:
        return arrow_table(pa.string(), [b"\xff", *values]).slice(1)

    def chunked(values: Sequence[Any]) -> Any:
        parts = [arrow_table(pa.string(), part) for part in ((), values[:7], (), values[7:], ())]
        return pa.concat_tables(parts)

    yield Case("arrow long text", PLAIN_TEXT, (LONGEST,), partial(arrow_table, pa.string()))
    for name, made in (("sliced", sliced), ("in chunks", chunked)):
        yield Case(f"arrow string {name}", PLAIN_TEXT, TEXTS, made)


def arrow_values(type_: Any) -> tuple[Any, tuple[Any, ...]]:
    """A plain value and odd ones, as bytes that `arrow_array` puts into buffers."""
    import pyarrow as pa

    storage = _storage(type_)
    if pa.types.is_nested(storage) or pa.types.is_null(storage):
        return None, (b"",)
    if pa.types.is_boolean(storage):
        return b"\x01", (b"\x00", None)
    try:
        width = storage.bit_width // 8
    except ValueError:
        return PLAIN_TEXT, (*TEXTS, None)
    return one_of_width(width), (*patterns(width), None)


def _storage(type_: Any) -> Any:
    """What the values of an encoded or extended type are stored as."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        return _storage(type_.storage_type)
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return _storage(type_.value_type)
    return type_


def arrow_array(type_: Any, values: Sequence[bytes | None]) -> Any:
    """An array whose buffers hold these very bytes, valid or not."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, arrow_array(type_.storage_type, values))
    if pa.types.is_dictionary(type_):
        codes = pa.array(range(len(values)), type=type_.index_type)
        inner = arrow_array(type_.value_type, values)
        return pa.DictionaryArray.from_arrays(
            codes, inner, safe=False
        )  # as a file's reader makes it
    if pa.types.is_run_end_encoded(type_):
        from pyarrow import compute

        inner = arrow_array(type_.value_type, values)
        return compute.run_end_encode(inner, run_end_type=type_.run_end_type)
    if pa.types.is_nested(type_) or pa.types.is_null(type_):
        return _nested(type_, values)
    if pa.types.is_boolean(type_):
        return pa.array([None if one is None else one != b"\x00" for one in values], type=type_)
    validity = pa.array([one is not None for one in values], type=pa.bool_()).buffers()[1]
    try:
        width = type_.bit_width // 8
    except ValueError:
        return _variable(type_, values)
    data = b"".join(b"\x00" * width if one is None else one for one in values)
    return pa.Array.from_buffers(type_, len(values), [validity, pa.py_buffer(data)])


def _variable(type_: Any, values: Sequence[bytes | None]) -> Any:
    import pyarrow as pa

    bytes_of = {"string": pa.binary(), "large_string": pa.large_binary()}
    if str(type_) == "string_view":
        bytes_of["string_view"] = pa.binary_view()
    raw = pa.array(list(values), type=bytes_of.get(str(type_), type_))
    return pa.Array.from_buffers(type_, len(raw), raw.buffers()) if raw.type != type_ else raw


def _nested(type_: Any, values: Sequence[object]) -> Any:
    import pyarrow as pa

    if pa.types.is_union(type_):
        tags = pa.array([0] * len(values), type=pa.int8())
        child = pa.array([1] * len(values), type=pa.int8())
        if type_.mode == "sparse":
            return pa.UnionArray.from_sparse(tags, [child], ["a"])
        offsets = pa.array(range(len(values)), type=pa.int32())
        return pa.UnionArray.from_dense(tags, offsets, [child], ["a"])
    if pa.types.is_null(type_):
        return pa.nulls(len(values))
    spelled: Any = {"a": 1} if pa.types.is_struct(type_) else [1, 2]
    if pa.types.is_map(type_):
        spelled = [("a", 1)]
    return pa.array([None if one is None else spelled for one in values], type=type_)


def arrow_table(type_: Any, values: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.table(dict.fromkeys(NAMES, arrow_array(type_, values)))


def parquet_cases(folder: Path) -> Iterator[Case]:
    """Every type of Arrow that can be written, and timestamps in the old form of 96 bits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def written(type_: Any, values: Sequence[Any], **options: Any) -> str:
        path = str(folder / f"{abs(hash((str(type_), tuple(values))))}.parquet")
        pq.write_table(arrow_table(type_, values), path, **options)
        return path

    for type_ in arrow_types():
        plain, odd = arrow_values(type_)
        writable = [plain, *odd]
        if not can(written, type_, writable):
            writable = [one for one in writable if can(written, type_, [one])]
        if plain in writable:
            kept = tuple(one for one in odd if one in writable)
            yield Case(f"parquet {type_}", plain, kept, partial(written, type_))
    old = pa.timestamp("ns")
    yield Case(
        "parquet int96",
        *arrow_values(old),
        partial(written, old, use_deprecated_int96_timestamps=True),
    )
