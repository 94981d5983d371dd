"""Marginals by a model: for budgets and tables where noise on every cell would drown them.

The one-way tables are measured first. A glance at all pairs may then tell that all are worth measuring (`everything`). If not, twice, a noisy count of the rows that the model gets
wrong in each pair, at several coarsenesses, says which residuals are worth measuring (with Laplace noise: which tables), or that single columns are worth more; a mixture of
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
from math import prod
from typing import Any, ClassVar

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.mechanisms import (
    AdditiveMechanism,
    DiscreteGaussian,
    DiscreteLaplace,
    RoundedGaussian,
)
from discreet.core.vault import Request
from discreet.families.shared.estimate.risk import at_part_of_risk
from discreet.families.shared.release.protocol import ClassError, PreparedClass, Verbs, of_type
from discreet.families.shared.release.splitting import shares
from discreet.families.tables.answer.models.cell_errors import MEAN_ABSOLUTE
from discreet.families.tables.answer.models.model_table import CEILING_RISK
from discreet.families.tables.answer.models.usual_errors import MOST_MEASURED, usual_deviations
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.residuals import BinnedTable, Bins, ModelDistance, Residual
from discreet.families.tables.release.adaptive_fitting import (
    LEVELS,
    ROUNDS,
    AdaptiveFitting,
    varied,
)
from discreet.families.tables.release.claims import MODEL_RISK
from discreet.families.tables.release.direct import (
    DirectMarginals,
    PreparedMarginals,
    too_many_cells,
)
from discreet.families.tables.release.everything import AllCells, AllResiduals, Everything
from discreet.families.tables.release.pair_choice import (
    MOST_ONE_WAY,
    MOST_PAIR_CELLS,
    looking_share,
    one_way_share,
)
from discreet.families.tables.release.predicted_variation import (
    DROWNED,
    MEAN_ABSOLUTE_NORMAL,
    OVERHEAD,
    columns_variation,
    filled_cells,
    model_variation,
    noise_variation,
    predicted_variation,
)
from discreet.families.tables.release.residual import (
    PreparedResiduals,
    ResidualMarginals,
    refused_sets,
    schema_to_measure,
    tables_of_noise,
)
from discreet.families.tables.release.residual_planning import (
    needed_residuals,
    residual_shares,
    weighing_cells,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.schema import Schema
from discreet.schema.completed import completed_names

AUDIT, LAPLACE_AUDIT = Fraction(3, 100), Fraction(8, 100)
"""The share of the budget for the model's own error. Laplace noise falls with the share, Gaussian noise with its root alone:
without a delta, intervals gain more by it than answers lose."""
MOST_MODELLED = 150_000
"""Cells of all columns together. A model holds hundreds of shares of each: 3 GB."""
SHARP_ENOUGH = 5
"""Noise in the sum of all that a glance sees is so many times less than what it is compared with: what noise on everything gets wrong."""
FINEST = 1 << 14
MOST_GLANCED = 0.15
"""The most that a glance and what is measured before it may cost, with Laplace noise."""
HALVINGS = 30
SMOOTHED = 0.5
"""The part of the noise in the table of a column that smoothing leaves, about."""
FORESEEN = "A model is fitted to the selected pairs. The error and the half-width are forecasts for an average cell, typically within a factor of 2; they assume counts that follow Zipf's law. Most cells hold few rows, so large groups and tables of few cells have errors many times as large. The release measures its own error."
CLAIMED = (
    "For any one query it will claim a proved bound that is far wider, up to about ±{:,.0f}; "
    "each answer has an interval of its own."
)
UNKNOWN = "A model is fitted to the selected pairs. The expected error is that of noise on everything, to which the model is preferred. The release measures its own error."


@dataclass(frozen=True, slots=True)
class AdaptiveMarginals:
    """One-way tables, the pairs that stand out, and a model for the rest."""

    even: bool = False
    """Whether rows that a column leaves out count evenly in all of its cells."""
    kind: ClassVar[str] = "model"

    @property
    def name(self) -> str:
        return "adaptive-even" if self.even else "adaptive"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        sets = of_type(query_class, Marginals).sets(schema)
        refused = refused_sets(sets, schema, even=self.even)
        if refused is not None:
            return refused
        complete = schema_to_measure(sets, schema, even=self.even)
        wide = [columns for columns in sets if len(varied(columns, complete)) > 1]
        if not wide:
            return "a model of pairs needs tables of two columns or more."
        cells = {name: complete.column(name).cells for columns in sets for name in columns}
        if sum(cells.values()) > MOST_MODELLED:
            widest = max(cells, key=lambda name: cells[name])
            return (
                f"its columns have {sum(cells.values()):,} cells together, more than the {MOST_MODELLED:,} that a model "
                f"holds in memory; use wider cells (the column {widest} has {cells[widest]:,}), or 'direct'."
            )
        return too_many_cells(sets, schema)  # its error in each of them is measured, all at once

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
            on_everything = on_cells if on_cells.weighed() < closed.weighed() else closed
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
    """The error of noise on everything, to which the model is compared."""

    @property
    def alternative(self) -> str:
        return "direct"

    @property
    def apart(self) -> frozenset[str]:
        return self.closed.apart

    @property
    def spread(self) -> frozenset[str]:
        return self.closed.spread

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        return self.closed.sets

    @property
    def complete(self) -> Schema:
        """The schema, in which columns that leave rows out have one more cell."""
        return self.closed.complete

    def drowning(self) -> float | None:
        """The total variation that noise on everything would have, if the schema tells of how many people."""
        if self.schema.people is None:
            return None
        cells = sum(weighing_cells(size, self.schema) for size in self._sizes)
        return self.on_everything.weighed() * cells / len(self.sets) / 2 / self.schema.people

    def everything(self) -> Everything | None:
        """The measurement of all pairs, if the first selection decides for it; `None` without a first selection."""
        people, drowning = self.schema.people, self.drowning()
        if people is None or not drowning:
            return None
        shapes = [self.complete.sizes(each) for each in self.sets]
        if max(map(len, shapes)) > 2 or max(map(prod, shapes)) > MOST_PAIR_CELLS:
            return None
        on_everything = self._measured_whole
        if on_everything is None:
            return None
        errors, weights = on_everything.errors_of_tables(), self.query_class.weights(self.schema)
        if noise_variation(self._filled, errors, weights, people) >= DROWNED:
            return None
        if self.accounting is Accounting.BASIC:
            return self._all_cells(people, drowning)
        parts = tuple(
            (each.query, each.mechanism.cost().under(self.accounting).rho / self.share.rho)
            for each in self.closed.requests
            if isinstance(each.query, Residual)
        )
        found = AllResiduals(self, self._glance(people, drowning), parts)
        is_cheap = found.glance <= looking_share(drowning) / ROUNDS
        # A model must have a part of the budget for its pairs.
        return found if is_cheap and found.single <= MOST_ONE_WAY else None

    @property
    def _measured_whole(self) -> PreparedResiduals | PreparedMarginals | None:
        """Noise on everything that this release may turn into."""
        if self.accounting is not Accounting.BASIC:
            return self.closed
        is_direct = isinstance(self.on_everything, PreparedMarginals)
        return self.on_everything if is_direct and not self.apart | self.spread else None

    def _all_cells(self, people: int, drowning: float) -> AllCells | None:
        """With Laplace noise, which is dear: no more for the glance and before it than is worth it."""
        asked = {name for each in self.sets for name in each}
        pairs = sum(len(varied(each, self.complete)) == 2 for each in self.sets)
        epsilon, wrong = float(self.share.epsilon), 2 * people * drowning
        moved = ModelDistance((), "").sensitivity(self.schema).l1
        glance = math.sqrt(2 * pairs) * moved / (epsilon * wrong / SHARP_ENOUGH)
        lost = MEAN_ABSOLUTE_NORMAL * math.sqrt(2) * len(asked) * moved / epsilon
        lost *= sum(filled_cells((name,), self.schema) for name in asked) / len(asked)
        single = 2 * lost / wrong
        if glance + single > MOST_GLANCED:
            return None
        least = looking_share(drowning) / (ROUNDS * (len(LEVELS) + 1))
        shares = (max(each, float(least)) for each in (glance, single))
        return AllCells(self, *(Fraction(each).limit_denominator(FINEST) for each in shares))

    def _glance(self, people: int, drowning: float) -> Fraction:
        """The share of the budget for a glance at all pairs: what it needs, and no less than one coarseness of a look gets."""
        moved = ModelDistance((), "").sensitivity(self.schema).l2_squared
        # The deviation of the mean distance of a pair.
        wanted = 2 * people * drowning / SHARP_ENOUGH
        whole = 2 * float(self.share.rho) * wanted**2
        if (
            whole <= moved
        ):  # all of the budget would not do; noise next to nothing has a square of 0
            return Fraction(1)
        needed = Fraction(moved / whole)
        least = looking_share(drowning) / (ROUNDS * (len(LEVELS) + 1))
        return max(least, needed.limit_denominator(FINEST))

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
        level = at_part_of_risk(confidence, 1 - CEILING_RISK)
        if people is None or level > MOST_MEASURED:
            return replace(plain, half_width=None, simultaneous=None, note=UNKNOWN)
        lost, cells = self._lost(people), sum(self._sizes)
        reach = usual_deviations(float(1 - level)) / MEAN_ABSOLUTE  # in mean absolute errors
        return replace(
            plain,
            expected=sum(lost) / cells,
            half_width=float(max(math.ceil(reach * sum(lost) / cells), 1)),
            simultaneous=None,
            note=f"{FORESEEN} {CLAIMED.format(self._claimed(lost, people, confidence))}",
            is_foreseen=True,
        )

    def _claimed(self, lost: Sequence[float], people: int, confidence: float) -> float:
        """The release's claim, in two digits: from the farthest table, if it also has the most noise of all."""
        law, level = self._audit_law(), at_part_of_risk(confidence, MODEL_RISK)
        largest = 2 ** (-1 / len(lost))  # half of the time all numbers are below this quantile
        farthest = max(lost) + law.half_width(max(2 * largest - 1, 0.5))
        bound = min(float(people), (farthest + law.half_width(float(2 * level - 1))) / 2)
        return float(f"{bound:.1e}")

    def _lost(self, people: int) -> list[float]:
        """The rows that the model will get wrong in each table."""
        return [2 * people * each for each in self._variations(people)]

    def _variations(self, people: int, overhead: float | None = None) -> list[float]:
        """The total variation that is foreseen for each table."""
        noise, columns = self.on_everything.weighed(), self._of_columns(people)
        overhead = self._overhead if overhead is None else overhead
        return [
            model_variation(size, noise, people, sum(columns[name] for name in each), overhead)
            for each, size in zip(self.sets, self._filled, strict=True)
        ]

    @property
    def _overhead(self) -> float:
        """The error over that of noise on everything, where all pairs are measured. Laplace noise grows as their share falls."""
        if self.accounting is not Accounting.BASIC:
            return OVERHEAD
        drowning = self.drowning()
        return float(1 / (1 - one_way_share(drowning) - looking_share(drowning) - self.audit))

    def _of_columns(self, people: int) -> dict[str, float]:
        """The total variation that noise leaves in the smoothed table of each column."""
        found = columns_variation(self.variances_of_columns(), self.schema, people)
        return {name: SMOOTHED * each for name, each in found.items()}

    def variances_of_columns(self) -> dict[str, float]:
        """The variance of the noise in a cell of each single column."""
        asked = {name for each in self.sets for name in each}
        sets = [(name,) for name in self.schema.names if name in asked]
        share = self.share.times(one_way_share(self.drowning()))
        tables = tables_of_noise(self.one_way_requests(sets, share), self.complete)
        return {name: tables.cell_variance((name,)) for (name,) in sets}

    def one_way_requests(
        self,
        sets: Sequence[tuple[str, ...]],
        share: Budget,
        weights: Sequence[Fraction] | None = None,
    ) -> list[Request]:
        """The tables of single columns, by their residuals."""
        schema = self.complete
        residuals = [self.residual(each.columns) for each in needed_residuals(sets, schema)]
        accounting = self.accounting
        parts = residual_shares(
            sets, residuals, schema, share=share, accounting=accounting, weights=weights
        )
        return [
            Request(query, self.mechanism(part))
            for query, part in zip(residuals, parts, strict=True)
        ]

    def residual(
        self, columns: tuple[str, ...], bins: tuple[Bins | None, ...] | None = None
    ) -> Residual | BinnedTable:
        """What is measured to know a residual: Laplace noise costs less on cells, Gaussian noise on the residual."""
        more = completed_names(self.complete, columns)
        if self.accounting is Accounting.BASIC and columns:
            return BinnedTable(columns, bins, more)
        return Residual(columns, bins, more)

    def comparable(self, rows: int) -> float:
        """The noise, in rows on every cell, that would be as bad as the model: total variation, averaged over tables."""
        return self._as_noise(self._overhead)

    def beside_everything(self) -> float:
        """The same for a choice between it and noise on everything in the same accounting.

        Where the first look may turn it into that, it is at worst what noise is that pays for the look.
        """
        everything = self.everything()
        if everything is None:
            return self._as_noise(self._overhead)
        if self.accounting is Accounting.BASIC:
            return self._as_noise(float(1 / (1 - everything.glance - everything.single)))
        return self._as_noise(1 / math.sqrt(1 - everything.glance))

    def _as_noise(self, overhead: float) -> float:
        people = self.schema.people
        noise = self.on_everything.weighed()
        if people is None:
            return noise
        sizes = Counter(self._filled)
        wanted = sum(self._variations(people, overhead))
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

    @property
    def _filled(self) -> list[int]:
        """The cells of each table that are likely to hold rows."""
        return [filled_cells(each, self.schema) for each in self.sets]

    @property
    def audit(self) -> Fraction:
        """The share of the budget for the model's own error."""
        return LAPLACE_AUDIT if self.accounting is Accounting.BASIC else AUDIT

    def _audit_law(self) -> NoiseLaw:
        """The noise of the model's distance from one table, if all have one."""
        share = shares(self.share.times(self.audit), [1] * len(self.sets))[0]
        query = ModelDistance((), "")
        return self.mechanism(share).law(query.sensitivity(self.schema), size=1)

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
        return AdaptiveFitting(self, grant, public_rows).release(confidence)
