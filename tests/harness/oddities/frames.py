"""Odd values in pandas and Polars tables: of every dtype that the packages register."""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np

from tests.harness.oddities.arrow import arrow_array, arrow_values
from tests.harness.oddities.values import CANARY, NAMES, TEXTS, Case, can, one_of_width, patterns


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
    np.datetime64("NaT", "us"),
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
        own = one.__module__.startswith("pandas.core") and not one.__name__.startswith("_")
        if own and can(_whole_dtype, one):  # those with parameters are in `pandas_cases`
            found.append(one())
    return list({repr(dtype): dtype for dtype in found}.values())


def _whole_dtype(kind: Any) -> object:
    """Fails for a dtype that is abstract, or needs parameters."""
    return repr(kind()), kind().type


def pandas_cases() -> Iterator[Case]:
    import pandas as pd
    import pyarrow as pa

    def wide(series: Any) -> Any:
        return pd.DataFrame(dict.fromkeys(NAMES, series))

    def frame(dtype: Any, values: Sequence[Any]) -> Any:
        return wide(pd.Series(list(values), dtype=dtype))

    def from_bytes(dtype: Any, values: Sequence[bytes]) -> Any:
        return wide(pd.Series(np.frombuffer(b"".join(values), dtype=dtype)))

    def masked(dtype: Any, values: Sequence[bytes]) -> Any:
        stored = np.frombuffer(b"".join(values), dtype=dtype.numpy_dtype)
        return wide(pd.Series(stored).astype(dtype))

    for dtype in pandas_dtypes():
        if isinstance(dtype, np.dtype):
            width = dtype.itemsize
            odd = [b"\x00", b"\x01"] if dtype.kind == "b" else patterns(width)
            yield Case(
                f"pandas {dtype!r}", one_of_width(width), tuple(odd), partial(from_bytes, dtype)
            )
        elif hasattr(dtype, "numpy_dtype") and not hasattr(dtype, "pyarrow_dtype"):
            width = dtype.numpy_dtype.itemsize
            odd = [b"\x00"] if dtype.numpy_dtype.kind == "b" else patterns(width)
            yield Case(f"pandas {dtype!r}", one_of_width(width), tuple(odd), partial(masked, dtype))
    texts = ("", "\x00" + CANARY, "X", "\u00e9", "e\u0301", None)
    broken = (*texts, "\ud800" + CANARY)
    yield Case("pandas str", "x", texts, partial(frame, "str"))
    yield Case("pandas string[python]", "x", broken, partial(frame, pd.StringDtype("python")))

    def categories(values: Sequence[Any]) -> Any:
        known = pd.Index(
            list(dict.fromkeys(one for one in values if one is not None)), dtype=object
        )
        return wide(
            pd.Series(
                pd.Categorical.from_codes(
                    [-1 if one is None else known.get_loc(one) for one in values], categories=known
                )
            )
        )

    yield Case("pandas category", "x", broken, categories)
    yield Case("pandas object", "x", OBJECTS, partial(frame, object))
    spans = (pd.Period("1000-01"), pd.Period("9999-12"))
    yield Case("pandas period", pd.Period("2020-01", "M"), spans, partial(frame, "period[M]"))
    pieces = (pd.Interval(0, 1e308), pd.Interval(-1e308, 0))
    yield Case("pandas interval", pd.Interval(0, 1), pieces, partial(frame, "interval[float64]"))
    sparse = (float("nan"), float("inf"), 1e308, 0.0)
    yield Case("pandas sparse", 1.0, sparse, partial(frame, pd.SparseDtype(float)))

    def arrow_backed(type_: Any, values: Sequence[Any]) -> Any:
        array = pa.chunked_array([arrow_array(type_, values)])
        return wide(pd.Series(pd.arrays.ArrowExtensionArray(array)))

    def zoned(unit: str, values: Sequence[bytes]) -> Any:
        stored = np.frombuffer(b"".join(values), dtype=f"M8[{unit}]")
        return wide(pd.Series(stored).dt.tz_localize("UTC"))

    for unit in ("s", "ms", "us", "ns"):
        far = tuple(patterns(8))
        yield Case(f"pandas {unit} UTC", one_of_width(8), far, partial(zoned, unit))
    for type_ in (pa.string(), pa.timestamp("s", "UTC"), pa.decimal128(4, 2), pa.duration("s")):
        plain, odd_bytes = arrow_values(type_)

        yield Case(f"pandas ArrowDtype({type_})", plain, odd_bytes, partial(arrow_backed, type_))


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
        "Map": [pl.Map(pl.String, pl.Int8)] if hasattr(pl, "Map") else [],
    }
    waiting: list[Any] = [pl.DataType]
    while waiting:
        one = waiting.pop()
        below = one.__subclasses__()
        waiting += below
        if below or not hasattr(pl, one.__name__) or "Extension" in one.__name__:
            continue  # an extension type is another package's, and refused
        for dtype in known.get(one.__name__) or [one()]:
            plain, odd = _polars_values(dtype)
            for is_lazy in (False, True):
                name = f"polars {dtype}{' lazy' if is_lazy else ''}"
                yield Case(name, plain, odd, partial(_polars_table, dtype, is_lazy))


def _polars_table(dtype: Any, is_lazy: bool, values: Sequence[Any]) -> Any:
    import polars as pl

    table = pl.DataFrame(dict.fromkeys(NAMES, _polars_series(dtype, values)))
    return table.lazy() if is_lazy else table


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
    if dtype == getattr(pl, "Map", None):
        return None, (None,)
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
