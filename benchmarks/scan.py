"""A release of two 2-column marginals over a large Parquet or CSV file, against DuckDB grouping by hand.

By hand means the same cell expressions, counted by one GROUP BY for each marginal, with nothing
charged, no noise and no file. For comparison the times of plain expressions are printed too, as
somebody would write them who knows that no value is odd. Each run is a process of its own; times
are those of the work, without imports (`start.py` measures those), and the best of several runs,
alternating.

Also: peak memory of the releasing process, and whether time grows in step with the rows.

The same from a CSV file, against DuckDB's own parallel `read_csv` with every column as text, grouped by the
same cell expressions in one pass. A second file, in which every text is quoted, is shown without a bar.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from benchmarks.support.children import executed, measured

ROOT = Path(__file__).parent.parent
FACTOR_LIMIT, MEMORY_LIMIT, LINEAR_LIMIT = 1.3, 1000.0, 1.2
CSV_FACTOR_LIMIT = 1.5
RUNS = 3

TABLE = """
COPY (
    SELECT CASE WHEN h % 97 = 0 THEN NULL ELSE (h % 104)::BIGINT - 2 END AS age,
           CASE WHEN h % 89 = 0 THEN NULL ELSE ['F', 'M', 'X'][1 + (h // 128 % 3)::INTEGER] END AS sex,
           ['Capital', 'Coast', 'East', 'Hills', 'Isle', 'North', 'South', 'West'][1 + (h // 1024 % 8)::INTEGER]
               AS region,
           CASE WHEN h % 83 = 0 THEN NULL ELSE (h // 65536 % 180000)::DOUBLE + 0.25 END AS income
    FROM (SELECT hash(range) AS h FROM range({rows}))
) TO '{path}' (FORMAT parquet)
"""
SCHEMA = """
dataset = "scan"
[columns.age]
kind = "integer"
range = [0, 99]
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns.region]
kind = "category"
values = ["Capital", "Coast", "East", "Hills", "Isle", "North", "South", "West"]
[columns.income]
kind = "number"
bounds = [0.0, 160000.0]
bits = 5
"""
PLAIN = (
    "PRAGMA disable_progress_bar",
    "CREATE TYPE sex_values AS ENUM ('F', 'M')",
    "CREATE TYPE region_values AS ENUM "
    "('Capital', 'Coast', 'East', 'Hills', 'Isle', 'North', 'South', 'West')",
    """
    SELECT CASE WHEN age IS NULL THEN 100 ELSE least(greatest(age, 0), 99) END AS a,
           CASE WHEN sex IS NULL THEN 3 ELSE coalesce(enum_code(TRY_CAST(sex AS sex_values)), 2) END AS b,
           count(*)
    FROM '{path}' GROUP BY a, b
    """,
    """
    SELECT CASE WHEN region IS NULL THEN 9
                ELSE coalesce(enum_code(TRY_CAST(region AS region_values)), 8) END AS a,
           CASE WHEN income IS NULL OR NOT isfinite(income) THEN 32
                ELSE least(floor(least(greatest(income, 0), 160000) / 5000)::BIGINT, 31) END AS b,
           count(*)
    FROM '{path}' GROUP BY a, b
    """,
)
PAIRS = (("age", "sex"), ("region", "income"))
CHILD = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import duckdb, numpy, scan
from discreet import Budget, Schema
from discreet.releases import release_to_file
how, path, folder = sys.argv[2], sys.argv[3], Path(sys.argv[4])
schema = Schema.loads(scan.SCHEMA)
def release():
    release_to_file(path, schema, folder / "scan.release", overwrite=True, budget=Budget(epsilon=1),
        workload=["marginals(age, sex)", "marginals(region, income)"], ledger=folder / "ledger.db")
def same():
    scan.group_by_hand(path, schema)
def plain():
    with duckdb.connect() as connection:
        for statement in scan.PLAIN:
            connection.execute(statement.format(path=path)).fetchnumpy()
def own_csv():
    scan.group_csv_by_hand(path, schema)
work = {"release": release, "same": same, "plain": plain, "own csv": own_csv}[how]
wall, cpu = time.perf_counter(), time.process_time()
work()
print(json.dumps({
    "wall": time.perf_counter() - wall,
    "cpu": time.process_time() - cpu,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
}))
"""


def group_by_hand(path: str, schema: Any) -> None:
    """The engine's own cell expressions, one GROUP BY a marginal; it reaches into the engine for them."""
    from sqlglot import exp

    from discreet.engines import open_engine
    from discreet.engines.duckdb.dialect import render

    engine: Any = open_engine(path, schema)
    with engine:
        for names in PAIRS:
            columns = [schema.column(name) for name in names]
            codes = [engine._layers.code(column) for column in columns]
            query = (
                exp.select(*codes, "count(*)").from_(engine._rows.encoded(columns)).group_by(*codes)
            )
            engine._session.arrays(render(query))


def group_csv_by_hand(path: str, schema: Any) -> None:
    """DuckDB's own reader of CSV files under the engine's own cell expressions, all in one query."""
    import duckdb
    from sqlglot import exp

    from discreet.engines import open_engine
    from discreet.engines.duckdb.dialect import declarations, render

    engine: Any = open_engine(path, schema)
    with engine, duckdb.connect() as connection:
        fields = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(len(schema.columns)))
        table = exp.table_("own_rows")
        connection.execute("PRAGMA disable_progress_bar")
        connection.execute(
            f"CREATE VIEW own_rows AS FROM read_csv('{path}', auto_detect=false, header=true, "
            f"columns={{{fields}}}, delim=',', quote='\"', parallel=true)"
        )
        codes = []
        for names in PAIRS:
            columns = [schema.column(name) for name in names]
            codes.append([engine._layers.code(column) for column in columns])
        layers = engine._rows._layers(list(schema.columns), table=table).subquery("encoded")
        sets = [exp.Tuple(expressions=pair) for pair in codes]
        flat = [code.copy() for pair in codes for code in pair]
        query = exp.select(*flat, "count(*)").from_(layers)
        query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        for column in schema.columns:
            name = engine._layers.declared(column)
            statements, variable = declarations(column, name)
            for statement in statements:
                connection.execute(statement)
            if variable is not None:
                connection.execute(f"SET VARIABLE {name} = {render(variable)}")
        connection.execute(render(query)).fetchnumpy()


def run(how: str, path: Path, folder: Path) -> dict[str, float]:
    """One run in a process of its own, with a ledger that starts afresh: the data is generated."""
    for old in folder.glob("ledger.db*"):
        old.unlink()
    return measured(CHILD, Path(__file__).parent, how, path, folder)


def generate(rows: int, folder: Path) -> Path:
    path = folder / f"scan-{rows}.parquet"
    executed(TABLE.format(rows=rows, path=path))
    return path


def generate_csv(rows: int, folder: Path, *, quoted: bool) -> Path:
    path = folder / f"scan-{rows}-{quoted}.csv"
    options = "FORMAT csv, HEADER" + (", FORCE_QUOTE (sex, region)" if quoted else "")
    executed(TABLE.replace("FORMAT parquet", options).format(rows=rows, path=path))
    return path


def csv_bars(rows: int, folder: Path) -> bool:
    """Whether a release from CSV keeps up with DuckDB's own reader."""
    met = True
    for quoted in (False, True):
        path = generate_csv(rows, folder, quoted=quoted)
        run("own csv", path, folder)
        releases, own = [], []
        for _ in range(RUNS):
            releases.append(run("release", path, folder))
            own.append(run("own csv", path, folder))
        what = "CSV, every text quoted" if quoted else "CSV"
        for name, runs in (("release", releases), ("read_csv by hand", own)):
            print(
                f"  {rows:,} rows of {what}, {name}: {best(runs, 'wall'):.2f} s wall, "
                f"{best(runs, 'cpu'):.2f} s CPU, {max(each['peak'] for each in runs):.0f} MB"
            )
        for key in ("wall", "cpu"):
            factor = best(releases, key) / best(own, key)
            if quoted:
                print(f"  {what}: release / read_csv by hand, {key}: {factor:.2f}")
            else:
                met &= bar(f"{what}: release / read_csv by hand, {key}", factor, CSV_FACTOR_LIMIT)
    return met


def best(runs: list[dict[str, float]], key: str) -> float:
    return min(each[key] for each in runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--csv-rows", type=int, default=5_000_000)
    parser.add_argument("--csv-only", action="store_true")
    given = parser.parse_args()
    rows = given.rows
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        met = csv_bars(given.csv_rows, folder)
        if given.csv_only:
            return 0 if met else 1
        large, small, tiny = (generate(count, folder) for count in (rows, rows // 20, 1000))
        run("plain", large, folder)  # once unmeasured: bytecode, and the disk's cache
        releases, by_hand, plain = [], [], []
        for _ in range(RUNS):
            releases.append(run("release", large, folder))
            by_hand.append(run("same", large, folder))
            plain.append(run("plain", large, folder))
        smaller = [run("release", small, folder) for _ in range(RUNS)]
        start = best([run("release", tiny, folder) for _ in range(RUNS)], "cpu")
    for name, runs in (("release", releases), ("by hand", by_hand), ("plain", plain)):
        print(
            f"  {rows:,} rows, {name}: {best(runs, 'wall'):.2f} s wall, {best(runs, 'cpu'):.2f} s CPU"
        )
    print(
        f"  {rows // 20:,} rows, release: {best(smaller, 'cpu'):.2f} s CPU, of which start-up {start:.2f} s"
    )
    for key in ("wall", "cpu"):
        factor = best(releases, key) / best(by_hand, key)
        met &= bar(f"release / by hand, {key}", factor, FACTOR_LIMIT)
    met &= bar("release, peak MB", max(each["peak"] for each in releases), MEMORY_LIMIT)
    grown = (best(releases, "cpu") - start) / max(best(smaller, "cpu") - start, 1e-9)
    met &= bar("CPU for 20 x the rows / 20", grown / 20, LINEAR_LIMIT)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
