"""Tumult Analytics, on Spark: a count by two columns whose values are listed."""

from __future__ import annotations

from collections.abc import Iterator

from counted import EPSILON, REGIONS, SEXES, say, source, spark
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

session = spark()
keys = KeySet.from_dict({"sex": list(SEXES), "region": list(REGIONS)})


def count() -> Iterator[tuple[str, str, float]]:
    frame = session.read.parquet(source()).select("sex", "region")
    budget = PureDPBudget(EPSILON)
    table = Session.from_dataframe(
        privacy_budget=budget, source_id="visits", dataframe=frame, protected_change=AddOneRow()
    )
    query = QueryBuilder("visits").groupby(keys).count()
    for row in table.evaluate(query, budget).collect():
        yield row["sex"], row["region"], row["count"]


say(count)
