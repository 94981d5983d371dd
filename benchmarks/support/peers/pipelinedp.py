"""PipelineDP, on Spark: a count by two columns whose values are listed; each row is a person."""

from __future__ import annotations

from collections.abc import Iterator

import pipeline_dp
from counted import CELLS, EPSILON, say, source, spark

session = spark()


def count() -> Iterator[tuple[str, str, float]]:
    frame = session.read.parquet(source()).select("sex", "region")
    rows = frame.rdd.zipWithUniqueId()
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=1e-9)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.SparkRDDBackend(session.sparkContext))
    parameters = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[1],
        partition_extractor=lambda row: (row[0][0], row[0][1]),
        value_extractor=lambda row: 1,
    )
    counted = engine.aggregate(rows, parameters, extractors, public_partitions=CELLS)
    accountant.compute_budgets()
    for (sex, region), metrics in counted.collect():
        yield sex, region, metrics.count


say(count)
