"""Releases put together by hand from chosen numbers, for tests of what can be asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.artifacts.measurement import Measurement, TreeLevel, TreeMeasurement
from discreet.artifacts.release import ErrorClaim, Part, Release
from discreet.families.tables.queries.marginals import Marginals
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    NoiseLaw,
    RoundedGaussianLaw,
)
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Marginal, Query
from discreet.queries.tree import Tree
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)

Row = Mapping[str, Any]
SILENT = DiscreteLaplaceLaw(Fraction(1, 1000))
"""Noise that is 0 but for a chance below 1e-400."""


def people(**changes: Any) -> Schema:
    from datetime import date

    columns = changes.pop("columns", None) or (
        IntegerColumn("age", 0, 29, 10),
        IntegerColumn("kids", 0, 3, 1, outside="other"),
        CategoryColumn("sex", ("F", "M")),
        BooleanColumn("owns"),
        NumberColumn("pay", 0, 8, cuts=(1.5, 4.0)),
        DateColumn("born", date(2000, 1, 1), date(2000, 4, 30), "month"),
    )
    return Schema(dataset="people", columns=columns, **changes)


def table_of(schema: Schema, columns: Sequence[str], rows: Sequence[Row]) -> np.ndarray:
    """The exact counts, by the schema's own encoder."""
    declared = [schema.column(name) for name in columns]
    table = np.zeros([column.cells for column in declared], dtype=np.int64)
    for row in rows:
        codes = [column.code_of(row.get(column.name)) for column in declared]
        if None not in codes:
            table[tuple(codes)] += 1  # type: ignore[arg-type]
    return table


def cost_of(law: NoiseLaw, query: Query, schema: Schema) -> Cost:
    moved = query.sensitivity(schema)
    match law:
        case DiscreteLaplaceLaw(scale=scale):
            return Cost.pure(Fraction(moved.l1) / scale)
        case DiscreteGaussianLaw(sigma_squared=square):
            return Cost.concentrated(Fraction(moved.l2_squared) / (2 * square))
        case RoundedGaussianLaw(sigma_squared=square):
            from discreet.privacy.conversion import gaussian_delta

            delta = gaussian_delta(
                sigma_squared=square, l2_squared=moved.l2_squared, epsilon=Fraction(1)
            )
            return Cost.approximate(epsilon=Fraction(1), delta=delta)
    raise AssertionError(law)


def measured(schema: Schema, query: Query, values: Any, law: NoiseLaw = SILENT) -> Measurement:
    return Measurement(
        query=query,
        law=law,
        sensitivity=query.sensitivity(schema),
        cost=cost_of(law, query, schema),
        values=np.asarray(values, dtype=np.int64).reshape(-1),
    )


def part_of(
    query_class: QueryClass, *measurements: Any, kind: str | None = None, **more: Any
) -> Part:
    return Part(
        kind=kind or query_class.name,
        query_class=query_class,
        algorithm="by hand",
        measurements=tuple(measurements),
        **more,
    )


def release_of_tables(
    schema: Schema,
    sets: Sequence[Sequence[str]],
    rows: Sequence[Row],
    *,
    law: NoiseLaw = SILENT,
    noise: Any = None,
    public_rows: int | None = None,
    parts: Sequence[Part] = (),
    budget: Budget | None = None,
    accounting: Accounting = Accounting.BASIC,
) -> Release:
    """Marginals of `rows`, plus what `noise(count)` draws."""
    made: list[Part] = []
    for columns in sets:
        exact = table_of(schema, columns, rows).reshape(-1)
        drawn = 0 if noise is None else noise(exact.size)
        query = Marginal(tuple(columns))
        made.append(
            part_of(Marginals(columns=list(columns)), measured(schema, query, exact + drawn, law))
        )
    return Release(
        schema=schema,
        budget=budget or Budget(epsilon=10**6),
        accounting=accounting,
        parts=(*made, *parts),
        public_rows=public_rows,
        claims=(ErrorClaim("marginals(age)", 3.0, 0.95, True, "by hand"),),
        software="discreet test",
    )


def small_tree() -> TreeMeasurement:
    tree = Tree(columns=("kids",), depths=((0,), (2,)))
    top = TreeLevel(
        level=0,
        nodes=np.zeros((1, 1), dtype=np.uint64),
        first=np.array([9]),
        values=np.array([8]),
        stopped=np.array([False]),
        first_epsilon=Fraction(1, 8),
        stopped_epsilon=Fraction(1),
        refined_epsilon=Fraction(1, 4),
    )
    leaves = TreeLevel(
        level=1,
        nodes=np.arange(4, dtype=np.uint64).reshape(4, 1),
        first=np.array([1, 2, 3, 4]),
        values=np.array([1, 2, 3, 4]),
        stopped=np.ones(4, dtype=np.bool_),
        first_epsilon=Fraction(3, 4),
        stopped_epsilon=Fraction(3, 4),
        refined_epsilon=Fraction(0),
    )
    return TreeMeasurement(
        tree=tree, levels=(top, leaves), path_epsilon=Fraction(1), cost=Cost.pure(Fraction(1))
    )
