"""All pairs or a model: what a glance at all pairs decides, early in an adaptive release.

Where columns depend on one another by more than noise hides, every pair is worth measuring, and looks, rounds and an audit
gain nothing. So single columns are measured first with no more than `residuals` gives them. Then the rows that independent columns get wrong
are counted in each pair, with noise. If noise on everything is foreseen to leave fewer rows wrong than a model, the rest of the budget measures the
residuals of all pairs: the release is then one by residuals, less what the glance has cost. Otherwise single columns get the rest of their
share, and a model is made.

Only public facts and noisy numbers that were paid for decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats
from discreet.core.vault import Request
from discreet.families.shared.estimate.public_random import generator
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.shared.release.splitting import shares
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.residuals import BinnedTable, Residual
from discreet.families.tables.release.pair_choice import lost_to_noise
from discreet.families.tables.release.residual import PreparedResiduals
from discreet.privacy.budget import Budget

if TYPE_CHECKING:
    from discreet.families.tables.release.adaptive import PreparedAdaptive

GLANCED = "what was measured was chosen by a noisy glance at all pairs, which is taken as given"
"""The numbers that are measured before the glance take part in the choice, so the laws of their noise are those of a fixed choice only nearly."""
LEAST = 1e-12
"""Stands for a variance of 0 where one divides by it."""


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What was seen of a pair at one coarseness."""

    pair: int
    query: Residual | BinnedTable
    expected: Floats
    """The model's counts."""
    wrong: float
    """The rows that they get wrong, with noise."""
    std: float


@dataclass(frozen=True, slots=True)
class Everything:
    """All residuals of tables of up to two columns, measured in two steps."""

    prepared: PreparedAdaptive
    glance: Fraction
    """The share of the budget for a look at all pairs, which tells whether to measure them."""
    parts: tuple[tuple[Residual, Fraction], ...]
    """The share that `residuals` gives to each residual."""

    @property
    def single(self) -> Fraction:
        """The share of the number of rows and of single columns."""
        return sum((part for query, part in self.parts if len(query.columns) < 2), Fraction(0))

    def one_way_requests(self, share: Budget) -> list[Request]:
        return self._requests(share, [each for each in self.parts if len(each[0].columns) < 2])

    def pair_requests(self, share: Budget) -> list[Request]:
        return self._requests(share, [each for each in self.parts if len(each[0].columns) == 2])

    def _requests(self, share: Budget, parts: Sequence[tuple[Residual, Fraction]]) -> list[Request]:
        split = shares(share, [part for _, part in parts])
        mechanism = self.prepared.mechanism
        return [
            Request(query, mechanism(own)) for (query, _), own in zip(parts, split, strict=True)
        ]

    def released_as(self, requests: Sequence[Request]) -> PreparedResiduals:
        """The release by residuals that it has become."""
        closed, name = self.prepared.closed, self.prepared.algorithm
        return replace(closed, algorithm=name, requests=tuple(requests), kept={})


def noise_is_less(
    looks: Sequence[Look],
    weights: Sequence[Fraction],
    *,
    on_all: ResidualTables,
    mended: Mapping[str, float],
    louder: float,
) -> bool:
    """Whether noise on all pairs is foreseen to leave fewer rows wrong than a model.

    What noise leaves is tried out on tables drawn from independent columns. A model leaves what independent columns get wrong, less what is
    `mended` by more budget for these, or noise that is `louder` by a factor, whichever is less.
    """
    public = generator(0)
    noise, wrong, blurred = (np.zeros(len(looks)) for _ in range(3))
    for place, each in enumerate(looks):
        columns = each.query.columns
        drawn = public.poisson(np.maximum(each.expected, 0.0)).astype(np.float64)
        std = math.sqrt(on_all.cell_variance(columns))
        noisy = drawn + std * public.standard_normal(drawn.shape)
        noise[place] = max(np.abs(nearest_counts(noisy, float(drawn.sum())) - drawn).sum(), 1.0)
        squared = max(each.wrong, 0.0) ** 2 - sum(mended[name] for name in columns)
        wrong[place], blurred[place] = math.sqrt(max(squared, 0.0)), each.std
    matter = noise * [float(weights[each.pair]) for each in looks]
    worse, doubt = wrong / noise, np.maximum((blurred / noise) ** 2, LEAST)
    usual = np.average(worse, weights=matter)
    apart = max(float(np.average((worse - usual) ** 2 - doubt, weights=matter)), 0.0)
    # A pair that differs from the others by no more than the glance's own noise is taken for one of them.
    worse = usual + (worse - usual) * apart / (apart + doubt)
    return float(matter.sum()) < float(matter @ np.minimum(worse, louder))


def mended_by(
    counts: Mapping[str, Floats], first: ResidualTables, later: ResidualTables
) -> dict[str, float]:
    """By how much the squared number of rows that noise leaves wrong in each column falls."""
    found = {}
    for name, own in counts.items():
        before, after = (
            float(lost_to_noise(np.sort(own), np.sqrt(each.cell_variance((name,)))))
            for each in (first, later)
        )
        found[name] = before**2 - after**2
    return found
