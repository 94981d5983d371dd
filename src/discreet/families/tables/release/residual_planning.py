"""How much of a budget each residual gets: closed form, for the least expected error of a workload.

A workload of marginals needs the residuals of all their subsets. With noise of variance v on the
integers of set B, the cells of a marginal over A have a summed variance of
    v * prod_B(d - 1) / (prod_{A minus B} d * (prod_B d)^2),
so the total is sum over B of c_B v_B, and v_B is l2^2 / (2 rho_B) for Gaussian noise or about
2 (l1 / epsilon_B)^2 for Laplace noise. Lagrange gives rho_B in proportion to sqrt(c_B l2^2), or
epsilon_B to the cube root of c_B l1^2. (Xiao, He, Zhang, Kifer 2023, in closed form; the Laplace
form is the same argument.) What users feel is the mean absolute error, so tables are reweighted by
the inverse of their cells' standard deviation, a few times: each step lowers the sum of deviations.

A table of more cells than people weighs as much as one of so many cells: it holds no more rows, so it has no more to lose.

Everything here is decided by the schema and the workload.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from math import prod

from discreet.families.shared.release.splitting import shares
from discreet.families.tables.queries.residuals import BinnedTable, Residual, subsets
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.schema import Schema
from discreet.schema.completed import completed_names

FINEST = 1 << 14
"""Weights are whole numbers up to this, so that noise scales stay short rationals."""
REWEIGHTINGS = 12

Columns = tuple[str, ...]


def weighing_cells(cells: int, schema: Schema) -> int:
    """As how many cells a table counts where tables are weighed against one another."""
    return cells if schema.people is None else min(cells, schema.people)


def needed_residuals(sets: Sequence[Columns], schema: Schema) -> list[Residual]:
    """One for each set of columns that matters to some table, the smallest first.

    Where the number of rows is public it is not measured, and a column of a single cell has no
    residual. Columns that leave rows out are completed in the schema, or count no such row.
    """
    order = {column.name: place for place, column in enumerate(schema.columns)}
    wanted = {each for columns in sets for each in subsets(columns)}
    found = sorted(wanted, key=lambda each: (len(each), [order[name] for name in each]))
    return [
        Residual(each, completed=completed_names(schema, each))
        for each in found
        if not (schema.rows_are_public and not each)
        and all(schema.column(name).cells > 1 for name in each)
    ]


def residual_shares(
    sets: Sequence[Columns],
    residuals: Sequence[Residual | BinnedTable],
    schema: Schema,
    *,
    share: Budget,
    accounting: Accounting,
    weights: Sequence[Fraction] | None = None,
) -> list[Budget]:
    """The share of each residual; they add up to `share` exactly. `weights`: how much each set matters."""
    places = {residual.columns: place for place, residual in enumerate(residuals)}
    moved = [residual.sensitivity(schema) for residual in residuals]
    gaussian = accounting is not Accounting.BASIC
    squares = [
        each.times(schema) ** 2 * (float(m.l2_squared) if gaussian else float(m.l1) ** 2)
        for each, m in zip(residuals, moved, strict=True)
    ]
    power = 1 if gaussian else 2  # the variance falls as 1 / share^power
    tables = [_summed_variances(columns, places, schema) for columns in sets]
    cells = [prod(schema.column(name).cells for name in columns) for columns in sets]
    matters = [1.0] * len(sets) if weights is None else [float(each) for each in weights]
    matters = [
        own * weighing_cells(many, schema) / many for own, many in zip(matters, cells, strict=True)
    ]
    importance = matters
    wanted = [1.0] * len(residuals)
    for _ in range(REWEIGHTINGS):
        costs = [0.0] * len(residuals)
        for weight, table in zip(importance, tables, strict=True):
            for place, summed in table:
                costs[place] += weight * summed
        wanted = [
            (cost * square) ** (1 / (1 + power))
            for cost, square in zip(costs, squares, strict=True)
        ]
        total = sum(wanted)
        variances = [
            square / (each / total) ** power if each else 0.0
            for square, each in zip(squares, wanted, strict=True)
        ]
        importance = [
            own / math.sqrt(max(sum(c * variances[place] for place, c in table) / many, 1e-300))
            for own, table, many in zip(matters, tables, cells, strict=True)
        ]
    most = max(wanted)
    return shares(share, [max(1, round(FINEST * each / most)) for each in wanted])


def _summed_variances(
    columns: Columns, places: dict[Columns, int], schema: Schema
) -> list[tuple[int, float]]:
    """For each residual of a table: the variance of all its cells together, per unit of noise."""
    size = {name: schema.column(name).cells for name in columns}
    found: list[tuple[int, float]] = []
    for own in subsets(columns):
        if own not in places:
            continue
        inside = prod(size[name] for name in own)
        outside = prod(size.values()) // inside
        found.append((places[own], prod(size[n] - 1 for n in own) / (outside * inside**2)))
    return found
