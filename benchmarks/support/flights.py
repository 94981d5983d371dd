"""A generated table like a year of flights: wide columns that depend on one another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars

ROWS = 336_776
CARRIERS, ORIGINS, DESTINATIONS = 16, 3, 105
COLUMNS = {
    "month": (1, 12, 1),
    "day": (1, 31, 1),
    "departure": (0, 2399, 1),
    "departure_delay": (-60, 599, 5),
    "arrival": (0, 2399, 1),
    "arrival_delay": (-90, 599, 5),
    "air_time": (0, 719, 10),
    "distance": (0, 4999, 100),
    "hour": (0, 23, 1),
}
"""Low, high and width of the cells of the columns of whole numbers."""


def flights(rows: int = ROWS, seed: int = 1) -> polars.DataFrame:
    """Rows: a route has a carrier, a distance and a time in the air; delays follow one another."""
    import polars

    draw = np.random.default_rng(seed)
    route = draw.choice(ORIGINS * DESTINATIONS, rows, p=_heavy(ORIGINS * DESTINATIONS))
    origin, destination = route // DESTINATIONS, route % DESTINATIONS
    far = (100 + 4800 * draw.random(DESTINATIONS) ** 2).astype(np.int64)
    carrier = (destination * 7 + origin + draw.geometric(0.5, rows)) % CARRIERS
    distance = np.clip(far[destination] + 30 * origin, 0, 4999)
    air = np.clip(20 + distance / 8 + 10 * draw.standard_normal(rows), 0, 719)
    left = np.clip(5 * 60 + 1080 * draw.beta(1.3, 1.5, rows), 0, 1439)
    delay = np.clip(draw.exponential(25, rows) * (draw.random(rows) < 0.4) - 5, -60, 599)
    arrived = (left + delay + air + 30) % 1440
    late = np.clip(delay + 15 * draw.standard_normal(rows) - 5, -90, 599)
    whole = {
        "month": draw.integers(1, 13, rows),
        "day": draw.integers(1, 32, rows),
        "departure": _clock(left),
        "departure_delay": delay.astype(np.int64),
        "arrival": _clock(arrived),
        "arrival_delay": late.astype(np.int64),
        "air_time": air.astype(np.int64),
        "distance": distance,
        "hour": (left // 60).astype(np.int64),
    }
    texts = {
        "carrier": _named("carrier", CARRIERS)[carrier],
        "origin": _named("origin", ORIGINS)[origin],
        "destination": _named("destination", DESTINATIONS)[destination],
    }
    return polars.DataFrame(whole | texts)


def schema_text(rows: int = ROWS) -> str:
    """The schema of that table."""
    lines = ['dataset = "flights"', f"people = {rows}"]
    for name, (low, high, width) in COLUMNS.items():
        lines += [f"[columns.{name}]", 'kind = "integer"']
        lines += [f"range = [{low}, {high}]", f"width = {width}"]
    for name, many in (
        ("carrier", CARRIERS),
        ("origin", ORIGINS),
        ("destination", DESTINATIONS),
    ):
        values = ", ".join(f'"{value}"' for value in _named(name, many))
        lines += [f"[columns.{name}]", 'kind = "category"', f"values = [{values}]"]
    return "\n".join(lines) + "\n"


def written(folder: Path, rows: int = ROWS) -> tuple[Path, Path, Path]:
    """The table as CSV and as Parquet, and its schema."""
    table = flights(rows)
    comma, parquet, schema = (
        folder / f"flights-{rows}{end}" for end in (".csv", ".parquet", ".toml")
    )
    table.write_csv(comma)
    table.write_parquet(parquet)
    schema.write_text(schema_text(rows))
    return comma, parquet, schema


def _heavy(many: int) -> np.ndarray:
    weights = 1 / (1 + np.arange(many)) ** 0.8
    return weights / weights.sum()


def _clock(minutes: np.ndarray) -> np.ndarray:
    """Minutes of a day as hours and minutes: 125 is 205."""
    whole = minutes.astype(np.int64)
    return whole // 60 * 100 + whole % 60


def _named(what: str, many: int) -> np.ndarray:
    return np.array([f"{what[0].upper()}{number:03d}" for number in range(many)])
