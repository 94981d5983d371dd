"""Where the benchmarks find their data: published histograms and tables, or generated stand-ins.

A folder holds `one_d/*.npy` and `two_d/*.npy` (histograms of 4,096 and of 256 x 256 bins) and
`tables/NAME.csv` with `tables/NAME-domain.json` (rows of codes, and how many codes each column has).
Where it is missing, tables and histograms of the same shapes are generated, and the benchmark says so:
its bars are then about these, and no more than a sign that it runs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data"
SEED = 20_240_229
TABLES = {
    "adult": (
        48_842,
        {
            "education": 16, "age": 32, "workclass": 9, "fnlwgt": 32, "education-num": 16,
            "marital-status": 7, "occupation": 15, "relationship": 6, "race": 5, "sex": 2,
            "capital-gain": 32, "capital-loss": 32, "hours-per-week": 32, "native-country": 42,
            "income>50K": 2,
        },
    ),
    "nltcs": (21_574, {f"task {number}": 2 for number in range(1, 17)}),
    "titanic": (
        1_304,
        {
            "Survived": 3, "Pclass": 3, "Sex": 2, "Age": 91, "SibSp": 9, "Parch": 7, "Fare": 32,
            "Embarked": 3, "Cabin": 9,
        },
    ),
}  # fmt: skip


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, default=DEFAULT, help="a folder of histograms and tables"
    )


def data_folder(asked: Path, scratch: Path, *needed: str) -> Path:
    """`asked` if it has some of what is needed, or a folder made under `scratch` that stands in for it."""
    if any((asked / part).is_dir() for part in needed):
        return asked
    print(f"No data under {asked}: generated histograms and tables stand in for it.", flush=True)
    made = scratch / "generated-data"
    generator = np.random.default_rng(SEED)
    for part in ("one_d", "two_d", "tables"):
        (made / part).mkdir(parents=True, exist_ok=True)
    for name, counts in _histograms(generator).items():
        np.save(made / ("one_d" if counts.ndim == 1 else "two_d") / f"{name}.npy", counts)
    for name, (rows, sizes) in TABLES.items():
        codes = _table(generator, rows, list(sizes.values()))
        (made / "tables" / f"{name}-domain.json").write_text(json.dumps(sizes))
        np.savetxt(
            made / "tables" / f"{name}.csv",
            codes,
            fmt="%d",
            delimiter=",",
            header=",".join(sizes),
            comments="",
        )
    return made


def tables_in(folder: Path) -> list[str]:
    """The names of all tables of a folder."""
    ending = "-domain.json"
    found = (folder / "tables").glob(f"*{ending}")
    return sorted(each.name.removesuffix(ending) for each in found)


def _histograms(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Smooth, heavy-tailed, spiky, sparse; in the plane clusters and a line."""
    line = np.linspace(0, 1, 4096)
    bumps = sum(
        height * np.exp(-(((line - centre) / width) ** 2))
        for centre, width, height in zip(
            generator.random(12),
            0.003 + 0.05 * generator.random(12),
            generator.random(12),
            strict=True,
        )
    )
    spikes = np.where(np.arange(4096) % 100 == 0, 20.0, 1.0) * np.exp(-3 * line)
    made = {
        "BUMPS": (bumps, 50_000),
        "TAIL": ((line + 0.002) ** -1.5, 100_000),
        "SPIKES": (spikes, 30_000),
        "SPARSE": (generator.gamma(0.05, size=4096), 20_000),
        "WALK": (np.exp(0.05 * np.cumsum(generator.normal(size=4096))), 1_000_000),
    }
    side = np.arange(256) / 256
    x, y = np.meshgrid(side, side, indexing="ij")
    clusters = sum(
        np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2))
        for a, b, width in zip(
            generator.random(8),
            generator.random(8),
            0.01 + 0.05 * generator.random(8),
            strict=True,
        )
    )
    made |= {
        "CLUSTERS": (clusters, 200_000),
        "DIAGONAL": (np.exp(-np.abs(x - y) / 0.02), 50_000),
    }
    return {
        name: generator.multinomial(rows, (weights / weights.sum()).ravel()).reshape(weights.shape)
        for name, (weights, rows) in made.items()
    }


def _table(generator: np.random.Generator, rows: int, sizes: list[int]) -> np.ndarray:
    """A random Bayesian network: each column follows one before it, or none."""
    codes = np.zeros((rows, len(sizes)), dtype=np.int64)
    for place, size in enumerate(sizes):
        parent = int(generator.integers(place)) if place else None
        given = 1 if parent is None else sizes[parent]
        law = generator.dirichlet(np.full(size, 0.4), size=given).cumsum(axis=1)
        above = np.zeros(rows, dtype=np.int64) if parent is None else codes[:, parent]
        codes[:, place] = (generator.random(rows)[:, np.newaxis] > law[above]).sum(axis=1)
    return np.minimum(codes, np.array(sizes) - 1)
