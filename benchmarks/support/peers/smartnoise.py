"""SmartNoise SQL, on PostgreSQL: a count by two columns; each row is a person."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg2
from counted import EPSILON, say, source
from snsql import Privacy, from_connection

METADATA = {
    "": {
        "public": {
            "visits": {
                "row_privacy": True,
                "rows": 1_000_000,
                "sex": {"type": "string"},
                "region": {"type": "string"},
            }
        }
    }
}


def count() -> Iterator[tuple[str, str, float]]:
    connection = psycopg2.connect(source())
    privacy = Privacy(epsilon=EPSILON, delta=1e-9)
    reader = from_connection(connection, privacy=privacy, metadata=METADATA, engine="postgres")
    query = "SELECT sex, region, COUNT(*) AS n FROM public.visits GROUP BY sex, region"
    _, *rows = reader.execute(query)
    yield from rows
    connection.close()


say(count)
