"""discreet, wherever the rows are: a release of the marginal of the same two columns, charged, with its file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from counted import CELLS, EPSILON, REGIONS, SEXES, say, source, spark

from discreet import Budget, Schema
from discreet.releases import release_to_file

SCHEMA = Schema.loads(
    'dataset = "visits"\n'
    + "".join(
        f'[columns.{name}]\nkind = "category"\nvalues = {list(values)}\nother = false\nnulls = "exclude"\n'
        for name, values in (("sex", SEXES), ("region", REGIONS))
    )
)
if source().startswith("spark:"):
    spark()


def count() -> Iterator[tuple[str, str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        release = release_to_file(
            source(),
            SCHEMA,
            Path(folder) / "visits.release",
            budget=Budget(epsilon=str(EPSILON)),
            workload=["marginals(sex, region)"],
            ledger=Path(folder) / "ledger.db",
        )
    (measured,) = release.release.parts[0].noisy
    for (sex, region), number in zip(CELLS, measured.values.reshape(-1).tolist(), strict=True):
        yield sex, region, number


say(count)
