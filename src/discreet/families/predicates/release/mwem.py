"""Predicates by multiplicative weights and the exponential mechanism: for very many of them.

Round by round the predicate on which the model errs most is selected privately, measured, and the
model is moved towards the answer. A last selection and measurement then tell how far off the model
is on the worst predicate, so the bound that is published comes from the run itself.

Guarantee:   the share, in equal pieces: one for the total, two a round, two for the check.
Adjacency:   the schema's.
Sensitivity: of a count, and of a score, the unit's rows.
Theorem:     Hardt, Ligett, McSherry 2012 (theorem 2.2 bounds the largest error); the bound is by the
             exponential mechanism's shortfall (Dwork and Roth 2014, corollary 3.12) and the exact
             noise law of the last measurement.
Error:       with probability `confidence`, no predicate is off by more than the bound, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.artifacts.measurement import Measurement, Selection
from discreet.artifacts.release import ErrorClaim, Part
from discreet.core.mechanisms import Exponential
from discreet.core.vault import Request
from discreet.families.halfspaces.estimate.reference import BIAS
from discreet.families.predicates.estimate.multiplicative import (
    TABLES,
    foreseen_error,
    model_bound,
    reweighted,
)
from discreet.families.predicates.queries.predicates import ModelError, Predicates, partition
from discreet.families.predicates.queries.strategy import StrategyCounts
from discreet.families.predicates.release.strategy import predicates_refusal, told_apart
from discreet.families.shared.release.noise_choice import check_drawable, mechanism_for
from discreet.families.shared.release.protocol import (
    USUAL_ROWS,
    ClassError,
    PreparedClass,
    Verbs,
    of_type,
)
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.shares import selection_epsilon
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

ROUNDS = (1, 2, 4, 8, 12)
"""How many there may be: the number with the least error to expect is taken."""
SELECTED = (
    "bound from the run: exponential mechanism's shortfall and the last measurement's noise law"
)


@dataclass(frozen=True, slots=True)
class MwemPredicates:
    """A model of the parts, refined where it errs most."""

    name: ClassVar[str] = "mwem"
    kind: ClassVar[str] = "predicates"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        refusal = predicates_refusal(query_class, schema)
        if refusal is None and not told_apart(of_type(query_class, Predicates), schema):
            refusal = "a model needs all combinations of cells listed, and there are too many."
        return refusal

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedMwem:
        asked = of_type(query_class, Predicates)
        if accounting is Accounting.BASIC:
            share = Budget(epsilon=share.epsilon)
        people = schema.people or USUAL_ROWS
        one = _all_rows(asked, schema)
        options = []
        for rounds in ROUNDS:
            piece = _piece(share, rounds)
            mechanism = mechanism_for(one, schema, share=piece, accounting=accounting)
            law = mechanism.law(one.sensitivity(schema), size=1)
            own = {"accounting": accounting, "rounds": rounds, "piece": piece, "law": law}
            options.append(PreparedMwem.of(self, asked, schema, share, **own))
        best = min(options, key=lambda option: option.foreseen(people))
        check_drawable(best.law, what=asked.text[:200])
        return best


def least_error(
    asked: Predicates, schema: Schema, *, share: Budget, accounting: Accounting, rows: int
) -> float:
    """No model of what was measured can be expected to err less, on average over all tables.

    That is the noise of one count with the whole share. Where it is more than a quarter of the rows,
    it is that: a guess of half the rows is off by so much on average, if a count may be anything.
    """
    one = _all_rows(asked, schema)
    alone = mechanism_for(one, schema, share=share, accounting=accounting)
    noise = alone.law(one.sensitivity(schema), size=1).std
    return min(math.sqrt(2 / math.pi) * noise, rows / 4)


def _all_rows(asked: Predicates, schema: Schema) -> StrategyCounts:
    """The count of all rows, whatever part they are in."""
    parts = partition(schema, asked.conditions).parts
    return StrategyCounts.of(schema, asked.conditions, np.ones((1, parts), dtype=np.int64))


def _piece(share: Budget, rounds: int) -> Budget:
    return share.times(Fraction(1, 2 * rounds + 3))


def _theorem(people: int, parts: int, many: int, rounds: int, epsilon: Fraction) -> float:
    """The expected largest error: that of the updates, and that of the noise of each round."""
    if epsilon == 0:
        return math.inf
    updates = 2 * people * math.sqrt(math.log(max(2, parts)) / rounds)
    return updates + 10 * math.log(max(2, many)) / float(epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMwem(PreparedClass):
    """So many rounds, each with its piece of the share."""

    accounting: Accounting
    rounds: int
    piece: Budget
    law: NoiseLaw

    @property
    def _selecting(self) -> Exponential:
        return Exponential(epsilon=selection_epsilon(self.piece))

    def _request(self, row: Bools) -> Request:
        matrix = row.astype(np.int64).reshape(1, -1)
        query = StrategyCounts.of(self.schema, self.query_class.conditions, matrix)
        return Request(
            query,
            mechanism_for(query, self.schema, share=self.piece, accounting=self.accounting),
        )

    def costs(self) -> tuple[Cost, ...]:
        parts = partition(self.schema, self.query_class.conditions).parts
        total = self._request(np.ones(parts, dtype=np.bool_)).mechanism.cost()
        each = (self._selecting.cost(), total)
        return (total, *(each * (self.rounds + 1)))

    def noise(self) -> list[dict[str, Any]]:
        return [
            {
                "query": {"kind": StrategyCounts.kind, "rounds": self.rounds},
                "numbers": self.rounds + 2,
                "law": self.law.to_dict(),
                "std": self.law.std,
                "l1_sensitivity": self.schema.unit.max_rows,
            }
        ]

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        found = partition(self.schema, self.query_class.conditions)
        many = len(self.query_class.conditions)
        people = USUAL_ROWS if rows is None else rows
        bound = _theorem(people, found.parts, many, self.rounds, selection_epsilon(self.piece))
        return ClassError.in_rows(
            rows,
            queries=many,
            expected=self.foreseen(people),
            half_width=None,
            simultaneous=None,
            note=(
                f"MWEM in {self.rounds} rounds; the mean error is that of runs on {TABLES} public tables that "
                f"give {BIAS:.0%} of the rows to one half at every halving, and never below the noise of a "
                f"single count. The theorem's bound on the largest error is {bound:,.0f}; the release "
                "carries its own."
            ),
        )

    def foreseen(self, rows: int) -> float:
        """The mean absolute error to expect of a predicate, in rows.

        Simulated tables may suit the model by luck, so never less than `least_error` is promised.
        """
        least = least_error(
            self.query_class,
            self.schema,
            share=self.share,
            accounting=self.accounting,
            rows=rows,
        )
        simulated = _foreseen(
            self.schema,
            self.query_class.conditions,
            rows,
            self.rounds,
            float(self._selecting.epsilon) / self.schema.unit.max_rows,
            self.law.std,
        )
        return max(simulated, least)

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        found = partition(self.schema, self.query_class.conditions)
        (total,) = grant.measure([self._request(np.ones(found.parts, dtype=np.bool_))])
        mass = float(max(0, int(total.values[0])))
        cells = np.bincount(found.part, minlength=found.parts).astype(np.float64)
        weights = cells * (mass / cells.sum())  # rows spread evenly over cells, to start with
        kept: list[Measurement | Selection] = [total]
        rows: list[Bools] = []
        answers: list[float] = []
        for _ in range(self.rounds):
            chosen, noisy = self._look(grant, weights)
            kept += [chosen, noisy]
            rows.append(found.workload[chosen.chosen])
            answers.append(float(noisy.values[0]))
            weights = reweighted(weights, rows, answers, mass)
        model = model_answers(weights, found.workload)
        chosen, noisy = self._look(grant, weights)
        kept += [chosen, noisy]
        part = self.part(
            kept,
            estimates={"answers": model.astype(np.float64)},
            facts={"strategy": "mwem", "rounds": self.rounds},
        )
        bound = model_bound(chosen, noisy, int(model[chosen.chosen]), confidence)
        text = self.query_class.text
        return part, (ErrorClaim(text, bound, confidence, True, SELECTED),)

    def _look(self, grant: Verbs, weights: Floats) -> tuple[Selection, Measurement]:
        found = partition(self.schema, self.query_class.conditions)
        model = model_answers(weights, found.workload)
        chosen = grant.select(ModelError(found, model), self._selecting)
        (noisy,) = grant.measure([self._request(found.workload[chosen.chosen])])
        return chosen, noisy


@lru_cache(maxsize=64)
def _foreseen(
    schema: Schema,
    conditions: tuple[str, ...],
    rows: int,
    rounds: int,
    selecting: float,
    noise: float,
) -> float:
    found = partition(schema, conditions)
    columns = [schema.column(name) for name in found.columns]
    shape = [(column.cells, column.value_cells) for column in columns]
    return foreseen_error(
        found.workload,
        found.part,
        shape,
        rows=rows,
        rounds=rounds,
        selecting=selecting,
        noise=noise,
    )


def model_answers(weights: Floats, workload: Bools) -> Integers:
    """What a model says, in whole rows."""
    return np.array([round(float(weights[row].sum())) for row in workload], dtype=np.int64)
