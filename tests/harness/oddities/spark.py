"""Odd values in Spark: of every type that it lists, texts in several collations, made-up texts, and Parquet files
of raw bytes that Spark reads itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.harness.oddities.arrow import parquet_cases
from tests.harness.oddities.postgres import _SPELLED
from tests.harness.oddities.values import CANARY, NAMES, TOGETHER, Case
from tests.spark_session import cast_frame, session

_MORE = (
    *("+294247-01-10 04:00:54.775807", "-290308-12-21 19:59:05.224192", "+5881580-07-11", "-5877641-06-23"),
    *("0000-01-01", "1582-10-10", "1900-01-01 00:00:00", "2021-03-28 02:30:00 Europe/Berlin", "NaN", "-Infinity"),
    *(CANARY, "x" * 70_000),
)  # fmt: skip
_CAST = (
    *("string", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(4,2)", "decimal(38,0)"),
    *("decimal(38,38)", "decimal(18,9)", "boolean", "date", "timestamp", "timestamp_ntz", "char(5)", "varchar(9)"),
    *("string collate UTF8_LCASE", "string collate UNICODE_CI", "string collate de_AI", "time(6)"),
)  # fmt: skip
_MADE = {
    "binary": "CAST(t AS BINARY)",
    "array<string>": "array(t)",
    "map<string,string>": "map('a', t)",
    "struct<a:string>": "named_struct('a', t)",
    "interval day": "make_dt_interval(length(t))",
    "interval year": "make_ym_interval(length(t))",
    "variant": "to_variant_object(array(t))",
    "void": "NULL",
    "bytes that are no text": "CAST(CAST(concat(t, X'ff') AS BINARY) AS STRING)",
}
"""Types that a text cannot be cast to."""


def spark_cases(folder: Path, made_up: Sequence[str]) -> Iterator[Case]:
    """In data frames, and in files that Spark reads; made-up texts too."""
    texts = [*_SPELLED, *_MORE]
    for type_ in _CAST:
        odd = [text for text, is_read in _read(texts, type_) if is_read]
        if odd:
            plain = next((one for one in ("1", "x") if one in odd), odd[0])
            yield from _in_tables(f"spark {type_}", plain, [*odd, None], partial(_cast, type_))
    for name, expression in _MADE.items():
        short = [text for text in texts if len(text) < 1000]
        yield from _in_tables(f"spark {name}", "1", [*short, None], partial(_made, expression))
    make = partial(_cast, "string")
    yield from _in_tables("spark made-up text", "1", made_up, make)
    for case in parquet_cases(folder):
        if "decimal" in case.name:
            continue  # of more digits than their own type has: Spark itself stops at such a file
        # each alone would be as many files and plans as there are values
        yield replace(
            case, name=f"spark {case.name}", made=partial(_file, folder, case.made), alone=False
        )


def _in_tables(name: str, plain: Any, odd: Sequence[Any], make: Any) -> Iterator[Case]:
    """Many values in a table: Spark plans a query for longer than it counts some hundred rows."""
    for start in range(0, len(odd), TOGETHER):
        part = tuple(odd[start : start + TOGETHER])
        yield Case(name if start == 0 else f"{name}, {start}", plain, part, make, False)


def _read(texts: Sequence[str], type_: str) -> list[tuple[str, bool]]:
    """Each text, and whether Spark reads it as a value of a type."""
    if type_.startswith(("string", "char", "varchar")):
        return [(text, True) for text in texts]
    try:
        found = cast_frame(["value"], texts, type_).selectExpr("value IS NOT NULL AS is_read")
        return list(zip(texts, [row.is_read for row in found.collect()], strict=True))
    except Exception:  # this version does not know the type
        return []


def _cast(type_: str, values: Sequence[Any]) -> Any:
    base, _, collation = type_.partition(" collate ")
    if not collation:
        return cast_frame(NAMES, values, base)
    columns = [f"t COLLATE {collation} AS {name}" for name in NAMES]
    return cast_frame(["t"], values, base).selectExpr(*columns)


def _made(expression: str, values: Sequence[Any]) -> Any:
    """Computed once and kept, for a data frame that computes is refused."""
    frame = cast_frame(["t"], values, "string")
    return frame.selectExpr(*(f"{expression} AS {name}" for name in NAMES)).localCheckpoint()


def _file(folder: Path, make: Any, values: Sequence[Any]) -> str:
    """Always at one path, for it may stand in a message."""
    session()
    return f"spark:{Path(make(values)).replace(folder / 'odd.parquet')}"
