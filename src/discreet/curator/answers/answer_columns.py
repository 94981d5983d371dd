"""How each aggregate of a curator's question is answered from its noisy tallies, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.answer import Covers, Unit
from discreet.artifacts.answers import AddedNoise, AnswerColumn
from discreet.curator.answers.intervals import (
    Ends,
    QuantileBand,
    mean_std,
    ratio_interval,
    variance_interval,
)
from discreet.curator.needed import Needed, Ranked, center_of
from discreet.families.shared.estimate.combination import Terms, half_width, variance_of
from discreet.families.shared.estimate.rounding import plausible_counts, plausible_ends
from discreet.privacy.laws import NoiseLaw
from discreet.queries.tallies import Cells, Squares, Term, Total, summand_bounds
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.temporal import TemporalColumn

if TYPE_CHECKING:
    from discreet.curator.answers.answering import AnswerReader


def column_of(
    each: Needed,
    estimate: Floats,
    ends: Ends,
    std: Floats,
    *,
    covers: Covers = Covers.NOISE,
    unit: Unit = Unit.NUMBER,
    noise: AddedNoise | None = None,
) -> AnswerColumn:
    """The answer to an aggregate."""
    return AnswerColumn(each.aggregate.name, estimate, *ends, std, covers, unit, noise)


def count(reader: AnswerReader, each: Needed) -> AnswerColumn:
    """No count is below 0, so neither is an estimate or an end."""
    values, law = reader.of(each.terms[0])
    half = law.half_width(reader.confidence)
    estimate, lower, upper = plausible_counts(values, values - half, values + half)
    noise = AddedNoise(values, ((1.0, law, reader.draw(each.terms[0])),))
    std = np.full(len(values), law.std)
    return column_of(each, estimate, (lower, upper), std, unit=Unit.COUNT, noise=noise)


def total(reader: AnswerReader, each: Needed) -> AnswerColumn:
    """The noisy sum; or the centred one, and the centre once for each row that was added up."""
    total = each.terms[0]
    assert isinstance(total, Total)
    found, center = _summed(reader, total), float(center_of(total))
    if center:
        found = found + center * denominator(reader, each)[0]
    noise = noise_of_total(each, lambda term: reader.of(term)[1])
    half = half_width(noise, reader.confidence) + float(total.rounding)
    low, high = summand_bounds(total.of, reader.schema)
    least = 0.0 if low >= 0 else -np.inf
    most = 0.0 if high <= 0 else np.inf
    estimate, lower, upper = plausible_ends(
        found, found - half, found + half, least=least, most=most
    )
    terms = tuple(
        (weight, reader.of(term)[1], reader.draw(term)) for weight, term in weighted_of(each)
    )
    added = AddedNoise(found, terms, float(total.rounding))
    std = np.full(len(found), math.sqrt(variance_of(noise)))
    return column_of(each, estimate, (lower, upper), std, noise=added)


def weighted_of(each: Needed) -> list[tuple[float, Term | Ranked]]:
    """The tallies that a sum is made of, each with its factor: a centred one adds the centre for each row."""
    total, *rows = each.terms
    assert isinstance(total, Total)
    center = float(center_of(total))
    return [(1 / total.grid, total), *((center, one) for one in rows if center)]


def noise_of_total(each: Needed, law_of: Callable[[Term | Ranked], NoiseLaw]) -> Terms:
    """The noise in a sum."""
    return tuple((abs(weight), law_of(term), 1) for weight, term in weighted_of(each))


def _summed(reader: AnswerReader, total: Total) -> Floats:
    """The noisy sum in units of the values; one that was rounded down is half a step higher."""
    values: Floats = (reader.of(total)[0] + (0.5 if total.bits else 0.0)) / total.grid
    return values


def parted(confidence: Fraction, parts: int) -> Fraction:
    """The confidence of each of some intervals that hold together with the one given (union bound)."""
    return 1 - (1 - confidence) / parts


def denominator(reader: AnswerReader, each: Needed) -> tuple[Floats, NoiseLaw | None]:
    if each.divides_by_rows:
        return np.full(reader.rows, float(reader.measured.public_rows or 0)), None
    return reader.of(each.terms[-1])


def centred_mean(
    reader: AnswerReader, each: Needed, total: Total, confidence: Fraction
) -> tuple[Floats, Floats, Floats, Floats]:
    """The mean less the centre: estimate, interval, and standard deviation."""
    law = reader.of(total)[1]
    count, below = denominator(reader, each)
    low, high = (float(bound - center_of(total)) for bound in _bounds(reader, total))
    numerator = _summed(reader, total)
    lower, upper = ratio_interval(
        numerator,
        count,
        unit=1 / total.grid,
        above=law,
        below=below,
        low=low,
        high=high,
        confidence=confidence,
    )
    safe = np.maximum(count, 1.0)
    estimate = np.clip(numerator / safe, lower, upper)
    std = mean_std(law, 1 / total.grid, estimate, below) / safe
    return estimate, lower, upper, np.minimum(std, high - low)


def _bounds(reader: AnswerReader, total: Total) -> tuple[Fraction, Fraction]:
    return summand_bounds(total.of, reader.schema)


def mean(reader: AnswerReader, each: Needed) -> AnswerColumn:
    total = each.terms[0]
    assert isinstance(total, Total)
    estimate, lower, upper, std = centred_mean(reader, each, total, reader.confidence)
    low, high = map(float, _bounds(reader, total))
    center, step = float(center_of(total)), float(total.rounding)
    ends = np.clip(center + lower - step, low, high), np.clip(center + upper + step, low, high)
    return column_of(each, np.clip(center + estimate, low, high), ends, std)


def sample_factor(reader: AnswerReader, each: Needed, level: Fraction) -> tuple[Floats, Ends]:
    """n / (n - 1), by which a sample's variance is larger than that of its rows; at most 2.

    A single row has none, so n is at least 2 wherever there is an answer to be right about.
    """
    count, law = denominator(reader, each)
    reach = 0 if law is None else law.half_width(level)
    fewest, rows, most = (np.maximum(each, 2.0) for each in (count - reach, count, count + reach))
    return rows / (rows - 1), (most / (most - 1), fewest / (fewest - 1))


def variance(
    reader: AnswerReader,
    each: Needed,
    squares: Squares,
    total: Total,
    mean: tuple[Floats, Ends],
    level: Fraction,
) -> tuple[Floats, Ends, Floats]:
    """The variance of the values in `total`, from their squares and their mean: estimate, interval, and standard deviation."""
    low, high = (float(bound - center_of(total)) for bound in _bounds(reader, total))
    unit = float(Fraction(1 << squares.shift, squares.grid**2))
    values, law = reader.of(squares)
    count, below = denominator(reader, each)
    square_low, square_high = ratio_interval(
        values * unit,
        count,
        unit=unit,
        above=law,
        below=below,
        low=0.0,
        high=max(low * low, high * high),
        confidence=level,
    )
    slack = 2 * float(total.rounding) * (high - low)
    square = square_low - slack, square_high + slack + unit * (squares.shift > 0)
    ends = variance_interval(mean[1], square, widest=(high - low) ** 2 / 4)
    safe = np.maximum(count, 1.0)
    estimate = np.clip(values * unit / safe - mean[0] ** 2, *ends)
    std = mean_std(law, unit, estimate, below) / safe
    return estimate, ends, np.minimum(std, (high - low) ** 2)


def spread(reader: AnswerReader, each: Needed) -> AnswerColumn:
    total, squares = each.terms[0], each.terms[1]
    assert isinstance(total, Total) and isinstance(squares, Squares)
    samples = each.aggregate.kind in ("variance", "stddev")
    level = parted(reader.confidence, 2 + samples)
    mean, mean_low, mean_high, _ = centred_mean(reader, each, total, level)
    step = float(total.rounding)
    means = mean, (mean_low - step, mean_high + step)
    estimate, (lower, upper), std = variance(reader, each, squares, total, means, level)
    if samples:
        factor, (least, most) = sample_factor(reader, each, level)
        estimate, lower, upper = estimate * factor, lower * least, upper * most
    if each.aggregate.kind in ("stddev", "stddev_pop"):
        root = np.sqrt(estimate)
        low, high = (float(bound - center_of(total)) for bound in _bounds(reader, total))
        std = np.minimum(std / np.maximum(2 * root, 1e-300), high - low)
        estimate, lower, upper = root, np.sqrt(lower), np.sqrt(upper)
    return column_of(each, estimate, (lower, upper), std)


def distinct(reader: AnswerReader, each: Needed) -> AnswerColumn:
    """How many cells hold a row, from the noisy count of each.

    With probability `confidence` no count of a group is off by more than h: then a cell above h holds a
    row, and one below 1 - h is empty.
    """
    (cells,) = each.terms
    assert isinstance(cells, Cells)
    values, law = reader.of(cells)
    column = reader.schema.column(cells.column)
    held = column.value_cells + column.has_other  # nulls are not counted
    table = values.reshape(reader.rows, column.cells)[:, :held]
    reach = law.half_width(parted(reader.confidence, held))
    likely = law.half_width(parted(Fraction(9, 10), held))
    lower, upper = ((table >= least).sum(axis=1).astype(float) for least in (reach + 1, 1 - reach))
    estimate = np.clip((table > likely).sum(axis=1), lower, upper)
    return column_of(each, estimate, (lower, upper), (upper - lower) / 4, unit=Unit.COUNT)


def quantile(reader: AnswerReader, each: Needed) -> AnswerColumn:
    levels: Sequence[Cells] = [term for term in each.terms if isinstance(term, Cells)]
    finest = levels[-1]
    column = reader.schema.column(finest.column)
    assert isinstance(column, OrderedColumn) and each.aggregate.level is not None
    places = [reader.planned.place(term) for term in levels]
    law = reader.measured.laws[places[0]]
    shifts = [term.shift or 0 for term in levels]
    tables = [
        reader.measured.values[place].reshape(reader.rows, term.buckets(reader.schema))
        for place, term in zip(places, levels, strict=True)
    ]
    picks = [term for term in each.terms if isinstance(term, Ranked)]
    found = np.empty((4, reader.rows))
    for row in range(reader.rows):
        band = QuantileBand([table[row] for table in tables], shifts, law, each.aggregate.level)
        first, last, likeliest = band.interval(reader.confidence)
        shift = finest.shift or 0
        lower = _below(_extent(column, first, shift)[0])
        upper = -_below(-_extent(column, last, shift)[1])
        chosen = _extent(column, likeliest, shift)
        for pick in picks:  # a choice among finer buckets is closer; the band is its interval
            chosen = _extent(column, int(reader.picked(pick)[row]), pick.shift)
        middle = min(max(float(chosen[0] + (chosen[1] - chosen[0]) / 2), lower), upper)
        found[:, row] = middle, lower, upper, (upper - lower) / 4
    unit = Unit(column.kind) if isinstance(column, TemporalColumn) else Unit.NUMBER
    covers = Covers.NOISE_AND_CELLS
    return column_of(each, found[0], (found[1], found[2]), found[3], covers=covers, unit=unit)


def _extent(column: OrderedColumn, bucket: int, shift: int) -> tuple[int | float, int | float]:
    first = bucket << shift
    last = min((bucket + 1) << shift, column.value_cells) - 1
    return column.extent(first)[0], column.extent(last)[1]


def _below(end: int | float) -> float:
    """The end as a double, rounded down: microseconds of far years have more digits than it holds."""
    rounded = float(end)
    return rounded if rounded <= end else math.nextafter(rounded, -math.inf)
