"""How cost grows: with rows, with columns, and with the size of a column's domain. DuckDB, Spark and PostgreSQL.

    python benchmarks/scale.py                        up to 10 million rows; Spark and PostgreSQL up to 1 million
    python benchmarks/scale.py --rows 100000000 --engine-rows 10000000    up to so many
    python benchmarks/scale.py --rows 0 --engine-rows 0                   columns and domains alone
    python benchmarks/scale.py --record docs/scale    the measured numbers, a picture and the model, as docs
    python benchmarks/scale.py --rows 0 --small 0 --record docs/scale     Spark and PostgreSQL alone; the page keeps what it has of the rest

Rows: a release of all two-way marginals of eight columns, against the same cell expressions counted by one
GROUP BY for each marginal, with nothing charged, no noise and no file. Bars for DuckDB, on Parquet files: at most 1.3 times
its CPU and wall time; a peak of at most 2 GB; and the time for a row at the largest size within 20% of that at a tenth of it.
For Spark local[2], on the same files, and for PostgreSQL: at most 1.3 times its wall time.
Columns: a release of all one-way marginals of 5 to 200 columns. Domains: a release of the intervals of one
column of 2 to 2^64 cells. Those two, in DuckDB, are shown without a bar. Each run is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from benchmarks.support.children import executed, measured, run_module
from benchmarks.support.scale_page import picture, recorded

FACTOR_LIMIT, MEMORY_LIMIT, FLAT_LIMIT = 1.3, 2000.0, 1.2
CHUNK = 10_000_000
"""Rows that are generated at once, each chunk a file of its own."""
COLUMNS = {
    "age": ('kind = "integer"\nrange = [0, 99]', "(h % 104)::BIGINT - 2"),
    "sex": ('kind = "category"\nvalues = ["F", "M"]', "['F', 'M', 'X'][1 + (h // 128 % 3)::INTEGER]"),
    "region": (
        'kind = "category"\nvalues = ["Capital", "Coast", "East", "Hills", "Isle", "North", "South", "West"]',
        "['Capital', 'Coast', 'East', 'Hills', 'Isle', 'North', 'South', 'West'][1 + (h // 1024 % 8)::INTEGER]",
    ),
    "income": (
        'kind = "number"\nbounds = [0.0, 160000.0]\nbits = 5',
        "CASE WHEN h % 83 = 0 THEN NULL ELSE (h // 65536 % 180000)::DOUBLE + 0.25 END",
    ),
    "day": (
        'kind = "date"\nrange = ["2020-01-01", "2023-12-31"]\ngranularity = "month"',
        "DATE '2020-01-01' + (h // 4096 % 1461)::INTEGER",
    ),
    "hour": ('kind = "integer"\nrange = [0, 23]', "(h // 8192 % 24)::TINYINT"),
    "score": ('kind = "integer"\nrange = [0, 9]', "(h // 16384 % 10)::TINYINT"),
    "employed": ('kind = "boolean"', "h // 32768 % 2 = 1"),
}  # fmt: skip
PAIRS = tuple(combinations(COLUMNS, 2))
MANY = (5, 20, 50, 100, 200)
BITS = (1, 8, 16, 32, 64)

CHILD = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import duckdb, numpy, scale
from benchmarks.support.growing_engines import by_hand, draws
from discreet import Budget, Schema
from discreet.releases import release_to_file
how, path, folder, schema, workload = sys.argv[2], sys.argv[3], Path(sys.argv[4]), Schema.loads(sys.argv[5]), json.loads(sys.argv[6])
def release():
    return draws(release_to_file(path, schema, folder / "scale.release", overwrite=True, budget=Budget(epsilon=1),
        workload=workload, ledger=folder / "ledger.db"))
work = {"release": release, "by hand": lambda: by_hand(path, schema, scale.PAIRS)}[how]
def read():
    return int(next(line for line in open("/proc/self/io") if line.startswith("rchar")).split()[1])
before = read()
wall, cpu = time.perf_counter(), time.process_time()
drawn = work()
print(json.dumps({
    "wall": time.perf_counter() - wall,
    "cpu": time.process_time() - cpu,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    "read": (read() - before) / 1e6,
    "draws": drawn or 0,
}))
"""


def schema_of(columns: dict[str, str]) -> str:
    return 'dataset = "scale"\n' + "".join(
        f"[columns.{name}]\n{text}\n" for name, text in columns.items()
    )


def run(how: str, path: Path, folder: Path, schema: str, workload: list[str]) -> dict[str, float]:
    for old in folder.glob("ledger.db*"):
        old.unlink()
    return measured(CHILD, Path(__file__).parent, how, path, folder, schema, json.dumps(workload))


def generate(rows: int, folder: Path, columns: dict[str, str]) -> Path:
    """Parquet files of at most `CHUNK` rows; the path that names them all."""
    folder.mkdir()
    values = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    for place, start in enumerate(range(0, rows, CHUNK)):
        stop = min(rows, start + CHUNK)
        executed(
            f"COPY (SELECT {values} FROM (SELECT hash(range) AS h FROM range({start}, {stop}))) "
            f"TO '{folder}/part-{place:03}.parquet' (FORMAT parquet)"
        )
    return folder / "*.parquet"


def by_rows(most: int, folder: Path) -> tuple[bool, list[dict[str, Any]]]:
    schema = schema_of({name: facts for name, (facts, _) in COLUMNS.items()})
    workload = [f"marginals({one}, {other})" for one, other in PAIRS]
    found: list[dict[str, Any]] = []
    rows = 1_000_000
    while rows <= most:
        path = generate(rows, folder / str(rows), {name: sql for name, (_, sql) in COLUMNS.items()})
        runs = 3 if rows <= 10_000_000 else 1
        both: dict[str, list[dict[str, float]]] = {"release": [], "by hand": []}
        for _ in range(runs):
            for how, done in both.items():
                done.append(run(how, path, folder, schema, workload))
        for how, done in both.items():
            best = {key: min(each[key] for each in done) for key in ("wall", "cpu")}
            peak, read, draws = (
                max(each[key] for each in done) for key in ("peak", "read", "draws")
            )
            each = {"what": how, "rows": rows, **best, "peak": peak, "read": read}
            found.append({**each, "draws": int(draws)})
            print(
                f"  {rows:,} rows, {how}: {best['wall']:.2f} s wall, {best['cpu']:.2f} s CPU, "
                f"{peak:,.0f} MB, {read:,.0f} MB read"
            )
        for file in path.parent.iterdir():
            file.unlink()
        rows *= 10
    ours = [each for each in found if each["what"] == "release"]
    hand = [each for each in found if each["what"] == "by hand"]
    met = True
    for key in ("wall", "cpu"):
        factor = ours[-1][key] / hand[-1][key]
        met &= bar(f"{ours[-1]['rows']:,} rows: release / by hand, {key}", factor, FACTOR_LIMIT)
    met &= bar(f"{ours[-1]['rows']:,} rows: peak MB", ours[-1]["peak"], MEMORY_LIMIT)
    if len(ours) > 1:
        flat = ours[-1]["cpu"] / ours[-2]["cpu"] / 10
        met &= bar(f"CPU for a row at {ours[-1]['rows']:,} rows / at a tenth", flat, FLAT_LIMIT)
    return met, found


def by_engine(engine: str, most: int, folder: Path) -> tuple[bool, list[dict[str, Any]]]:
    """Spark or PostgreSQL, from a million rows to `most`."""
    schema = schema_of({name: facts for name, (facts, _) in COLUMNS.items()})
    workload = json.dumps([f"marginals({one}, {other})" for one, other in PAIRS])
    found: list[dict[str, Any]] = []
    met, rows = True, 1_000_000
    while rows <= most:
        values = {name: sql for name, (_, sql) in COLUMNS.items()}
        path = generate(rows, folder / f"{engine}-{rows}", values)
        source, admin, postmaster = f"spark:{path.parent}", "", "0"
        if engine == "postgres":
            source, admin, postmaster = in_postgres(path, folder)
        both: dict[str, dict[str, float]] = {}
        for how in ("release", "by hand"):
            for old in folder.glob("ledger.db*"):
                old.unlink()
            words = (engine, how, source, folder, schema, workload, admin, postmaster)
            both[how] = run_module("benchmarks.support.growing_engines", *words)
            found.append({"what": f"{engine} {how}", "rows": rows, **both[how]})
            print(
                f"  {rows:,} rows in {engine}, {how}: {both[how]['wall']:.2f} s wall, {both[how]['cpu']:.2f} s CPU, "
                f"{both[how]['peak']:,.0f} MB and {both[how]['server']:,.0f} MB, {both[how]['read']:,.0f} MB read"
            )
        for file in path.parent.iterdir():
            file.unlink()
        factor = both["release"]["wall"] / both["by hand"]["wall"]
        met &= bar(f"{rows:,} rows in {engine}: release / by hand, wall", factor, FACTOR_LIMIT)
        rows *= 10
    return met, found


def in_postgres(path: Path, folder: Path) -> tuple[str, str, str]:
    """The rows of Parquet files in a table of the benchmark's own server: the source, its administrator, its process."""
    import psycopg

    from tests.postgres_server import READER, server

    text = folder / "scale.csv"
    executed(f"COPY (SELECT * FROM '{path}') TO '{text}' (HEADER false)")
    types = {
        "age": "int",
        "income": "float8",
        "day": "date",
        "hour": "int2",
        "score": "int2",
        "employed": "boolean",
    }
    columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in COLUMNS)
    server().execute("DROP TABLE IF EXISTS scale", f"CREATE TABLE scale ({columns})")
    with psycopg.connect(server().admin, autocommit=True) as connection:
        with text.open("rb") as file, connection.cursor().copy("COPY scale FROM STDIN CSV") as copy:
            while part := file.read(1 << 20):
                copy.write(part)
        connection.execute("VACUUM ANALYZE scale")
        connection.execute(f"GRANT SELECT ON scale TO {READER}".encode())
    text.unlink()
    return f"{server().address}#scale", server().admin, str(server().process.pid)


def by_columns(folder: Path, rows: int = 1_000_000) -> list[dict[str, Any]]:
    found = []
    values = {f"c{place}": f"(hash(h + {place}) % 20)::TINYINT" for place in range(max(MANY))}
    path = generate(rows, folder / "columns", values)
    for many in MANY:
        names = list(values)[:many]
        schema = schema_of(dict.fromkeys(names, 'kind = "integer"\nrange = [0, 19]'))
        done = run("release", path, folder, schema, [f"histogram({name})" for name in names])
        found.append({"what": "columns", "columns": many, "rows": rows, **done})
        print(f"  {many} columns of {rows:,} rows: {done['cpu']:.2f} s CPU, {done['peak']:,.0f} MB")
    return found


def by_domain(folder: Path, rows: int = 1_000_000) -> list[dict[str, Any]]:
    found = []
    for bits in BITS:
        low, high = (-(2**63), 2**63 - 1) if bits == 64 else (0, 2**bits - 1)
        spread = "(h // 2)::BIGINT" if bits == 64 else f"(h % {2**bits})::BIGINT"
        path = generate(rows, folder / f"domain-{bits}", {"v": spread})
        schema = schema_of({"v": f'kind = "integer"\nrange = [{low}, {high}]'})
        done = run("release", path, folder, schema, ["intervals(v)"])
        found.append({"what": "domain", "bits": bits, "rows": rows, **done})
        print(f"  2^{bits} cells, {rows:,} rows: {done['cpu']:.2f} s CPU, {done['peak']:,.0f} MB")
    return found


def record(found: list[dict[str, Any]], place: Path) -> None:
    """Writes the page, the picture and the numbers; what was not measured now stays as it was recorded before."""
    numbers = place.with_suffix(".json")
    before = json.loads(numbers.read_text(encoding="utf-8")) if numbers.exists() else []
    now = {each["what"] for each in found}
    every = [each for each in before if each["what"] not in now] + found
    lines = ",\n".join(json.dumps(each) for each in every)
    numbers.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    place.with_suffix(".md").write_text(recorded(every), encoding="utf-8")
    place.with_suffix(".svg").write_text(picture(every), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--engine-rows", type=int, default=1_000_000, help="in Spark, PostgreSQL")
    parser.add_argument("--small", type=int, default=1_000_000, help="rows for columns, domains")
    parser.add_argument("--record", type=Path, help="write a page and a picture: FOLDER/NAME")
    given = parser.parse_args()
    met, found = True, list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if given.rows:
            met, found = by_rows(given.rows, folder)
        for engine in ("spark", "postgres"):
            good, more = by_engine(engine, given.engine_rows, folder)
            met, found = met and good, found + more
        if given.small:
            found += by_columns(folder, given.small)
            found += by_domain(folder, given.small)
    if given.record is not None:
        record(found, given.record)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
