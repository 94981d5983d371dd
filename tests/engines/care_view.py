"""Three tables that a declared view joins, and what an engine counts of the view."""

from __future__ import annotations

import pyarrow as pa

from discreet.engines import open_engine
from discreet.schema import Schema

CARE = Schema.loads("""dataset = "care"
[unit]
identifier = "person"
max_rows = 2
[view]
sql = "SELECT v.person, v.cost, p.sex, w.floor FROM visits AS v LEFT JOIN patients p ON v.person = p.person JOIN wards w ON w.ward = v.ward"
tables = { visits = "visits.parquet", patients = "patients.parquet", wards = "wards.parquet" }
public = ["wards"]
[columns.cost]
kind = "integer"
range = [0, 9]
[columns.sex]
kind = "category"
values = ["F", "M"]
[columns.floor]
kind = "integer"
range = [0, 3]
""")
TABLES = {
    "visits": pa.table(
        {
            "person": [f"p{n % 7}" for n in range(30)],
            "cost": list(range(30)),
            "ward": ["a", "b", "gone"] * 10,
        }
    ),
    "patients": pa.table(
        {"person": ["p0", "p1", "p2", "p3", None], "sex": ["F", "M", None, "X", "F"]}
    ),
    "wards": pa.table({"ward": ["a", "b", "b"], "floor": [1, 2, 3]}),
}
ROWS = 14


def counted_view(source: str) -> list[object]:
    """The rows of the view, and three tables of them."""
    with open_engine(source, CARE) as engine:
        found = engine.marginals([("cost", "sex"), ("floor",), ("sex", "floor")])
        return [engine.row_count(), *(each.tolist() for each in found)]
