"""The expected error of a table whose counts are not known, from public facts alone.

How many rows cells hold is not public, so their counts are taken to follow Zipf's law: of n rows the k-th largest
holds n / (H k), with H = 1 + 1/2 + ... + 1/cells. How much columns depend on one another is not public either: the
tables of an average pair are taken to differ by `DEPENDENCE` from those of independent columns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from discreet.arrays import Floats, Singles
from discreet.families.tables.queries.residuals import subsets
from discreet.privacy.laws import NoiseLaw
from discreet.schema import Schema

EULER = 0.5772
DEPENDENCE = 0.05
"""A total variation. Pairs of columns of most tables differ from independent ones by 0 to about 0.2, on average."""
OVERHEAD = 1.2
"""The error of the adaptive release over that of noise on everything, where it measures everything: some of its budget
looks for pairs, and measures the model's own error."""
DROWNED = 0.5
"""A total variation, averaged over the tables, from which noise leaves them more wrong than right."""
SHARPNESS = 3
"""How nearly the smaller of two errors is left, where the better of two ways is taken table by table."""
LEAST_VARIANCE = 1e-100
"""Stands for a variance of 0 where one divides by it."""
MEAN_ABSOLUTE_NORMAL = math.sqrt(2 / math.pi)
PLACES = 64
"""Cells for which the chance of drawing is computed; between them it is interpolated."""


def filled_cells(columns: Sequence[str], schema: Schema) -> int:
    """The cells of a table that are likely to hold rows: those for nulls and for other values hold what is left, mostly little or nothing.

    Noise in an empty cell does no lasting harm: what is below 0 is cut off, and the rest is taken back from the others.
    """
    return prod(max(1, schema.column(name).value_cells) for name in columns)


def predicted_variation(cells: int, error: float, people: int) -> float:
    """The total variation of a table whose cells are off by `error` rows, once negative counts are gone.

    A cell is off by no more than it holds, and rows that one cell loses another gains.
    """
    harmonic = _harmonic(cells)
    loud = min(float(cells), people / (harmonic * error)) if error > 0 else float(cells)
    if loud < 1:
        return 1.0
    quiet = people / harmonic * math.log(cells / loud)
    return min(1.0, (error * loud / 2 + quiet) / people)


def columns_variation(
    variances: Mapping[str, float], schema: Schema, people: int
) -> dict[str, float]:
    """The same for tables of single columns, by the variance of the noise in their cells."""
    return {
        name: predicted_variation(
            filled_cells((name,), schema), MEAN_ABSOLUTE_NORMAL * math.sqrt(variance), people
        )
        for name, variance in variances.items()
    }


def noise_variation(
    cells: Sequence[int], errors: Sequence[float], weights: Sequence[Fraction], people: int
) -> float:
    """The same, averaged over tables as these are weighted."""
    each = zip(weights, cells, errors, strict=True)
    found = sum(float(w) * predicted_variation(k, error, people) for w, k, error in each)
    return found / float(sum(weights))


@lru_cache(maxsize=4096)
def sampling_variation(cells: int, people: int) -> float:
    """By how much `people` rows drawn from known shares differ from these shares, on average.

    Nobody can foresee it from the columns alone.
    """
    if cells == 1:
        return 0.0
    ranks = np.geomspace(1.0, float(cells), PLACES)
    means = people / (_harmonic(cells) * ranks)
    off = drawing_error(means)
    summed = float(np.trapezoid(off * ranks, np.log(ranks)) + (off[0] + off[-1]) / 2)
    return min(1.0, summed / people / 2)


def drawing_error(means: Floats | Singles) -> Floats | Singles:
    """E|count - m| for counts of mean m that fall by chance: 2 m exp(-m) up to 1, and about the square root of 2 m / pi beyond."""
    return np.where(means <= 1, 2 * means * np.exp(-means), np.sqrt(2 * means / np.pi))


def model_variation(
    cells: int, error: float, people: int, columns: float = 0.0, overhead: float = OVERHEAD
) -> float:
    """The total variation of a model's table, of which those residuals are measured that are worth their noise.

    A model of the columns alone is off by their dependence, by the chance of drawing, and by the noise in the tables
    of its single columns, `columns`. Noise on everything is off by `error` in a cell. A little less than the smaller
    of the two is left, for pairs differ.
    """
    noise = overhead * predicted_variation(cells, error, people)
    alone = min(1.0, DEPENDENCE + sampling_variation(cells, people) + columns)
    least, most = sorted((noise, alone))
    return least / math.pow(1 + (least / most) ** SHARPNESS, 1 / SHARPNESS)


def _harmonic(cells: int) -> float:
    return math.log(cells) + EULER + 1 / (2 * cells) if cells > 1 else 1.0


@dataclass(frozen=True, slots=True)
class NoiseTogether:
    """The noise that is left once tables with noise on their cells are put together, as `ConsistentTables` does it.

    Each table says something about the residuals of its subsets, and these are combined by inverse variance.
    """

    sets: Sequence[tuple[str, ...]]
    laws: Sequence[NoiseLaw]
    cells: Mapping[str, int]
    known: Mapping[tuple[str, ...], float]
    """For each residual 1 / its variance, in units of what noise of variance 1 on a table of its own columns leaves."""

    @classmethod
    def of(
        cls,
        sets: Sequence[tuple[str, ...]],
        laws: Sequence[NoiseLaw],
        cells: Mapping[str, int],
        *,
        rows_are_public: bool,
    ) -> NoiseTogether:
        known: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for columns, law in zip(sets, laws, strict=True):
            for own in subsets(columns):
                known[own] += _told(own, columns, cells) / _variance(law)
        if rows_are_public:
            known[()] = math.inf
        return cls(sets, laws, cells, known)

    def variance(self, columns: tuple[str, ...]) -> float:
        """The variance of a cell of a table whose residuals were measured."""
        left = 0.0
        for own in subsets(columns):
            part = _told(own, columns, self.cells)
            left += part * part * self._centred(own) / self.known[own]
        return left

    def _centred(self, own: tuple[str, ...]) -> float:
        return prod(1 - 1 / self.cells[name] for name in own)

    def errors(self) -> list[float]:
        """The mean absolute error of a cell of each table.

        To first order the mean absolute value of a sum of draws differs from that of a normal one by its excess kurtosis.
        That is the law's, times the square of the part of its variance that is left: draws of other cells weigh little. Where hardly any draw
        is not 0 that says nothing, and the noise counts as it was drawn.
        """
        found = []
        for columns, law in zip(self.sets, self.laws, strict=True):
            left, variance = self.variance(columns), _variance(law)
            shape = mean_absolute(law) / math.sqrt(variance) - MEAN_ABSOLUTE_NORMAL
            tail = (left / variance) ** 2
            together = math.sqrt(left) * (MEAN_ABSOLUTE_NORMAL + shape * tail)
            found.append(min(together, mean_absolute(law)))
        return found


def _variance(law: NoiseLaw) -> float:
    return max(law.variance, LEAST_VARIANCE)


@lru_cache(maxsize=4096)
def mean_absolute(law: NoiseLaw) -> float:
    """Kept, for a plan asks many times."""
    return law.mean_absolute()


def _told(own: tuple[str, ...], columns: tuple[str, ...], cells: Mapping[str, int]) -> float:
    """What noise of variance 1 on a table leaves known of a smaller table: 1 / the cells that are summed."""
    return 1 / prod(cells[name] for name in columns if name not in own)
