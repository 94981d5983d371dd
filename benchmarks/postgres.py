"""PostgreSQL: all two-way marginals of five columns, ours against the same cells counted by hand.

    python benchmarks/postgres.py            5 million rows
    python benchmarks/postgres.py 500000     so many

By hand means: the cells written as one would in psql, without a thought for values that make SQL fail, and
the marginals counted in one query by GROUPING SETS, or each by its own GROUP BY; the faster of the two counts.
The bar: at most 1.3 times its time. The server is one of the benchmark's own.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg

from discreet.engines import open_engine
from discreet.schema import Schema
from tests.postgres_server import READER, server

BAR = 1.3
SCHEMA = Schema.loads(
    """
dataset = "visits"
[columns.age]
kind = "integer"
range = [0, 99]
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns.region]
kind = "category"
values = ["north", "east", "south", "west", "centre", "coast", "hills", "islands"]
[columns.cost]
kind = "number"
bounds = [0.0, 1000.0]
bits = 4
[columns.day]
kind = "date"
range = ["2020-01-01", "2023-12-31"]
granularity = "month"
"""
)
MAKE = """
CREATE TABLE visits AS SELECT (hashint8(n) & 127)::int AS age,
    CASE hashint8(n + 7) & 1 WHEN 0 THEN 'F' ELSE 'M' END AS sex,
    (ARRAY['north','east','south','west','centre','coast','hills','islands','abroad'])[1 + (hashint8(n + 9) & 7)]
        AS region,
    ((hashint8(n + 11) & 1048575) / 1000.0)::float8 AS cost,
    date '2020-01-01' + (hashint8(n + 13) & 2047) % 1461 AS day
FROM generate_series(1, {rows}::int8) AS n
"""
REGIONS = " ".join(
    f"WHEN '{name}' THEN {place}"
    for place, name in enumerate(SCHEMA.column("region").values)  # type: ignore[attr-defined]
)
BY_HAND = {
    "age": "CASE WHEN age IS NULL THEN 100 ELSE least(greatest(age, 0), 99) END",
    "sex": "CASE WHEN sex IS NULL THEN 3 ELSE CASE sex WHEN 'F' THEN 0 WHEN 'M' THEN 1 ELSE 2 END END",
    "region": f"CASE WHEN region IS NULL THEN 9 ELSE CASE region {REGIONS} ELSE 8 END END",
    "cost": "CASE WHEN cost IS NULL OR cost = 'NaN' THEN 16 "
    "ELSE least(greatest(width_bucket(cost, 0, 1000, 16) - 1, 0), 15) END",
    "day": "CASE WHEN day IS NULL THEN 48 ELSE "
    "(extract(year FROM least(greatest(day, '2020-01-01'), '2023-12-31'))::int - 2020) * 12 "
    "+ extract(month FROM least(greatest(day, '2020-01-01'), '2023-12-31'))::int - 1 END",
}
PAIRS = list(combinations(BY_HAND, 2))


def by_hand() -> dict[str, float]:
    """Seconds of each way of writing it by hand."""
    cells = ", ".join(f"{sql} AS {name}" for name, sql in BY_HAND.items())
    sets = ", ".join(f"({', '.join(pair)})" for pair in PAIRS)
    one = [
        f"SELECT {', '.join(BY_HAND)}, count(*) FROM (SELECT {cells} FROM visits) c GROUP BY GROUPING SETS ({sets})"
    ]
    each = [
        f"SELECT {', '.join(pair)}, count(*) FROM (SELECT {cells} FROM visits) c GROUP BY {', '.join(pair)}"
        for pair in PAIRS
    ]
    taken = {}
    with psycopg.connect(server().admin) as connection:
        for name, queries in (("one query", one), ("a query a pair", each)):
            start = time.perf_counter()
            for query in queries:
                connection.execute(query.encode()).fetchall()
            taken[name] = time.perf_counter() - start
    return taken


def ours() -> float:
    start = time.perf_counter()
    with open_engine(f"{server().address}#visits", SCHEMA) as engine:
        engine.marginals(PAIRS)
    return time.perf_counter() - start


def main(words: list[str]) -> int:
    rows = int(words[0]) if words else 5_000_000
    server().execute(
        MAKE.format(rows=rows), "VACUUM ANALYZE visits", f"GRANT SELECT ON visits TO {READER}"
    )
    ours()  # the table is in the server's memory from here on
    best = min(ours() for _ in range(3))
    hands = [by_hand() for _ in range(2)]
    hand = {name: min(one[name] for one in hands) for name in hands[0]}
    least = min(hand.values())
    for name, seconds in {"ours": best, **hand}.items():
        print(f"{name:<16} {seconds:8.2f} s   {seconds / rows * 1e9:8.0f} ns a row")
    met = best <= BAR * least
    bar = f"PostgreSQL, {rows:,} rows, {len(PAIRS)} pairs: times the faster way by hand"
    print(json.dumps({"bar": bar, "value": round(best / least, 2), "limit": BAR, "ok": met}))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
