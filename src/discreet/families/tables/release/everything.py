"""All pairs or a model: what a glance at all pairs decides, early in an adaptive release.

Where columns depend on one another by more than noise hides, every pair is worth measuring, and looks, rounds and an audit
gain nothing. So single columns are measured first, with little of the budget. Then the rows that independent columns get wrong
are counted in each pair, with noise. If noise on everything is expected to leave fewer rows wrong than a model, the rest of the budget measures
all pairs. Otherwise single columns get the rest of their share, and a model is made.

With Gaussian noise all pairs are measured by their residuals, and single columns first with no more than `residuals` gives them: the
release is then one by residuals, less what the glance has cost (`AllResiduals`). With Laplace noise all cells are measured, and what
single columns were given before is lost too, for tables of pairs tell more of them (`AllCells`).

Only public facts and noisy numbers that were paid for decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from discreet.arrays import Floats
from discreet.core.vault import Request
from discreet.families.shared.estimate.public_random import generator
from discreet.families.shared.estimate.simplex import nearest_counts
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.splitting import shares
from discreet.families.tables.estimate.consistent import ConsistentTables, DirectTable
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.residuals import BinnedTable, Residual
from discreet.families.tables.release.direct import DirectMarginals, PreparedMarginals
from discreet.families.tables.release.pair_choice import beyond_chance, lost_to_noise
from discreet.families.tables.release.residual import PreparedResiduals, tables_of_noise
from discreet.privacy.budget import Budget
from discreet.privacy.laws import NoiseLaw
from discreet.queries.measurable import Marginal, Query
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

    from discreet.families.tables.release.adaptive import PreparedAdaptive

GLANCED = "what was measured was chosen by a noisy glance at all pairs, which is taken as given"
"""The numbers that are measured before the glance take part in the choice, so the laws of their noise are those of a fixed choice only nearly."""
LEAST = 1e-12
"""Stands for a variance of 0 where one divides by it."""
LEFT = 0.4
"""The part of the dependence of columns that a model leaves, about."""
MOST_LEFT = 4.0
"""A model leaves no more rows wrong in a pair than so many times what noise on everything leaves there."""
SHAPES = np.geomspace(1e-2, 1e4, 100)
DEPENDENCES = np.array([2 * math.exp(k * math.log(k) - k - math.lgamma(k + 1)) for k in SHAPES])
"""The mean distance from 1 of numbers that follow a gamma law of mean 1 and each of these shapes."""
LEAST_DEPENDENCE = float(DEPENDENCES[-1])


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


class Tables(Protocol):
    """What is known of all tables after some measurements."""

    def cell_variance(self, columns: tuple[str, ...]) -> float: ...


class Everything(Protocol):
    """All tables of up to two columns, measured in two steps."""

    @property
    def glance(self) -> Fraction:
        """The share of the budget for a look at all pairs, which tells whether to measure them."""
        ...

    @property
    def single(self) -> Fraction:
        """The share of what is measured before the glance: the number of rows, and single columns."""
        ...

    @property
    def worse(self) -> float:
        """How many times as wrong a model is as it would be if its budget had no other uses than pairs."""
        ...

    def one_way_requests(self, share: Budget) -> list[Request]: ...

    def pair_requests(self, share: Budget) -> list[Request]: ...

    def known_after(self, requests: Sequence[Request]) -> Tables:
        """The noise of every table once these were measured, first single columns and then pairs."""
        ...

    def released_as(self, requests: Sequence[Request]) -> MeasuredAtOnce:
        """The release that it has become."""
        ...


@dataclass(frozen=True, slots=True)
class AllResiduals:
    """All pairs by their residuals."""

    prepared: PreparedAdaptive
    glance: Fraction
    parts: tuple[tuple[Residual, Fraction], ...]
    """The share that `residuals` gives to each residual."""
    worse: ClassVar[float] = 1.0

    @property
    def single(self) -> Fraction:
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

    def known_after(self, requests: Sequence[Request]) -> ResidualTables:
        return tables_of_noise(requests, self.prepared.complete)

    def released_as(self, requests: Sequence[Request]) -> PreparedResiduals:
        closed, name = self.prepared.closed, self.prepared.algorithm
        return replace(closed, algorithm=name, requests=tuple(requests), kept={})


@dataclass(frozen=True, slots=True)
class AllCells:
    """All tables with noise on their cells, as `direct` measures them."""

    prepared: PreparedAdaptive
    glance: Fraction
    single: Fraction
    worse: ClassVar[float] = 1.7
    """With half of the budget there is twice as much Laplace noise."""

    def one_way_requests(self, share: Budget) -> list[Request]:
        names = {name for columns in self.prepared.sets for name in columns}
        ordered = [(name,) for name in self.prepared.schema.names if name in names]
        return self.prepared.one_way_requests(ordered, share)

    def pair_requests(self, share: Budget) -> list[Request]:
        """All tables: those of single columns too, if they are asked for."""
        prepared = self.prepared
        direct = DirectMarginals().prepare(
            prepared.query_class, prepared.schema, share=share, accounting=prepared.accounting
        )
        return list(direct.requests)

    def known_after(self, requests: Sequence[Request]) -> ConsistentTables:
        schema = self.prepared.schema
        tables = [
            DirectTable(own.columns, np.zeros(own.shape(schema), dtype=np.int64), law)
            for own, law in _with_laws(requests, schema)
            if isinstance(own, Marginal)
        ]
        return ConsistentTables(tables_of_noise(requests, schema), tables)

    def released_as(self, requests: Sequence[Request]) -> PreparedMarginals:
        direct, name = self.prepared.on_everything, self.prepared.algorithm
        assert isinstance(direct, PreparedMarginals)
        tables = [each for each in requests if isinstance(each.query, Marginal)]
        laws = tuple(law for _, law in _with_laws(tables, direct.schema))
        return replace(direct, algorithm=name, requests=tuple(tables), laws=laws, kept={})


def _with_laws(requests: Sequence[Request], schema: Schema) -> list[tuple[Query, NoiseLaw]]:
    return [
        (
            each.query,
            each.mechanism.law(each.query.sensitivity(schema), size=each.query.size(schema)),
        )
        for each in requests
    ]


def noise_is_less(
    looks: Sequence[Look],
    weights: Sequence[Fraction],
    *,
    on_all: Tables,
    mended: Mapping[str, float],
    worse: float,
) -> bool:
    """Whether rows that follow noisy tables of all pairs are expected to be less wrong than those of a model.

    What noise leaves is tried out on tables that differ from independent columns as much as was seen.

    What a model leaves: independent columns get some rows wrong, less those that are `mended` by more budget for them. In part that is
    chance, which no model foresees. The rest is dependence, of which a model leaves about `LEFT`, for it finds structure
    that single pairs do not show. Where few pairs have most of the dependence it measures these alone, with little noise.
    """
    public = generator(0)
    matter = np.array([float(weights[each.pair]) for each in looks])
    by_noise, by_model = np.zeros(len(looks)), np.zeros(len(looks))
    for place, (each, seen) in enumerate(zip(looks, _believed(looks, matter), strict=True)):
        columns = each.query.columns
        wrong = math.sqrt(max(seen**2 - sum(mended[name] for name in columns), 0.0))
        dependence = beyond_chance(wrong, each.expected)
        chance = math.sqrt(max(wrong**2 - dependence**2, 0.0))
        noise = _left_by_noise(each.expected, dependence, on_all.cell_variance(columns), public)
        by_noise[place] = noise
        by_model[place] = min(worse * math.hypot(chance, LEFT * dependence), MOST_LEFT * noise)
    return float(matter @ by_noise) < float(matter @ by_model)


def _believed(looks: Sequence[Look], matter: Floats) -> Floats:
    """The rows that are wrong in each pair. One that differs from the others by no more than the glance's own noise is taken for one of them."""
    seen, doubt = (np.array([each.wrong for each in looks]), np.array([e.std**2 for e in looks]))
    usual = np.average(seen, weights=matter)
    apart = max(float(np.average((seen - usual) ** 2 - doubt, weights=matter)), 0.0)
    return np.asarray(np.maximum(usual + (seen - usual) * apart / (apart + doubt + LEAST), 0.0))


def _left_by_noise(
    expected: Floats, dependence: float, variance: float, public: Generator
) -> float:
    """The rows that noise leaves wrong in a table that is as far from the expected counts as `dependence` and chance make it."""
    drawn = _drawn(expected, dependence, public)
    noisy = drawn + math.sqrt(variance) * public.standard_normal(drawn.shape)
    counts = nearest_counts(noisy, float(drawn.sum()))
    return max(float(np.abs(counts - drawn).sum()), 1.0)


def _drawn(expected: Floats, dependence: float, public: Generator) -> Floats:
    """A table that differs from the expected counts by so many rows, besides chance."""
    means = np.maximum(expected, 0.0)
    away = dependence / max(float(means.sum()), 1.0)
    if away > LEAST_DEPENDENCE:
        shape = float(np.interp(-away, -DEPENDENCES, SHAPES))
        means = means * public.gamma(shape, 1 / shape, means.shape)
    return public.poisson(means).astype(np.float64)


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
