"""Odd values of every type of Arrow, pandas, Polars, Parquet and DuckDB: tables for the value fuzz.

The types are asked of the packages themselves, so that one which is added there is tried here. Each gives
a `Case`: a plain column, and the values, mostly made from raw bytes, of which one takes the first row's
place in a neighbour.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

CANARY = "CANARY-4821"
"""Stands in every odd text, and may stand in no message."""
ROWS = 40
TEXTS = (
    b"",
    b"\x00" + CANARY.encode(),
    b"\xff\xfe" + CANARY.encode(),
    b"\xed\xa0\x80" + CANARY.encode(),  # half a surrogate pair
    b"\xc3" + CANARY.encode(),
    b"X",
    b"x ",
    "\u00e9".encode(),
    "e\u0301".encode(),
    b"99999999999999999999999999999999999999999",
    b"1e999",
    b"-0.0",
    b"nan",
    b"infinity",
    b"2016-12-31T23:59:60Z",
    b"9999-12-31",
    b"-290308-12-21 (BC)",
    b"9" * 100_000,
)
NAMES = ("category", "integer", "number", "boolean", "date", "datetime", "person")
"""The columns of every table here, all with the same values; named by the kinds they are declared as."""
LONGEST = b"y" * 10_000_000
_PLAIN_BYTES = b"x"


@dataclass(frozen=True, slots=True)
class Case:
    """A type of a package: `made(values)` is a source whose columns hold `values`, which `odd` lists."""

    name: str
    plain: Any
    odd: tuple[Any, ...]
    made: Callable[[Sequence[Any]], Any]


def patterns(width: int) -> list[bytes]:
    """Extreme values of any type of so many bytes, in little-endian: also infinities, NaN, subnormals, -0.0."""
    zeros, ones = b"\x00" * width, b"\xff" * width
    found = [zeros, ones, b"\xff" * (width - 1) + b"\x7f", b"\x00" * (width - 1) + b"\x80"]
    found += [b"\x00" * (width - 1) + b"\x40", b"\x00" * (width - 1) + b"\xc0"]
    for spelled in ("007c", "0000807f", "000000000000f07f", "00fc", "000080ff", "000000000000f0ff"):
        number = bytes.fromhex(spelled)
        if len(number) == width:
            found.append(number)
    return found


def _one(width: int) -> bytes:
    return b"\x01" + b"\x00" * (width - 1)


# --- Arrow --------------------------------------------------------------------------------------


def arrow_types() -> list[Any]:
    """A type of every id that Arrow has: those without parameters by themselves, the others by hand."""
    import pyarrow as pa

    found: list[Any] = []
    for name in dir(pa):
        factory = getattr(pa, name)
        if not callable(factory) or name.startswith("_") or isinstance(factory, type):
            continue
        try:
            made = factory()
        except Exception:  # needs parameters, or makes no type
            continue
        if isinstance(made, pa.DataType):
            found.append(made)
    found += [pa.timestamp(u, tz) for u in ("s", "ms", "us", "ns") for tz in (None, "UTC", "+05:30")]
    found += [pa.timestamp("s", "Europe/Berlin"), pa.time32("s"), pa.time32("ms")]
    found += [pa.time64("us"), pa.time64("ns"), *map(pa.duration, ("s", "ms", "us", "ns"))]
    found += [pa.binary(16), pa.decimal128(4, 2), pa.decimal128(38, 0), pa.decimal128(38, 38)]
    found += [pa.decimal128(5, -2), pa.decimal256(76, 2)]
    found += [pa.decimal32(9, 2), pa.decimal64(18, 2)] if hasattr(pa, "decimal32") else []
    found += [pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)]
    found += [pa.list_view(pa.int8()), pa.large_list_view(pa.int8())] if hasattr(pa, "list_view") else []
    found += [pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())]
    found += [pa.dense_union([pa.field("a", pa.int8())]), pa.sparse_union([pa.field("a", pa.int8())])]
    inner = (pa.string(), pa.large_string(), pa.timestamp("s"), pa.int64(), pa.binary())
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
    return {name for name, number in ids.items() if number not in tried} - {"Type_MAX_ID"}


def arrow_cases() -> Iterator[Case]:
    """Every type, as a table in memory; then slices, and chunks without rows."""
    import pyarrow as pa

    for type_ in arrow_types():
        plain, odd = arrow_values(type_)
        yield Case(f"arrow {type_}", plain, odd, lambda values, type_=type_: arrow_table(type_, values))

    def sliced(values: Sequence[Any]) -> Any:
        return arrow_table(pa.string(), [b"\xff", *values]).slice(1)

    def chunked(values: Sequence[Any]) -> Any:
        parts = [arrow_table(pa.string(), part) for part in ((), values[:7], (), values[7:], ())]
        return pa.concat_tables(parts)

    for name, made in (("sliced", sliced), ("in chunks", chunked)):
        yield Case(f"arrow string {name}", _PLAIN_BYTES, TEXTS, made)


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
        return _PLAIN_BYTES, (*TEXTS, None)
    return _one(width), (*patterns(width), None)


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
        return pa.DictionaryArray.from_arrays(codes, arrow_array(type_.value_type, values))
    if pa.types.is_run_end_encoded(type_):
        ends = pa.array(range(1, len(values) + 1), type=type_.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(ends, arrow_array(type_.value_type, values))
    if pa.types.is_nested(type_) or pa.types.is_null(type_):
        return _nested(type_, values)
    if pa.types.is_boolean(type_):
        return pa.array([None if one is None else one != b"\x00" for one in values], type=type_)
    known = [one is not None for one in values]
    validity = pa.array(known).buffers()[1]
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


# --- Parquet ------------------------------------------------------------------------------------


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
        writable = [one for one in (plain, *odd) if _can(lambda: written(type_, [one]))]
        if plain in writable:
            kept = tuple(one for one in odd if one in writable)
            yield Case(f"parquet {type_}", plain, kept, lambda v, t=type_: written(t, v))
    old = pa.timestamp("ns")
    yield Case(
        "parquet int96",
        *arrow_values(old),
        lambda values: written(old, values, use_deprecated_int96_timestamps=True),
    )


def _can(job: Callable[[], object]) -> bool:
    try:
        job()
    except Exception:  # the package cannot make such a value, so no table holds it
        return False
    return True


# --- pandas -------------------------------------------------------------------------------------


class Raises:
    """An object of which every question fails, and every failure quotes it."""

    def __str__(self) -> str:
        raise ValueError(CANARY)

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError(CANARY)


OBJECTS: tuple[Any, ...] = (
    None,
    float("nan"),
    "\ud800" + CANARY,
    "\x00" + CANARY,
    10**400,
    10**30,
    -0.0,
    5e-324,
    1e308,
    float("inf"),
    decimal.Decimal("NaN"),
    decimal.Decimal("sNaN"),
    decimal.Decimal("1e999999"),
    decimal.Decimal(1).scaleb(-76),
    Raises(),
    b"\xff" + CANARY.encode(),
    [CANARY],
    {CANARY: 1},
    (),
    1 + 2j,
    date.min,
    date.max,
    datetime.max,
    timedelta.max,
    np.datetime64(2**62, "s"),
    np.datetime64("NaT"),
    np.timedelta64(2**62, "s"),
    np.longdouble("1e400"),
    object(),
    True,
    type,
)


def pandas_dtypes() -> list[Any]:
    """Every dtype of numpy, in both byte orders, and every extension dtype that pandas registers."""
    import pandas as pd

    found: list[Any] = []
    for type_ in set(np.sctypeDict.values()):
        if type_ in (np.str_, np.bytes_, np.void, np.object_, np.datetime64, np.timedelta64):
            continue
        found += [np.dtype(type_), np.dtype(type_).newbyteorder(">")]
    found += [np.dtype(f"{kind}8[{unit}]") for kind in "Mm" for unit in ("s", "ms", "us", "ns")]
    waiting: list[Any] = [pd.api.extensions.ExtensionDtype]
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if one.__module__.startswith("pandas.core") and not one.__name__.startswith("_"):
            try:
                found.append(one())
            except Exception:  # needs parameters: those are in `pandas_cases`
                continue
    return list({repr(dtype): dtype for dtype in found}.values())


def pandas_cases() -> Iterator[Case]:
    import pandas as pd

    def wide(series: Any) -> Any:
        return pd.DataFrame(dict.fromkeys(NAMES, series))

    def frame(values: Sequence[Any], dtype: Any) -> Any:
        return wide(pd.Series(list(values), dtype=dtype))

    def from_bytes(values: Sequence[bytes], dtype: Any) -> Any:
        return wide(pd.Series(np.frombuffer(b"".join(values), dtype=dtype)))

    def masked(values: Sequence[bytes], dtype: Any) -> Any:
        stored = np.frombuffer(b"".join(values), dtype=dtype.numpy_dtype)
        return wide(pd.Series(stored).astype(dtype))

    for dtype in pandas_dtypes():
        if isinstance(dtype, np.dtype):
            width = dtype.itemsize
            odd = [b"\x00", b"\x01"] if dtype.kind == "b" else patterns(width)
            yield Case(
                f"pandas {dtype!r}", _one(width), tuple(odd), lambda v, d=dtype: from_bytes(v, d)
            )
        elif hasattr(dtype, "numpy_dtype") and not hasattr(dtype, "pyarrow_dtype"):
            width = dtype.numpy_dtype.itemsize
            odd = [b"\x00"] if dtype.numpy_dtype.kind == "b" else patterns(width)
            yield Case(f"pandas {dtype!r}", _one(width), tuple(odd), lambda v, d=dtype: masked(v, d))
    texts = ("", "\x00" + CANARY, "X", "\u00e9", "e\u0301", None)
    broken = (*texts, "\ud800" + CANARY)
    yield Case("pandas str", "x", texts, lambda values: frame(values, "str"))
    yield Case("pandas string[python]", "x", broken, lambda v: frame(v, pd.StringDtype("python")))
    yield Case(
        "pandas category", "x", broken, lambda v: frame(pd.Series(list(v), dtype=object), "category")
    )
    yield Case("pandas object", "x", OBJECTS, lambda values: frame(values, object))
    spans = (pd.Period("1000-01"), pd.Period("9999-12"))
    yield Case("pandas period", pd.Period("2020-01", "M"), spans, lambda v: frame(v, "period[M]"))
    pieces = (pd.Interval(0, 1e308), pd.Interval(-1e308, 0))
    yield Case("pandas interval", pd.Interval(0, 1), pieces, lambda v: frame(v, "interval"))
    sparse = (float("nan"), float("inf"), 1e308, 0.0)
    yield Case("pandas sparse", 1.0, sparse, lambda v: frame(v, pd.SparseDtype(float)))

    def zoned(values: Sequence[bytes], unit: str) -> Any:
        stored = np.frombuffer(b"".join(values), dtype=f"M8[{unit}]")
        return wide(pd.Series(stored).dt.tz_localize("UTC"))

    import pyarrow as pa

    for unit in ("s", "ms", "us", "ns"):
        far = tuple(patterns(8))
        yield Case(f"pandas {unit} UTC", _one(8), far, lambda v, u=unit: zoned(v, u))
    for type_ in (pa.string(), pa.timestamp("s", "UTC"), pa.decimal128(4, 2), pa.duration("s")):
        plain, odd_bytes = arrow_values(type_)

        def arrow_backed(values: Sequence[Any], type_: Any = type_) -> Any:
            array = pa.chunked_array([arrow_array(type_, values)])
            return wide(pd.Series(pd.arrays.ArrowExtensionArray(array)))

        yield Case(f"pandas ArrowDtype({type_})", plain, odd_bytes, arrow_backed)


# --- Polars -------------------------------------------------------------------------------------


def polars_cases() -> Iterator[Case]:
    """Every leaf of Polars' tree of types, and each lazily too."""
    import polars as pl

    zones = (None, "UTC", "Europe/Berlin")
    known: dict[str, list[Any]] = {
        "Datetime": [pl.Datetime(u, z) for u in ("ms", "us", "ns") for z in zones],
        "Duration": [pl.Duration(u) for u in ("ms", "us", "ns")],
        "Decimal": [pl.Decimal(38, 0), pl.Decimal(38, 38), pl.Decimal(4, 2)],
        "Enum": [pl.Enum(["x", CANARY, ""])],
        "List": [pl.List(pl.Int8)],
        "Array": [pl.Array(pl.Int8, 2)],
        "Struct": [pl.Struct({"a": pl.Int8})],
    }
    waiting: list[Any] = [pl.DataType]
    while waiting:
        one = waiting.pop()
        below = one.__subclasses__()
        waiting += below
        if below or not hasattr(pl, one.__name__):
            continue
        for dtype in known.get(one.__name__) or [one()]:
            plain, odd = _polars_values(dtype)
            makers: list[tuple[str, Callable[[Any], Any]]] = [("", lambda frame: frame)]
            makers.append((" lazy", lambda frame: frame.lazy()))
            for ending, last in makers:

                def made(values: Sequence[Any], dtype: Any = dtype, last: Any = last) -> Any:
                    return last(pl.DataFrame(dict.fromkeys(NAMES, _polars_series(dtype, values))))

                yield Case(f"polars {dtype}{ending}", plain, odd, made)


def _polars_values(dtype: Any) -> tuple[Any, tuple[Any, ...]]:
    import polars as pl

    whole = [0, -1, 2**63 - 1, -(2**63), 2**62, -(2**62), None]
    if dtype.is_integer():
        ends = pl.select(pl.lit(0, dtype=dtype)).to_series()
        return 1, (0, ends.lower_bound()[0], ends.upper_bound()[0], None)
    if dtype.is_float():
        return 1.0, (-0.0, 5e-324, 6e4, float("inf"), -float("inf"), float("nan"), None)
    if dtype == pl.Decimal:
        digits = "9" * dtype.precision
        return decimal.Decimal(0), (decimal.Decimal(f"{digits}e-{dtype.scale}"), None)
    if dtype.is_temporal():
        if dtype == pl.Time:
            return 1, (0, 86_399_999_999_999, None)
        if dtype == pl.Date:
            return 1, (0, 2**31 - 1, -(2**31), None)
        return 1, tuple(whole)
    if dtype in (pl.String, pl.Categorical):
        spelled = [one.decode("utf-8", "replace") for one in TEXTS]
        return "x", (*spelled, None)
    if dtype == pl.Enum:
        return "x", (CANARY, "", None)
    if dtype == pl.Boolean:
        return True, (False, None)
    if dtype == pl.Binary:
        return b"x", (b"", b"\xff" + CANARY.encode(), None)
    if dtype == pl.Object:
        return "x", (Raises(), CANARY, None)
    if dtype == pl.Struct:
        return {"a": 1}, (None,)
    return ([1, 2], (None,)) if dtype.is_nested() else (None, (None,))


def _polars_series(dtype: Any, values: Sequence[Any]) -> Any:
    import polars as pl

    if dtype == pl.Date:
        return pl.Series(list(values), dtype=pl.Int32).cast(dtype)
    if dtype.is_temporal():
        return pl.Series(list(values), dtype=pl.Int64).cast(dtype)
    return pl.Series(list(values), dtype=dtype)


# --- DuckDB -------------------------------------------------------------------------------------

_SPELLED = (
    *("0", "1", "-1", "127", "-128", "255", "32767", "-32768", "65535", "2147483647", "-2147483648"),
    *("4294967295", "9223372036854775807", "-9223372036854775808", "18446744073709551615"),
    *("170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"),
    *("340282366920938463463374607431768211455", "9" * 38, "0." + "9" * 38, "1e308", "5e-324", "-0.0"),
    *("nan", "infinity", "-infinity", "epoch", "9999-12-31", "294247-01-10 04:00:54.775806"),
    *("290309-12-22 (BC)", "5881580-07-10", "5877642-06-25 (BC)", "2262-04-11 23:47:16.854775806"),
    *("292277026596-12-04 15:30:07", "292278994-08-17 07:12:55.807", "23:59:60", "24:00:00"),
    *("23:59:59.999999+15:59:59", "1000000 years", "-178956970 years -8 months", "[1, 2]", "[]"),
    *("{'a': 1}", "{}", "10101", "00000000-0000-0000-0000-000000000000", "X", "", "true"),
    *("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", CANARY, "x ", "\u00e9", "POINT(1 1)"),
)  # fmt: skip
_WITH_PARAMETERS = (
    *("DECIMAL(4,2)", "DECIMAL(38,0)", "DECIMAL(38,38)", "DECIMAL(18,3)", "INTEGER[]", "INTEGER[2]"),
    *("STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "UNION(n INTEGER, t VARCHAR)"),
    *("ENUM('x', 'X', '" + CANARY + "')", "TIMESTAMP WITH TIME ZONE", "TIME WITH TIME ZONE"),
)  # fmt: skip


def duckdb_types() -> list[str]:
    """Every type that DuckDB lists, some with parameters, and text in every collation."""
    connection = import_module("duckdb").connect()
    listed = connection.execute("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    collations = connection.execute("SELECT collname FROM pragma_collations()").fetchall()
    wanted = [name for (name,) in listed] + list(_WITH_PARAMETERS)
    wanted += [f'VARCHAR COLLATE "{name}"' for (name,) in collations] + ["VARCHAR COLLATE NOCASE.NOACCENT"]
    usable = []
    for type_ in sorted(set(wanted)):
        if _can(lambda: connection.execute(f"CREATE OR REPLACE TABLE t (x {type_})")):
            usable.append(type_)
    connection.close()
    return usable


def duckdb_cases(folder: Path) -> Iterator[Case]:
    duckdb = import_module("duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE texts (t VARCHAR)")
        connection.executemany("INSERT INTO texts VALUES (?)", [[one] for one in _SPELLED])
        for number, type_ in enumerate(duckdb_types()):
            bare = re.sub(r" COLLATE .*", "", type_)

            def fits(text: str, bare: str = bare) -> bool:
                query = f"SELECT TRY_CAST(? AS {bare}) IS NOT NULL"
                return bool(connection.execute(query, [text]).fetchone()[0])

            odd = [text for text in _SPELLED if _can(lambda: fits(text)) and fits(text)]
            if "COLLATE" in type_:
                odd = ["X", "x ", "\u00e9", CANARY]

            def made(values: Sequence[Any], type_: str = type_, bare: str = bare, number: int = number) -> str:
                path = folder / f"{number}-{abs(hash(tuple(values)))}.duckdb"
                path.unlink(missing_ok=True)
                with duckdb.connect(str(path)) as file:
                    file.execute("CREATE TABLE t (" + ", ".join(f"{n} {type_}" for n in NAMES) + ")")
                    row = ", ".join(f"TRY_CAST($1 AS {bare})" for _ in NAMES)
                    file.executemany(f"INSERT INTO t SELECT {row}", [[one] for one in values])
                return str(path)

            plain = next((one for one in ("x", "1", *odd) if one in odd or bare == "VARCHAR"), None)
            yield Case(f"duckdb {type_}", plain, (*odd, None), made)
