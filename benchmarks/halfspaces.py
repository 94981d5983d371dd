"""Halfspaces on Adult: error against the literal net and the no-data prior, coverage, speed.

Two columns as coded, scaled by the schema's bounds, pure DP, change-one; 2,000 random inequalities
that cut the square. The literal net runs at several margins and the best of them in hindsight is the
opponent. The prior spreads the rows evenly over the bounds; a stronger one knows every single column
exactly, without noise. The flat grid, cells on a cubed sphere and cells around random points are measured
against, too, on Adult and on skewed tables. Five columns, without and with a declared workload. Declared
predicates: what was expected against what came. Then 20 million generated rows against the same cell
expressions grouped by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks.support.bars import bar  # noqa: E402
from benchmarks.support.data import add_option, data_folder  # noqa: E402
from benchmarks.support.halfspace_coverage import coverage, declared_predicates  # noqa: E402
from benchmarks.support.halfspace_structures import (  # noqa: E402
    cell_answers,
    cubed_sphere,
    independent_columns,
    skewed_tables,
    voronoi,
)
from benchmarks.support.halfspace_tables import FIVE, TWO, Table, adult, released  # noqa: E402
from discreet import Halfspaces, Predicates  # noqa: E402
from discreet.reference.halfspaces.net import lifted  # noqa: E402
from tests.halfspaces.strict_errors import strict_errors  # noqa: E402

MARGINS = ("1/10", "3/10", "1/2")
CHILD = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import halfspaces
from benchmarks.support import halfspace_tables
from discreet import Schema
how, path, folder = sys.argv[2], sys.argv[3], Path(sys.argv[4])
schema = Schema.loads(halfspace_tables.schema_text(halfspaces.TWO, people=20_000_000))
start, used = time.perf_counter(), time.process_time()
if how == "release":
    halfspaces.released(path, schema, halfspaces.Halfspaces(*halfspaces.TWO), "1", ledger=folder / "ledger.db")
else:
    halfspaces.group_by_hand(path, schema, tuple(halfspaces.TWO))
print(json.dumps([time.perf_counter() - start, time.process_time() - used]))
"""


def group_by_hand(path: str, schema: Any, names: tuple[str, ...]) -> None:
    """The engine's own cell expressions in one GROUP BY; it reaches into the engine for them."""
    from sqlglot import exp

    from discreet.engines import open_engine
    from discreet.engines.duckdb.dialect import render

    engine: Any = open_engine(path, schema)
    with engine:
        columns = [schema.column(name) for name in names]
        codes = [engine._layers.code(column) for column in columns]
        query = exp.select(*codes, "count(*)").from_(engine._rows.encoded(columns)).group_by(*codes)
        engine._session.arrays(render(query))


def two_columns(table: Table, draws: int) -> bool:
    met = True
    asked = Halfspaces(*table.columns)
    for epsilon, alpha in (("1", 1.0), ("1/10", 0.1)):
        ours, prior = [], 0.0
        for _ in range(draws):
            opened = released(table.frame, table.schema, asked, epsilon)
            found = opened.count_halfspaces(table.columns, table.normals, table.bounds)
            ours.append(table.error(found.estimate))
            prior = table.error(found.prior)
        nets = {}
        for margin in MARGINS:
            net = Halfspaces(*table.columns, gamma=margin)
            opened = released(table.frame, table.schema, net, epsilon, algorithm="net")
            answers = opened.count_near_halfspaces(table.columns, table.normals, table.bounds)
            nets[margin] = table.error(answers)
            strict = strict_errors(
                np.hstack([2 * table.rows / 31 - 1, np.ones((table.many, 1))])[::20],
                lifted(table.schema, table.columns, table.normals, table.bounds)[:100],
                np.clip(answers[:100], 0, table.many) / table.many,
                gamma=float(net.gamma),
            )
            print(
                f"  alpha {alpha:g}, net at gamma {margin}: mean error {nets[margin]:.4f}; strictly, for "
                f"some gamma-close halfspace, {strict.mean():.4f}"
            )
        error, best = float(np.mean(ours)), min(nets.values())
        single = table.error(independent_columns(table.rows, table.normals, table.bounds))
        print(
            f"  alpha {alpha:g}: released {error:.5f}, best net {best:.5f}, prior {prior:.5f}, single columns "
            f"known exactly {single:.5f}"
        )
        if alpha == 1:
            met &= bar("2 columns, alpha 1, error / literal net's", error / best, 0.05)
            met &= bar("2 columns, alpha 1, error / prior's", error / prior, 0.01)
            met &= bar("2 columns, alpha 1, error / exact single columns'", error / single, 0.25)
        else:
            met &= bar("2 columns, alpha .1, error / prior's", error / prior, 0.05)
    return met


def mean_error(table: Table, epsilon: str, draws: int, algorithm: str | None = None) -> float:
    errors = []
    for _ in range(draws):
        opened = released(
            table.frame, table.schema, Halfspaces(*table.columns), epsilon, algorithm=algorithm
        )
        found = opened.count_halfspaces(table.columns, table.normals, table.bounds)
        errors.append(table.error(found.estimate))
    return float(np.mean(errors))


def structures(adult_table: Table, draws: int) -> bool:
    """What the planner chose against the flat grid, and a cubed sphere against grids, table by table."""
    met = True
    tables = [("Adult", adult_table)]
    tables += [
        (name, Table(rows, {"a": cells, "b": cells}, seed=7))
        for name, rows, cells in skewed_tables()
    ]
    for epsilon, alpha in (("1", 1.0), ("1/10", 0.1)):
        ratios, spheres = {}, []
        for name, table in tables:
            ours = mean_error(table, epsilon, draws)
            flat = mean_error(table, epsilon, draws, "cells")
            ratios[name] = ours / flat

            def answer(
                cells: Any, centres: Any, table: Table = table, alpha: float = alpha
            ) -> float:
                return table.error(
                    cell_answers(cells, centres, table.normals, table.bounds, epsilon=alpha, seed=3)
                )

            sphere = {
                lift: min(cubed_sphere(table.rows, table.high, lift, answer).values())
                for lift in (0.5, 1.001)
            }
            print(
                f"  alpha {alpha:g}, {name}: released {ours:.5f}, flat grid {flat:.5f}; best cubed sphere "
                f"lifted by .5 {sphere[0.5]:.5f}, by 1 (a square grid) {sphere[1.001]:.5f}"
            )
            spheres.append(ours / min(sphere.values()))
        met &= bar(f"Adult, alpha {alpha:g}: error / flat grid's", ratios["Adult"], 1.0)
        mean = float(np.exp(np.mean(np.log(spheres))))
        met &= bar(f"alpha {alpha:g}: error / best cubed sphere's, mean over tables", mean, 0.75)
        mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
        met &= bar(f"skewed tables, alpha {alpha:g}: error / flat grid's, mean", mean, 0.75)
    return met


def five_columns(table: Table) -> bool:
    opened = released(table.frame, table.schema, Halfspaces(*table.columns), "1")
    found = opened.count_halfspaces(table.columns, table.normals, table.bounds)
    error, prior = table.error(found.estimate), table.error(found.prior)
    conditions = []
    for normal, bound in zip(table.normals, table.bounds, strict=True):
        terms = " + ".join(
            f'({each:.6f})*"{name}"' for each, name in zip(normal, table.columns, strict=True)
        )
        conditions.append(f"{terms} >= {bound:.6f}")
    declared = released(table.frame, table.schema, Predicates(conditions), "1", delta="1e-6")
    answers = declared.release.parts[0].estimates["answers"]
    print(
        f"  5 columns, alpha 1: cells {error:.5f} (mean width "
        f"{float((found.upper - found.lower).mean()) / table.many:.4f}), declared {table.error(answers):.5f}, "
        f"prior {prior:.5f}"
    )
    met = bar("5 columns, error / prior's", error / prior, 0.25)
    met &= bar("5 columns, declared workload, error / prior's", table.error(answers) / prior, 0.1)
    grid = mean_error(table, "1", 1, "cells")

    def answer(cells: Any, centres: Any) -> float:
        return table.error(
            cell_answers(cells, centres, table.normals, table.bounds, epsilon=1.0, seed=3)
        )

    around = voronoi(table.rows, table.high, 1.0, answer)
    print(
        f"  5 columns, alpha 1: flat grid {grid:.5f}, best cells around random points {around:.5f}"
    )
    met &= bar("5 columns, error / flat grid's", error / grid, 0.5)
    return met & bar("5 columns, error / that of cells around random points", error / around, 0.5)


def speed(table: Table) -> bool:
    opened = released(table.frame, table.schema, Halfspaces(*table.columns), "1")
    normals, bounds = np.repeat(table.normals, 100, axis=0), np.repeat(table.bounds, 100)
    opened.count_halfspaces(table.columns, normals[:1000], bounds[:1000])
    best = used = 0.0
    for _ in range(5):
        start, cpu = time.perf_counter(), time.process_time()
        opened.count_halfspaces(table.columns, normals, bounds)
        best = max(best, len(bounds) / (time.perf_counter() - start))
        used = max(used, len(bounds) / (time.process_time() - cpu))
    print(f"  {used:,.0f} halfspace answers a second of CPU, {best:,.0f} a second of wall time")
    return bar("halfspace answers a second of CPU", used, 100_000, at_least=True)


def many_rows(rows: int) -> bool:
    sql = (
        f'COPY (SELECT (h % 34)::BIGINT - 1 AS age, (h // 64 % 33)::BIGINT AS "hours-per-week" '
        f"FROM (SELECT hash(range) AS h FROM range({rows}))) TO '{{path}}' (FORMAT parquet)"
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = folder / "rows.parquet"
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import duckdb, sys; duckdb.execute('PRAGMA disable_progress_bar'); duckdb.execute(sys.argv[1])",
                sql.format(path=path),
            ],
            check=True,
        )
        times: dict[str, list[list[float]]] = {"hand": [], "release": []}
        for _ in range(3):
            for how, kept in times.items():
                for old in folder.glob("ledger.db*"):
                    old.unlink()
                done = subprocess.run(
                    [
                        sys.executable,
                        "-c",
                        CHILD,
                        str(Path(__file__).parent),
                        how,
                        str(path),
                        str(folder),
                    ],
                    env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                kept.append(json.loads(done.stdout))
    met = True
    for number, kind in enumerate(("wall", "cpu")):
        ours, hand = (min(each[number] for each in times[how]) for how in ("release", "hand"))
        print(f"  {rows:,} rows: release {ours:.2f} s, by hand {hand:.2f} s, {kind}")
        met &= bar(f"release / grouped by hand, {kind}", ours / hand, 2.0)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_option(parser)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--rows", type=int, default=20_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = data_folder(asked.data, Path(scratch), "tables")
        two, five = (Table(adult(data, columns), columns, seed=7) for columns in (TWO, FIVE))
    met = two_columns(two, 3)
    met &= structures(two, 8)
    met &= five_columns(five)
    met &= declared_predicates(two)
    met &= speed(two)
    met &= coverage(two, "Adult", asked.draws)
    for name, rows, cells in skewed_tables():
        met &= coverage(Table(rows, {"a": cells, "b": cells}, seed=7), name, asked.draws)
    met &= many_rows(asked.rows)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
