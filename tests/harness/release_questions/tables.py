"""Made-up tables with their schemas: every kind of column, nulls, values outside the domain, derived columns, people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow

from discreet.schema import OrderedColumn, Schema

SIZES = (0, 1, 50, 50, 400, 5_000)
NAMED = {
    "town": ["Zürich", "São Paulo", "東京", "l'Aquila", "a%b_c"],
    "sex": ["f", "m"],
    "grade": ["8", "9", "10"],
    "hair colour": ["", "Red", "red ", "black"],
}
STRANGE = ["(other)", "null", "ZÜRICH", "x", "8.0"]
"""Texts that no schema declares."""
_FIRST_DAY, _FIRST_MOMENT = date(2019, 12, 30), datetime(2020, 2, 28, 21, 30)


@dataclass(frozen=True)
class Table:
    """A schema, and rows under it; `rows` holds raw values."""

    schema: Schema
    rows: list[dict[str, Any]]
    kept: dict[str, list[bool]]
    """For each column, which rows have a cell in it."""

    @property
    def source(self) -> pyarrow.Table:
        """The rows as the engine reads them."""
        names = self.schema.names
        arrays = {
            name: _array(self.schema, name, [row[name] for row in self.rows]) for name in names
        }
        if self.schema.unit.identifier is not None:
            arrays["person"] = pyarrow.array([row["person"] for row in self.rows], pyarrow.int64())
        return pyarrow.table(arrays)


def made_table(random: Random, *, exact: bool = False) -> Table:
    """A table. With `exact`, every cell holds one value and every row has a cell, so that nothing is left open."""
    columns, derived = _columns(random, exact)
    adjacency = random.choice(["add-remove", "add-remove", "change-one"])
    lines = ['dataset = "t"', f'adjacency = "{adjacency}"', "people = 1000"]
    has_people = not exact and random.random() < 0.2
    if has_people:
        lines += ["[unit]", 'identifier = "person"', "max_rows = 3"]
    for name, settings in columns.items():
        lines += [f'[columns."{name}"]', *(f"{key} = {value}" for key, value in settings.items())]
    if derived:
        lines += ["[derived]", *derived]
    schema = Schema.loads("\n".join(lines) + "\n")
    rows = _rows(random, schema, random.choice(SIZES), exact, bool(derived))
    for place, row in enumerate(rows):
        row["person"] = place // random.choice([3, 3, 4]) if has_people else None
    if has_people:  # never more rows of a person than are kept
        for place, row in enumerate(rows):
            row["person"] = place // 3
    kept = {
        column.name: [column.code_of(row[column.name]) is not None for row in rows]
        for column in schema.columns
    }
    return Table(schema, rows, kept)


def _columns(random: Random, exact: bool) -> tuple[dict[str, dict[str, str]], list[str]]:
    chance, pick = random.random, random.choice

    def policies(is_ordered: bool) -> dict[str, str]:
        found: dict[str, str] = {}
        if chance() < (0 if exact else 0.15):
            found["nulls"] = '"exclude"'
        if is_ordered and chance() < (0 if exact else 0.35):
            found["outside"] = pick(['"other"', '"exclude"'])
        return found

    palette: dict[str, dict[str, str]] = {}
    for name, values in NAMED.items():
        listed = ", ".join(f'"{each}"' for each in values)
        palette[name] = {"kind": '"category"', "values": f"[{listed}]", **policies(False)}
        if chance() < 0.2 and not exact:
            palette[name]["other"] = "false"
    palette["ok"] = {"kind": '"boolean"', **policies(False)}
    palette["kids"] = {"kind": '"integer"', "range": pick(["[0, 4]", "[-3, 2]"]), **policies(True)}
    width = "1" if exact else pick(["1", "1", "5", "10", "20"])
    palette["age"] = {
        "kind": '"integer"',
        "range": "[0, 19]" if exact else pick(["[0, 19]", "[0, 99]", "[20, 79]"]),
        "width": width,
        **policies(True),
    }
    if not exact:
        bits = pick([3, 10, 40])
        palette["wide"] = {"kind": '"integer"', "range": f"[0, {2**bits - 1}]", **policies(True)}
        palette["pay"] = {
            "kind": '"number"',
            "bounds": pick(["[0, 100]", "[-2.5, 7.5]"]),
            **pick([{"bits": "3"}, {"bits": "6"}, {"cuts": "[1, 2.5, 4]"}]),
            "closed": pick(['"left"', '"right"']),
            **policies(True),
        }
        palette["price"] = {
            "kind": '"number"',
            "bounds": "[0, 10]",
            "bits": pick(["2", "4"]),
            **policies(True),
        }
        palette["at"] = {
            "kind": '"datetime"',
            "range": "[2020-02-28T20:00:00, 2020-03-01T03:59:59]",
            "granularity": pick(['"hour"', '"day"', '"minute"']),
            **policies(True),
        }
    palette["day"] = {
        "kind": '"date"',
        "range": "[2019-12-30, 2020-01-20]" if exact else pick(["[2019-12-30, 2020-01-20]", "[2019-11-15, 2020-03-10]"]),
        "granularity": '"day"' if exact else pick(['"day"', '"week"', '"month"']),
        **policies(True),
    }  # fmt: skip
    names = random.sample(list(palette), random.randint(2, 3 if exact else 5))
    chosen = {name: palette[name] for name in names}
    derived: list[str] = []
    if "kids" in chosen and "outside" not in chosen["kids"] and chance() < 0.4:
        chosen["family"] = {
            "kind": '"category"',
            "values": '["none", "some"]',
            "nulls": chosen["kids"].get("nulls", '"cell"'),
        }
        derived = ["family = \"CASE WHEN kids <= 0 THEN 'none' WHEN kids > 0 THEN 'some' END\""]
    return chosen, derived


def _rows(
    random: Random, schema: Schema, size: int, exact: bool, is_derived: bool
) -> list[dict[str, Any]]:
    nulls, outside = random.choice([0, 0.05, 0.3]), random.choice([0, 0.05, 0.3])
    found: list[dict[str, Any]] = []
    for _ in range(size):
        row: dict[str, Any] = {}
        for column in schema.columns:
            if random.random() < nulls:
                row[column.name] = None
            elif column.kind == "boolean":
                row[column.name] = random.random() < 0.7
            elif column.kind == "category":
                values = list(column.values)  # type: ignore[attr-defined]
                is_outside = random.random() < outside and not exact
                row[column.name] = random.choice(STRANGE if is_outside else values)
            else:
                row[column.name] = _ordered(random, column, outside)
        if is_derived:
            kids = row["kids"]
            row["family"] = None if kids is None else "none" if kids <= 0 else "some"
        found.append(row)
    return found


def _ordered(random: Random, column: Any, outside: float) -> Any:
    assert isinstance(column, OrderedColumn)
    low, high = column.extent(0)[0], column.extent(column.value_cells - 1)[1]
    is_low = random.random() < 0.5
    if column.kind == "number":
        drawn = low + (high - low) * (random.random() ** 2 if is_low else random.random())
        if random.random() < outside:
            drawn = random.choice([low - 1.5, high + 2, 1e9, -1e9])
        drawn = round(drawn * 4) / 4 if random.random() < 0.7 else drawn
        return Decimal(f"{drawn:.3f}") if column.name == "price" else float(drawn)
    span = int(high - low)
    unit = int(low) + int(span * random.random() ** (3 if is_low else 1))
    if random.random() < outside:
        unit = random.choice(
            [int(low) - 1 - random.randrange(span + 3), int(high) + 1 + random.randrange(span + 3)]
        )
    if column.kind == "date":
        return date(1970, 1, 1) + timedelta(days=unit)
    if column.kind == "datetime":
        return datetime(1970, 1, 1) + timedelta(microseconds=unit // 10**6 * 10**6)
    return unit


ARROW_TYPES = {
    "category": pyarrow.string(),
    "boolean": pyarrow.bool_(),
    "integer": pyarrow.int64(),
    "number": pyarrow.float64(),
    "date": pyarrow.date32(),
    "datetime": pyarrow.timestamp("us"),
}


def _array(schema: Schema, name: str, values: list[Any]) -> pyarrow.Array:
    of_decimals = name == "price"
    return pyarrow.array(
        values, pyarrow.decimal128(18, 3) if of_decimals else ARROW_TYPES[schema.column(name).kind]
    )
