"""An adaptive release on its way: what it measures, one step after another, and the model that it fits.

Everything here sees noisy numbers only. What is charged and promised is said in `adaptive`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import GLANCE, ErrorClaim, Part
from discreet.core.vault import Request
from discreet.families.shared.estimate.combination import likely_rows
from discreet.families.shared.estimate.public_random import generator
from discreet.families.shared.release.protocol import Verbs
from discreet.families.shared.release.splitting import shares, weights_for_least_squares
from discreet.families.tables.answer.evidence import model_tables
from discreet.families.tables.estimate.compressed_fit import fit_by_bins
from discreet.families.tables.estimate.fitting import target_of
from discreet.families.tables.estimate.mixture import (
    Mixture,
    Target,
    even_bins,
    model_counts,
    smooth_shares,
)
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.queries.residuals import BinnedTable, Bins, ModelDistance, Residual
from discreet.families.tables.release.claims import (
    claims_of_agreeing_models,
    model_claim,
    read_from_whole_counts,
)
from discreet.families.tables.release.everything import (
    GLANCED,
    Look,
    mended_by,
    noise_is_less,
)
from discreet.families.tables.release.mending import mended
from discreet.families.tables.release.pair_choice import (
    CAUTION,
    MOST_PAIR_CELLS,
    Candidate,
    Choice,
    beyond_chance,
    choose,
    looking_share,
    one_way_share,
    part_mended,
)
from discreet.families.tables.release.residual import tables_of_noise
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.schema import Schema
from discreet.schema.completed import completed_names

if TYPE_CHECKING:
    from discreet.families.tables.release.adaptive import PreparedAdaptive

ROUNDS = 2
LEAST_VARIANCE = 1e-12
"""Stands for a variance of 0 where one divides by it."""
STEPS = (40, 140)
FITTED = 0.9
LEVELS = (4, 8, 16, 32)
"""Bins of a column; beside its own cells."""
FINEST = 1 << 14
LEAD_OF_COLUMNS = 3
"""Single columns are measured again instead of pairs if that is foreseen to mend so many times as many rows: what pairs say of
dependences serves larger tables, and what is learnt from rows, too."""
MOST_FITTED = 256
"""Cells of a column that the fit tells apart, about: of more, those that hardly differ are merged."""


def varied(columns: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """Without the columns of a single cell, which are known."""
    return tuple(name for name in columns if schema.column(name).cells > 1)


class AdaptiveFitting:
    """One release: single columns, pairs in rounds, the model's own error."""

    def __init__(self, prepared: PreparedAdaptive, grant: Verbs, public_rows: int | None) -> None:
        self.schema, self.grant, self.prepared = prepared.complete, grant, prepared
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
        self.columns_asked: list[Request] = []
        """What has been measured of single columns."""
        self.targets: list[Target] = []
        self.public_rows = public_rows
        one_way = one_way_share(prepared.drowning())
        looking = looking_share(prepared.drowning())
        self.everything = prepared.everything()
        first, glance = one_way, Fraction(0)
        if self.everything is not None:
            first, glance = self.everything.single, self.everything.glance
            one_way = max(one_way, first)
        self.is_more_left = one_way > first
        pairs = 1 - one_way - glance - looking - prepared.audit
        parts = shares(
            prepared.share,
            [
                first,
                glance,
                one_way - first,
                prepared.audit,
                *[looking / ROUNDS] * ROUNDS,
                *[pairs / ROUNDS] * ROUNDS,
            ],
        )
        self.one_way, self.glance, self.more, self.audit = parts[:4]
        self.looking, self.measuring = parts[4 : 4 + ROUNDS], parts[4 + ROUNDS :]
        self.rest = prepared.share.minus(self.one_way).minus(self.glance)

    def _pairs(self) -> list[tuple[str, str]]:
        found = {
            pair
            for columns in self.prepared.sets
            for pair in combinations(varied(columns, self.schema), 2)
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
        whole = sum(held)
        return [each * len(held) / whole for each in held]

    def release(self, confidence: float) -> tuple[Part, tuple[ErrorClaim, ...]]:
        if self.everything is None:
            first = self._one_way_requests(self.one_way)
        else:
            first = self.everything.one_way_requests(self.one_way)
        self._measure_one_way(first)
        if self.everything is not None:
            more = self._one_way_requests(self.more) if self.is_more_left else []
            asked = self.everything.pair_requests(self.rest)
            if self._is_all_worth_it(more, asked):
                self.measured += self.grant.measure(asked)
                part, claims = self.everything.released_as([*first, *asked]).finish(
                    self.grant, self.measured, public_rows=self.public_rows, confidence=confidence
                )
                claims = tuple(
                    replace(each, theorem=f"{each.theorem}; {GLANCED}") for each in claims
                )
                return replace(part, facts={**part.facts, GLANCE: GLANCED}), claims
            if more:
                self._measure_one_way(more)
        self.levels = [
            [even_bins(one, most) for most in (*LEVELS, max(self.sizes) + 1)] for one in self.one
        ]
        model = Mixture.independent(self.one, generator(0))
        for place in range(ROUNDS):
            tables = [self.rows * self._expected(model, pair, place) for pair in self.pairs]
            looks = self._look(tables, range(len(LEVELS) + 1), self.looking[place])
            chosen = self._chosen(looks, self.measuring[place])
            columns = self._one_way_requests(self.measuring[place])
            gain = sum(each.gain for _, each in chosen)
            if not chosen or self._gain_of_columns(looks, columns) > LEAD_OF_COLUMNS * gain:
                self._measure_one_way(columns)
                if place == 0:
                    model = Mixture.independent(self.one, generator(0))
            else:
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

    def _one_way_requests(self, share: Budget) -> list[Request]:
        sets = [(name,) for name in self.names]
        return self.prepared.one_way_requests(sets, share, self._mattering(sets))

    def _measure_one_way(self, requests: Sequence[Request]) -> None:
        self.columns_asked += requests
        self.measured += self.grant.measure(requests)
        tables = ResidualTables(self.schema, self.measured, rows=self.public_rows)
        std = math.sqrt(tables.cell_variance(()))
        self.rows = max(1.0, likely_rows(float(tables.table(())), std, self.schema.people))
        self.one = []
        for name in self.names:
            std = math.sqrt(tables.cell_variance((name,)))
            self.one.append(smooth_shares(tables.table((name,)), std, self.rows))
        self.targets = []
        for each in self.measured:
            self._add_target(each)

    def _add_target(self, measured: Measurement) -> None:
        target = target_of(measured, self.schema, self.place, self.rows)
        if target is not None:
            self.targets.append(target)

    def _is_all_worth_it(self, more: Sequence[Request], asked: Sequence[Request]) -> bool:
        """Whether the rest of the budget should measure all pairs: a glance at each, at its own cells, tells."""
        looks = self._look(
            [
                self.rows * np.outer(*(self.one[self.place[name]] for name in pair))
                for pair in self.pairs
            ],
            (),
            self.glance,
        )
        assert self.everything is not None
        return noise_is_less(
            looks,
            self.pair_weights,
            on_all=self.everything.known_after([*self.columns_asked, *asked]),
            mended=self._mended_by(more),
            worse=self.everything.worse,
        )

    def _mended_by(self, more: Sequence[Request]) -> dict[str, float]:
        """By how much the squared number of rows that noise leaves wrong in each column falls if more is measured."""
        counts = {name: self.rows * one for name, one in zip(self.names, self.one, strict=True)}
        before, after = (
            tables_of_noise([*self.columns_asked, *later], self.schema) for later in ((), more)
        )
        return mended_by(counts, before, after)

    def _gain_of_columns(self, looks: Sequence[Look], more: Sequence[Request]) -> float:
        """The rows that are no longer wrong in pairs if single columns are measured again instead of pairs."""
        mended, gain = self._mended_by(more), 0.0
        for each in {look.pair: look for look in looks}.values():  # the last one is at the cells
            wrong = max(each.wrong, 0.0)
            left = wrong**2 - sum(mended[name] for name in self.pairs[each.pair])
            gain += float(self.pair_weights[each.pair]) * (wrong - math.sqrt(max(left, 0.0)))
        return gain

    def _expected(self, model: Mixture, pair: tuple[str, str], place: int) -> Floats:
        one, other = (self.place[name] for name in pair)
        if place == 0:
            return np.outer(self.one[one], self.one[other])
        # The first fit is a short one. What was measured and not fitted yet is not worth measuring again; finer cells may be.
        measured = [target for target in self.targets if target.columns == (one, other)]
        return mended(model.marginal((one, other)), measured)

    def _bins(self, pair: tuple[str, str], level: int) -> tuple[Bins | None, ...] | None:
        bins = tuple(self.levels[self.place[name]][level] for name in pair)
        return None if bins == (None, None) else bins

    def _look(self, tables: list[Floats], levels: Sequence[int], looking: Budget) -> list[Look]:
        """Noisy errors of the model, pair by pair, at several coarsenesses; without any, at the columns' own cells."""
        queries: list[ModelDistance] = []
        coarse: list[tuple[int, Residual | BinnedTable, Floats]] = []
        for place, (pair, table) in enumerate(zip(self.pairs, tables, strict=True)):
            seen: set[tuple[Bins | None, ...] | None] = set()
            for bins in [self._bins(pair, level) for level in levels] or [None]:
                query = self.prepared.residual(pair, bins)
                if query.bins in seen or min(query.shape(self.schema)) < 2:
                    continue
                seen.add(query.bins)
                reduced = query.coarse(table)
                reference = np.rint(reduced).astype(np.int64)
                queries.append(ModelDistance.to(pair, reference, query.bins, query.completed))
                coarse.append((place, query, reduced))
        parts = shares(looking, [1] * len(queries))
        found = self.grant.measure(
            [
                Request(query, self.prepared.mechanism(part))
                for query, part in zip(queries, parts, strict=True)
            ]
        )
        self.measured += found
        return [
            Look(*each, float(noisy.values[0]), noisy.law.std)
            for each, noisy in zip(coarse, found, strict=True)
        ]

    def _chosen(
        self, looks: Sequence[Look], measuring: Budget
    ) -> list[tuple[Residual | BinnedTable, Choice]]:
        """What to measure because of the errors that were seen."""
        known, basic = self._known(), self.prepared.accounting is Accounting.BASIC
        cells = [
            np.sort(np.maximum(each.expected.ravel(), 0.0).astype(np.float32)) for each in looks
        ]
        errors = [each.wrong - CAUTION * each.std for each in looks]
        seen = list(map(beyond_chance, errors, cells))
        whole = {each.pair: own for each, own in zip(looks, seen, strict=True)}
        """What the last look at each pair sees. That look is at the columns' own cells."""
        candidates = [
            Candidate(
                pair=each.pair,
                level=place,
                error=errors[place]
                if each.query.bins is None or errors[place] <= 0
                else errors[place] * part_mended(seen[place], whole[each.pair], each.std),
                cells=cells[place],
                shrink=math.sqrt(prod(1 - 1 / size for size in each.expected.shape)),
                price=self._price(each.query),
                power=1 if basic else 2,
                weight=float(self.pair_weights[each.pair]),
                known=known.get(each.query, 0.0),
            )
            for place, each in enumerate(looks)
        ]
        budget = float(measuring.epsilon if basic else measuring.rho)
        return [(looks[each.level].query, each) for each in choose(candidates, budget)]

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

    def _measure(self, chosen: list[tuple[Residual | BinnedTable, Choice]], share: Budget) -> None:
        costs = [each.cost for _, each in chosen]
        largest = max(costs)
        finite = math.isfinite(largest)
        weights = [max(1, round(FINEST * cost / largest)) if finite else 1 for cost in costs]
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
            ModelDistance.to(
                columns,
                model_counts(published, self._places(columns), self.rows),
                completed=completed_names(self.schema, columns),
            )
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
        schema, rows = self.schema, self.public_rows
        found = model_tables(part, schema)
        claims = (model_claim(part, found, schema, rows, confidence),)
        if self.prepared.closed.is_read_whole:
            return read_from_whole_counts(part, found, claims, schema, rows)
        facts = {**part.facts, **self.prepared.closed.answer_facts()}
        part = replace(part, facts=facts)
        return part, claims_of_agreeing_models(part, found, claims, schema, rows)

    def _places(self, columns: tuple[str, ...]) -> list[int]:
        return [self.place[name] for name in columns]
