"""OpenDP, on Polars: a count by two columns whose values are taken for public."""

from __future__ import annotations

from collections.abc import Iterator

import opendp.prelude as dp
import polars as pl
from counted import EPSILON, say, source

dp.enable_features("contrib")


def count() -> Iterator[tuple[str, str, float]]:
    frame = pl.scan_parquet(f"{source()}/*.parquet").select("sex", "region")
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["sex", "region"], invariant="keys")],
    )
    query = context.query().group_by("sex", "region").agg(dp.len())
    yield from query.release().collect().iter_rows()


say(count)
