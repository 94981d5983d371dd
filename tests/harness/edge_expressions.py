"""Every operation inside every other, on rows that hold the ends of each type: no expression fails on any of them.

`question_neighbours` draws expressions at random, over rows of which one value is odd. Here all pairs of operations
are written out, over a table that holds every combination of extreme values, in each database. A question that
fails there would fail if and only if such a row is there.

    python -m tests.harness.edge_expressions --kinds duckdb postgres spark
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from discreet.engines import open_engine
from discreet.errors import DiscreetError
from discreet.queries.tallies import Rows, Tally
from discreet.questions.dialects.curator_sql import parse_curator_question
from discreet.schema import Schema
from tests.harness.progress import Progress
from tests.harness.question_neighbours import written

SCHEMA = Schema.loads("""
dataset = "t"
[columns.i]
kind = "integer"
range = [0, 9]
[columns.j]
kind = "integer"
range = [0, 9]
[columns.x]
kind = "number"
bounds = [0, 1]
bits = 2
[columns.y]
kind = "number"
bounds = [0, 1]
bits = 2
[columns.d]
kind = "date"
range = ["2020-01-01", "2020-12-31"]
[columns.t]
kind = "datetime"
range = ["2020-01-01", "2020-12-31"]
granularity = "hour"
[columns.m]
kind = "category"
values = ["F", "M"]
[columns.b]
kind = "boolean"
""")
WHOLE = [None, 0, 1, -1, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 10**18]
REAL = [None, 0.0, -0.0, 0.5, -2.5, 5e-324, 1e-300, 1.7976931348623157e308, -1.7976931348623157e308, float("nan"), float("inf"), 2.0**53, 2.0**63, 4e18]  # fmt: skip
DAYS = [None, date(1970, 1, 1), date(2020, 2, 29), date(1, 1, 1), date(9999, 12, 31)]
MOMENTS = [None, datetime(1970, 1, 1), datetime(2020, 2, 29, 23, 59, 59, 999_999), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)]  # fmt: skip
TEXTS = [None, "", "F", "1e308", "9223372036854775808", "-1e999", "nan", "2020-02-30", "0001-01-01", "9999-12-31T23:59:59.999999Z", " 7 ", "%", "\\", "ß", "\u0130", "9" * 400]  # fmt: skip
NUMBERS_OF_NUMBERS = (
    "-({})", "abs({})", "floor({})", "ceil({})", "round({})", "round({}, 15)", "round({}, -15)", "sqrt({})", "ln({})",
    "power({}, 3)", "power({}, 8)", "CAST({} AS INTEGER)", "CAST({} AS DOUBLE)", "width_bucket({}, -5, 1e300, 7)",
    "coalesce({}, 3)", "nullif({}, 0)", "({} % 7)", "({} % -0.1)", "(1 / {})", "({} * {})", "({} + i)", "(j - {})",
    "({} / y)", "(x % {})", "greatest({}, j, NULL)", "least({}, y)", "CASE WHEN {} > 0 THEN i ELSE x END",
)  # fmt: skip
NUMBERS_OF_MOMENTS = (
    "year({})", "quarter({})", "month({})", "week({})", "day({})", "dayofweek({})", "isodow({})", "dayofyear({})",
    "hour({})", "minute({})", "second({})", "(({})::date - d)",
)  # fmt: skip
MOMENTS_OF_MOMENTS = (
    *(f"date_trunc('{unit}', {{}})" for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")),
    "({})::timestamp", "({})::date", "(({})::date + i)", "(({})::date - j)", "greatest({}, d)", "coalesce({}, t)",
)  # fmt: skip
TEXTS_OF_ALL = ("CAST({} AS VARCHAR)",)
TEXTS_OF_MOMENTS = (
    "strftime({}, '%Y-%m-%d')",
    "dayname({})",
    "monthname({})",
    "CAST(({})::date AS VARCHAR)",
)
TEXTS_OF_TEXTS = (
    "upper({})",
    "lower({})",
    "trim({})",
    "substr({}, 2, 2147483647)",
    "({} || m)",
    "left({}, 0)",
)
NUMBERS_OF_TEXTS = ("CAST({} AS INTEGER)", "CAST({} AS DOUBLE)", "length({})")
MOMENTS_OF_TEXTS = ("CAST({} AS DATE)", "CAST({} AS TIMESTAMP)")
ENDS = {
    "number": "({} > 1 OR {} = 0 OR {} IN (1, 2.5))",
    "moment": "({} > d OR {} = t OR {} < DATE '2020-01-01')",
    "text": "({} > 'a' OR {} = m OR {} LIKE '%1_')",
}


def table(random: Random, rows: int = 1500) -> pa.Table:
    """Extreme values side by side: every value of each column, and many of their combinations."""
    columns: dict[str, Any] = {"i": WHOLE, "j": WHOLE, "x": REAL, "y": REAL, "d": DAYS, "t": MOMENTS, "m": TEXTS, "b": [True, False, None]}  # fmt: skip
    types = {"i": pa.int64(), "j": pa.int64(), "x": pa.float64(), "y": pa.float64(), "d": pa.date32(), "t": pa.timestamp("us"), "m": pa.string(), "b": pa.bool_()}  # fmt: skip
    drawn = [{name: random.choice(values) for name, values in columns.items()} for _ in range(rows)]
    return pa.Table.from_pylist(drawn, pa.schema(list(types.items())))


def expressions(depth: int) -> Iterator[tuple[str, str]]:
    """The kind of each expression, and its text."""
    if depth == 0:
        yield from (
            ("number", "i"),
            ("number", "x"),
            ("moment", "d"),
            ("moment", "t"),
            ("text", "m"),
        )
        return
    made = {
        "number": {"number": NUMBERS_OF_NUMBERS, "text": TEXTS_OF_ALL},
        "moment": {"number": NUMBERS_OF_MOMENTS, "moment": MOMENTS_OF_MOMENTS, "text": TEXTS_OF_MOMENTS},
        "text": {"number": NUMBERS_OF_TEXTS, "moment": MOMENTS_OF_TEXTS, "text": TEXTS_OF_TEXTS},
    }  # fmt: skip
    for kind, inside in expressions(depth - 1):
        for other, forms in made[kind].items():
            yield from ((other, form.replace("{}", inside)) for form in forms)


def audit(
    kind: str,
    *,
    depth: int = 2,
    most: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> list[str]:
    """The expressions that fail; `most` of them, drawn evenly, are tried."""
    random, found = Random(seed), []
    listed = list(expressions(depth))
    if most is not None and most < len(listed):
        listed = random.sample(listed, most)
    with TemporaryDirectory() as folder:
        source = written(table(random), kind, Path(folder), "edges")
        with open_engine(source, SCHEMA, threads=1) as engine:
            for type_, text in listed:
                sql = f"SELECT count(*) FROM t WHERE {ENDS[type_].replace('{}', text)}"
                try:
                    asked = parse_curator_question(sql, SCHEMA)
                except DiscreetError:
                    continue  # refused before anything is read
                try:
                    engine.tally([Tally(Rows(), (), asked.condition)])
                except DiscreetError as error:
                    found.append(f"{kind}: {text}: {error}")
                if progress is not None:
                    progress.advance()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.edge_expressions")
    parser.add_argument("--kinds", nargs="*", default=["duckdb", "postgres", "spark"])
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--most", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    found: list[str] = []
    for kind in given.kinds:
        many = len(list(expressions(given.depth)))
        progress = Progress(kind, many if given.most is None else min(many, given.most))
        found += audit(kind, depth=given.depth, most=given.most, seed=given.seed, progress=progress)
    for line in found:
        sys.stdout.write(f"{line[:300]}\n")
    sys.stdout.write(f"{', '.join(given.kinds)}: {len(found)} expressions that fail\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
