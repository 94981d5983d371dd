"""How cost grows: with rows, with columns, and with the size of a column's domain. DuckDB, on Parquet files.

    python benchmarks/scale.py                        up to 10 million rows
    python benchmarks/scale.py --rows 100000000       up to so many
    python benchmarks/scale.py --record docs/scale    the measured numbers, a picture and the model, as docs

Rows: a release of all two-way marginals of eight columns, against the same cell expressions counted by one
GROUP BY for each marginal, with nothing charged, no noise and no file. Bars: at most 1.3 times its CPU and wall time;
a peak of at most 2 GB; and the time for a row at the largest size within 20% of that at a tenth of it.
Columns: a release of all one-way marginals of 5 to 200 columns. Domains: a release of the intervals of one
column of 2 to 2^64 cells. Those two are shown without a bar. Each run is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar
from benchmarks.support.children import executed, measured

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
from discreet import Budget, Schema
from discreet.releases import release_to_file
how, path, folder, schema, workload = sys.argv[2], sys.argv[3], Path(sys.argv[4]), Schema.loads(sys.argv[5]), json.loads(sys.argv[6])
def release():
    release_to_file(path, schema, folder / "scale.release", overwrite=True, budget=Budget(epsilon=1),
        workload=workload, ledger=folder / "ledger.db")
work = {"release": release, "by hand": lambda: scale.group_by_hand(path, schema)}[how]
def read():
    return int(next(line for line in open("/proc/self/io") if line.startswith("rchar")).split()[1])
before = read()
wall, cpu = time.perf_counter(), time.process_time()
work()
print(json.dumps({
    "wall": time.perf_counter() - wall,
    "cpu": time.process_time() - cpu,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    "read": (read() - before) / 1e6,
}))
"""


def schema_of(columns: dict[str, str]) -> str:
    return 'dataset = "scale"\n' + "".join(
        f"[columns.{name}]\n{text}\n" for name, text in columns.items()
    )


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
            peak, read = (max(each[key] for each in done) for key in ("peak", "read"))
            found.append({"what": how, "rows": rows, **best, "peak": peak, "read": read})
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


def model(found: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Seconds of CPU and bytes read at larger sizes, by the slope between the two largest that were measured."""
    ours = [each for each in found if each["what"] == "release"][-2:]
    if len(ours) < 2:
        return []
    small, large = ours
    step = large["rows"] - small["rows"]
    slopes = {key: (large[key] - small[key]) / step for key in ("cpu", "read")}
    return [
        {
            "rows": rows,
            "cpu": large["cpu"] + slopes["cpu"] * (rows - large["rows"]),
            "read": large["read"] + slopes["read"] * (rows - large["rows"]),
        }
        for rows in (10**9, 10**11)
    ]


def picture(found: list[dict[str, Any]]) -> str:
    """Seconds of CPU against rows, both on a logarithmic scale."""
    series = {
        how: [(each["rows"], each["cpu"]) for each in found if each["what"] == how]
        for how in ("release", "by hand")
    }
    points = [point for line in series.values() for point in line]
    low_x, high_x = (math.log10(f(x for x, _ in points)) for f in (min, max))
    low_y, high_y = (math.log10(f(y for _, y in points)) for f in (min, max))
    width, height, left, bottom = 420, 240, 60, 40

    def place(x: float, y: float) -> str:
        across = (math.log10(x) - low_x) / max(high_x - low_x, 1e-9)
        up = (math.log10(y) - low_y) / max(high_y - low_y, 1e-9)
        return f"{left + across * (width - left - 20):.1f},{height - bottom - up * (height - bottom - 30):.1f}"

    marks = []
    for how, colour in (("release", "#1f5fa8"), ("by hand", "#b4560f")):
        path = " ".join(place(x, y) for x, y in series[how])
        marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in series[how]:
            across, down = place(x, y).split(",")
            marks.append(f'<circle cx="{across}" cy="{down}" r="3" fill="{colour}"/>')
        right, down = place(*series[how][-1]).split(",")
        lift = -8 if how == "by hand" else 16
        marks.append(
            f'<text x="{right}" y="{float(down) + lift:.1f}" text-anchor="end" fill="{colour}">{how}</text>'
        )
    for x, _ in series["release"]:
        across, _ = place(x, 10**low_y).split(",")
        marks.append(f'<text x="{across}" y="{height - 18}" text-anchor="middle">{x:,}</text>')
    for y in (10**low_y, 10**high_y):
        _, down = place(10**low_x, y).split(",")
        marks.append(
            f'<text x="{left - 8}" y="{float(down) + 4:.1f}" text-anchor="end">{y:.3g} s</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11" role="img"><title>Seconds of CPU against rows</title>'
        f'<rect width="{width}" height="{height}" fill="white"/>{"".join(marks)}'
        f'<text x="{width / 2}" y="{height - 4}" text-anchor="middle">rows</text></svg>\n'
    )


def recorded(found: list[dict[str, Any]]) -> str:
    """The page of docs."""
    lines = [
        "# How cost grows",
        "",
        "Written by `python benchmarks/scale.py --record docs/scale`, on two cores. A release of all two-way marginals of eight",
        "columns, from Parquet files, against the same cell expressions counted by one GROUP BY for each marginal. Ours counts",
        "them in one scan, and adds the charge, the noise and the file.",
        "",
        "| rows | | wall s | CPU s | peak MB | read MB |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each['rows']:,} | {each['what']} | {each['wall']:.2f} | {each['cpu']:.2f} | {each['peak']:,.0f} | {each['read']:,.0f} |"
        for each in found
        if each["what"] in ("release", "by hand")
    ]
    lines += ["", "![Seconds of CPU against rows](scale.svg)", "", "## Columns", ""]
    lines += ["A histogram of each column of a million rows.", ""]
    lines += ["| columns | CPU s | peak MB |", "|---|---|---|"]
    lines += [
        f"| {each['columns']} | {each['cpu']:.2f} | {each['peak']:,.0f} |"
        for each in found
        if each["what"] == "columns"
    ]
    lines += [
        "",
        "## Domains",
        "",
        "The intervals of one column of a million rows, by its number of cells.",
        "",
    ]
    lines += ["| cells | CPU s | peak MB |", "|---|---|---|"]
    lines += [
        f"| 2^{each['bits']} | {each['cpu']:.2f} | {each['peak']:,.0f} |"
        for each in found
        if each["what"] == "domain"
    ]
    lines += [
        "",
        "## Larger tables",
        "",
        "Not measured: the slope between the two largest sizes above, carried on. The scan grows with the rows; what is shuffled or",
        "sent is one number for each cell and worker, and the noise drawn is one number for each cell: both stay the same.",
        "",
        "| rows | CPU hours, two cores like these | read TB |",
        "|---|---|---|",
    ]
    lines += [
        f"| {each['rows']:,.0f} | {each['cpu'] / 3600:.2f} | {each['read'] / 1e6:.3g} |"
        for each in model(found)
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--record", type=Path, help="write a page and a picture: FOLDER/NAME")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        met, found = by_rows(given.rows, folder)
        found += by_columns(folder)
        found += by_domain(folder)
    if given.record is not None:
        given.record.with_suffix(".md").write_text(recorded(found), encoding="utf-8")
        given.record.with_suffix(".svg").write_text(picture(found), encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
