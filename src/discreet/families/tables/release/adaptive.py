"""Marginals by a model: for budgets and tables where noise on every cell would drown them.

The one-way tables are measured first. Then, twice, a noisy count of the rows that the model gets
wrong in each pair, at several coarsenesses, says which residuals are worth measuring (with Laplace noise: which tables); a mixture of
products is fitted to all of them. What is left of the budget measures how many rows the final model
gets wrong in each table of the class. Declared weights of tables decide, as public facts do, what a
share of the budget is spent on: columns and pairs count as often as the tables that hold them weigh.

Guarantee:   the share: rho-zCDP (discrete Gaussian) or epsilon-DP (discrete Laplace) noise.
Adjacency:   the schema's.
Sensitivity: that of `Residual`, `BinnedTable` and `ModelDistance`, for each measurement.
Theorem:     the mechanisms', and adaptive composition: each step sees noisy numbers only.
Error:       where residuals of a table were measured at its own cells, exact as for residuals;
             elsewhere the measured distance, with its noise, bounds every answer: loosely, validly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.mechanisms import (
    AdditiveMechanism,
    DiscreteGaussian,
    DiscreteLaplace,
    RoundedGaussian,
)
from discreet.core.vault import Request
from discreet.families.shared.estimate.public_random import generator
from discreet.families.shared.release.protocol import ClassError, PreparedClass, Verbs, of_type
from discreet.families.shared.release.splitting import shares, weights_for_least_squares
from discreet.families.tables.answer.models.model_table import CEILING_RISK
from discreet.families.tables.answer.models.usual_errors import (
    distance_below,
    factor_at,
    mean_distance,
    shares_of_falling_counts,
)
from discreet.families.tables.estimate.compressed_fit import fit_by_bins
from discreet.families.tables.estimate.fitting import likely_rows, target_of
from discreet.families.tables.estimate.mixture import (
    Mixture,
    Target,
    even_bins,
    model_counts,
    smooth_shares,
)
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.residuals import BinnedTable, Bins, ModelDistance, Residual
from discreet.families.tables.release.claims import (
    claims_of_agreeing_models,
    model_claim,
    read_from_whole_counts,
)
from discreet.families.tables.release.direct import DirectMarginals, PreparedMarginals
from discreet.families.tables.release.pair_choice import (
    CAUTION,
    Candidate,
    choose,
    looking_share,
    one_way_share,
)
from discreet.families.tables.release.predicted_variation import (
    LAPLACE_OVERHEAD,
    OVERHEAD,
    model_variation,
    predicted_variation,
)
from discreet.families.tables.release.residual import (
    MEAN_ABSOLUTE_NORMAL,
    PreparedResiduals,
    ResidualMarginals,
    refused_sets,
    tables_of_noise,
)
from discreet.families.tables.release.residual_planning import needed_residuals, residual_shares
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.exact import at_part_of_risk
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

AUDIT = Fraction(3, 100)
"""The share of the budget for the model's own error."""
ROUNDS = 2
HALVINGS = 30
LEAST_VARIANCE = 1e-12
"""Stands for a variance of 0 where one divides by it."""
SMOOTHED = 0.5
"""The part of the noise in the table of a column that smoothing leaves, about."""
STEPS = (40, 140)
FITTED = 0.9
FORESEEN = (
    "A model is fitted to what stands out. The error and the half-width are those of an average cell, foreseen for "
    "counts that follow Zipf's law: typically within a factor of 2. The release measures its own error."
)
UNKNOWN = (
    "A model is fitted to what stands out; the expected error is that of noise on everything, the alternative "
    "that it is preferred to. The release measures its own error."
)
LEVELS = (4, 8, 16, 32)
"""Bins of a column; beside its own cells."""
MOST_PAIR_CELLS = 1 << 20
FINEST = 1 << 14
MOST_FITTED = 256
"""Cells of a column that the fit tells apart, about: of more, those that hardly differ are merged."""


@dataclass(frozen=True, slots=True)
class AdaptiveMarginals:
    """One-way tables, the pairs that stand out, and a model for the rest."""

    even: bool = False
    """Whether columns may leave rows out; these rows then count evenly in all cells."""
    kind: ClassVar[str] = "model"

    @property
    def name(self) -> str:
        return "adaptive-even" if self.even else "adaptive"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        sets = of_type(query_class, Marginals).sets(schema)
        refused = refused_sets(sets, schema, even=self.even)
        if refused is not None:
            return refused
        wide = [columns for columns in sets if len(_varied(columns, schema)) > 1]
        if not wide:
            return "a model of pairs needs tables of two columns or more."
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedAdaptive:
        if accounting is Accounting.BASIC:
            share = Budget(epsilon=share.epsilon)
        closed = ResidualMarginals(even=self.even).prepare(
            query_class, schema, share=share, accounting=accounting
        )
        on_everything: PreparedResiduals | PreparedMarginals = closed
        direct = DirectMarginals()
        if accounting is Accounting.BASIC and direct.refusal(query_class, schema) is None:
            on_cells = direct.prepare(query_class, schema, share=share, accounting=accounting)
            on_everything = on_cells if on_cells.expected() < closed.expected() else closed
        return PreparedAdaptive.of(
            self,
            query_class,
            schema,
            share,
            accounting=accounting,
            closed=closed,
            on_everything=on_everything,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedAdaptive(PreparedClass):
    """A class to be released adaptively: everything is measured in `finish`."""

    accounting: Accounting
    closed: PreparedResiduals
    """The same tables by noise on all residuals: they are put together in the same way."""
    on_everything: PreparedResiduals | PreparedMarginals
    """What noise on everything would do: the error that the model is there to beat."""

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        return self.closed.sets

    def drowning(self) -> float | None:
        """The total variation that noise on everything would have, if the schema tells of how many people."""
        if self.schema.people is None:
            return None
        cells = sum(prod(self.schema.column(n).cells for n in each) for each in self.sets)
        return self.on_everything.expected() * cells / len(self.sets) / 2 / self.schema.people

    def costs(self) -> tuple[Cost, ...]:
        if self.accounting is Accounting.BASIC:
            return (Cost.pure(self.share.epsilon),)
        if self.accounting is Accounting.GAUSSIAN:
            return (Cost.of_mu(self.share.mu_squared),)
        return (Cost.concentrated(self.share.rho),)

    def noise(self) -> list[dict[str, Any]]:
        return []

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        plain = self.on_everything.error(rows=rows, confidence=confidence)
        people = rows or self.schema.people
        shapes = [tuple(self.schema.column(name).cells for name in each) for each in self.sets]
        factor = factor_at(at_part_of_risk(confidence, 1 - CEILING_RISK))
        if people is None or factor is None:
            return replace(plain, half_width=None, simultaneous=None, note=UNKNOWN)
        lost, audit, cells = self._lost(people), self._audit_std(), sum(self._sizes)
        mean = mean_distance(lost, len(lost) * audit**2)
        usual = sum(
            distance_below(each, audit, mean, confidence) * shares_of_falling_counts(shape, people)
            for each, shape in zip(lost, shapes, strict=True)
        )
        return replace(
            plain,
            expected=sum(lost) / cells,
            half_width=float(max(math.ceil(factor * usual / cells), 1)),
            simultaneous=None,
            note=FORESEEN,
            is_foreseen=True,
        )

    def _lost(self, people: int) -> list[float]:
        """The rows that the model will get wrong in each table."""
        return [2 * people * each for each in self._variations(people)]

    def _variations(self, people: int) -> list[float]:
        """The total variation that is foreseen for each table."""
        noise, columns = self.on_everything.expected(), self._of_columns(people)
        overhead = LAPLACE_OVERHEAD if self.accounting is Accounting.BASIC else OVERHEAD
        return [
            model_variation(size, noise, people, sum(columns[name] for name in each), overhead)
            for each, size in zip(self.sets, self._sizes, strict=True)
        ]

    def _of_columns(self, people: int) -> dict[str, float]:
        """The total variation that noise leaves in the smoothed table of each column."""
        asked = {name for each in self.sets for name in each}
        sets = [(name,) for name in self.schema.names if name in asked]
        share = self.share.times(one_way_share(self.drowning()))
        tables = tables_of_noise(self.one_way_requests(sets, share), self.schema)
        found = {}
        for (name,) in sets:
            error = MEAN_ABSOLUTE_NORMAL * math.sqrt(tables.cell_variance((name,)))
            cells = self.schema.column(name).cells
            found[name] = SMOOTHED * predicted_variation(cells, error, people)
        return found

    def one_way_requests(
        self,
        sets: Sequence[tuple[str, ...]],
        share: Budget,
        weights: Sequence[Fraction] | None = None,
    ) -> list[Request]:
        """The tables of single columns, by their residuals."""
        residuals = [self.residual(each.columns) for each in needed_residuals(sets, self.schema)]
        accounting = self.accounting
        parts = residual_shares(
            sets, residuals, self.schema, share=share, accounting=accounting, weights=weights
        )
        return [
            Request(query, self.mechanism(part))
            for query, part in zip(residuals, parts, strict=True)
        ]

    def residual(
        self, columns: tuple[str, ...], bins: tuple[Bins | None, ...] | None = None
    ) -> Residual | BinnedTable:
        """What is measured to know a residual: Laplace noise costs less on cells, Gaussian noise on the residual."""
        if self.accounting is Accounting.BASIC and columns:
            return BinnedTable(columns, bins)
        return Residual(columns, bins)

    def comparable(self, rows: int) -> float:
        """The noise, in rows on every cell, that would be as bad as the model: total variation, averaged over tables."""
        people = self.schema.people
        noise = self.on_everything.expected()
        if people is None:
            return noise
        sizes = Counter(self._sizes)
        wanted = sum(self._variations(people))
        least, most = 0.0, 2 * noise  # a model is at most `OVERHEAD` times as bad as this noise
        for _ in range(HALVINGS):
            middle = (least + most) / 2
            if sum(n * predicted_variation(k, middle, people) for k, n in sizes.items()) < wanted:
                least = middle
            else:
                most = middle
        return most

    @property
    def _sizes(self) -> list[int]:
        return [prod(self.schema.column(name).cells for name in each) for each in self.sets]

    def _audit_std(self) -> float:
        """The noise of the model's distance from one table, if all have one."""
        share = shares(self.share.times(AUDIT), [1] * len(self.sets))[0]
        query = ModelDistance((), "")
        return self.mechanism(share).law(query.sensitivity(self.schema), size=1).std

    def mechanism(self, share: Budget) -> AdditiveMechanism:
        if self.accounting is Accounting.BASIC:
            return DiscreteLaplace(epsilon=share.epsilon)
        if self.accounting is Accounting.GAUSSIAN:
            return RoundedGaussian(mu_squared=share.mu_squared)
        return DiscreteGaussian(rho=share.rho)

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        return _Fitting(self, grant, public_rows).release(confidence)


class _Fitting:
    """One adaptive release on its way. Everything here sees noisy numbers only."""

    def __init__(self, prepared: PreparedAdaptive, grant: Verbs, public_rows: int | None) -> None:
        self.schema, self.grant, self.prepared = prepared.schema, grant, prepared
        self.names = [
            column.name
            for column in self.schema.columns
            if any(column.name in columns for columns in prepared.sets)
        ]
        self.place = {name: place for place, name in enumerate(self.names)}
        self.sizes = [self.schema.column(name).cells for name in self.names]
        self.weights = prepared.query_class.weights(self.schema)
        self.pairs = self._pairs()
        self.pair_weights = self._mattering(self.pairs)
        self.measured: list[Measurement] = []
        self.targets: list[Target] = []
        self.public_rows = public_rows
        one_way = one_way_share(prepared.drowning())
        looking = looking_share(prepared.drowning())
        pairs = 1 - one_way - looking - AUDIT
        parts = shares(
            prepared.share,
            [one_way, AUDIT, *[looking / ROUNDS] * ROUNDS, *[pairs / ROUNDS] * ROUNDS],
        )
        self.one_way, self.audit = parts[:2]
        self.looking, self.measuring = parts[2 : 2 + ROUNDS], parts[2 + ROUNDS :]

    def _pairs(self) -> list[tuple[str, str]]:
        found = {
            pair
            for columns in self.prepared.sets
            for pair in combinations(_varied(columns, self.schema), 2)
        }
        cells = {pair: prod(self.schema.column(name).cells for name in pair) for pair in found}
        ordered = sorted(found, key=lambda pair: [self.place[name] for name in pair])
        return [pair for pair in ordered if cells[pair] <= MOST_PAIR_CELLS]

    def _mattering(self, groups: Sequence[tuple[str, ...]]) -> list[Fraction]:
        """The weight of all tables that hold each group of columns, 1 on average."""
        held = [
            sum(
                (
                    weight
                    for columns, weight in zip(self.prepared.sets, self.weights, strict=True)
                    if set(group) <= set(columns)
                ),
                Fraction(0),
            )
            for group in groups
        ]
        return [each * len(held) / sum(held) for each in held]

    def release(self, confidence: float) -> tuple[Part, tuple[ErrorClaim, ...]]:
        self._measure_one_way()
        model = Mixture.independent(self.one, generator(0))
        for place in range(ROUNDS):
            tables = [self.rows * self._expected(model, pair, place) for pair in self.pairs]
            chosen = self._look(tables, self.looking[place], self.measuring[place])
            self._measure(chosen, self.measuring[place])
            steps = STEPS[place]
            fit_by_bins(
                model,
                self.targets,
                self.one,
                rows=self.rows,
                steps=steps,
                fitted=FITTED,
                most=MOST_FITTED,
            )
        return self._audited(model, confidence)

    # --- measuring ---------------------------------------------------------------------------

    def _measure_one_way(self) -> None:
        sets = [(name,) for name in self.names]
        requests = self.prepared.one_way_requests(sets, self.one_way, self._mattering(sets))
        found = self.grant.measure(requests)
        self.measured += found
        tables = ResidualTables(self.schema, found, rows=self.public_rows)
        std = math.sqrt(tables.cell_variance(()))
        self.rows = max(1.0, likely_rows(float(tables.table(())), std, self.schema.people))
        self.one = []
        for name in self.names:
            std = math.sqrt(tables.cell_variance((name,)))
            self.one.append(smooth_shares(tables.table((name,)), std, self.rows))
        for each in found:
            self._add_target(each)
        self.levels = [
            [even_bins(one, most) for most in (*LEVELS, max(self.sizes) + 1)] for one in self.one
        ]

    def _add_target(self, measured: Measurement) -> None:
        target = target_of(measured, self.schema, self.place, self.rows)
        if target is not None:
            self.targets.append(target)

    def _expected(self, model: Mixture, pair: tuple[str, str], place: int) -> Floats:
        one, other = (self.place[name] for name in pair)
        if place == 0:
            return np.outer(self.one[one], self.one[other])
        return model.marginal((one, other))

    def _bins(self, pair: tuple[str, str], level: int) -> tuple[Bins | None, ...] | None:
        bins = tuple(self.levels[self.place[name]][level] for name in pair)
        return None if bins == (None, None) else bins

    def _look(
        self, tables: list[Floats], looking: Budget, measuring: Budget
    ) -> list[tuple[Residual | BinnedTable, float]]:
        """Noisy errors of the model, and what to measure because of them."""
        queries: list[ModelDistance] = []
        coarse: list[tuple[int, int, Residual | BinnedTable, Floats]] = []
        for place, (pair, table) in enumerate(zip(self.pairs, tables, strict=True)):
            seen: set[tuple[Bins | None, ...] | None] = set()
            for level in range(len(LEVELS) + 1):
                query = self.prepared.residual(pair, self._bins(pair, level))
                if query.bins in seen or min(query.shape(self.schema)) < 2:
                    continue
                seen.add(query.bins)
                reduced = query.coarse(table)
                reference = np.rint(reduced).astype(np.int64)
                queries.append(ModelDistance.to(pair, reference, query.bins))
                coarse.append((place, level, query, reduced))
        parts = shares(looking, [1] * len(queries))
        found = self.grant.measure(
            [
                Request(query, self.prepared.mechanism(part))
                for query, part in zip(queries, parts, strict=True)
            ]
        )
        self.measured += found
        known = self._known()
        candidates = [
            Candidate(
                pair=place,
                level=at,
                error=float(each.values[0]) - CAUTION * each.law.std,
                cells=np.sort(np.maximum(reduced.ravel(), 0.0)),
                shrink=math.sqrt(prod(1 - 1 / size for size in reduced.shape)),
                price=self._price(query),
                power=1 if self.prepared.accounting is Accounting.BASIC else 2,
                weight=float(self.pair_weights[place]),
                known=known.get(query, 0.0),
            )
            for at, ((place, _, query, reduced), each) in enumerate(zip(coarse, found, strict=True))
        ]
        budget = float(
            measuring.epsilon if self.prepared.accounting is Accounting.BASIC else measuring.rho
        )
        return [(coarse[each.level][2], each.cost) for each in choose(candidates, budget)]

    def _price(self, query: Residual | BinnedTable) -> float:
        """The budget that noise of one row on each cell costs."""
        moved, scale = query.sensitivity(self.schema), self._scale(query)
        if self.prepared.accounting is Accounting.BASIC:
            return math.sqrt(2) * moved.l1 / scale
        return moved.l2_squared / (2 * scale**2)

    def _scale(self, query: Residual | BinnedTable) -> float:
        """What a row in a cell counts for in the numbers that are measured."""
        return prod(query.shape(self.schema)) / query.times(self.schema)

    def _known(self) -> dict[Residual | BinnedTable, float]:
        """1 / variance of the noise on each cell, for the residuals that were measured before."""
        found: dict[Residual | BinnedTable, float] = {}
        for each in self.measured:
            if isinstance(each.query, Residual | BinnedTable):
                precision = self._scale(each.query) ** 2 / max(each.law.variance, LEAST_VARIANCE)
                found[each.query] = found.get(each.query, 0.0) + precision
        return found

    def _measure(self, chosen: list[tuple[Residual | BinnedTable, float]], share: Budget) -> None:
        largest = max(cost for _, cost in chosen)
        finite = math.isfinite(largest)
        weights = [max(1, round(FINEST * cost / largest)) if finite else 1 for _, cost in chosen]
        parts = shares(share, weights)
        found = self.grant.measure(
            [
                Request(query, self.prepared.mechanism(part))
                for (query, _), part in zip(chosen, parts, strict=True)
            ]
        )
        self.measured += found
        for each in found:
            self._add_target(each)

    # --- the model's own error ---------------------------------------------------------------

    def _audited(self, model: Mixture, confidence: float) -> tuple[Part, tuple[ErrorClaim, ...]]:
        known = ResidualTables(self.schema, self.measured, rows=self.public_rows)
        wide = [
            (columns, weight)
            for columns, weight in zip(self.prepared.sets, self.weights, strict=True)
            if len(columns) > 1
        ]
        # What measurements determine is not answered by the model, so its error there is of no use.
        audited = [each for each in wide if not known.determines(each[0])] or wide
        sets = [columns for columns, _ in audited]
        matters = weights_for_least_squares(
            [1] * len(sets), [float(weight) for _, weight in audited], self.prepared.accounting
        )
        parts = shares(self.audit, matters)
        theta = model.theta.astype(np.float32)
        published = Mixture.of(self.sizes, theta)
        queries = [
            ModelDistance.to(columns, model_counts(published, self._places(columns), self.rows))
            for columns in sets
        ]
        self.measured += self.grant.measure(
            [
                Request(query, self.prepared.mechanism(part))
                for query, part in zip(queries, parts, strict=True)
            ]
        )
        part = self.prepared.part(
            self.measured,
            estimates={"theta": theta},
            facts={
                "columns": self.names,
                "rows": self.rows,
                "audits": len(sets),
                **self.prepared.closed.without_a_cell(),
            },
        )
        claims = (model_claim(part, self.schema, self.public_rows, confidence),)
        if self.prepared.closed.is_read_whole:
            return read_from_whole_counts(part, claims, self.schema, self.public_rows)
        facts = {**part.facts, **self.prepared.closed.answer_facts()}
        part = replace(part, facts=facts)
        return part, claims_of_agreeing_models(part, claims, self.schema, self.public_rows)

    def _places(self, columns: tuple[str, ...]) -> list[int]:
        return [self.place[name] for name in columns]


def _varied(columns: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """Without the columns of a single cell, which are known."""
    return tuple(name for name in columns if schema.column(name).cells > 1)
