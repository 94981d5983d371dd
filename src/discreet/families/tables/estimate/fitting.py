"""From measured residuals to a model of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.arrays import Floats, Integers, Singles
from discreet.artifacts.measurement import Measurement
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.estimate.compressed_fit import fit_by_bins
from discreet.families.tables.estimate.log_linear import LogLinear, fits_whole_domain
from discreet.families.tables.estimate.mixture import Mixture, Target, bin_matrix
from discreet.families.tables.estimate.residuals import centred
from discreet.families.tables.queries.parities import Parity, signs
from discreet.families.tables.queries.residuals import BinnedTable, Residual, subsets
from discreet.privacy.laws import NoiseLaw
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public


class RowModel(Protocol):
    """Shares of the cells of any columns, and rows drawn from them."""

    def marginal(self, columns: Sequence[int]) -> Floats: ...

    def pair(self, one: int, other: int) -> Floats | Singles: ...

    def sample(self, rows: int, generator: Generator) -> Integers: ...


STEPS, WHOLE_STEPS = 600, 250
MERGED_STEPS = 400
"""Steps where cells are taken together: what is left after them is more than further steps would mend."""
FITTED = 0.5
MOST_FITTED, FEWEST_BINS = 512, 32
"""Cells of all columns together that are moved while fitting; and of one column, if it has so many."""
LEAST_STD, LEAST_PART = 1e-3, 1e-9
"""The least deviation, in rows and as a part of all rows, of a number that has hardly any noise: fitting divides by its square."""
MeasuredTable = tuple[tuple[str, ...], Integers, NoiseLaw]
"""Columns, counts with a draw on each cell, and the law of that noise."""
WIDE = 1 << 14
"""Cells from which a table of two columns is fitted only if it stands out from noise."""


def target_of(
    measured: Measurement, schema: Schema, places: dict[str, int], rows: float
) -> Target | None:
    """A measured residual of one or two columns as something to fit."""
    query = measured.query
    if isinstance(query, Parity) and 1 <= len(query.columns) <= 2:
        pattern = signs(len(query.columns)) / (rows * 2 ** len(query.columns))
        return Target(
            columns=tuple(places[name] for name in query.columns),
            bins=(None,) * len(query.columns),
            table=(pattern * float(measured.values[0])).astype(np.float32),
            std=_part(measured.law.std / 2 ** len(query.columns), rows),
        )
    if not isinstance(query, Residual | BinnedTable) or not 1 <= len(query.columns) <= 2:
        return None
    shape = query.shape(schema)
    times = prod(shape) // query.times(schema)
    table = centred(measured.values.astype(np.float64).reshape(shape)) / (times * rows)
    return Target(
        columns=tuple(places[name] for name in query.columns),
        bins=tuple(bin_matrix(each) for each in query.bins or (None,) * len(query.columns)),
        table=table.astype(np.float32),
        std=_part(measured.law.std / times, rows),
    )


def _part(std: float, rows: float) -> float:
    """A deviation in rows as a part of all rows."""
    return max(max(std, LEAST_STD) / rows, LEAST_PART)


def model_of_measurements(
    schema: Schema,
    measured: Iterable[Measurement],
    tables: Sequence[MeasuredTable],
    shares: Mapping[str, Floats],
    rows: float,
) -> RowModel:
    """A model of the columns of `shares`, fitted to all that was measured of one and two of them.

    A table with noise on each cell says something about the residuals of its subsets: projections of
    independent draws onto orthogonal spaces, so they are independent too; those that several tables
    have are combined by inverse variance.
    """
    places = {name: place for place, name in enumerate(shares)}
    within = [each for each in measured if set(_columns(each)) <= set(shares)]
    found = [target_of(each, schema, places, rows) for each in within]
    targets = [each for each in found if each is not None]
    targets += _targets_of_tables(schema, tables, places, rows)
    return fitted_model(list(shares.values()), targets, rows)


def _columns(measured: Measurement) -> tuple[str, ...]:
    query = measured.query
    return query.columns if isinstance(query, Residual | BinnedTable | Parity) else ()


def fitted_model(shares: Sequence[Floats], targets: Sequence[Target], rows: float) -> RowModel:
    """Maximum entropy where the whole domain can be listed, a mixture of products elsewhere."""
    sizes = [len(each) for each in shares]
    if fits_whole_domain(sizes):
        whole = LogLinear(sizes)
        whole.fit(targets, steps=WHOLE_STEPS)
        return whole
    targets = [each for each in targets if _teaches(each, shares)]
    tied = sorted({column for each in targets if len(each.columns) > 1 for column in each.columns})
    if len(tied) < len(sizes):
        return _with_independent(shares, targets, tied, rows)
    return _mixture(shares, targets, rows)


def _mixture(shares: Sequence[Floats], targets: Sequence[Target], rows: float) -> Mixture:
    model = Mixture.independent(shares, generator(0))
    most = most_bins(model.sizes)
    steps = STEPS if max(model.sizes) <= most else MERGED_STEPS
    fit_by_bins(model, targets, shares, rows=rows, steps=steps, fitted=FITTED, most=most)
    return model


def most_bins(sizes: Sequence[int]) -> int:
    """The cells that a column is fitted by at most, so that those of all columns together are few."""
    most = FEWEST_BINS
    while most < max(sizes) and sum(min(2 * most, size) for size in sizes) <= MOST_FITTED:
        most *= 2
    return most


def _with_independent(
    shares: Sequence[Floats],
    targets: Sequence[Target],
    tied: Sequence[int],
    rows: float,
) -> Mixture:
    """A mixture of the columns that some table ties together; the others have their shares in each component."""
    sizes = [len(each) for each in shares]
    if not tied:
        return Mixture.of(sizes, np.concatenate(shares)[None, :].astype(np.float32))
    places = {column: place for place, column in enumerate(tied)}
    kept = [
        replace(each, columns=tuple(places[column] for column in each.columns))
        for each in targets
        if set(each.columns) <= set(tied)
    ]
    inner = _mixture([shares[column] for column in tied], kept, rows)
    ends = np.cumsum(inner.sizes)
    blocks = []
    for column, own in enumerate(shares):
        if column in places:
            stop = int(ends[places[column]])
            blocks.append(inner.theta[:, stop - sizes[column] : stop])
        else:
            blocks.append(np.tile(own.astype(np.float32), (len(inner.theta), 1)))
    return Mixture.of(sizes, np.concatenate(blocks, axis=1))


def _teaches(target: Target, shares: Sequence[Floats]) -> bool:
    """Whether a wide table of two columns says more than noise would.

    Its squared distance from independent columns is compared with what noise gives, plus three
    deviations of that. Fitting thousands of cells of noise takes long and adds nothing.
    """
    if len(target.columns) < 2 or target.table.size <= WIDE:
        return True
    one, other = (shares[column] for column in target.columns)
    expected = np.outer(one, other)
    for axis, matrix in enumerate(target.bins):
        if matrix is not None:
            expected = matrix @ expected if axis == 0 else expected @ matrix.T
    missing = target.table - centred(np.asarray(expected, dtype=np.float64))
    noise = target.freedom + 3 * math.sqrt(5 * target.freedom)
    return float(np.sum(missing**2)) / target.std**2 > noise


def _targets_of_tables(
    schema: Schema, tables: Sequence[MeasuredTable], places: dict[str, int], rows: float
) -> list[Target]:
    found: dict[tuple[str, ...], list[tuple[Floats, float]]] = {}
    for columns, counts, law in tables:
        for own in subsets(columns):
            if not 1 <= len(own) <= 2 or any(schema.column(name).cells < 2 for name in own):
                continue
            axes = tuple(place for place, name in enumerate(columns) if name not in own)
            table = counts.sum(axis=axes).astype(np.float64)
            std = math.sqrt(law.variance * counts.size / table.size)
            found.setdefault(own, []).append((centred(table), max(std, LEAST_STD)))
    return [_combined_target(own, each, places, rows) for own, each in found.items()]


def _combined_target(
    own: tuple[str, ...],
    estimates: Sequence[tuple[Floats, float]],
    places: dict[str, int],
    rows: float,
) -> Target:
    weights = [1 / std**2 for _, std in estimates]
    table = sum(w * each for w, (each, _) in zip(weights, estimates, strict=True)) / sum(weights)
    return Target(
        columns=tuple(places[name] for name in own),
        bins=(None,) * len(own),
        table=(np.asarray(table) / rows).astype(np.float32),
        std=_part(1 / math.sqrt(sum(weights)), rows),
    )
