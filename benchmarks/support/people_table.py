"""A generated table of many people: columns of 2 to 100 values that hang together through a few hidden groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ROWS = 1_000_000
SIZES = (2, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 32, 50, 100)
GROUPS = 30


def written(folder: Path, rows: int = ROWS, seed: int = 1) -> tuple[Path, Path]:
    """The table as Parquet, and its schema."""
    import polars

    draw = np.random.default_rng(seed)
    group = draw.choice(GROUPS, rows, p=draw.dirichlet(np.ones(GROUPS)))
    columns, lines = {}, ['dataset = "people"', f"people = {rows}"]
    for place, size in enumerate(SIZES):
        edges = np.cumsum(draw.dirichlet(np.full(size, 0.5), GROUPS), axis=1)
        edges[:, -1] = 1.0
        flat = (edges + 2.0 * np.arange(GROUPS)[:, None]).ravel()
        found = np.searchsorted(flat, draw.random(rows) + 2.0 * group) - group * size
        columns[f"c{place}"] = found.astype(np.int16)
        lines += [f"[columns.c{place}]", 'kind = "integer"', f"range = [0, {size - 1}]"]
    parquet, schema = folder / f"people-{rows}.parquet", folder / f"people-{rows}.toml"
    polars.DataFrame(columns).write_parquet(parquet)
    schema.write_text("\n".join(lines) + "\n")
    return parquet, schema
